//! A matrix multiply on cooperative matrices with bias and ReLU, double-buffered: 64x64 a workgroup of 2x2 subgroups, each
//! 2x2 matrices of 16x16.
//!
//! ```text
//! tile(i: 64, j: 64 round_up) => workgroup(y, x);
//! tile(k: 32 => k_o);
//! reorder(k_o, k, i, j);
//! promote(a => a_s[i, k], at: k_o, to: shared, row_pad: 8, vector: 8);
//! promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);
//! pipeline(k_o, buffers: 2);
//! promote(c => c_s[i, j], at: workgroup, to: shared, row_pad: 4);
//! tile(i: 32, j: 32) => subgroup(y, x);
//! mma(i, j, k, 16 x 16 x 16);
//! unroll(k, i, j);
//! ```
//! M is a multiple of 64 and K of 32. N is ragged, so the result leaves through shared memory, predicated. Two versions
//! of each copy make one barrier an iteration enough.

use crate::build::*;
use crate::copies::Copied;
use tilewright_dsl::expr::{Binary, ExprId};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{
    AxisId, Block, Body, BufferId, Exec, Made, NodeKind, Phase, Pipelined, Point, Program, Slot, Space, StageId, Step, StepPlace,
    walk,
};

/// Its sizes: `c[M, N] = max(a[M, K] * b[K, N] + bias[N], 0)`.
#[derive(Clone, Copy, Debug)]
pub struct MmaMatmul {
    /// M, N and K.
    pub sizes: [Option<i64>; 3],
}

/// Invocations of a workgroup: four subgroups of 32.
const INVOCATIONS: i64 = 128;

impl MmaMatmul {
    /// Everything symbolic.
    pub fn symbolic() -> MmaMatmul {
        MmaMatmul { sizes: [None; 3] }
    }

    /// The final nest: f16 with f32 accumulators.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("mma_matmul");
        let [m, n, k] = [("M", 0), ("N", 1), ("K", 2)].map(|(name, i)| b.dim(name, self.sizes[i]));
        b.multiple(m, 64);
        b.multiple(k, 32);
        let left = b.input("a", DType::F16, &[m, k]);
        let right = b.input("b", DType::F16, &[k, n]);
        let bias = b.input("bias", DType::F32, &[n]);
        let output = b.output("c", DType::F32, &[m, n]);

        let [i, j] = [("i", m), ("j", n)].map(|(name, extent)| b.parallel(name, extent));
        let over = b.reduction("k", k);
        let (row, column, step) = (b.at(i), b.at(j), b.at(over));
        let factors = [b.read(left, &[row, step]), b.read(right, &[step, column])];
        let item = widened_product(&mut b, factors);
        let body = b.sum_of(&[over], item);
        let stage = b.stage(output, &[i, j], body);

        let i_w = b.split(i, "i_workgroup", &[("i", 64)]);
        let j_w = b.split(j, "j_workgroup", &[("j", 64)]);
        let steps = b.split(over, "k_o", &[("k", 32)]);
        let i_s = b.split(i_w[1], "i_subgroup", &[("i", 32)]);
        let j_s = b.split(j_w[1], "j_subgroup", &[("j", 32)]);
        let i_m = b.split(i_s[1], "i", &[("i_matrix", 16)]);
        let j_m = b.split(j_s[1], "j", &[("j_matrix", 16)]);
        let k_m = b.split(steps[1], "k", &[("k_matrix", 16)]);

        // The matrices are loaded from buffers with two versions. Version 0 is filled before the loop.
        let a_s = b.local("a_s", DType::F16, &[64, 32], Space::Shared);
        let b_s = b.local("b_s", DType::F16, &[32, 64], Space::Shared);
        for buffer in [a_s, b_s] {
            b.p.buffers[buffer].row_pad = 8;
        }
        let (now, one, zero, thirty_two) = (b.at(steps[0]), b.int(1), b.int(0), b.int(32));
        let (next, first) = (b.add(now, one), b.mul(now, thirty_two));
        let a_axes = [("a_i", 64), ("a_k", 32)].map(|(axis, n)| b.made(axis, n));
        let b_axes = [("b_k", 32), ("b_j", 64)].map(|(axis, n)| b.made(axis, n));
        let (a_i, a_k, b_k, b_j) = (b.at(a_axes[0]), b.at(a_axes[1]), b.at(b_axes[0]), b.at(b_axes[1]));
        let a_index = [b.scaled(i_w[0], 64, a_i), b.add(first, a_k)];
        let b_index = [b.add(first, b_k), b.scaled(j_w[0], 64, b_j)];
        let (a_value, b_value) = (b.read(left, &a_index), b.filled(right, &b_index, &[false, true]));
        let copies = sequence([
            Copied { dst: a_s, axes: &a_axes, value: a_value }.dealt(&mut b, INVOCATIONS, 8),
            Copied { dst: b_s, axes: &b_axes, value: b_value }.dealt(&mut b, INVOCATIONS, 1),
        ]);
        let extent = b.p.axes[steps[0]].extent;
        let made = b.made_up("k_o_next", extent);
        pipelined(&mut b, &copies, steps[0], made);
        let first = in_step(&mut b, copies.clone(), steps[0], (made, Step::First(0)), zero);
        let following = in_step(&mut b, copies, steps[0], (made, Step::Ahead(steps[0], 1)), next);

        let acc = b.fragment("acc", DType::F32, &[32, 32]);
        let [i_at, j_at] = [i_s[1], j_s[1]].map(|axis| b.at(axis));
        let [i_block, j_block, k_block] = [i_w[1], j_w[1], steps[1]].map(|axis| b.at(axis));
        let place = access(acc, &[i_at, j_at]);
        let nothing = b.number(0.0, DType::F32);
        let init = compute(stage, Phase::Init, place.clone(), nothing);
        let factors = [b.read(a_s, &[now, i_block, k_block]), b.read(b_s, &[now, k_block, j_block])];
        let item = widened_product(&mut b, factors);
        let update = compute(stage, Phase::Update, place.clone(), item);
        let (by_i, by_j) = ((i_m[0], Exec::Unroll), (j_m[0], Exec::Unroll));
        let result = [by_i, by_j, (i_m[1], ROWS), (j_m[1], COLUMNS)];
        let multiply = nest(&[(k_m[0], Exec::Unroll)], nest(&result, nest(&[(k_m[1], DEPTH)], leaf(update))));
        let step = sequence([barrier(), following, multiply]);
        let reduction = alloc(&[a_s, b_s], sequence([first, nest(&[(steps[0], Exec::Serial)], step)]));

        let c_s = b.local("c_s", DType::F32, &[64, 64], Space::Shared);
        b.p.buffers[c_s].row_pad = 4;
        let sum = b.read(acc, &place.index);
        let store = compute(stage, Phase::Finish, access(c_s, &[i_block, j_block]), sum);
        let written = write_back(&mut b, stage, [i_w[0], j_w[0]], [c_s, bias, output], [m, n]);
        let leave = sequence([nest(&result, leaf(store)), barrier(), written]);
        let body = sequence([nest(&result, leaf(init)), reduction, alloc(&[c_s], leave)]);
        let bound =
            [(i_w[0], workgroup(Slot::Y)), (j_w[0], workgroup(Slot::X)), (i_s[0], subgroup(Slot::Y)), (j_s[0], subgroup(Slot::X))];
        b.p.plan = vec![dispatch("c", [INVOCATIONS as u32, 1, 1], nest(&bound, alloc(&[acc], body)))];
        b.p
    }
}

/// Makes a pipeline with two buffers of the copies of a step.
fn pipelined(b: &mut Builder, copies: &Block, axis: AxisId, step: AxisId) {
    for node in walk::nodes(copies) {
        let NodeKind::Compute(compute) = &node.kind else { continue };
        let copy = compute.dst[0].buffer;
        b.p.buffers[copy].versions = 2;
        let (span, made) = (node.span, Some(Made { step, registers: None }));
        let store = StepPlace { at: Point::Start, early: false, span };
        b.p.notes.pipelines.push(Pipelined { axis, copy, stage: compute.stage, buffers: 2, fetch: None, store, span, made });
    }
}

/// Returns the copies of the step that `made` counts, written to a version.
fn in_step(b: &mut Builder, mut copies: Block, axis: AxisId, made: (AxisId, Step), version: ExprId) -> Block {
    walk::each_mut(&mut copies, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.value[0] = b.p.renamed(compute.value[0], axis, made.0);
            compute.dst[0].index.insert(0, version);
        }
    });
    nest(&[(made.0, Exec::Step(made.1))], copies)
}

/// Computes the result from the sums in shared memory: a stage with its own axes, which share the workgroup's axes.
fn write_back(
    b: &mut Builder,
    host: StageId,
    grid: [AxisId; 2],
    [from, bias, output]: [BufferId; 3],
    [m, n]: [ExprId; 2],
) -> Block {
    let (row, column) = (b.made_up("c_i", m), b.made_up("c_j", n));
    let i = b.share(row, grid[0], "c_i", 64, true);
    let ragged = b.is_multiple(n, 64);
    let j = b.share(column, grid[1], "c_j", 64, ragged);
    let item = b.fuse(&[i, j], "c_item");
    let dealt = b.split(item, "c_round", &[("c_thread", INVOCATIONS)]);
    let index = b.all(&[i, j]);
    let (total, column_at) = (b.read(from, &index), b.at(column));
    let value = relu(b, total, bias, column_at);
    let stage = b.stage(output, &[row, column], Body::Map(value));
    b.p.notes.hosts.insert(stage, host);
    let place = access(output, &b.all(&[row, column]));
    let whole = guarded(compute(stage, Phase::Whole, place, value), &[row, column], &b.p);
    nest(&[(dealt[0], Exec::Serial), (dealt[1], thread(Slot::Linear))], leaf(whole))
}

/// The product of two halves, in f32.
fn widened_product(b: &mut Builder, factors: [ExprId; 2]) -> ExprId {
    let [x, y] = factors.map(|f| b.p.exprs.cast(DType::F32, f));
    b.mul(x, y)
}

/// `(value + bias[column]).max(0.0)`.
fn relu(b: &mut Builder, value: ExprId, bias: BufferId, column: ExprId) -> ExprId {
    let (bias, zero) = (b.read(bias, &[column]), b.number(0.0, DType::F32));
    let sum = b.add(value, bias);
    b.p.exprs.binary(Binary::Max, sum, zero)
}
