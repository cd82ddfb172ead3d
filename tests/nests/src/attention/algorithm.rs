//! The algorithm: scores, their maximum, weights, their sum, the output.

use super::{D, Grid, TILE};
use crate::build::*;
use tilewright_dsl::expr::{Binary, ExprId, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AxisId, Body, BufferId, Space, StageId};

/// A stage and the axes of its batch, query and key.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    pub(super) stage: StageId,
    pub(super) b: AxisId,
    pub(super) i: AxisId,
    pub(super) j: AxisId,
}

/// The tensors and stages.
pub(super) struct Algorithm {
    pub(super) query: BufferId,
    pub(super) key: BufferId,
    pub(super) value: BufferId,
    pub(super) output: BufferId,
    pub(super) scale: ExprId,
    pub(super) s: Staged,
    /// The axis that the scores are summed over.
    pub(super) d: AxisId,
    pub(super) m: Staged,
    pub(super) p: Staged,
    pub(super) l: Staged,
    pub(super) o: Staged,
    /// The output's column.
    pub(super) e: AxisId,
}

impl Algorithm {
    pub(super) fn declare(b: &mut Builder, batch: ExprId, n: ExprId) -> Algorithm {
        let width = b.int(D);
        let [query, key, value] = ["query", "key", "value"].map(|name| b.input(name, DType::F16, &[batch, n, width]));
        let scale = b.scalar("scale", DType::F32);
        let mut temporary = |name, dtype, shape: &[ExprId]| b.buffer(name, dtype, shape, Space::Temporary);
        let s_tensor = temporary("s", DType::F32, &[batch, n, n]);
        let m_tensor = temporary("m", DType::F32, &[batch, n]);
        let p_tensor = temporary("p", DType::F16, &[batch, n, n]);
        let l_tensor = temporary("l", DType::F32, &[batch, n]);
        let output = b.output("o", DType::F32, &[batch, n, width]);

        let [s_b, s_i] = rows(b, batch, n);
        let (s_j, d) = (b.parallel("j", n), b.reduction("d", width));
        let (left, right) = (b.all(&[s_b, s_i, d]), b.all(&[s_b, s_j, d]));
        let item = product(b, [query, key], &left, &right);
        let body = b.sum_of(&[d], item);
        let body = finished(body, |sum| b.mul(scale, sum));
        let s = Staged { stage: b.stage(s_tensor, &[s_b, s_i, s_j], body), b: s_b, i: s_i, j: s_j };

        let [m_b, m_i] = rows(b, batch, n);
        let m_j = seen(b, m_i);
        let index = b.all(&[m_b, m_i, m_j]);
        let score = b.read(s_tensor, &index);
        let body = b.max_of(&[m_j], score);
        let m = Staged { stage: b.stage(m_tensor, &[m_b, m_i], body), b: m_b, i: m_i, j: m_j };

        let [p_b, p_i] = rows(b, batch, n);
        let p_j = b.parallel("j", n);
        let index = b.all(&[p_b, p_i, p_j]);
        let (score, most) = (b.read(s_tensor, &index), b.read(m_tensor, &index[..2]));
        let weighed = weight(b, score, most);
        let p = Staged { stage: b.stage(p_tensor, &[p_b, p_i, p_j], Body::Map(weighed)), b: p_b, i: p_i, j: p_j };

        let [l_b, l_i] = rows(b, batch, n);
        let l_j = seen(b, l_i);
        let index = b.all(&[l_b, l_i, l_j]);
        let weighed = b.read(p_tensor, &index);
        let weighed = b.p.exprs.cast(DType::F32, weighed);
        let body = b.sum_of(&[l_j], weighed);
        let l = Staged { stage: b.stage(l_tensor, &[l_b, l_i], body), b: l_b, i: l_i, j: l_j };

        let [o_b, o_i] = rows(b, batch, n);
        let (e, o_j) = (b.parallel("e", width), seen(b, o_i));
        let (left, right) = (b.all(&[o_b, o_i, o_j]), b.all(&[o_b, o_j, e]));
        let item = product(b, [p_tensor, value], &left, &right);
        let total = b.read(l_tensor, &left[..2]);
        let body = b.sum_of(&[o_j], item);
        let body = finished(body, |sum| b.p.exprs.binary(Binary::Div, sum, total));
        let o = Staged { stage: b.stage(output, &[o_b, o_i, e], body), b: o_b, i: o_i, j: o_j };
        Algorithm { query, key, value, output, scale, s, d, m, p, l, o, e }
    }
}

impl Staged {
    /// Computes the stage at the shared loops. Returns the remaining parts of the query and key axes.
    pub(super) fn at(&self, b: &mut Builder, grid: Grid, every_key: bool) -> [AxisId; 2] {
        b.consume(self.b, &[grid.b], true);
        let i = b.share(self.i, grid.i, "i", TILE, true);
        [i, b.share(self.j, grid.j, "j", TILE, every_key)]
    }
}

fn rows(b: &mut Builder, batch: ExprId, n: ExprId) -> [AxisId; 2] {
    [b.parallel("b", batch), b.parallel("i", n)]
}

/// `j in 0..i + 1`.
fn seen(b: &mut Builder, i: AxisId) -> AxisId {
    let (i, one) = (b.at(i), b.int(1));
    let extent = b.add(i, one);
    b.reduction("j", extent)
}

/// The product of two f16 elements in f32.
fn product(b: &mut Builder, [x, y]: [BufferId; 2], left: &[ExprId], right: &[ExprId]) -> ExprId {
    let factors = [b.read(x, left), b.read(y, right)];
    let [x, y] = factors.map(|factor| b.p.exprs.cast(DType::F32, factor));
    b.mul(x, y)
}

/// `(score - most).exp() as f16`.
pub(super) fn weight(b: &mut Builder, score: ExprId, most: ExprId) -> ExprId {
    let less = b.sub(score, most);
    let weight = b.p.exprs.unary(Unary::Exp, less);
    b.p.exprs.cast(DType::F16, weight)
}

/// The reduction with a finish of its result.
fn finished(mut body: Body, f: impl FnOnce(ExprId) -> ExprId) -> Body {
    if let Body::Reduce { finish, .. } = &mut body {
        *finish = f(*finish);
    }
    body
}
