//! The scores of a tile: queries, which stay in fragments, by keys, which are shared.

use super::algorithm::Algorithm;
use super::{D, Grid, TILE, Tiles};
use crate::build::*;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, BufferId, Exec, Fragment, MatrixLayout, Operand, Phase, Slot};

pub(super) struct Scores {
    /// The workgroup's queries, and how they come in.
    pub(super) queries: BufferId,
    pub(super) query: Block,
    /// One iteration's work.
    pub(super) tile: Block,
}

impl Scores {
    pub(super) fn new(b: &mut Builder, algorithm: &Algorithm, grid: Grid, tiles: Tiles) -> Scores {
        let (s, stage) = (&algorithm.s, algorithm.s.stage);
        let [i, j] = s.at(b, grid, true);
        let i_s = b.split(i, "i_subgroup", &[("i", 32)]);
        let i_m = b.split(i_s[1], "i", &[("i_matrix", 16)]);
        let j_m = b.split(j, "j", &[("j_matrix", 16)]);
        let d_m = b.split(algorithm.d, "d", &[("d_matrix", 16)]);
        let queries = b.fragment("q_f", DType::F16, &[2, 32, D], Operand::A);
        let k_f = b.fragment("k_f", DType::F16, &[16, TILE], Operand::B);
        let acc = b.fragment("s_f", DType::F32, &[2, 32, TILE], Operand::Accumulator);
        let owner = (i_s[0], subgroup(Slot::X));
        let [by_i, by_j, by_d] = [i_m[0], j_m[0], d_m[0]].map(|axis| (axis, Exec::Unroll));

        let [batch, row, sub, i_at] = [s.b, s.i, i_s[0], i_s[1]].map(|axis| b.at(axis));
        let [tile_i, tile_j, d] = [i, j, algorithm.d].map(|axis| b.at(axis));
        let (zero, nothing) = (b.int(0), b.number(0.0, DType::F32));
        let (q_place, k_place) = (access(queries, &[sub, i_at, d]), access(k_f, &[zero, tile_j]));
        let place = access(acc, &[sub, i_at, tile_j]);
        let layout = MatrixLayout::Rows;
        let load = Fragment::Load { dst: q_place.clone(), src: access(algorithm.query, &[batch, row, d]), layout };
        let query = nest(&[owner, by_i, by_d], matrix(load));

        let init = Fragment::Splat { stage, phase: Phase::Init, dst: place.clone(), value: nothing };
        let layout = MatrixLayout::Columns;
        let load = Fragment::Load { dst: k_place.clone(), src: access(tiles.k, &[tile_j, d]), layout };
        let over = [i_m[1], j_m[1], d_m[1]];
        let update = Fragment::MulAdd { stage, acc: place.clone(), a: q_place, b: k_place, over };
        let sum = b.read(acc, &place.index);
        let scaled = b.mul(algorithm.scale, sum);
        let scaled = Fragment::Map { dst: place.clone(), value: scaled };
        let store = Fragment::Store { dst: access(tiles.s, &[tile_i, tile_j]), src: place };
        let multiply = sequence([nest(&[by_j], matrix(load)), nest(&[by_i, by_j], matrix(update))]);
        let body = sequence([
            nest(&[by_i, by_j], matrix(init)),
            alloc(&[k_f], nest(&[by_d], multiply)),
            nest(&[by_i, by_j], sequence([matrix(scaled), matrix(store)])),
        ]);
        Scores { queries, query, tile: alloc(&[acc], nest(&[owner], body)) }
    }
}
