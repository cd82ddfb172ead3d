//! Integer sums of products in a normal form, by the laws [`SUMS`](tilewright_dsl::expr::rules::SUMS). Sums of indices are exact. Sums of
//! data, and sums with a factor that does not fit 64 bits, are modulo 2^32, as is the device's arithmetic.
//!
//! Terms are ordered by level, and vectors follow scalars, so that emission, which adds from the left, shares the partial sums of
//! outer levels. The constant comes last, because unrolled copies differ in it and share the other terms.

use super::range::Ranges;
use super::{Kind, Op, ValueId, Values};
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use tilewright_dsl::expr::rules::{
    Algebra, FLOOR_JUST_NEGATIVE, FLOOR_OF_DIGIT, FOLDS, Folded, LITERAL_QUOTIENTS, MAX_IS_FIRST, MAX_IS_SECOND, MIN_IS_FIRST,
    MIN_IS_SECOND, MOD_JUST_NEGATIVE, MOD_OF_DIGIT, Rule, folded,
};
use tilewright_dsl::expr::{Binary, Compare};
use tilewright_dsl::launch::{Bounds, DType, REACH};

/// A literal times a product of values that are not sums.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// True if it is a vector, and its level. Terms are emitted in this order.
    pub order: (bool, u32),
    /// The factors, sorted.
    pub factors: SmallVec<[ValueId; 2]>,
    /// The literal, which is not 0.
    pub by: i64,
}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The order is determined by the factors, so it is not hashed.
        self.factors.iter().for_each(|factor| factor.hash(state));
        state.write_i64(self.by);
    }
}

/// A sum of terms and a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sum {
    /// The terms, in order.
    pub terms: SmallVec<[Term; 4]>,
    /// The constant.
    pub constant: i64,
    /// True if the sum equals the value only modulo 2^32. Its quotients and divisors are then unknown.
    pub lost: bool,
}

/// How a value depends on the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByLane {
    /// It is the same in all lanes.
    Uniform,
    /// `base + step * lane`, with `base` the same in all lanes.
    Linear {
        /// The value in the first lane.
        base: ValueId,
        /// The difference between neighbouring lanes.
        step: i64,
    },
    /// It depends on the lane in another way.
    Other,
}

/// The operation that combines two values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Arithmetic {
    Plus,
    Minus,
    Times,
    /// The quotient of a value by a literal that divides it. The value is named twice.
    Over(i64),
}

/// Products of sums are not multiplied out if the sums have more terms than this in total.
const TERMS: usize = 24;

impl Sum {
    /// Returns a sum of one term.
    pub fn of(term: Term) -> Sum {
        Sum { terms: smallvec![term], ..Sum::default() }
    }

    /// Returns the sum modulo 2^32.
    fn low(mut self) -> Sum {
        self.terms.iter_mut().for_each(|term| term.by = low(term.by));
        self.terms.retain(|term| term.by != 0);
        Sum { constant: low(self.constant), lost: true, ..self }
    }

    /// Returns a multiple, modulo 2^32 if 64 bits cannot hold it.
    fn scaled(&self, by: i64) -> Sum {
        let scaled = |n: i64| n.checked_mul(by);
        let terms: Option<SmallVec<[Term; 4]>> =
            self.terms.iter().map(|term| Some(Term { by: scaled(term.by)?, ..term.clone() })).collect();
        match (terms, scaled(self.constant)) {
            (Some(mut terms), Some(constant)) => {
                terms.retain(|term| term.by != 0);
                Sum { terms, constant, lost: self.lost }
            }
            _ => {
                let terms = self.terms.iter().map(|term| Term { by: low(term.by).wrapping_mul(low(by)), ..term.clone() });
                Sum { terms: terms.collect(), constant: low(self.constant).wrapping_mul(low(by)), lost: true }.low()
            }
        }
    }

    /// Returns the sum of two sums, modulo 2^32 if 64 bits cannot hold a factor.
    fn plus(&self, other: &Sum) -> Sum {
        let mut lost = self.lost || other.lost;
        let mut add = |a: i64, b: i64| {
            a.checked_add(b).unwrap_or_else(|| {
                lost = true;
                low(a).wrapping_add(low(b))
            })
        };
        let terms = merge(&self.terms, &other.terms, &mut add);
        let constant = add(self.constant, other.constant);
        let sum = Sum { terms, constant, lost };
        if lost { sum.low() } else { sum }
    }
}

/// Returns the low 32 bits. They suffice for sums and products ([`LOW_OF_SUM`](tilewright_dsl::expr::rules::LOW_OF_SUM),
/// [`LOW_OF_PRODUCT`](tilewright_dsl::expr::rules::LOW_OF_PRODUCT)).
fn low(n: i64) -> i64 {
    i64::from(n as i32)
}

/// Adds up two sorted lists of terms.
fn merge(a: &[Term], b: &[Term], add: &mut dyn FnMut(i64, i64) -> i64) -> SmallVec<[Term; 4]> {
    let mut out: SmallVec<[Term; 4]> = SmallVec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match (a[i].order, &a[i].factors).cmp(&(b[j].order, &b[j].factors)) {
            std::cmp::Ordering::Less => {
                out.push(a[i].clone());
                i += 1;
            }
            std::cmp::Ordering::Greater => {
                out.push(b[j].clone());
                j += 1;
            }
            std::cmp::Ordering::Equal => {
                let by = add(a[i].by, b[j].by);
                if by != 0 {
                    out.push(Term { by, ..a[i].clone() });
                }
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    out.extend(a[i..].iter().chain(&b[j..]).cloned());
    out
}

impl Values {
    /// Returns a value as a sum.
    pub(crate) fn as_sum(&self, id: ValueId) -> Rc<Sum> {
        let node = self.node(id);
        match &node.kind {
            Kind::Sum(sum) => sum.clone(),
            Kind::Const(c) => Rc::new(Sum { constant: (c.bits as i32).into(), ..Sum::default() }),
            _ => Rc::new(Sum::of(Term { order: (node.width > 1, node.level), factors: smallvec![id], by: 1 })),
        }
    }

    /// True if a sum is data.
    pub(super) fn is_data(&self, sum: &Sum) -> bool {
        sum.terms.iter().flat_map(|term| &term.factors).any(|factor| self.node(*factor).data)
    }

    /// Returns the value of a sum.
    pub fn sum(&mut self, sum: Sum) -> ValueId {
        match sum.terms.as_slice() {
            [] if !sum.lost => return self.int(sum.constant),
            [Term { factors, by: 1, .. }]
                if sum.constant == 0 && factors.len() == 1 && (!sum.lost || self.node(factors[0]).data) =>
            {
                return factors[0];
            }
            _ => {}
        }
        let (mut width, mut level, mut range) = (1, 0, Bounds::of(sum.constant));
        for term in &sum.terms {
            let mut of = Bounds::of(term.by);
            for factor in &term.factors {
                let node = self.node(*factor);
                (width, level) = (width.max(node.width), level.max(node.level));
                of = of.times(node.range);
            }
            range = range.plus(of);
        }
        let data = self.is_data(&sum);
        let (sum, range) = match (data, range.is_within(REACH)) {
            // A sum that fits 32 bits equals its value exactly.
            (true, true) => (Sum { lost: false, ..sum }, range),
            (true, false) => (sum.low(), REACH),
            (false, _) if sum.lost => (sum, Bounds::NONE),
            (false, _) => (sum, range),
        };
        self.add(Kind::Sum(Rc::new(sum)), DType::I32, width, level, range)
    }

    /// Returns the constant of an exact sum that also has terms.
    pub fn constant_part(&self, id: ValueId) -> Option<i64> {
        match &self.node(id).kind {
            Kind::Sum(sum) if !self.node(id).data && !sum.lost && !sum.terms.is_empty() => Some(sum.constant).filter(|c| *c != 0),
            _ => None,
        }
    }

    /// Returns `a + b`.
    pub fn plus(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match self.folded(FOLDS, Binary::Add, a, b) {
            Some(known) => known,
            None => self.combined(Arithmetic::Plus, a, b),
        }
    }

    /// Returns `a - b`.
    pub fn minus(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match self.folded(FOLDS, Binary::Sub, a, b) {
            Some(known) => known,
            None => self.combined(Arithmetic::Minus, a, b),
        }
    }

    /// Returns the result of an operation with a literal operand, if a rule gives it.
    fn folded(&mut self, rules: &[&Rule], op: Binary, a: ValueId, b: ValueId) -> Option<ValueId> {
        let literals = [self.as_int(a), self.as_int(b)];
        Some(match folded(rules, op, literals)? {
            Folded::Operand(n) => [a, b][n],
            Folded::Int(n) => self.int(n),
        })
    }

    /// Combines two values, and remembers the result.
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

    fn combine(&mut self, a: ValueId, b: ValueId, sign: i64) -> ValueId {
        let (a, b) = (self.as_sum(a), self.as_sum(b));
        self.sum(if sign < 0 { a.plus(&b.scaled(-1)) } else { a.plus(&b) })
    }

    pub(crate) fn times(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match self.folded(FOLDS, Binary::Mul, a, b) {
            Some(known) => known,
            None => self.combined(Arithmetic::Times, a, b),
        }
    }

    fn product(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), _) => return self.scaled(b, x),
            (_, Some(y)) => return self.scaled(a, y),
            _ => {}
        }
        let (x, y) = (self.as_sum(a), self.as_sum(b));
        // If one factor has a product that was not multiplied out, each term of the result would repeat that product.
        let repeats = |one: &Sum, other: &Sum| self.has_product(one) && other.terms.len() + usize::from(other.constant != 0) > 1;
        if (x.terms.len() + 1) * (y.terms.len() + 1) > TERMS || repeats(&x, &y) || repeats(&y, &x) {
            return self.apply(Op::Binary(Binary::Mul), &[a, b]);
        }
        self.multiplied_out(&x, &y)
    }

    /// True if a term of a sum has a factor that is a product, because it was not multiplied out.
    fn has_product(&self, sum: &Sum) -> bool {
        let is_product = |factor: &ValueId| matches!(self.node(*factor).kind, Kind::Op(Op::Binary(Binary::Mul), _));
        sum.terms.iter().flat_map(|term| &term.factors).any(is_product)
    }

    /// Multiplies a value by a literal.
    pub fn scaled(&mut self, a: ValueId, by: i64) -> ValueId {
        match by {
            0 => self.int(0),
            1 => a,
            _ => {
                let sum = self.as_sum(a).scaled(by);
                self.sum(sum)
            }
        }
    }

    fn multiplied_out(&mut self, x: &Sum, y: &Sum) -> ValueId {
        let mut total = y.scaled(x.constant);
        total.lost |= x.lost;
        for a in &x.terms {
            let mut part = Sum { lost: y.lost, ..Sum::default() };
            for b in &y.terms {
                let mut factors = a.factors.clone();
                factors.extend_from_slice(&b.factors);
                factors.sort_unstable();
                let order = (a.order.0 || b.order.0, a.order.1.max(b.order.1));
                part = part.plus(&Sum::of(Term { order, factors, by: b.by }));
            }
            if y.constant != 0 {
                part = part.plus(&Sum::of(Term { by: y.constant, ..a.clone() }));
            }
            total = total.plus(&part.scaled(a.by));
        }
        self.sum(total)
    }

    /// True if the factors of its terms show that a value is a multiple of a literal.
    pub fn is_multiple(&self, id: ValueId, of: i64) -> bool {
        match &self.node(id).kind {
            _ if of == 1 => true,
            Kind::Const(c) => i64::from(c.bits as i32) % of == 0,
            Kind::Sum(sum) => !sum.lost && sum.constant % of == 0 && sum.terms.iter().all(|t| t.by % of == 0),
            _ => false,
        }
    }

    /// Divides a value by a literal that divides it, by [`EXACT_QUOTIENT`](tilewright_dsl::expr::rules::EXACT_QUOTIENT).
    pub fn divided(&mut self, id: ValueId, by: i64) -> ValueId {
        if by == 1 { id } else { self.combined(Arithmetic::Over(by), id, id) }
    }

    fn quotient(&mut self, id: ValueId, by: i64) -> ValueId {
        let mut sum = Sum::clone(&self.as_sum(id));
        sum.terms.iter_mut().for_each(|t| t.by /= by);
        sum.constant /= by;
        self.sum(sum)
    }

    /// Returns how a value depends on the lane.
    pub fn by_lane(&mut self, id: ValueId) -> ByLane {
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
                let (step, base) = (*by, Sum { terms, ..Sum::clone(&sum) });
                ByLane::Linear { base: self.sum(base), step }
            }
            _ => ByLane::Other,
        }
    }

    /// Returns `floor(a / b)`. `b` must be at least 1.
    pub fn floor_div(&mut self, a: ValueId, b: ValueId) -> ValueId {
        if let Some(known) = self.literal_quotient(Binary::FloorDiv, a, b) {
            return known;
        }
        let (whole, rest) = self.by_divisor(a, b);
        let quotient = match self.known_quotient([&FLOOR_OF_DIGIT, &FLOOR_JUST_NEGATIVE], rest, b) {
            Some(known) => known,
            None => {
                let by = self.divisor(b);
                self.apply(Op::Binary(Binary::FloorDiv), &[rest, by])
            }
        };
        self.plus(whole, quotient)
    }

    /// Returns `a - floor(a / b) * b`. `b` must be at least 1.
    pub fn floor_mod(&mut self, a: ValueId, b: ValueId) -> ValueId {
        if let Some(known) = self.literal_quotient(Binary::FloorMod, a, b) {
            return known;
        }
        let (_, rest) = self.by_divisor(a, b);
        if let Some(known) = self.known_quotient([&MOD_OF_DIGIT, &MOD_JUST_NEGATIVE], rest, b) {
            return known;
        }
        let by = self.divisor(b);
        self.apply(Op::Binary(Binary::FloorMod), &[rest, by])
    }

    /// Returns a quotient or remainder of literals, or of one literal if a rule gives it.
    fn literal_quotient(&mut self, op: Binary, a: ValueId, b: ValueId) -> Option<ValueId> {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), Some(y)) if y > 0 => op.exact(x, y).map(|value| self.int(value)),
            _ => [FOLDS, LITERAL_QUOTIENTS].into_iter().find_map(|rules| self.folded(rules, op, a, b)),
        }
    }

    /// Returns a quotient or remainder that is known by the ranges of the operands. The divisor is at least 1 wherever it is used.
    fn known_quotient(&mut self, rules: [&Rule; 2], a: ValueId, b: ValueId) -> Option<ValueId> {
        let (of_a, of_b) = (self.node(a).range, self.node(b).range);
        let of_b = Bounds(of_b.0.max(1), of_b.1.max(1));
        let rule = rules.into_iter().find(|rule| rule.applies(&mut Ranges, &[&of_a, &of_b], |range| range.0 >= 0))?;
        rule.result(self, &[&a, &b])
    }

    /// Returns a divisor that is at least 1. The divisor is at least 1 wherever the quotient is used. But an extent is 0 if its
    /// loops do not run, and a quotient by it may be computed outside of these loops. By [`MAX_IS_FIRST`], the maximum is the divisor.
    fn divisor(&mut self, b: ValueId) -> ValueId {
        let one = self.int(1);
        self.extreme(Binary::Max, b, one)
    }

    /// Writes `a` as `whole * b + rest`, for [`FLOOR_OF_MULTIPLE`](tilewright_dsl::expr::rules::FLOOR_OF_MULTIPLE) and
    /// [`MOD_OF_MULTIPLE`](tilewright_dsl::expr::rules::MOD_OF_MULTIPLE). `whole` gets every term of `a` that `b` divides. If `b` is a
    /// literal and `a` may not fit 32 bits, it also gets the multiples of `b` in the other terms.
    fn by_divisor(&mut self, a: ValueId, b: ValueId) -> (ValueId, ValueId) {
        let (sum, divisor) = (self.as_sum(a), self.as_sum(b));
        let (by, factors): (i64, &[ValueId]) = match (divisor.terms.as_slice(), divisor.constant) {
            _ if sum.lost || divisor.lost => return (self.int(0), a),
            ([], c) => (c, &[]),
            ([term], 0) => (term.by, &term.factors),
            _ => return (self.int(0), a),
        };
        if by <= 0 {
            return (self.int(0), a);
        }
        let large = factors.is_empty() && !self.fits(a);
        let (mut whole, mut rest) = (Sum::default(), Sum::default());
        match factors {
            [] => (whole.constant, rest.constant) = (sum.constant.div_euclid(by), sum.constant.rem_euclid(by)),
            _ => rest.constant = sum.constant,
        }
        for term in &sum.terms {
            match without(&term.factors, factors) {
                Some(left) if term.by % by == 0 => {
                    let quotient = term.by / by;
                    whole = match left.is_empty() {
                        true => whole.plus(&Sum { constant: quotient, ..Sum::default() }),
                        false => whole.plus(&Sum::of(Term { order: self.order(&left), factors: left, by: quotient })),
                    };
                }
                Some(factors) if large && term.by >= by => {
                    whole = whole.plus(&Sum::of(Term { order: term.order, factors, by: term.by / by }));
                    rest.terms.push(Term { by: term.by % by, ..term.clone() });
                }
                _ => rest.terms.push(term.clone()),
            }
        }
        (self.sum(whole), self.sum(rest))
    }

    /// Returns the order of a product among a sum's terms.
    pub fn order(&self, factors: &[ValueId]) -> (bool, u32) {
        let nodes = || factors.iter().map(|f| self.node(*f));
        (nodes().any(|n| n.width > 1), nodes().map(|n| n.level).max().unwrap_or(0))
    }

    /// Returns the minimum or maximum of two values. Equal values have rules of their own,
    /// [`MIN_OF_EQUAL`](tilewright_dsl::expr::rules::MIN_OF_EQUAL) and [`MAX_OF_EQUAL`](tilewright_dsl::expr::rules::MAX_OF_EQUAL), because
    /// their range may be unknown.
    pub fn extreme(&mut self, op: Binary, a: ValueId, b: ValueId) -> ValueId {
        let gap = self.gap(a, b).unwrap_or(Bounds::NONE);
        if a == b {
            return a;
        }
        // A comparison of `a` and `b` is one of their difference and 0.
        let is_known = |rule: &&Rule| rule.applies(&mut Ranges, &[&gap, &Bounds::of(0)], |range| range.0 >= 0);
        let mut rules = [&MIN_IS_FIRST, &MIN_IS_SECOND, &MAX_IS_FIRST, &MAX_IS_SECOND].into_iter();
        let known = rules.find(|rule| rule.operation() == Some(op) && is_known(rule));
        match known.and_then(|rule| rule.result(self, &[&a, &b])) {
            Some(known) => known,
            None => self.apply(Op::Binary(op), &[a, b]),
        }
    }

    /// Returns `a < b` of indices.
    pub fn less(&mut self, a: ValueId, b: ValueId) -> ValueId {
        match self.gap(b, a) {
            Some(Bounds(low, _)) if low > 0 => self.boolean(true),
            Some(Bounds(_, high)) if high <= 0 => self.boolean(false),
            _ => self.apply(Op::Compare(Compare::Lt), &[a, b]),
        }
    }

    /// Returns the range of `a - b` as exact integers, if the ranges of both are known. The difference of data wraps. If it does not
    /// fit 32 bits, the wrapped difference does not show which of the two is larger, so the difference of the ranges is returned.
    fn gap(&mut self, a: ValueId, b: ValueId) -> Option<Bounds> {
        let (of_a, of_b) = (self.node(a).range, self.node(b).range);
        if of_a == REACH || of_b == REACH {
            return None;
        }
        let difference = of_a.minus(of_b);
        let data = self.node(a).data || self.node(b).data;
        if data && !difference.is_within(REACH) {
            return Some(difference);
        }
        let difference = self.minus(a, b);
        Some(self.node(difference).range)
    }
}

/// Terms of rules as values.
impl Algebra for Values {
    type Value = ValueId;

    fn int(&mut self, n: i64) -> Option<ValueId> {
        Some(Values::int(self, n))
    }

    fn apply(&mut self, op: Binary, a: &ValueId, b: &ValueId) -> Option<ValueId> {
        Some(match op {
            Binary::Add => self.plus(*a, *b),
            Binary::Sub => self.minus(*a, *b),
            Binary::Mul => self.times(*a, *b),
            Binary::FloorDiv => self.floor_div(*a, *b),
            Binary::FloorMod => self.floor_mod(*a, *b),
            Binary::Min | Binary::Max => self.extreme(op, *a, *b),
            _ => return None,
        })
    }

    fn compare(&mut self, by: Compare, a: &ValueId, b: &ValueId) -> Option<ValueId> {
        (by == Compare::Lt).then(|| self.less(*a, *b))
    }

    fn choose(&mut self, condition: &ValueId, yes: &ValueId, no: &ValueId) -> Option<ValueId> {
        Some(self.select(*condition, *yes, *no))
    }
}

/// Removes factors from a list. Returns `None` if the list does not contain all of them.
fn without(factors: &[ValueId], out: &[ValueId]) -> Option<SmallVec<[ValueId; 2]>> {
    let mut left: SmallVec<[ValueId; 2]> = SmallVec::from_slice(factors);
    for factor in out {
        let at = left.iter().position(|f| f == factor)?;
        left.remove(at);
    }
    Some(left)
}
