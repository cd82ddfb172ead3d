//! Indices as sums of multiples of axes, for footprints and for the verifier's checks of accesses. The laws of these sums are the
//! table [`SUMS`](super::rules::SUMS).

use super::{Binary, Expr, ExprId, Exprs, Unary};
use crate::ids::AxisId;
use crate::table::Map;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A sum of multiples of axes, multiples of other terms, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// The factor of each axis.
    pub axes: BTreeMap<AxisId, i64>,
    /// The other terms with their factors, each term once.
    pub rest: Vec<(ExprId, i64)>,
    /// The constant.
    pub constant: i64,
}

impl Linear {
    /// Returns a sum of one term.
    fn of(e: ExprId) -> Linear {
        Linear { rest: vec![(e, 1)], ..Linear::default() }
    }

    /// True if the sum's factors fit in literals and it has at most [`TERMS`] terms.
    fn is_short(&self) -> bool {
        self.axes.len() + self.rest.len() <= TERMS && self.has_literals()
    }

    /// True if the sum's factors and its constant fit in literals.
    pub fn has_literals(&self) -> bool {
        let mut numbers = self.axes.values().chain(self.rest.iter().map(|(_, n)| n)).chain([&self.constant]);
        numbers.all(|n| i32::try_from(n.unsigned_abs()).is_ok())
    }

    /// Adds a multiple of another sum. Returns `None` if a factor does not fit in 64 bits.
    pub fn plus(&mut self, other: &Linear, times: i64) -> Option<()> {
        let added = |sum: i64, n: i64| sum.checked_add(n.checked_mul(times)?);
        for (axis, n) in &other.axes {
            let sum = self.axes.entry(*axis).or_default();
            *sum = added(*sum, *n)?;
        }
        self.axes.retain(|_, n| *n != 0);
        for (e, n) in &other.rest {
            let known = self.rest.iter().find(|(other, _)| other == e).map_or(0, |(_, n)| *n);
            added(known, *n)?;
            self.add_rest(*e, n.checked_mul(times)?);
        }
        self.constant = added(self.constant, other.constant)?;
        Some(())
    }

    /// Adds a multiple of a term that is not a multiple of an axis.
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

    /// True if it is a constant.
    pub fn is_constant(&self) -> bool {
        self.axes.is_empty() && self.rest.is_empty()
    }
}

/// The most terms of a sum. An index with more is one term, so that the work for each part of an index is bounded.
const TERMS: usize = 64;

/// The sums of an index's parts, each computed once.
type Sums = Map<ExprId, Rc<Linear>>;

impl Exprs {
    /// Returns an index as a sum. A part is one term if its factors do not fit in literals or if it has too many terms.
    pub fn linear(&self, index: ExprId) -> Linear {
        let sum = self.sum_of(index, &mut Sums::default());
        Rc::try_unwrap(sum).unwrap_or_else(|sum| Linear::clone(&sum))
    }

    fn sum_of(&self, e: ExprId, known: &mut Sums) -> Rc<Linear> {
        if let Some(sum) = known.get(&e) {
            return sum.clone();
        }
        let sum = self.new_sum(e, known).filter(Linear::is_short).unwrap_or_else(|| Linear::of(e));
        let sum = Rc::new(sum);
        if matches!(self.get(e), Expr::Binary(..) | Expr::Unary(..)) {
            known.insert(e, sum.clone());
        }
        sum
    }

    fn new_sum(&self, e: ExprId, known: &mut Sums) -> Option<Linear> {
        let mut sum = Linear::default();
        let mut add = |sum: &mut Linear, e: ExprId, times: i64| sum.plus(&self.sum_of(e, known), times);
        match *self.get(e) {
            Expr::Axis(axis) => {
                sum.axes.insert(axis, 1);
            }
            Expr::Binary(Binary::Add, a, b) => {
                add(&mut sum, a, 1)?;
                add(&mut sum, b, 1)?;
            }
            Expr::Binary(Binary::Sub, a, b) => {
                add(&mut sum, a, 1)?;
                add(&mut sum, b, -1)?;
            }
            Expr::Unary(Unary::Neg, a) => add(&mut sum, a, -1)?,
            Expr::Binary(Binary::Mul, a, b) => match (self.as_int(a), self.as_int(b)) {
                (Some(n), _) => add(&mut sum, b, n)?,
                (_, Some(n)) => add(&mut sum, a, n)?,
                _ => return None,
            },
            _ => sum.constant = self.as_int(e)?,
        }
        Some(sum)
    }

    /// Returns the same index in a canonical form, so that equal indices that are written differently become one expression. For
    /// example, `i + 1 - 1` becomes `i`.
    pub fn canonical(&self, index: ExprId) -> ExprId {
        let is_sum = match self.get(index) {
            Expr::Binary(Binary::Add | Binary::Sub, ..) | Expr::Unary(Unary::Neg, _) => true,
            Expr::Binary(Binary::Mul, a, b) => self.as_int(*a).is_some() || self.as_int(*b).is_some(),
            _ => false,
        };
        if !is_sum || !self.is_index(index) {
            return index;
        }
        let mut sum = self.linear(index);
        sum.rest.sort_unstable();
        self.of_linear(&sum, &[])
    }

    /// Returns an index with this value. If the value does not fit in a literal, it is made of two numbers, by
    /// [`QUOTIENT_AND_REST`](super::rules::QUOTIENT_AND_REST).
    fn number(&self, value: i64) -> ExprId {
        const BITS: u32 = 30;
        if i32::try_from(value).is_ok() {
            return self.int(value);
        }
        let high = self.product(self.number(value >> BITS), self.int(1 << BITS));
        self.sum(high, self.int(value & ((1 << BITS) - 1)))
    }

    /// Returns the sum as an index: the axes in the given order, then the other axes, the other terms, and the constant.
    pub fn of_linear(&self, sum: &Linear, order: &[AxisId]) -> ExprId {
        let listed = order.iter().filter(|a| sum.axes.contains_key(a));
        let others = sum.axes.keys().filter(|a| !order.contains(a));
        let axes: Vec<(AxisId, i64)> = listed.chain(others).map(|a| (*a, sum.axes[a])).collect();
        let mut terms: Vec<(ExprId, i64)> = axes.into_iter().map(|(a, n)| (self.axis(a), n)).collect();
        terms.extend(&sum.rest);
        let mut total = self.int(0);
        for (e, n) in terms.into_iter().filter(|(_, n)| *n != 0) {
            let by = self.number(n.abs());
            let scaled = self.product(e, by);
            total = if n > 0 { self.sum(total, scaled) } else { self.difference(total, scaled) };
        }
        let constant = self.number(sum.constant.abs());
        if sum.constant < 0 { self.difference(total, constant) } else { self.sum(total, constant) }
    }
}
