//! Values: the type check of expressions.

mod bits;
mod euclid;
mod literals;
pub(super) mod maths;
mod narrow;
mod positions;
mod powers;

pub use literals::literal;

use super::names::{Callee, Symbol};
use super::types::{article, common};
use super::{Checked, Checker, Poisoned};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Compare, Const, Expr as Node, ExprId, Unary};
use crate::syntax::Name;
use crate::syntax::expr::{BinaryOp, Block, Expr, ExprKind, Let};
use positions::as_operand;
use std::rc::Rc;
use tilewright_launch::DType;

/// The maximum depth of a value in a `let`. It is limited, because recursive walks over values run on the stack of rustc.
pub(super) const DEEPEST: u32 = 512;

impl Checker<'_> {
    /// Checks a value. Literals without a type take the wanted type. Other values have their own type, which the caller compares.
    pub(super) fn value(&mut self, e: &Expr, wanted: Option<DType>) -> Checked<ExprId> {
        match &e.kind {
            ExprKind::Int { .. } | ExprKind::Float { .. } => self.number(e, false, wanted),
            ExprKind::Bool(b) => Ok(self.program.exprs.constant(Const { dtype: DType::Bool, bits: u32::from(*b) })),
            ExprKind::Name(name) => self.named(name, e.span, wanted),
            ExprKind::Path(names) => self.path(names, e.span),
            ExprKind::Index { tensor, outside, index } => self.read(e.span, tensor, outside, index),
            ExprKind::Method { receiver, name, args } => self.method(e.span, receiver, name, args, wanted),
            ExprKind::Call { function, args } => self.call(e.span, function, args, wanted),
            ExprKind::Neg(a) => self.negate(e, a, wanted),
            ExprKind::Not(a) => self.not(a, wanted),
            ExprKind::Binary(op, at, a, b) => self.binary(*op, *at, a, b, wanted),
            ExprKind::Compare(op, at, a, b) => self.comparison(*op, *at, a, b),
            ExprKind::Cast(a, to) => self.cast(a, to),
            ExprKind::If { cond, then, other } => self.choice(e.span, cond, then, other, wanted),
            ExprKind::Block(block) => self.block(block, wanted),
            ExprKind::Reduce(reduce) => self.reduce(reduce, e.span, wanted),
            // The parser reads a closure only as the value of a `let`.
            ExprKind::Closure(_) => Err(Poisoned),
            ExprKind::Array(_) => self.fail(
                Error::new(e.span, "an array is not a value").help("give it a name and a type: `const W: f32[2] = [1.0, 2.0];`"),
            ),
        }
    }

    /// Checks a value, which must have this type.
    pub(super) fn value_as(&mut self, e: &Expr, dtype: DType) -> Checked<ExprId> {
        let id = self.value(e, Some(dtype))?;
        self.has_type(e, id, dtype)
    }

    /// Checks that a value has this type.
    pub(super) fn has_type(&mut self, e: &Expr, id: ExprId, dtype: DType) -> Checked<ExprId> {
        let found = self.program.exprs.dtype(id);
        if found == dtype {
            return Ok(id);
        }
        let error = Error::new(e.span, format!("expected {}, found {}", article(dtype), article(found)));
        self.fail(error.help(conversion(e, found, dtype)))
    }

    fn named(&mut self, name: &str, span: SpanId, wanted: Option<DType>) -> Checked<ExprId> {
        match self.find(name, span, "value")? {
            Symbol::Size(id) | Symbol::Scalar(id) | Symbol::Axis(id) | Symbol::Value(id) => Ok(id),
            Symbol::Literal(literal) => {
                let here = std::mem::replace(&mut self.names, literal.names.clone());
                let value = self.value(&literal.value, wanted);
                self.names = here;
                value
            }
            Symbol::Function(callee) => {
                let params: Vec<&str> = callee.function().params.iter().map(|param| param.name.as_str()).collect();
                let error = Error::new(span, format!("`{name}` is {}, not a value", Symbol::Function(callee.clone()).what()));
                self.fail(error.help(format!("call it: `{name}({})`", params.join(", "))))
            }
            Symbol::Tensor(buffer) => {
                let rank = self.program.buffers[buffer].shape.len();
                let indices = ["i", "j", "k", "l", "m", "n", "o", "p"].get(..rank).unwrap_or_default().join(", ");
                let error = Error::new(span, format!("`{name}` is a tensor, not a value"));
                self.fail(error.help(format!("read an element of it: `{name}[{indices}]`")))
            }
            Symbol::Dtype(dtype) => self.fail(Error::new(span, format!("`{name}` is a dtype, here `{dtype}`, not a value"))),
            Symbol::Poisoned => Err(Poisoned),
        }
    }

    /// Checks values that must have the same type. Values that are not literals determine it; `wanted` is only for literals. `what`
    /// names the operation in the error.
    pub(super) fn uniform(&mut self, what: &str, span: SpanId, parts: &[&Expr], wanted: Option<DType>) -> Checked<Vec<ExprId>> {
        let flexible: Vec<Option<bool>> = parts.iter().map(|part| self.flexible(part)).collect();
        let mut ids: Vec<Option<Checked<ExprId>>> = parts.iter().map(|_| None).collect();
        // Values with their own type come first.
        for (n, part) in parts.iter().enumerate() {
            if flexible[n].is_none() {
                ids[n] = Some(self.value(part, wanted));
            }
        }
        let mut known: Option<(DType, &Expr)> = None;
        for (part, id) in parts.iter().zip(&ids) {
            let Some(Ok(id)) = id else { continue };
            let found = self.program.exprs.dtype(*id);
            let (first, other) = *known.get_or_insert((found, part));
            if as_operand(found) != as_operand(first) {
                let error = Error::new(span, format!("{what} of {} and {}", article(first), article(found)));
                return self.fail(converted(error, (other, first), (part, found)));
            }
        }
        if ids.iter().flatten().any(|id| id.is_err()) {
            return Err(Poisoned);
        }
        let default = if flexible.contains(&Some(true)) { DType::F32 } else { DType::I32 };
        let dtype = known.map(|(dtype, _)| as_operand(dtype)).or(wanted).unwrap_or(default);
        let ids: Vec<Checked<ExprId>> =
            parts.iter().zip(ids).map(|(part, id)| id.unwrap_or_else(|| self.value(part, Some(dtype)))).collect();
        ids.into_iter().collect()
    }

    fn negate(&mut self, e: &Expr, a: &Expr, wanted: Option<DType>) -> Checked<ExprId> {
        let value = match &a.kind {
            ExprKind::Int { .. } | ExprKind::Float { .. } => return self.number(a, true, wanted),
            _ => self.value(a, wanted)?,
        };
        self.computes("`-`", e.span, &[(a, value)])?;
        let dtype = self.program.exprs.dtype(value);
        if !dtype.is_float() && !dtype.is_signed_int() {
            return self.fail(Error::new(e.span, format!("there is no `-` of {}", article(dtype))));
        }
        if self.is_index(value) {
            let zero = self.program.exprs.int(0);
            return Ok(self.program.exprs.difference(zero, value));
        }
        Ok(self.program.exprs.unary(Unary::Neg, value))
    }

    fn not(&mut self, a: &Expr, wanted: Option<DType>) -> Checked<ExprId> {
        let value = self.value(a, wanted)?;
        self.computes("`!`", a.span, &[(a, value)])?;
        let dtype = self.program.exprs.dtype(value);
        if dtype.is_float() {
            return self.fail(Error::new(a.span, format!("there is no `!` of {}", article(dtype))));
        }
        Ok(self.program.exprs.unary(Unary::Not, value))
    }

    fn binary(&mut self, op: BinaryOp, at: SpanId, a: &Expr, b: &Expr, wanted: Option<DType>) -> Checked<ExprId> {
        match op {
            BinaryOp::And | BinaryOp::Or => return self.logical(op, a, b),
            BinaryOp::Shl | BinaryOp::Shr => return self.shift(op, at, a, b, wanted),
            _ => {}
        }
        let ids = self.uniform(&format!("`{}`", op.symbol()), at, &[a, b], wanted)?;
        let [left, right] = ids[..] else { return Err(Poisoned) };
        self.computes(&format!("`{}`", op.symbol()), at, &[(a, left), (b, right)])?;
        let (a, b) = (left, right);
        let dtype = self.program.exprs.dtype(a);
        let bitwise = matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
        if (bitwise && dtype.is_float()) || (!bitwise && dtype == DType::Bool) {
            let error = Error::new(at, format!("there is no `{}` of {}", op.symbol(), article(dtype)));
            return self.fail(error.maybe_help((!bitwise).then(|| "for truth values, use `&&`, `||`, `^` and `!`".into())));
        }
        let indices = self.is_index(a) && self.is_index(b);
        let op = op.of_sizes().filter(|_| indices).unwrap_or(op.operation());
        if matches!(op, Binary::FloorDiv | Binary::FloorMod) {
            self.divisor(b, at)?;
        }
        if indices {
            self.no_overflow(op, a, b, at)?;
        }
        Ok(self.program.exprs.binary(op, a, b))
    }

    /// Checks `&&` and `||`. The right side is evaluated only if the left side does not determine the result.
    fn logical(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Checked<ExprId> {
        let left = self.value_as(a, DType::Bool);
        if let Ok(left) = left {
            self.definition.conditions.push((left, op == BinaryOp::And));
        }
        let right = self.value_as(b, DType::Bool);
        if left.is_ok() {
            self.definition.conditions.pop();
        }
        let (left, right) = (left?, right?);
        Ok(self.program.exprs.binary(op.operation(), left, right))
    }

    fn shift(&mut self, op: BinaryOp, at: SpanId, a: &Expr, b: &Expr, wanted: Option<DType>) -> Checked<ExprId> {
        let (value, count) = (self.value(a, wanted), self.value(b, None));
        let (value, count) = (value?, count?);
        self.computes(&format!("`{}`", op.symbol()), at, &[(a, value), (b, count)])?;
        let exprs = &self.program.exprs;
        let dtype = exprs.dtype(value);
        if let Some(wrong) = [dtype, exprs.dtype(count)].into_iter().find(|d| !d.is_int()) {
            return self.fail(Error::new(at, format!("there is no `{}` of {}", op.symbol(), article(wrong))));
        }
        let count = if exprs.dtype(count) == dtype { count } else { exprs.cast(dtype, count) };
        if self.is_index(value)
            && let Some((op, power)) = exprs.as_int(count).and_then(|count| op.of_shift(count))
        {
            match exprs.as_int(value) {
                Some(value) if op == BinaryOp::Mul => return self.small(i128::from(value) * i128::from(power), at),
                _ if op == BinaryOp::Div => return Ok(exprs.binary(Binary::FloorDiv, value, exprs.int(power))),
                // `i << 2` wraps if it overflows, and a product of indices may not.
                _ => {}
            }
        }
        let count = narrow::count(exprs, count);
        Ok(exprs.binary(op.operation(), value, count))
    }

    fn comparison(&mut self, op: Compare, at: SpanId, a: &Expr, b: &Expr) -> Checked<ExprId> {
        let ids = self.uniform(&format!("`{}`", op.symbol()), at, &[a, b], None)?;
        let [left, right] = ids[..] else { return Err(Poisoned) };
        if [left, right].iter().all(|side| self.program.exprs.dtype(*side) == DType::I64) {
            let error = Error::new(at, format!("there is no `{}` of two `i64`", op.symbol()));
            let error = error.note("each is the nearest number of 32 bits, so different numbers could be equal");
            let (a, b) = (a.short_operand(), b.short_operand());
            return self.fail(error.help(format!("compare those numbers: `{a} as i32 {} {b} as i32`", op.symbol())));
        }
        let (a, b) = (self.position(left), self.position(right));
        if self.program.exprs.dtype(a) == DType::Bool {
            // A comparison of bools is a bitwise operation.
            let differ = self.program.exprs.binary(Binary::Xor, a, b);
            return match op {
                Compare::Ne => Ok(differ),
                Compare::Eq => Ok(self.program.exprs.unary(Unary::Not, differ)),
                _ => self.fail(Error::new(at, "bools cannot be ordered").help("use `&&`, `||`, `==` and `!=`")),
            };
        }
        Ok(self.program.exprs.compare(op, a, b))
    }

    fn cast(&mut self, a: &Expr, to: &Name) -> Checked<ExprId> {
        let dtype = self.dtype(to);
        // A literal takes the type that it is converted to.
        let wanted = match (self.flexible(a), &dtype) {
            (Some(float), Ok(to)) if to.is_float() || (!float && to.is_int()) => Some(*to),
            _ => None,
        };
        let value = self.value(a, wanted)?;
        let (from, to_dtype) = (self.program.exprs.dtype(value), dtype?);
        if to_dtype == DType::Bool && from != DType::Bool {
            return self.fail(Error::new(a.span, format!("`{from}` cannot be converted to `bool`")).help(conversion(
                a,
                from,
                DType::Bool,
            )));
        }
        if from == DType::Bool && to_dtype.is_float() {
            let error = Error::new(a.span, format!("`bool` cannot be converted to `{to_dtype}`"));
            return self.fail(error.help(conversion(a, from, to_dtype)));
        }
        self.cast_of_position(a, value, to_dtype)?;
        Ok(self.program.exprs.cast(to_dtype, value))
    }

    fn choice(&mut self, span: SpanId, cond: &Expr, then: &Block, other: &Block, wanted: Option<DType>) -> Checked<ExprId> {
        let cond = self.value_as(cond, DType::Bool);
        let soft = |c: &Self, b: &Block| b.lets.is_empty() && c.flexible(&b.value).is_some();
        // As for two operands, the branch with its own type determines the type of the other.
        let swap = soft(self, then) && !soft(self, other);
        let (first, second) = if swap { (other, then) } else { (then, other) };
        let one = self.branch(first, &cond, !swap, wanted);
        let known = one.as_ref().ok().map(|id| self.program.exprs.dtype(*id));
        let two = self.branch(second, &cond, swap, known.or(wanted));
        let (cond, one, two) = (cond?, one?, two?);
        let (yes, no) = if swap { (two, one) } else { (one, two) };
        let (a, b) = (self.program.exprs.dtype(yes), self.program.exprs.dtype(no));
        if a != b {
            let error = Error::new(span, format!("the branches have different dtypes, `{a}` and `{b}`"));
            return self.fail(converted(error, (&then.value, a), (&other.value, b)));
        }
        Ok(self.program.exprs.select(cond, yes, no))
    }

    /// Checks the value of a block that counts only where the condition has this value.
    pub(in crate::algorithm) fn branch(
        &mut self,
        block: &Block,
        cond: &Checked<ExprId>,
        holds: bool,
        wanted: Option<DType>,
    ) -> Checked<ExprId> {
        if let Ok(cond) = cond {
            self.definition.conditions.push((*cond, holds));
        }
        let value = self.block(block, wanted);
        if cond.is_ok() {
            self.definition.conditions.pop();
        }
        value
    }

    /// Checks the value of a block.
    pub(super) fn block(&mut self, block: &Block, wanted: Option<DType>) -> Checked<ExprId> {
        let scope = self.names.enter();
        for bound in &block.lets {
            if self.bind(bound).is_err() {
                self.poison(&bound.name);
            }
        }
        let value = self.value(&block.value, wanted);
        self.names.leave(scope);
        value
    }

    /// Declares the name of a `let`.
    pub(super) fn bind(&mut self, bound: &Let) -> Checked<()> {
        let symbol = self.meaning(bound)?;
        self.declare(&bound.name, symbol)
    }

    /// Returns the meaning of the name of a `let`.
    pub(super) fn meaning(&mut self, bound: &Let) -> Checked<Symbol> {
        let value = match (&bound.dtype, &bound.value.kind) {
            (_, ExprKind::Closure(function)) => return Ok(Symbol::Function(Callee::Closure(function.clone(), self.names.clone()))),
            (Some(name), _) => {
                let dtype = self.dtype(name)?;
                self.value_as(&bound.value, dtype)?
            }
            (None, _) => match self.short_literal(&bound.value) {
                Some(literal) => return Ok(Symbol::Literal(Rc::new(literal))),
                None => self.value(&bound.value, None)?,
            },
        };
        if self.program.exprs.depth(value) > DEEPEST {
            let error = Error::new(bound.name.span, format!("`{}` is computed in more than {DEEPEST} steps", bound.name));
            return self.fail(error.help("define a part of it as an intermediate: `let s[i]: f32[N] = …;`"));
        }
        Ok(Symbol::Value(value))
    }

    /// True if a value is an index: its arithmetic is exact, and `/` rounds down.
    pub(super) fn is_index(&self, id: ExprId) -> bool {
        self.program.exprs.is_index(id)
    }

    /// Checks that arithmetic on literals fits in 32 bits, because its result is a literal.
    fn no_overflow(&mut self, op: Binary, a: ExprId, b: ExprId, at: SpanId) -> Checked<()> {
        let exprs = &self.program.exprs;
        let Some(value) = exprs.as_int(a).zip(exprs.as_int(b)).and_then(|(a, b)| op.of_ints(a, b)) else { return Ok(()) };
        self.small(value, at).map(drop)
    }

    /// Makes sure that a divisor of indices is at least 1. This is proved, or checked at launch if only dims determine it. A condition could
    /// exclude the sizes for which it is 0, so under a condition it is proved.
    pub(super) fn divisor(&mut self, divisor: ExprId, at: SpanId) -> Checked<()> {
        if let Some(value) = self.program.exprs.as_int(divisor) {
            if value >= 1 {
                return Ok(());
            }
            let error = Error::new(at, format!("axes and dims cannot be divided by {value}"));
            return self.fail(error.help("the divisor must be at least 1"));
        }
        if self.at_least_one(divisor) {
            return Ok(());
        }
        let is_of_dims = |e: &Node| matches!(e, Node::Dim(_) | Node::Const(_) | Node::Binary(..));
        if self.definition.conditions.is_empty() && !self.program.exprs.any(divisor, &mut |e| !is_of_dims(e)) {
            self.at_least(divisor, 1, at);
            return Ok(());
        }
        let shown = super::bounds::show(&self.program, divisor);
        let error = Error::new(at, format!("cannot prove that the divisor `{shown}` is at least 1"));
        let error = error.note("the divisor of axes and dims must be at least 1, and the quotient is rounded down");
        self.fail(error.help("divide by a number, a parameter, or a dim that is the extent of an axis here"))
    }
}

/// Returns the text that converts a value to the dtype `wanted`.
fn conversion(e: &Expr, found: DType, wanted: DType) -> String {
    let zero = |dtype: DType| if dtype.is_float() { "0.0" } else { "0" };
    match (wanted, found) {
        (DType::Bool, _) => format!("compare it: write `{} != {}`", e.short_operand(), zero(found)),
        (_, DType::Bool) => {
            let one = if wanted.is_float() { "1.0" } else { "1" };
            format!("choose by it: write `if {} {{ {one} }} else {{ {} }}`", e.short(), zero(wanted))
        }
        _ if found.is_float() && wanted.is_int() => {
            format!("write `{} as {wanted}`, if its fraction is to be dropped", e.short_operand())
        }
        _ if found == DType::I64 && wanted != DType::I32 => format!("write `{} as i32 as {wanted}`", e.short_operand()),
        _ if wanted == DType::I64 && !DType::I32.has_all_of(found) => format!("write `{} as i32 as i64`", e.short_operand()),
        _ => format!("write `{} as {wanted}`", e.short_operand()),
    }
}

/// Adds to an error of two values of different dtypes the casts that make their dtypes equal, with the least loss.
fn converted(error: Error, (a, of_a): (&Expr, DType), (b, of_b): (&Expr, DType)) -> Error {
    if DType::I64 == of_a || DType::I64 == of_b {
        let (e, other) = if of_a == DType::I64 { (a, of_b) } else { (b, of_a) };
        let then = if other == DType::I32 { String::new() } else { format!(" as {other}") };
        return error.help(format!("write `{} as i32{then}`", e.short_operand()));
    }
    let cast = |e: &Expr, to: DType| format!("`{} as {to}`", e.short_operand());
    match (of_a, of_b) {
        (DType::Bool, other) => error.help(conversion(a, DType::Bool, other)),
        (other, DType::Bool) => error.help(conversion(b, DType::Bool, other)),
        _ => match common(of_a, of_b) {
            Some(to) => {
                let casts: Vec<String> =
                    [(a, of_a), (b, of_b)].into_iter().filter(|(_, of)| *of != to).map(|(e, _)| cast(e, to)).collect();
                error.help(format!("write {}", casts.join(" and ")))
            }
            None => {
                let error = error
                    .note("a cast between them keeps the bits: a negative number, or a number from 2^31 on, changes its value");
                error.help(format!("write {} or {}", cast(a, of_b), cast(b, of_a)))
            }
        },
    }
}
