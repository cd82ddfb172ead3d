//! The output: weights by values, onto an accumulator that shrinks when the maximum grows.

use super::algorithm::Algorithm;
use super::{D, Grid, TILE, Tiles};
use crate::build::*;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, BufferId, Exec, Fragment, MatrixLayout, Operand, Phase, Slot};

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

        let acc = b.fragment("o_f", DType::F32, &[2, 32, D], Operand::Accumulator);
        let p_f = b.fragment("p_f", DType::F16, &[32, 16], Operand::A);
        let v_f = b.fragment("v_f", DType::F16, &[16, D], Operand::B);
        let [batch, row, tile_i, sub, i_at] = [o.b, o.i, i_w[1], i_s[0], i_s[1]].map(|axis| b.at(axis));
        let (tile_j, e, zero) = (b.at(j_o[1]), b.at(algorithm.e), b.int(0));
        let place = access(acc, &[sub, i_at, e]);
        let (p_place, v_place) = (access(p_f, &[i_at, zero]), access(v_f, &[zero, e]));
        let nothing = b.number(0.0, DType::F32);
        let init = Fragment::Splat { stage, phase: Phase::Init, dst: place.clone(), value: nothing };
        let init = nest(&[owner, by_i, by_e], matrix(init));

        // A factor a row, as matrices of equal columns.
        let rows = |b: &mut Builder, name: &str, from: BufferId, op: Binary| {
            let factors = b.fragment(name, DType::F32, &[32, 16], Operand::Accumulator);
            let dst = access(factors, &[i_at, zero]);
            let (old, factor) = (b.read(acc, &place.index), b.read(factors, &dst.index));
            let value = b.p.exprs.binary(op, old, factor);
            let load = Fragment::Load { dst, src: access(from, &[tile_i]), layout: MatrixLayout::SameColumns };
            let map = matrix(Fragment::Map { dst: place.clone(), value });
            alloc(&[factors], nest(&[by_i], sequence([matrix(load), nest(&[by_e], map)])))
        };
        let shrink = rows(b, "fix_f", tiles.fix, Binary::Mul);
        let divide = rows(b, "l_f", tiles.l, Binary::Div);

        let layout = MatrixLayout::Rows;
        let load_p = Fragment::Load { dst: p_place.clone(), src: access(tiles.p, &[tile_i, tile_j]), layout };
        let load_v = Fragment::Load { dst: v_place.clone(), src: access(tiles.v, &[tile_j, e]), layout };
        let over = [i_m[1], e_m[1], j_m[1]];
        let update = Fragment::MulAdd { stage, acc: place.clone(), a: p_place, b: v_place, over };
        let multiply =
            sequence([nest(&[by_i], matrix(load_p)), nest(&[by_e], matrix(load_v)), nest(&[by_i, by_e], matrix(update))]);
        let multiply = alloc(&[p_f, v_f], nest(&[by_j], multiply));
        let store = Fragment::Store { dst: access(algorithm.output, &[batch, row, e]), src: place.clone() };
        let stored = nest(&[by_i, by_e], matrix(store));
        let accumulate = nest(&[owner], sequence([shrink, multiply]));
        let finish = nest(&[owner], sequence([divide, stored]));
        Output { grid, acc, init, accumulate, finish }
    }
}
