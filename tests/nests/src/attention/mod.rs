//! Causal flash attention on cooperative matrices: 64 queries a workgroup, 64 keys an iteration, two subgroups.
//!
//! ```text
//! tile(b: 1, i: 64) => workgroup(y, x);
//! tile(j: 64 => j_o);
//! reorder(j_o, i, e, j);
//! decompose_online(m, l => fix, at: j_o);
//! compute_at(s, j_o, to: shared, row_pad: 4);
//! compute_at(p, j_o, to: shared, row_pad: 8);
//! promote(key => k_s, at: j_o, to: shared, row_pad: 8);
//! promote(value => v_s, at: j_o, to: shared, row_pad: 8);
//! s, o { tile(i: 32) => subgroup(x); }
//! s { promote(query => q_r, at: subgroup, to: register); mma(i, j, d, 16 x 16 x 16); unroll(i, j, d); }
//! m, l, fix { distribute(i => thread(x)); }
//! p { distribute(i => thread(x)); serial(j); }
//! mma(i, e, j, 16 x 16 x 16);
//! unroll(i, e, j);
//! ```
//! All stages share the loops `b_workgroup`, `i_workgroup` and `j_o` of `o`. The loop over keys ends with the tile that the
//! workgroup's last query sees. In that tile the maximum is predicated, and p is 0 above the diagonal; so the sums need no
//! predicates, as `0 * value` is 0 for a finite value. A thread owns a row of the running maximum and sum. When the
//! maximum grows, the thread says in `fix_s` by how much the row's accumulator shrinks.

mod algorithm;
mod output;
mod scores;
mod softmax;

use crate::build::*;
use crate::copies::Copied;
use algorithm::Algorithm;
use output::Output;
use scores::Scores;
use softmax::Softmax;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AxisId, Block, BufferId, Exec, Program, Slot, Space};

/// Its sizes: `query[B, N, 64]`. N is a multiple of 64, stated if it is symbolic.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// B and N.
    pub sizes: [Option<i64>; 2],
}

/// Elements of a head.
const D: i64 = 64;
/// Queries and keys of a tile.
const TILE: i64 = 64;
/// Invocations of a workgroup: one for each of a tile's queries, in two subgroups of 32.
const INVOCATIONS: i64 = 64;

/// The loops that all stages share.
#[derive(Clone, Copy)]
struct Grid {
    b: AxisId,
    i: AxisId,
    j: AxisId,
}

/// The shared buffers through which the stages exchange values.
#[derive(Clone, Copy)]
struct Tiles {
    k: BufferId,
    v: BufferId,
    s: BufferId,
    p: BufferId,
    fix: BufferId,
    l: BufferId,
}

impl Attention {
    /// Everything symbolic.
    pub fn symbolic() -> Attention {
        Attention { sizes: [None; 2] }
    }

    /// The final nest: f16 with f32 scores and accumulators.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("attention");
        let [batch, n] = [("B", 0), ("N", 1)].map(|(name, i)| b.dim(name, self.sizes[i]));
        b.multiple(n, TILE);
        let algorithm = Algorithm::declare(&mut b, batch, n);
        b.p.checks.finite.push(algorithm.value);
        let tiles = Tiles::declare(&mut b);

        let output = Output::new(&mut b, &algorithm, tiles);
        let grid = output.grid;
        let scores = Scores::new(&mut b, &algorithm, grid, tiles);
        let softmax = Softmax::new(&mut b, &algorithm, grid, tiles);
        let copy_k = copy(&mut b, grid, [algorithm.key, tiles.k]);
        let copy_v = copy(&mut b, grid, [algorithm.value, tiles.v]);
        // The values are copied after the barrier, which so also keeps them until the last iteration's are used.
        let step = [copy_k, barrier(), copy_v, scores.tile, barrier(), softmax.tile, barrier(), output.accumulate];
        let step = alloc(&[tiles.k, tiles.v, tiles.s, tiles.p, tiles.fix], sequence(step));
        let last = alloc(&[tiles.l], sequence([softmax.total, barrier(), output.finish]));
        let body = [softmax.init, scores.query, output.init, nest(&[(grid.j, Exec::Serial)], step), last];
        let lives = [softmax.most, softmax.sum, scores.queries, output.acc];
        let bound = [(grid.b, workgroup(Slot::Y)), (grid.i, workgroup(Slot::X))];
        b.p.plan = vec![dispatch("o", [INVOCATIONS as u32, 1, 1], nest(&bound, alloc(&lives, sequence(body))))];
        b.p
    }
}

impl Tiles {
    fn declare(b: &mut Builder) -> Tiles {
        let mut tile = |name: &str, dtype, shape: &[i64], row_pad| {
            let buffer = b.local(name, dtype, shape, Space::Shared);
            b.p.buffers[buffer].row_pad = row_pad;
            buffer
        };
        Tiles {
            k: tile("k_s", DType::F16, &[TILE, D], 8),
            v: tile("v_s", DType::F16, &[TILE, D], 8),
            s: tile("s_s", DType::F32, &[TILE, TILE], 4),
            p: tile("p_s", DType::F16, &[TILE, TILE], 8),
            fix: tile("fix_s", DType::F32, &[TILE], 0),
            l: tile("l_s", DType::F32, &[TILE], 0),
        }
    }
}

/// A tile of keys or values, eight elements at a time.
fn copy(b: &mut Builder, grid: Grid, [from, to]: [BufferId; 2]) -> Block {
    let name = b.p.buffers[to].name.clone();
    let axes = [("j", TILE), ("d", D)].map(|(axis, n)| b.made(&format!("{name}_{axis}"), n));
    let [row, column] = axes.map(|axis| b.at(axis));
    let index = [b.at(grid.b), b.scaled(grid.j, TILE, row), column];
    let value = b.read(from, &index);
    Copied { dst: to, axes: &axes, value }.dealt(b, INVOCATIONS, 8)
}
