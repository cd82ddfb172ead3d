//! The online softmax of a tile: a row a thread.

use super::algorithm::{Algorithm, weight};
use super::{Grid, TILE, Tiles};
use crate::build::*;
use tilewright_dsl::expr::{Compare, ExprId, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Access, AxisId, Block, Body, BufferId, Compute, Exec, Phase, Slot, Space};

pub(super) struct Softmax {
    /// The running maximum.
    pub(super) most: BufferId,
    /// The running sum.
    pub(super) sum: BufferId,
    pub(super) init: Block,
    /// One iteration's work.
    pub(super) tile: Block,
    /// The sum to shared memory, after the last.
    pub(super) total: Block,
}

impl Softmax {
    pub(super) fn new(b: &mut Builder, algorithm: &Algorithm, grid: Grid, tiles: Tiles) -> Softmax {
        let [most, sum, before] = ["m_r", "l_r", "m_old"].map(|name| b.local(name, DType::F32, &[TILE], Space::Register));
        let [m_i, m_j] = algorithm.m.at(b, grid, false);
        let [p_i, p_j] = algorithm.p.at(b, grid, true);
        let [l_i, l_j] = algorithm.l.at(b, grid, false);
        let (m, l) = (algorithm.m.stage, algorithm.l.stage);
        let (m_place, l_place) = (access(most, &b.all(&[m_i])), access(sum, &b.all(&[l_i])));
        let (lowest, zero) = (b.number(f64::NEG_INFINITY, DType::F32), b.number(0.0, DType::F32));
        let init = sequence([
            by_row(m_i, leaf(compute(m, Phase::Init, m_place.clone(), lowest))),
            by_row(l_i, leaf(compute(l, Phase::Init, l_place.clone(), zero))),
        ]);

        let kept = row_wise(b, "m_old", before, |b, row| b.read(most, &[row]));
        let index = b.all(&[m_i, m_j]);
        let score = b.read(tiles.s, &index);
        let update = guarded(compute(m, Phase::Update, m_place, score), &[algorithm.m.j], &b.p);
        let fix = row_wise(b, "fix", tiles.fix, |b, row| {
            let (old, new) = (b.read(before, &[row]), b.read(most, &[row]));
            let less = b.sub(old, new);
            b.p.exprs.unary(Unary::Exp, less)
        });
        let weigh = weights(b, algorithm, [p_i, p_j], tiles, most);
        let (old, factor) = (b.read(sum, &l_place.index), b.read(tiles.fix, &l_place.index));
        let shrunk = b.mul(old, factor);
        let own = b.stage(sum, &[l_i], Body::Map(shrunk));
        let shrink = compute(own, Phase::Whole, l_place.clone(), shrunk);
        let index = b.all(&[l_i, l_j]);
        let weight = b.read(tiles.p, &index);
        let weight = b.p.exprs.cast(DType::F32, weight);
        let add = compute(l, Phase::Update, l_place.clone(), weight);
        let tile = sequence([
            kept,
            by_row(m_i, nest(&[(m_j, Exec::Serial)], leaf(update))),
            fix,
            by_row(p_i, nest(&[(p_j, Exec::Serial)], leaf(weigh))),
            by_row(l_i, sequence([leaf(shrink), nest(&[(l_j, Exec::Serial)], leaf(add))])),
        ]);

        let result = b.read(sum, &l_place.index);
        let total = compute(l, Phase::Finish, Access { buffer: tiles.l, ..l_place }, result);
        Softmax { most, sum, init, tile: alloc(&[before], tile), total: by_row(l_i, leaf(total)) }
    }
}

/// The weights, 0 above the diagonal.
fn weights(b: &mut Builder, algorithm: &Algorithm, axes: [AxisId; 2], tiles: Tiles, most: BufferId) -> Compute {
    let index = b.all(&axes);
    let (score, most) = (b.read(tiles.s, &index), b.read(most, &index[..1]));
    let (value, zero) = (weight(b, score, most), b.number(0.0, DType::F16));
    let (i, j) = (b.at(algorithm.p.i), b.at(algorithm.p.j));
    let sees = b.p.exprs.compare(Compare::Le, j, i);
    let value = b.p.exprs.select(sees, value, zero);
    compute(algorithm.p.stage, Phase::Whole, access(tiles.p, &index), value)
}

/// A stage that exists only in the nest: a value for every row.
fn row_wise(b: &mut Builder, name: &str, dst: BufferId, value: impl FnOnce(&mut Builder, ExprId) -> ExprId) -> Block {
    let axis = b.made(&format!("{name}_i"), TILE);
    let row = b.at(axis);
    let value = value(b, row);
    let stage = b.stage(dst, &[axis], Body::Map(value));
    by_row(axis, leaf(compute(stage, Phase::Whole, access(dst, &[row]), value)))
}

fn by_row(axis: AxisId, body: Block) -> Block {
    nest(&[(axis, thread(Slot::X))], body)
}
