//! Integer sums of products, in one normal form: exact modulo 2^32, as the device's arithmetic is.
//!
//! Terms are ordered by level (vectors behind scalars), so that emission, which adds from the left, shares the partial
//! sums of outer levels. The constant comes last: unrolled copies differ in it and share the rest.

use super::range::{plus, product};
use super::{ANY, Kind, Op, SIZE, ValueId, Values};
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use tilewright_dsl::expr::{Binary, Compare};
use tilewright_dsl::launch::DType;

/// From here on, steps along an axis of unknown extent are taken for arithmetic of the user's, and not for strides: a tensor has
/// less than 2^31 elements.
const LARGE_STEP: i64 = 1 << 24;

/// A product of values that are no sums, times a literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    /// Whether it is a vector, and its level: emission's order.
    pub(crate) order: (bool, u32),
    /// Sorted.
    pub(crate) factors: SmallVec<[ValueId; 2]>,
    /// Not 0.
    pub(crate) by: i32,
}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The order follows from the factors.
        self.factors.iter().for_each(|factor| factor.hash(state));
        state.write_u32(self.by as u32);
    }
}

/// A sum of terms and a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) terms: SmallVec<[Term; 4]>,
    pub(crate) constant: i32,
}

/// How a value depends on the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByLane {
    /// Not at all.
    Uniform,
    /// `base + step * lane`, with `base` the same in all lanes.
    Linear { base: ValueId, step: i32 },
    /// In another way.
    Other,
}

/// What two values are combined by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Arithmetic {
    Plus,
    Minus,
    Times,
    /// Of one value, named twice, that is a multiple of a literal.
    Over(i32),
}

/// Products of sums of more terms than this in all are not multiplied out.
const TERMS: usize = 24;

/// Adds up two sorted lists of terms.
fn merge(a: &[Term], b: &[Term], sign: i32) -> SmallVec<[Term; 4]> {
    let mut out: SmallVec<[Term; 4]> = SmallVec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    let signed = |t: &Term| Term { by: t.by.wrapping_mul(sign), ..t.clone() };
    while i < a.len() && j < b.len() {
        match (a[i].order, &a[i].factors).cmp(&(b[j].order, &b[j].factors)) {
            std::cmp::Ordering::Less => {
                out.push(a[i].clone());
                i += 1;
            }
            std::cmp::Ordering::Greater => {
                out.push(signed(&b[j]));
                j += 1;
            }
            std::cmp::Ordering::Equal => {
                let by = a[i].by.wrapping_add(b[j].by.wrapping_mul(sign));
                if by != 0 {
                    out.push(Term { by, ..a[i].clone() });
                }
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    out.extend(a[i..].iter().cloned());
    out.extend(b[j..].iter().map(signed));
    out
}

impl Values {
    /// A value as a sum.
    pub(crate) fn as_sum(&self, id: ValueId) -> Rc<Sum> {
        let node = self.node(id);
        match &node.kind {
            Kind::Sum(sum) => sum.clone(),
            Kind::Const(c) => Rc::new(Sum { terms: SmallVec::new(), constant: c.bits as i32 }),
            _ => {
                let term = Term { order: (node.width > 1, node.level), factors: smallvec![id], by: 1 };
                Rc::new(Sum { terms: smallvec![term], constant: 0 })
            }
        }
    }

    /// The value of a sum.
    pub(crate) fn sum(&mut self, sum: Sum) -> ValueId {
        match sum.terms.as_slice() {
            [] => self.int(sum.constant.into()),
            [Term { factors, by: 1, .. }] if sum.constant == 0 && factors.len() == 1 => factors[0],
            terms => {
                let (mut width, mut level) = (1, 0);
                let constant = i64::from(sum.constant);
                // What is no index can wrap: data, steps that no tensor has, and what is too large by literals alone.
                let (mut range, mut apart) = ((constant, constant), (constant, constant));
                for term in terms {
                    let by = i64::from(term.by);
                    let (mut of, mut data, mut open) = ((by, by), by.abs() >= LARGE_STEP, false);
                    for factor in &term.factors {
                        let node = self.node(*factor);
                        (width, level) = (width.max(node.width), level.max(node.level));
                        of = product(of, node.range);
                        data |= node.data;
                        open |= node.range.1 >= SIZE.1;
                    }
                    range = plus(range, of);
                    if data || !open {
                        apart = plus(apart, of);
                    }
                }
                let range = if apart.0 < ANY.0 || apart.1 > ANY.1 { ANY } else { range };
                self.add(Kind::Sum(Rc::new(sum)), DType::I32, width, level, range)
            }
        }
    }

    pub(crate) fn plus(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_int(a), self.as_int(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.combined(Arithmetic::Plus, a, b),
        }
    }

    pub(crate) fn minus(&mut self, a: ValueId, b: ValueId) -> ValueId {
        if self.as_int(b) == Some(0) { a } else { self.combined(Arithmetic::Minus, a, b) }
    }

    /// Combines two values, as often as that is asked for, once.
    fn combined(&mut self, by: Arithmetic, a: ValueId, b: ValueId) -> ValueId {
        if let Some(known) = self.combined.get(&(by, a, b)) {
            return *known;
        }
        let value = match by {
            Arithmetic::Plus => self.combine(a, b, 1),
            Arithmetic::Minus => self.combine(a, b, -1),
            Arithmetic::Times => self.product(a, b),
            Arithmetic::Over(by) => self.quotient(a, by),
        };
        self.combined.insert((by, a, b), value);
        value
    }

    fn combine(&mut self, a: ValueId, b: ValueId, sign: i32) -> ValueId {
        let (a, b) = (self.as_sum(a), self.as_sum(b));
        let terms = merge(&a.terms, &b.terms, sign);
        self.sum(Sum { terms, constant: a.constant.wrapping_add(b.constant.wrapping_mul(sign)) })
    }

    pub(crate) fn times(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x @ (0 | 1)), _) => self.scaled(b, x as i32),
            (_, Some(y @ (0 | 1))) => self.scaled(a, y as i32),
            _ => self.combined(Arithmetic::Times, a, b),
        }
    }

    fn product(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), _) => return self.scaled(b, x as i32),
            (_, Some(y)) => return self.scaled(a, y as i32),
            _ => {}
        }
        let (x, y) = (self.as_sum(a), self.as_sum(b));
        if (x.terms.len() + 1) * (y.terms.len() + 1) > TERMS {
            return self.apply(Op::Binary(Binary::Mul), &[a, b]);
        }
        self.multiplied_out(&x, &y)
    }

    /// A value times a literal.
    pub(crate) fn scaled(&mut self, a: ValueId, by: i32) -> ValueId {
        match by {
            0 => self.int(0),
            1 => a,
            _ => {
                let sum = self.as_sum(a);
                let mut terms = sum.terms.clone();
                terms.iter_mut().for_each(|t| t.by = t.by.wrapping_mul(by));
                terms.retain(|t| t.by != 0);
                self.sum(Sum { terms, constant: sum.constant.wrapping_mul(by) })
            }
        }
    }

    fn multiplied_out(&mut self, x: &Sum, y: &Sum) -> ValueId {
        let constant = |c: i32| Term { order: (false, 0), factors: SmallVec::new(), by: c };
        let all = |s: &Sum| s.terms.iter().cloned().chain((s.constant != 0).then(|| constant(s.constant))).collect::<Vec<_>>();
        let mut total = Sum::default();
        for a in all(x) {
            for b in all(y) {
                let mut factors = a.factors.clone();
                factors.extend_from_slice(&b.factors);
                factors.sort_unstable();
                let by = a.by.wrapping_mul(b.by);
                if factors.is_empty() {
                    total.constant = total.constant.wrapping_add(by);
                } else if by != 0 {
                    let order = (a.order.0 || b.order.0, a.order.1.max(b.order.1));
                    total.terms = merge(&total.terms, &[Term { order, factors, by }], 1);
                }
            }
        }
        self.sum(total)
    }

    /// Whether it is a multiple of a literal, by its terms' factors.
    pub(crate) fn is_multiple(&self, id: ValueId, of: i32) -> bool {
        match &self.node(id).kind {
            _ if of == 1 => true,
            Kind::Const(c) => (c.bits as i32) % of == 0,
            Kind::Sum(sum) => sum.constant % of == 0 && sum.terms.iter().all(|t| t.by % of == 0),
            _ => false,
        }
    }

    /// The quotient by a literal of which it is a multiple.
    pub(crate) fn divided(&mut self, id: ValueId, by: i32) -> ValueId {
        if by == 1 { id } else { self.combined(Arithmetic::Over(by), id, id) }
    }

    fn quotient(&mut self, id: ValueId, by: i32) -> ValueId {
        let sum = self.as_sum(id);
        let mut terms = sum.terms.clone();
        terms.iter_mut().for_each(|t| t.by /= by);
        self.sum(Sum { terms, constant: sum.constant / by })
    }

    /// How it depends on the lane.
    pub(crate) fn by_lane(&mut self, id: ValueId) -> ByLane {
        if self.width(id) == 1 {
            return ByLane::Uniform;
        }
        if let Some(known) = self.by_lane.get(&id) {
            return *known;
        }
        let found = self.find_by_lane(id);
        self.by_lane.insert(id, found);
        found
    }

    fn find_by_lane(&mut self, id: ValueId) -> ByLane {
        let sum = self.as_sum(id);
        let vectors: Vec<&Term> = sum.terms.iter().filter(|t| t.order.0).collect();
        let [Term { factors, by, .. }] = vectors.as_slice() else { return ByLane::Other };
        match factors.as_slice() {
            [one] if matches!(self.node(*one).kind, Kind::Lane(_)) => {
                let terms = sum.terms.iter().filter(|t| !t.order.0).cloned().collect();
                let (step, base) = (*by, Sum { terms, constant: sum.constant });
                ByLane::Linear { base: self.sum(base), step }
            }
            _ => ByLane::Other,
        }
    }

    /// `floor(a / b)`, for `b` at least 1.
    pub(crate) fn floor_div(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_int(a), self.as_int(b)) {
            (_, Some(1)) | (Some(0), _) => return a,
            (Some(x), Some(y)) if y > 0 => return self.int(x.div_euclid(y)),
            _ => {}
        }
        let (whole, rest) = self.by_divisor(a, b);
        if self.below(rest, b) {
            return whole;
        }
        let quotient = self.apply(Op::Binary(Binary::FloorDiv), &[rest, b]);
        self.plus(whole, quotient)
    }

    /// `a - floor(a / b) * b`, for `b` at least 1.
    pub(crate) fn floor_mod(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_int(a), self.as_int(b)) {
            (_, Some(1)) => return self.int(0),
            (Some(0), _) => return a,
            (Some(x), Some(y)) if y > 0 => return self.int(x.rem_euclid(y)),
            _ => {}
        }
        let (_, rest) = self.by_divisor(a, b);
        if self.below(rest, b) { rest } else { self.apply(Op::Binary(Binary::FloorMod), &[rest, b]) }
    }

    /// `a` as `whole * b + rest`, where every term of `a` that `b` divides went into `whole`.
    fn by_divisor(&mut self, a: ValueId, b: ValueId) -> (ValueId, ValueId) {
        let (sum, divisor) = (self.as_sum(a), self.as_sum(b));
        let (by, factors): (i32, &[ValueId]) = match (divisor.terms.as_slice(), divisor.constant) {
            ([], c) => (c, &[]),
            ([term], 0) => (term.by, &term.factors),
            _ => return (self.int(0), a),
        };
        if by <= 0 {
            return (self.int(0), a);
        }
        let constant = if factors.is_empty() { sum.constant.div_euclid(by) } else { 0 };
        let rest_constant = if factors.is_empty() { sum.constant.rem_euclid(by) } else { sum.constant };
        let (mut whole, mut rest) =
            (Sum { terms: SmallVec::new(), constant }, Sum { terms: SmallVec::new(), constant: rest_constant });
        for term in &sum.terms {
            match without(&term.factors, factors) {
                Some(left) if term.by % by == 0 => {
                    let quotient = term.by / by;
                    if left.is_empty() {
                        whole.constant = whole.constant.wrapping_add(quotient);
                    } else {
                        let order = self.order(&left);
                        whole.terms = merge(&whole.terms, &[Term { order, factors: left, by: quotient }], 1);
                    }
                }
                _ => rest.terms.push(term.clone()),
            }
        }
        (self.sum(whole), self.sum(rest))
    }

    /// Where a product stands among a sum's terms.
    pub(crate) fn order(&self, factors: &[ValueId]) -> (bool, u32) {
        let nodes = || factors.iter().map(|f| self.node(*f));
        (nodes().any(|n| n.width > 1), nodes().map(|n| n.level).max().unwrap_or(0))
    }

    /// Whether `0 <= a < b` for certain.
    fn below(&mut self, a: ValueId, b: ValueId) -> bool {
        self.node(a).range.0 >= 0 && self.node(a).range.1 < self.node(b).range.0
    }

    /// The smaller or the larger of two.
    pub(crate) fn extreme(&mut self, op: Binary, a: ValueId, b: ValueId) -> ValueId {
        let (low, high) = self.gap(a, b).unwrap_or((i64::MIN, i64::MAX));
        match op {
            _ if a == b => a,
            Binary::Min if high <= 0 => a,
            Binary::Min if low >= 0 => b,
            Binary::Max if low >= 0 => a,
            Binary::Max if high <= 0 => b,
            _ => self.apply(Op::Binary(op), &[a, b]),
        }
    }

    /// `a < b` of indices.
    pub(crate) fn less(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match self.gap(b, a) {
            Some((low, _)) if low > 0 => self.boolean(true),
            Some((_, high)) if high <= 0 => self.boolean(false),
            _ => self.apply(Op::Compare(Compare::Lt), &[a, b]),
        }
    }

    /// The range of `a - b` as whole numbers, if something is known of both. Values can be data, whose difference wraps: then it
    /// is no difference of the two that 32 bits hold.
    fn gap(&mut self, a: ValueId, b: ValueId) -> Option<(i64, i64)> {
        let (of_a, of_b) = (self.node(a).range, self.node(b).range);
        if of_a == ANY || of_b == ANY {
            return None;
        }
        let apart = (of_a.0.saturating_sub(of_b.1), of_a.1.saturating_sub(of_b.0));
        if apart.0 < i64::from(i32::MIN) || apart.1 > i64::from(i32::MAX) {
            return Some(apart);
        }
        let difference = self.minus(a, b);
        Some(self.node(difference).range)
    }
}

/// The factors left when some are taken out; `None` if they are not all there.
fn without(factors: &[ValueId], out: &[ValueId]) -> Option<SmallVec<[ValueId; 2]>> {
    let mut left: SmallVec<[ValueId; 2]> = SmallVec::from_slice(factors);
    for factor in out {
        let at = left.iter().position(|f| f == factor)?;
        left.remove(at);
    }
    Some(left)
}
