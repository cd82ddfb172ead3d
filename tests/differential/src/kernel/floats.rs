//! Values of floats. They stay small, so that f16 does not overflow. Operations with jumps (comparisons, rounding, casts to
//! integers) get only operands that a device computes exactly, because otherwise the evaluation would not have an error bound.

use super::builder::{Builder, Value};
use super::tree::{Expr, ExprKind, Type};
use tilewright_launch::DType;

/// The largest absolute value of floats.
const MOST: f64 = 64.0;

impl Builder<'_> {
    /// Generates a float.
    pub(super) fn float(&mut self, ty: Type) -> Value {
        let value = if self.burn() { self.float_node(ty) } else { self.float_leaf(ty) };
        self.bounded(value, MOST)
    }

    /// Limits a float's absolute value to `most`.
    pub(super) fn bounded(&mut self, value: Value, most: f64) -> Value {
        if value.size <= most {
            return value;
        }
        let ty = value.expr.ty;
        let text = format!("{most:?}");
        let expr = match self.percent(50) {
            true => value.expr.method("clamp", [Expr::literal(format!("-{text}"), ty), Expr::literal(text, ty)]),
            false => {
                let raised = value.expr.method("max", [Expr::literal(format!("-{text}"), ty)]);
                raised.method("min", [Expr::literal(text, ty)])
            }
        };
        Value::new(expr, most, value.exact)
    }

    /// Generates a float without float operands.
    pub(super) fn float_leaf(&mut self, ty: Type) -> Value {
        if self.large && self.percent(20) {
            return self.large_float(ty);
        }
        let others: Vec<Type> = self.palette.iter().copied().filter(|t| *t != ty).collect();
        match self.random.u8(..100) {
            0..7 => Value::new(self.scalar(ty), 4.0, true),
            7..12 => match self.axis() {
                Some(axis) => {
                    let name = Expr::name(axis.name).infix("%", Expr::int(16));
                    Value::new(name.cast(ty), 16.0, true)
                }
                None => self.read(ty),
            },
            12..26 => {
                let defined: Vec<_> = self.defined.iter().filter(|d| d.ty == ty).cloned().collect();
                if defined.is_empty() {
                    return self.read(ty);
                }
                let defined = self.pick(&defined);
                self.mark_read(&defined.name);
                self.read_defined(&defined)
            }
            26..36 if !others.is_empty() => {
                let other = self.pick(&others);
                self.converted(other, ty)
            }
            36..46 => match self.update.clone() {
                Some((name, update)) if update == ty => {
                    let value = self.own_element(name, ty);
                    Value::new(value, 1.0, true)
                }
                _ => self.read(ty),
            },
            _ => self.read(ty),
        }
    }

    /// Generates a read of another type, converted.
    fn converted(&mut self, other: Type, ty: Type) -> Value {
        let read = self.read(other);
        match other {
            Type::Is(DType::Bool) => {
                let (yes, no) = (Expr::literal("1.0", ty), Expr::literal("-0.5", ty));
                Value::new(Expr::new(ExprKind::If(read.expr.into(), yes.into(), no.into()), ty), 1.0, true)
            }
            t if t.is_float() => {
                // All other conversions between floats may round.
                let (from, to) = (other.dtype(DType::F16), ty.dtype(DType::F32));
                let is_exact = to == DType::F32 && ty != Type::Generic || from == DType::F16 && to != DType::BF16;
                Value::new(read.expr.cast(ty), 1.0, is_exact)
            }
            _ => Value::new(read.expr.infix("%", Expr::int(32)).cast(ty), 32.0, true),
        }
    }

    fn float_node(&mut self, ty: Type) -> Value {
        let inexact = |expr: Expr, size: f64| Value::new(expr, size, false);
        let number = |text: &str| Expr::literal(text, ty);
        match self.random.u8(..100) {
            0..18 => {
                let (a, b) = (self.float(ty), self.float(ty));
                inexact(a.expr.infix(self.random.choice(["+", "-"]).unwrap_or("+"), b.expr), a.size + b.size)
            }
            18..38 => {
                let (a, b) = (self.float(ty), self.float(ty));
                inexact(a.expr.infix("*", b.expr), a.size * b.size)
            }
            38..44 => {
                let (a, by) = (self.float(ty), self.pick(&["0.5", "2.0", "1.5", "-0.25"]));
                inexact(a.expr.infix(self.random.choice(["*", "+"]).unwrap_or("+"), number(by)), a.size * 2.0 + 2.0)
            }
            44..52 => {
                let (a, b) = (self.float(ty), self.float(ty));
                let op = self.pick(&["max", "min"]);
                Value::new(a.expr.method(op, [b.expr]), a.size.max(b.size), a.exact && b.exact)
            }
            52..58 => {
                let a = self.float(ty);
                if self.percent(50) {
                    Value::new(a.expr.method("abs", []), a.size, a.exact)
                } else {
                    Value::new(Expr::new(ExprKind::Prefix("-", a.expr.into()), ty), a.size, a.exact)
                }
            }
            58..66 => self.choice(ty),
            66..71 => {
                let (a, b) = (self.float(ty), self.float(ty));
                inexact(a.expr.infix("/", b.expr.method("abs", []).infix("+", number("1.0"))), a.size)
            }
            71..75 => {
                let value = self.float(ty);
                let name = self.fresh_let();
                let own = || Expr { ty, ..Expr::name(&name) };
                let body = own().infix("*", own()).infix("-", own());
                let size = value.size * value.size + value.size;
                inexact(Expr::new(ExprKind::Let(name.clone(), value.expr.into(), body.into()), ty), size)
            }
            75..82 => self.stepped(ty),
            82..85 => {
                let (a, b, c) = (self.float(ty), self.float(ty), self.float(ty));
                inexact(a.expr.method("mul_add", [b.expr, c.expr]), a.size * b.size + c.size)
            }
            _ => self.function(ty),
        }
    }

    /// Generates functions of one or two values, away from their poles.
    fn function(&mut self, ty: Type) -> Value {
        let number = |text: &str| Expr::literal(text, ty);
        let a = self.float(ty);
        let a = self.bounded(a, 2.0);
        let positive = |e: Expr| e.method("abs", []).infix("+", number("0.5"));
        let (expr, size) = match self.random.u8(..17) {
            0 | 1 => (a.expr.method("exp", []), 7.4),
            2 => (a.expr.method("exp2", []), 4.0),
            3 => (positive(a.expr).method("ln", []), 1.0),
            4 => (positive(a.expr).method("log2", []), 1.4),
            5 => (a.expr.method("abs", []).method("sqrt", []), 1.5),
            6 => (positive(a.expr).method("rsqrt", []), 1.5),
            7 => (a.expr.method("sin", []), 1.0),
            8 => (a.expr.method("cos", []), 1.0),
            9 => (a.expr.method("tanh", []), 1.0),
            10 => (a.expr.method("atan", []), 1.6),
            11 => (a.expr.method("powi", [Expr::int(self.random.i64(0..=3))]), 8.0),
            12 => (positive(a.expr).method("recip", []), 2.0),
            13 => (positive(a.expr).method("powf", [number("1.5")]), 4.0),
            14 => self.rare_function(a.expr, ty),
            15 => (a.expr.method("clamp", [number("0.0"), number("0.75")]), 0.75),
            _ => (positive(a.expr).method("powi", [Expr::int(-1)]), 2.0),
        };
        Value::new(expr, size, false)
    }

    /// Generates rare functions of a number up to 2. Their results stay small, or are infinite or NaN.
    fn rare_function(&mut self, a: Expr, ty: Type) -> (Expr, f64) {
        let number = |text: &str| Expr::literal(text, ty);
        let other = |builder: &mut Self| {
            let other = builder.float(ty);
            builder.bounded(other, 2.0).expr
        };
        match self.random.u8(..20) {
            0 => (a.method("asin", []), 1.6),
            1 => (a.method("acos", []), 3.2),
            2 => (a.infix("*", number("0.5")).method("tan", []), 1.6),
            3 => (a.method("sinh", []), 3.7),
            4 => (a.method("cosh", []), 3.8),
            5 => (a.method("asinh", []), 1.5),
            6 => (a.method("acosh", []), 1.4),
            7 => (a.infix("*", number("0.4")).method("atanh", []), 1.1),
            8 => {
                let x = other(self);
                (a.method("atan2", [x]), 3.2)
            }
            9 => {
                let y = other(self);
                (a.method("abs", []).infix("+", number("0.5")).method("powf", [y]), 6.3)
            }
            10 => {
                let by = self.pick(&["0.0", "-1.0", "2.0", "3.0", "0.5"]);
                (a.method("powf", [number(by)]), 8.0)
            }
            11 => {
                let by = self.read(ty).expr.method("abs", []).infix("+", number("0.5"));
                (a.infix("%", by), 2.0)
            }
            12 => (a.method("abs", []).infix("+", number("0.5")).method("log10", []), 0.4),
            13 => (a.method("abs", []).method("ln_1p", []), 1.1),
            14 => (a.method("exp_m1", []), 6.4),
            15 => {
                let of = other(self);
                (a.method("copysign", [of]), 2.0)
            }
            16 | 17 => {
                let by = self.read(ty).expr.method("abs", []).infix("+", number("0.5"));
                if self.percent(50) { (a.method("rem_euclid", [by]), 64.0) } else { (a.method("div_euclid", [by]), 5.0) }
            }
            _ => (a.method("erf", []), 1.0),
        }
    }

    /// Generates a step function of an exact operand.
    fn stepped(&mut self, ty: Type) -> Value {
        let read = self.read(ty);
        let op = self.pick(&["floor", "ceil", "trunc", "round", "round_ties_even", "signum", "fract"]);
        Value::new(read.expr.infix("*", Expr::literal("4.0", ty)).method(op, []), 4.0, op != "fract")
    }

    /// Generates `if c { a } else { b }`.
    fn choice(&mut self, ty: Type) -> Value {
        let cond = self.truth();
        let (a, b) = (self.float(ty), self.float(ty));
        let (size, exact) = (a.size.max(b.size), a.exact && b.exact);
        Value::new(Expr::new(ExprKind::If(cond.into(), a.expr.into(), b.expr.into()), ty), size, exact)
    }

    /// Returns the element of the tensor that is updated in place.
    pub(super) fn own_element(&mut self, name: String, ty: Type) -> Expr {
        let rank = self.own_rank();
        let index = self.scope.iter().take(rank).map(|a| Expr::name(&a.name)).collect();
        Expr::new(ExprKind::Read { tensor: name, outside: super::tree::Outside::Never, index }, ty)
    }
}
