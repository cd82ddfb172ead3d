//! Indices as sums of multiples of axes: how footprints are computed, and how the verifier looks at accesses.

use super::{Binary, Expr, ExprId, Exprs, Unary};
use crate::ids::AxisId;
use std::collections::BTreeMap;

/// A sum of multiples of axes, of multiples of what is none, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// How many times each axis counts.
    pub axes: BTreeMap<AxisId, i64>,
    /// What is no multiple of an axis, and how many times; each once.
    pub rest: Vec<(ExprId, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Linear {
    /// Adds a multiple of what is no multiple of an axis.
    pub fn add_rest(&mut self, e: ExprId, times: i64) {
        match self.rest.iter_mut().find(|(other, _)| *other == e) {
            Some((_, n)) => *n += times,
            None => self.rest.push((e, times)),
        }
        self.rest.retain(|(_, n)| *n != 0);
    }

    /// Adds a multiple of another sum.
    pub fn add(&mut self, other: &Linear, times: i64) {
        for (axis, n) in &other.axes {
            *self.axes.entry(*axis).or_default() += n * times;
        }
        self.axes.retain(|_, n| *n != 0);
        other.rest.iter().for_each(|(e, n)| self.add_rest(*e, n * times));
        self.constant += other.constant * times;
    }

    /// Whether it is only a constant.
    pub fn is_constant(&self) -> bool {
        self.axes.is_empty() && self.rest.is_empty()
    }
}

impl Exprs {
    /// An index as a sum.
    pub fn linear(&self, index: ExprId) -> Linear {
        let mut sum = Linear::default();
        self.add_linear(&mut sum, index, 1);
        sum
    }

    fn add_linear(&self, sum: &mut Linear, e: ExprId, times: i64) {
        match *self.get(e) {
            Expr::Axis(axis) => *sum.axes.entry(axis).or_default() += times,
            Expr::Binary(Binary::Add, a, b) => {
                self.add_linear(sum, a, times);
                self.add_linear(sum, b, times);
            }
            Expr::Binary(Binary::Sub, a, b) => {
                self.add_linear(sum, a, times);
                self.add_linear(sum, b, -times);
            }
            Expr::Unary(Unary::Neg, a) => self.add_linear(sum, a, -times),
            Expr::Binary(Binary::Mul, a, b) => match (self.as_int(a), self.as_int(b)) {
                (Some(n), _) => self.add_linear(sum, b, times.saturating_mul(n)),
                (_, Some(n)) => self.add_linear(sum, a, times.saturating_mul(n)),
                _ => sum.add_rest(e, times),
            },
            _ => match self.as_int(e) {
                Some(n) => sum.constant += times * n,
                None => sum.add_rest(e, times),
            },
        }
    }

    /// The sum as an index: axes in the order given, then the others, what is none, and the constant.
    pub fn of_linear(&self, sum: &Linear, order: &[AxisId]) -> ExprId {
        let listed = order.iter().filter(|a| sum.axes.contains_key(a));
        let others = sum.axes.keys().filter(|a| !order.contains(a));
        let axes: Vec<(AxisId, i64)> = listed.chain(others).map(|a| (*a, sum.axes[a])).collect();
        let mut terms: Vec<(ExprId, i64)> = axes.into_iter().map(|(a, n)| (self.axis(a), n)).collect();
        terms.extend(&sum.rest);
        let mut total = self.int(0);
        for (e, n) in terms.into_iter().filter(|(_, n)| *n != 0) {
            let by = self.int(n.abs());
            let scaled = self.product(e, by);
            total = if n > 0 { self.sum(total, scaled) } else { self.difference(total, scaled) };
        }
        let constant = self.int(sum.constant.abs());
        if sum.constant < 0 { self.difference(total, constant) } else { self.sum(total, constant) }
    }
}
