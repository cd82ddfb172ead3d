//! The scores of a tile: queries, which stay in fragments, by keys, which are shared.

use super::algorithm::Algorithm;
use super::{D, Grid, TILE, Tiles};
use crate::build::*;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, Body, BufferId, Exec, Phase, Slot};

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
        let queries = b.fragment("q_f", DType::F16, &[2, 32, D]);
        let acc = b.fragment("s_f", DType::F32, &[2, 32, TILE]);
        let owner = (i_s[0], subgroup(Slot::X));
        let [by_i, by_j, by_d] = [i_m[0], j_m[0], d_m[0]].map(|axis| (axis, Exec::Unroll));
        let [sub, i_at] = [i_s[0], i_s[1]].map(|axis| b.at(axis));
        let [tile_i, tile_j, d] = [i, j, algorithm.d].map(|axis| b.at(axis));
        let query = held(b, algorithm, grid, queries);

        let place = access(acc, &[sub, i_at, tile_j]);
        let nothing = b.number(0.0, DType::F32);
        let init = compute(stage, Phase::Init, place.clone(), nothing);
        let factors = [b.read(queries, &[sub, i_at, d]), b.read(tiles.k, &[tile_j, d])];
        let [x, y] = factors.map(|f| b.p.exprs.cast(DType::F32, f));
        let item = b.mul(x, y);
        let update = compute(stage, Phase::Update, place.clone(), item);
        let sum = b.read(acc, &place.index);
        let scaled = b.mul(algorithm.scale, sum);
        let finish = compute(stage, Phase::Finish, access(tiles.s, &[tile_i, tile_j]), scaled);
        let result = [by_i, by_j, (i_m[1], ROWS), (j_m[1], COLUMNS)];
        let body = sequence([
            nest(&result, leaf(init)),
            nest(&[by_d], nest(&result, nest(&[(d_m[1], DEPTH)], leaf(update)))),
            nest(&result, leaf(finish)),
        ]);
        Scores { queries, query, tile: alloc(&[acc], nest(&[owner], body)) }
    }
}

/// The workgroup's queries in fragments: a copy.
fn held(b: &mut Builder, algorithm: &Algorithm, grid: Grid, queries: BufferId) -> Block {
    let [sub, row, column] = [("q_s", 2), ("q_i", 32), ("q_d", D)].map(|(name, n)| b.made(name, n));
    let rows = b.split(row, "q_i", &[("q_rows", 16)]);
    let columns = b.split(column, "q_d", &[("q_columns", 16)]);
    let (row_at, column_at) = (b.at(row), b.at(column));
    let within = b.scaled(sub, 32, row_at);
    let index = [b.at(grid.b), b.scaled(grid.i, TILE, within), column_at];
    let value = b.read(algorithm.query, &index);
    let stage = b.stage(queries, &[sub, row, column], Body::Map(value));
    let place = access(queries, &b.all(&[sub, row, column]));
    let loops =
        [(sub, subgroup(Slot::X)), (rows[0], Exec::Unroll), (columns[0], Exec::Unroll), (rows[1], ROWS), (columns[1], DEPTH)];
    nest(&loops, leaf(compute(stage, Phase::Whole, place, value)))
}
