//! Indices that a reduction compares: operands of `min` and `max`, and the positions of `argmin` and `argmax`.
//!
//! A reduction's state is 32 bits of data, so an index that wraps would compare as another number. The compiler proves that
//! these indices fit in 32 bits, or the launch checks it (`Checks::limits`). The check belongs to the kernel and not to a
//! schedule, because every schedule, `rfactor`'s partial results and the evaluation compare the same indices.

use super::{Checked, Checker};
use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Expr as Node, ExprId, Unary};
use crate::nest::{Program, Space};
use std::cell::Cell;
use tilewright_launch::{Interval, Limit, MOST, REACH, Size};

/// The most terms of the bounds of an index. The number is limited, because each launch evaluates the terms.
const MOST_TERMS: u32 = 1 << 12;

impl Checker<'_> {
    /// Makes sure that an index fits in 32 bits at all points of the axes around it. This is proved, or checked at launch.
    pub(super) fn must_fit(&mut self, index: ExprId, span: SpanId) -> Checked<()> {
        let hull = Hull { program: &self.program, left: Cell::new(MOST_TERMS) };
        let interval = hull.of(index);
        if interval.as_ref().is_some_and(|i| i.bounds().is_within(REACH)) || self.is_proved_to_fit(index) {
            return Ok(());
        }
        let Some(Interval { least, most }) = interval else {
            let error =
                Error::new(span, "an index that is compared here has too many terms for a launch to check that it fits in 32 bits");
            return self.fail(error.help("compare a smaller index, or convert it to data, whose arithmetic wraps: `(…) as i32`"));
        };
        let what = format!("`{}`", super::bounds::show(&self.program, index));
        if let Some(beyond) =
            [most.bounds().0].into_iter().find(|n| *n > REACH.1).or(Some(least.bounds().1).filter(|n| *n < REACH.0))
        {
            let error = Error::new(span, format!("{what} can be {beyond}, and indices have 32 bits"));
            return self
                .fail(error.help("reduce over shorter ranges: define an intermediate for the inner ranges, and reduce that"));
        }
        let limit = Limit { what, least, most };
        if !self.is_counted(&limit) && !self.program.checks.limits.contains(&limit) {
            self.program.checks.limits.push(limit);
        }
        Ok(())
    }

    /// True if the facts prove that an index fits in 32 bits, or proofs are skipped.
    fn is_proved_to_fit(&self, index: ExprId) -> bool {
        let exprs = &self.program.exprs;
        let (least, greatest) = (exprs.int(REACH.0), exprs.int(REACH.1));
        self.proves_nonneg(exprs.difference(greatest, index)) && self.proves_nonneg(exprs.difference(index, least))
    }

    /// True if an input has about as many elements as the index has values. Then the index fits in 32 bits, because a tensor has at
    /// most [`MOST`] elements.
    fn is_counted(&self, limit: &Limit) -> bool {
        let program = &self.program;
        // If one of these extents is 0, the reduction reads no elements, and so its indices do not matter.
        let axes = self.definition.axes.iter().chain(&self.definition.running);
        let positive: Vec<ExprId> = axes.map(|axis| program.axes[*axis].extent).collect();
        let is_known = |e: &ExprId| positive.contains(e) || program.exprs.as_int(*e).is_some();
        let given = program.buffers.values().filter(|b| matches!(b.space, Space::Input | Space::Update));
        limit.least.bounds().0 >= REACH.0
            && given.filter(|b| b.shape.iter().all(is_known)).any(|b| {
                let hull = Hull { program, left: Cell::new(MOST_TERMS) };
                let sizes: Option<Vec<Size>> = b.shape.iter().map(|e| hull.of(*e).map(|i| i.most)).collect();
                let count = sizes.and_then(|sizes| sizes.into_iter().reduce(Size::times));
                count.is_some_and(|count| limit.most.exceeds_by_at_most(&count, REACH.1 - MOST))
            })
    }
}

/// Computes bounds of indices, as sizes.
struct Hull<'a> {
    program: &'a Program,
    /// The number of terms that the bounds may still have.
    left: Cell<u32>,
}

impl Hull<'_> {
    /// Returns a lower and an upper bound of an index over all points of its axes, if no range is empty. `None` if the bounds have
    /// too many terms.
    fn of(&self, e: ExprId) -> Option<Interval> {
        let interval = self.derive(e)?;
        let mut terms = 1;
        for end in [&interval.least, &interval.most] {
            let count = Cell::new(0);
            end.any_dim(&|_| {
                count.set(count.get() + 1);
                false
            });
            terms += count.get();
        }
        self.left.set(self.left.get().checked_sub(terms)?);
        Some(interval)
    }

    fn derive(&self, e: ExprId) -> Option<Interval> {
        let number = |least: i64, most: i64| Interval { least: Size::Const(least), most: Size::Const(most) };
        let either_sign = |a: Interval| a.clone().either(a.scaled(-1));
        Some(match *self.program.exprs.get(e) {
            Node::Const(c) => number(i64::from(c.bits as i32), i64::from(c.bits as i32)),
            Node::Dim(dim) => Interval::of(Size::Dim(dim.index() as u32)),
            Node::Axis(axis) => {
                let last = self.of(self.program.axes[axis].extent)?.most.plus(Size::Const(-1));
                Interval { least: Size::Const(0), most: last }
            }
            Node::Unary(Unary::Neg, a) => self.of(a)?.scaled(-1),
            Node::Unary(Unary::Abs, a) => either_sign(self.of(a)?).most(number(0, 0)),
            Node::Unary(op, _) => op.range().map_or(number(REACH.0, REACH.1), |(least, most)| number(least, most)),
            Node::Select(_, a, b) => self.of(a)?.either(self.of(b)?),
            Node::Binary(op, a, b) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                match op {
                    Binary::Add => a.plus(b),
                    Binary::Sub => a.plus(b.scaled(-1)),
                    Binary::Mul => a.times(b),
                    Binary::FloorDiv => a.over(b),
                    Binary::FloorMod => a.modulo(b),
                    Binary::Min => a.least(b),
                    Binary::Max => a.most(b),
                    _ => either_sign(a),
                }
            }
            _ => number(REACH.0, REACH.1),
        })
    }
}
