//! The output: weights by values, onto an accumulator that shrinks when the maximum grows.

use super::algorithm::Algorithm;
use super::{D, Grid, TILE, Tiles};
use crate::build::*;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, Body, BufferId, Exec, Phase, Slot};

pub(super) struct Output {
    /// Its outer loops, which all stages share.
    pub(super) grid: Grid,
    pub(super) acc: BufferId,
    pub(super) init: Block,
    /// One iteration's work.
    pub(super) accumulate: Block,
    pub(super) finish: Block,
}

impl Output {
    pub(super) fn new(b: &mut Builder, algorithm: &Algorithm, tiles: Tiles) -> Output {
        let (o, stage) = (&algorithm.o, algorithm.o.stage);
        let b_w = b.split(o.b, "b_workgroup", &[("b", 1)]);
        let i_w = b.split(o.i, "i_workgroup", &[("i", TILE)]);
        let j_o = b.split(o.j, "j_o", &[("j", TILE)]);
        let grid = Grid { b: b_w[0], i: i_w[0], j: j_o[0] };
        // The hull of the queries' ranges: as far as the last query of the tile sees.
        let (tile, one) = (b.at(grid.i), b.int(1));
        b.p.axes[grid.j].extent = b.add(tile, one);
        let i_s = b.split(i_w[1], "i_subgroup", &[("i", 32)]);
        let i_m = b.split(i_s[1], "i", &[("i_matrix", 16)]);
        let j_m = b.split(j_o[1], "j", &[("j_matrix", 16)]);
        let e_m = b.split(algorithm.e, "e", &[("e_matrix", 16)]);
        let owner = (i_s[0], subgroup(Slot::X));
        let [by_i, by_j, by_e] = [i_m[0], j_m[0], e_m[0]].map(|axis| (axis, Exec::Unroll));

        let acc = b.fragment("o_f", DType::F32, &[2, 32, D]);
        let [batch, row, tile_i, sub, i_at] = [o.b, o.i, i_w[1], i_s[0], i_s[1]].map(|axis| b.at(axis));
        let (tile_j, e) = (b.at(j_o[1]), b.at(algorithm.e));
        let place = access(acc, &[sub, i_at, e]);
        let result = [by_i, by_e, (i_m[1], ROWS), (e_m[1], COLUMNS)];
        let nothing = b.number(0.0, DType::F32);
        let init = nest(&[owner], nest(&result, leaf(compute(stage, Phase::Init, place.clone(), nothing))));

        // Factors of rows, which all columns share.
        let rows = |b: &mut Builder, from: BufferId, op: Binary| {
            let (old, factor) = (b.read(acc, &place.index), b.read(from, &[tile_i]));
            b.p.exprs.binary(op, old, factor)
        };
        let (shrunk, divided) = (rows(b, tiles.fix, Binary::Mul), rows(b, tiles.l, Binary::Div));
        let own = b.stage(acc, &[i_s[0], i_s[1], algorithm.e], Body::Map(shrunk));
        let shrink = nest(&result, leaf(compute(own, Phase::Whole, place.clone(), shrunk)));

        let factors = [b.read(tiles.p, &[tile_i, tile_j]), b.read(tiles.v, &[tile_j, e])];
        let [x, y] = factors.map(|f| b.p.exprs.cast(DType::F32, f));
        let item = b.mul(x, y);
        let update = compute(stage, Phase::Update, place, item);
        let multiply = nest(&[by_j], nest(&result, nest(&[(j_m[1], DEPTH)], leaf(update))));
        let finish = compute(stage, Phase::Finish, access(algorithm.output, &[batch, row, e]), divided);
        let accumulate = nest(&[owner], sequence([shrink, multiply]));
        let finish = nest(&[owner], nest(&result, leaf(finish)));
        Output { grid, acc, init, accumulate, finish }
    }
}
