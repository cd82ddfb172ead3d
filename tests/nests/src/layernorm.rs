//! Layer normalization in one dispatch: a workgroup a row, whose mean and variance are sums across its 64 threads.
//!
//! ```text
//! tile(b: 1) => workgroup(x);
//! compute_at(mean, b, to: register);
//! compute_at(variance, b, to: register);
//! mean, variance { tile(k: 64 => k_o); distribute(k => thread(x), by: tree); }
//! tile(j: 64 => j_o);
//! distribute(j => thread(x));
//! ```

use crate::build::*;
use tilewright_dsl::expr::{Binary, ExprId, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{
    AllReduce, AxisId, Block, Body, BufferId, Exec, How, NodeKind, Phase, Program, Scope, Slot, Space, StageId,
};

/// Its sizes: rows of `x[B, N]`.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm {
    /// B and N.
    pub sizes: [Option<i64>; 2],
    /// The method that combines the threads' sums.
    pub how: How,
}

/// An average over a row, computed by all threads of its workgroup: a stage and its registers.
struct Average {
    stage: StageId,
    tensor: BufferId,
    row: AxisId,
    over: AxisId,
    /// The partial sum of a thread.
    partial: BufferId,
    /// The sum of all threads.
    total: BufferId,
    result: BufferId,
}

impl LayerNorm {
    /// Everything symbolic.
    pub fn symbolic(how: How) -> LayerNorm {
        LayerNorm { sizes: [None; 2], how }
    }

    /// The final nest, in f32.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("layernorm");
        let [rows, n] = [("B", 0), ("N", 1)].map(|(name, i)| b.dim(name, self.sizes[i]));
        let x = b.input("x", DType::F32, &[rows, n]);
        let gamma = b.input("gamma", DType::F32, &[n]);
        let beta = b.input("beta", DType::F32, &[n]);
        let y = b.output("y", DType::F32, &[rows, n]);

        let mean = Average::declare(&mut b, "mean", [rows, n], |b, row, k| b.read(x, &[row, k]));
        let deviation = |b: &mut Builder, row, k, mean| {
            let value = b.read(x, &[row, k]);
            let d = b.sub(value, mean);
            b.mul(d, d)
        };
        let variance = Average::declare(&mut b, "variance", [rows, n], |b, row, k| {
            let mean = b.read(mean.tensor, &[row]);
            deviation(b, row, k, mean)
        });
        let normal = |b: &mut Builder, row, j, mean, variance| {
            let (value, epsilon) = (b.read(x, &[row, j]), b.number(1e-5, DType::F32));
            let spread = b.add(variance, epsilon);
            let scale = b.p.exprs.unary(Unary::InverseSqrt, spread);
            let (gamma, beta) = (b.read(gamma, &[j]), b.read(beta, &[j]));
            let centred = b.sub(value, mean);
            let scaled = b.mul(centred, scale);
            let product = b.mul(scaled, gamma);
            b.add(product, beta)
        };
        let [row, j] = [("b", rows), ("j", n)].map(|(name, extent)| b.parallel(name, extent));
        let (row_at, j_at) = (b.at(row), b.at(j));
        let body = {
            let (mean, variance) = (b.read(mean.tensor, &[row_at]), b.read(variance.tensor, &[row_at]));
            normal(&mut b, row_at, j_at, mean, variance)
        };
        let stage = b.stage(y, &[row, j], Body::Map(body));

        let row_w = b.split(row, "b_workgroup", &[("b", 1)])[0];
        b.consume(mean.row, &[row_w], true);
        b.consume(variance.row, &[row_w], true);
        let (mean_r, variance_r) = (b.read(mean.result, &[]), b.read(variance.result, &[]));
        let (v_row, v_k) = (b.at(variance.row), b.at(variance.over));
        let value = normal(&mut b, row_at, j_at, mean_r, variance_r);
        let squared = deviation(&mut b, v_row, v_k, mean_r);
        let (m_row, m_k) = (b.at(mean.row), b.at(mean.over));
        let plain = b.read(x, &[m_row, m_k]);

        let parts = b.split(j, "j_o", &[("j", 64)]);
        let write = guarded(compute(stage, Phase::Whole, access(y, &[row_at, j_at]), value), &[j], &b.p);
        let written = nest(&[(parts[1], thread(Slot::X)), (parts[0], Exec::Serial)], leaf(write));
        let first = mean.nodes(&mut b, self.how, plain, n);
        let second = variance.nodes(&mut b, self.how, squared, n);
        let buffers = [&mean, &variance].map(|s| [s.partial, s.total, s.result]).concat();
        let body = alloc(&buffers, sequence([first, second, written]));
        b.p.plan = vec![dispatch("y", [64, 1, 1], nest(&[(row_w, workgroup(Slot::X))], body))];
        b.p
    }
}

impl Average {
    /// Declares the average of `item(row, k)` over `k`.
    fn declare(
        b: &mut Builder,
        name: &str,
        [rows, n]: [ExprId; 2],
        item: impl Fn(&mut Builder, ExprId, ExprId) -> ExprId,
    ) -> Average {
        let tensor = b.buffer(name, DType::F32, &[rows], Space::Temporary);
        let (row, over) = (b.parallel("b", rows), b.reduction("k", n));
        let (row_at, k) = (b.at(row), b.at(over));
        let item = item(b, row_at, k);
        let mut body = b.sum_of(&[over], item);
        if let Body::Reduce { finish, .. } = &mut body {
            *finish = average(b, *finish, n);
        }
        let stage = b.stage(tensor, &[row], body);
        let [partial, total, result] =
            ["part", "sum", "r"].map(|end| b.local(&format!("{name}_{end}"), DType::F32, &[], Space::Register));
        Average { stage, tensor, row, over, partial, total, result }
    }

    /// Returns its nodes. The reads of `item` are the reads in the nest.
    fn nodes(&self, b: &mut Builder, how: How, item: ExprId, n: ExprId) -> Block {
        let parts = b.split(self.over, "k_o", &[("k", 64)]);
        let partial = access(self.partial, &[]);
        let zero = b.number(0.0, DType::F32);
        let init = compute(self.stage, Phase::Init, partial.clone(), zero);
        let update = guarded(compute(self.stage, Phase::Update, partial.clone(), item), &[self.over], &b.p);
        let reduction = AllReduce {
            stage: self.stage,
            scope: Scope::Workgroup,
            how,
            src: vec![partial],
            dst: vec![access(self.total, &[])],
            over: vec![parts[1]],
            preds: Vec::new(),
            scratch: None,
        };
        let total = b.read(self.total, &[]);
        let mean = average(b, total, n);
        let finish = compute(self.stage, Phase::Finish, access(self.result, &[]), mean);
        sequence([
            leaf(init),
            nest(&[(parts[1], thread(Slot::X)), (parts[0], Exec::Serial)], leaf(update)),
            vec![node(NodeKind::AllReduce(reduction))],
            leaf(finish),
        ])
    }
}

/// `value / (N as f32)`.
fn average(b: &mut Builder, value: ExprId, n: ExprId) -> ExprId {
    let count = b.p.exprs.cast(DType::F32, n);
    b.p.exprs.binary(Binary::Div, value, count)
}
