//! Builders of expressions, with the constant folding that keeps indices short. Arithmetic on floats is never folded or
//! reassociated, so that the kernel runs as the user wrote it.

use super::rules::{FOLDS, Folded, folded};
use super::{Binary, Compare, Const, Expr, ExprId, Exprs, Outside, Read, Unary};
use crate::ids::{AxisId, BufferId, DimId, ScalarId};
use crate::table::{Map, Set};
use tilewright_launch::DType;

/// The most parts of a short expression. Most expressions are short.
const SHORT: usize = 16;

impl Const {
    /// Returns a literal of any type from a number. Floats are rounded to nearest, and integers keep their low bits.
    pub fn number(value: f64, dtype: DType) -> Const {
        Const { dtype, bits: dtype.to_bits(value) }
    }

    /// Returns an index literal.
    pub fn index(value: i32) -> Const {
        Const { dtype: DType::I32, bits: value as u32 }
    }

    /// Returns its exact value.
    pub fn value(self) -> f64 {
        self.dtype.from_bits(self.bits)
    }
}

impl Exprs {
    /// Returns an index literal.
    pub fn int(&self, value: i64) -> ExprId {
        // A literal has 32 bits. Larger numbers are refused where the user's literals are read.
        self.constant(Const::index(value as i32))
    }

    /// Returns a literal.
    pub fn constant(&self, c: Const) -> ExprId {
        self.add(Expr::Const(c), c.dtype)
    }

    /// Returns a constant for a quotient of two whole numbers.
    pub fn rational(&self, numerator: i64, denominator: i64, dtype: DType) -> ExprId {
        let quotient = numerator as f64 / denominator as f64;
        let constant = Const::number(quotient, dtype);
        let rational = super::Rational { constant, numerator, denominator };
        let mut rationals = self.rationals.borrow_mut();
        // A quotient by a power of two is exact in f64.
        let is_exact = denominator.unsigned_abs().is_power_of_two() && constant.value() == quotient;
        if !is_exact && !rationals.contains(&rational) {
            rationals.push(rational);
        }
        self.constant(constant)
    }

    /// Returns the constants that stand for quotients.
    pub fn rationals(&self) -> Vec<super::Rational> {
        self.rationals.borrow().clone()
    }

    /// Returns an axis's value.
    pub fn axis(&self, axis: AxisId) -> ExprId {
        self.add(Expr::Axis(axis), DType::I32)
    }

    /// Returns a dim's value.
    pub fn dim(&self, dim: DimId) -> ExprId {
        self.add(Expr::Dim(dim), DType::I32)
    }

    /// Returns a scalar argument.
    pub fn scalar(&self, scalar: ScalarId, dtype: DType) -> ExprId {
        self.add(Expr::Scalar(scalar), dtype)
    }

    /// Returns a read that is proved in bounds.
    pub fn read(&self, buffer: BufferId, dtype: DType, index: impl IntoIterator<Item = ExprId>) -> ExprId {
        self.add(Expr::Read(Read { buffer, index: index.into_iter().collect(), outside: Outside::Never }), dtype)
    }

    /// Returns the value of an index literal.
    pub fn as_int(&self, id: ExprId) -> Option<i64> {
        match self.get(id) {
            Expr::Const(c) if c.dtype == DType::I32 => Some(i64::from(c.bits as i32)),
            _ => None,
        }
    }

    /// Returns a function of one value.
    pub fn unary(&self, op: Unary, a: ExprId) -> ExprId {
        let dtype = op.result(self.dtype(a));
        match (op, self.as_int(a)) {
            (Unary::Neg, Some(v)) if v != i64::from(i32::MIN) => self.int(-v),
            _ => self.add(Expr::Unary(op, a), dtype),
        }
    }

    /// Returns a function of two values. Index arithmetic is folded.
    pub fn binary(&self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let dtype = self.dtype(a);
        match self.fold(op, a, b) {
            Some(id) => id,
            None => self.add(Expr::Binary(op, a, b), dtype),
        }
    }

    /// Folds `i32` arithmetic if an operand is known and the result fits in a literal.
    fn fold(&self, op: Binary, a: ExprId, b: ExprId) -> Option<ExprId> {
        let literals = [self.as_int(a), self.as_int(b)];
        if let [Some(x), Some(y)] = literals {
            let value = op.exact(x, y).filter(|value| op.is_arithmetic() && i32::try_from(*value).is_ok())?;
            return Some(self.int(value));
        }
        if let Some((op, b)) = self.positive(op, literals[1]) {
            return Some(self.binary(op, a, b));
        }
        Some(match folded(FOLDS, op, literals)? {
            Folded::Operand(n) => [a, b][n],
            Folded::Int(n) => self.int(n),
        })
    }

    /// Returns the operation that does the same with a positive literal, by [`SUB_OF_NEGATIVE`](super::rules::SUB_OF_NEGATIVE) and
    /// [`ADD_OF_NEGATIVE`](super::rules::ADD_OF_NEGATIVE), so that equal sums are written in one way.
    fn positive(&self, op: Binary, literal: Option<i64>) -> Option<(Binary, ExprId)> {
        let other = match op {
            Binary::Add => Binary::Sub,
            Binary::Sub => Binary::Add,
            _ => return None,
        };
        let number = literal.filter(|number| *number < 0).map(|number| -number)?;
        i32::try_from(number).is_ok().then(|| (other, self.int(number)))
    }

    /// Returns a sum.
    pub fn sum(&self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(Binary::Add, a, b)
    }

    /// Returns a difference.
    pub fn difference(&self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(Binary::Sub, a, b)
    }

    /// Returns a product.
    pub fn product(&self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(Binary::Mul, a, b)
    }

    /// Returns `ceil(a / b)` of indices, by [`CEIL_DIV`](super::rules::CEIL_DIV).
    pub fn ceil_div(&self, a: ExprId, b: ExprId) -> ExprId {
        let one = self.int(1);
        let less = self.difference(b, one);
        let up = self.sum(a, less);
        self.binary(Binary::FloorDiv, up, b)
    }

    /// Returns a comparison.
    pub fn compare(&self, op: Compare, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Compare(op, a, b), DType::Bool)
    }

    /// Returns a select.
    pub fn select(&self, cond: ExprId, yes: ExprId, no: ExprId) -> ExprId {
        let dtype = self.dtype(yes);
        self.add(Expr::Select(cond, yes, no), dtype)
    }

    /// Returns `a * b + c` of floats.
    pub fn mul_add(&self, a: ExprId, b: ExprId, c: ExprId) -> ExprId {
        let dtype = self.dtype(a);
        self.add(Expr::MulAdd(a, b, c), dtype)
    }

    /// Returns a conversion. Data that has the type already is not converted.
    pub fn cast(&self, to: DType, a: ExprId) -> ExprId {
        if self.dtype(a) == to && !self.is_index(a) { a } else { self.add(Expr::Cast(to, a), to) }
    }

    /// Returns the value that a factor of matrix units is loaded as: without the conversions to more bits that the units do themselves.
    pub fn widened(&self, mut value: ExprId) -> ExprId {
        while let Expr::Cast(to, from) = *self.get(value)
            && to.has_all_of(self.dtype(from))
            && to.is_float() == self.dtype(from).is_float()
            && !self.is_index(from)
        {
            value = from;
        }
        value
    }

    /// Returns a value as an index.
    pub fn as_index(&self, a: ExprId) -> ExprId {
        if self.is_index(a) { a } else { self.unary(Unary::Index, a) }
    }

    /// Replaces parts of an expression. `f` gives the replacement of a part, or `None` to replace within it.
    pub fn replace(&self, id: ExprId, f: &mut dyn FnMut(&Exprs, ExprId) -> Option<ExprId>) -> ExprId {
        self.replace_memo(id, f, &mut Map::default())
    }

    /// The expression with other values for the axes for which `f` gives one.
    pub fn with_axes(&self, id: ExprId, f: &mut dyn FnMut(AxisId) -> Option<ExprId>) -> ExprId {
        self.replace(id, &mut |exprs, part| if let Expr::Axis(axis) = *exprs.get(part) { f(axis) } else { None })
    }

    fn replace_memo(
        &self,
        id: ExprId,
        f: &mut dyn FnMut(&Exprs, ExprId) -> Option<ExprId>,
        done: &mut Map<ExprId, ExprId>,
    ) -> ExprId {
        if let Some(new) = done.get(&id) {
            return *new;
        }
        let new = match f(self, id) {
            Some(new) => new,
            None => {
                let mapped = self.get(id).clone().map(&mut |operand| self.replace_memo(operand, f, done));
                self.remade(mapped, id)
            }
        };
        done.insert(id, new);
        new
    }

    /// Rebuilds an expression, operands first. `f` takes each part once, with its new operands, and returns the expression that
    /// replaces it. If `f` returns `None`, the walk ends.
    pub(crate) fn rebuilt(
        &self,
        id: ExprId,
        done: &mut Map<ExprId, ExprId>,
        f: &mut dyn FnMut(&Exprs, Expr, ExprId) -> Option<ExprId>,
    ) -> Option<ExprId> {
        let mut open = vec![id];
        while let Some(part) = open.last().copied() {
            let before = open.len();
            if !done.contains_key(&part) {
                self.get(part).each_operand(&mut |operand| open.extend((!done.contains_key(&operand)).then_some(operand)));
            }
            if open.len() > before {
                continue;
            }
            open.pop();
            if !done.contains_key(&part) {
                let new = self.get(part).map(&mut |operand| done.get(&operand).copied().unwrap_or(operand));
                done.insert(part, f(self, new, part)?);
            }
        }
        done.get(&id).copied()
    }

    /// Returns the expression `new`, which has new operands, with index arithmetic folded.
    pub(crate) fn remade(&self, new: Expr, old: ExprId) -> ExprId {
        match new {
            Expr::Binary(op, a, b) => self.binary(op, a, b),
            Expr::Unary(op, a) => self.unary(op, a),
            other => self.add(other, self.dtype(old)),
        }
    }

    /// True if a part of the expression, itself included, satisfies `f`.
    pub fn any(&self, id: ExprId, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
        match self.size(id) as usize {
            1 => f(self.get(id)),
            2..=SHORT => self.any_of_few(id, f),
            _ => self.any_of_many(id, f),
        }
    }

    /// Does the same as [`Exprs::any`], for at most [`SHORT`] parts. For so few parts, lists are faster than a table.
    fn any_of_few(&self, id: ExprId, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let ([mut open, mut seen], mut waiting, mut known) = ([[id; SHORT]; 2], 1, 0);
        while waiting > 0 {
            waiting -= 1;
            let id = open[waiting];
            if seen[..known].contains(&id) {
                continue;
            }
            seen[known] = id;
            known += 1;
            let expr = self.get(id);
            if f(expr) {
                return true;
            }
            expr.each_operand(&mut |operand| {
                open[waiting] = operand;
                waiting += 1;
            });
        }
        false
    }

    fn any_of_many(&self, id: ExprId, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let (mut open, mut seen): (Vec<ExprId>, Set<ExprId>) = (vec![id], Set::default());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let expr = self.get(id);
            if f(expr) {
                return true;
            }
            expr.each_operand(&mut |operand| open.push(operand));
        }
        false
    }

    /// Returns all reads in the expression, including reads within indices.
    pub fn reads(&self, id: ExprId) -> Vec<Read> {
        let mut reads = Vec::new();
        self.any(id, &mut |e| {
            if let Expr::Read(read) = e {
                reads.push(read.clone());
            }
            false
        });
        reads
    }

    /// True if the expression depends on an axis that satisfies `f`.
    pub fn uses_axis(&self, id: ExprId, f: &mut dyn FnMut(AxisId) -> bool) -> bool {
        self.any(id, &mut |e| matches!(e, Expr::Axis(a) if f(*a)))
    }
}
