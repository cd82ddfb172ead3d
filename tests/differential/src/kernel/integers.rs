//! Values of integers, and truth values.

use super::builder::{Builder, Value};
use super::tree::{Expr, ExprKind, INDEX, Outside, Type};
use tilewright_launch::DType;

const BOOL: Type = Type::Is(DType::Bool);
const U32: Type = Type::Is(DType::U32);

impl Builder<'_> {
    /// Generates a value of any type.
    pub(super) fn value(&mut self, ty: Type) -> Value {
        match ty {
            BOOL => Value::new(self.truth(), 1.0, true),
            t if t.is_float() => self.float(ty),
            _ => Value::new(self.integer(ty), f64::INFINITY, true),
        }
    }

    /// Generates an integer.
    pub(super) fn integer(&mut self, ty: Type) -> Expr {
        if !self.burn() {
            return self.integer_leaf(ty);
        }
        let literal = |n: i64| Expr::literal(n.to_string(), ty);
        match self.random.u8(..100) {
            0..30 => {
                let (a, b) = (self.integer(ty), self.integer(ty));
                let op = self.pick(&["+", "-", "*"]);
                a.infix(op, b)
            }
            30..45 => {
                let (a, n) = (self.integer(ty), self.random.i64(1..=9));
                let op = self.pick(&["+", "-", "*"]);
                a.infix(op, literal(n))
            }
            45..55 => {
                let (a, b) = (self.integer(ty), self.integer(ty));
                let op = self.pick(&["max", "min"]);
                a.method(op, [b])
            }
            55..65 => {
                let (a, b) = (self.integer_read(ty), self.integer_read(ty));
                let b = if self.percent(50) { b } else { literal(self.random.i64(1..=7)) };
                let op = self.pick(&["/", "%", "div_euclid", "rem_euclid"]);
                if op.len() > 1 { a.method(op, [b]) } else { a.infix(op, b) }
            }
            65..75 => {
                let (a, b) = (self.integer(ty), self.integer(ty));
                let op = self.pick(&["&", "|", "^"]);
                a.infix(op, b)
            }
            75..80 => {
                let (a, n) = (self.integer_read(ty), self.random.i64(0..=7));
                let op = self.pick(&["<<", ">>"]);
                a.infix(op, literal(n))
            }
            80..86 if ty.is_signed() => {
                let a = self.integer_read(ty);
                match self.random.u8(..4) {
                    0 => a.method("abs", []),
                    1 => a.method("signum", []),
                    2 => Expr::new(ExprKind::Prefix("-", a.into()), ty),
                    _ => Expr::new(ExprKind::Prefix("!", a.into()), ty),
                }
            }
            80..86 => self.of_bits(ty),
            86 => {
                let (a, by) = (self.integer_read(ty), self.integer_read(ty));
                let by = if ty == U32 { by } else { by.cast(U32) };
                a.method("pow", [by.infix("%", Expr::literal("7", U32))])
            }
            87..89 => self.integer_read(ty).method("pow", [Expr::int(self.random.i64(0..=4))]),
            89..91 => self.of_bits(ty),
            _ => {
                let cond = self.truth();
                let (a, b) = (self.integer(ty), self.integer(ty));
                Expr::new(ExprKind::If(cond.into(), a.into(), b.into()), ty)
            }
        }
    }

    /// Generates an operation on an integer's bits, or the high half of a product.
    fn of_bits(&mut self, ty: Type) -> Expr {
        let a = self.integer(ty);
        match self.random.u8(..6) {
            0 | 1 => {
                let count = a.method(self.pick(&["count_ones", "leading_zeros", "trailing_zeros"]), []);
                if ty == U32 { count } else { Expr { ty: U32, ..count }.cast(ty) }
            }
            2 => a.method("mul_hi", [self.integer(ty)]),
            3 => {
                let most = if ty.is_word() { ["3", "65536", "2147483647"] } else { ["3", "16", "127"] };
                a.method("mul_hi", [Expr::literal(self.pick(&most), ty)])
            }
            4 => {
                let name = self.pick(&["rotate_left", "rotate_right"]);
                a.method(name, [Expr::literal(self.random.i64(0..=40).to_string(), U32)])
            }
            _ => {
                let (name, by) = (self.pick(&["rotate_left", "rotate_right"]), self.integer_read(ty));
                a.method(name, [if ty == U32 { by } else { by.cast(U32) }])
            }
        }
    }

    /// Generates a read of an integer.
    fn integer_read(&mut self, ty: Type) -> Expr {
        self.read(ty).expr
    }

    fn integer_leaf(&mut self, ty: Type) -> Expr {
        if self.large && self.percent(40) {
            return self.large_integer(ty);
        }
        match self.random.u8(..100) {
            0..10 => match self.axis() {
                Some(axis) if ty != INDEX => Expr::name(axis.name).cast(ty),
                Some(axis) => self.position(&axis.name),
                None => self.read(ty).expr,
            },
            10..15 => self.scalar(ty),
            15..30 => {
                let defined: Vec<_> = self.defined.iter().filter(|d| d.ty == ty).cloned().collect();
                if defined.is_empty() {
                    return self.read(ty).expr;
                }
                let defined = self.pick(&defined);
                self.mark_read(&defined.name);
                self.read_defined(&defined).expr
            }
            30..40 => {
                let others: Vec<Type> = self.palette.iter().copied().filter(|t| *t != ty).collect();
                if others.is_empty() {
                    return self.read(ty).expr;
                }
                let other = self.pick(&others);
                let read = self.read(other).expr;
                // Multiplying by a power of two is exact.
                if other.is_float() { read.infix("*", Expr::literal("8.0", other)).cast(ty) } else { read.cast(ty) }
            }
            40..50 => match self.update.clone() {
                Some((name, update)) if update == ty => self.own_element(name, ty),
                _ => self.read(ty).expr,
            },
            _ => self.read(ty).expr,
        }
    }

    /// Generates arithmetic on axes, whose division rounds down.
    fn position(&mut self, axis: &str) -> Expr {
        let name = Expr::name(axis);
        let by = Expr::int(self.random.i64(1..=5));
        match self.random.u8(..5) {
            0 => name.infix("-", by.clone()).infix("/", by),
            1 => name.infix("-", Expr::int(3)).infix("%", by),
            2 => name.infix("*", by),
            _ => name,
        }
    }

    /// Generates a truth value.
    pub(super) fn truth(&mut self) -> Expr {
        let more = self.burn();
        let compare = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        if self.large && self.percent(40) {
            return self.large_comparison(compare);
        }
        match self.random.u8(..100) {
            0..35 => match (self.axis(), self.axis()) {
                (Some(a), Some(b)) if a.name != b.name => {
                    let b = Expr::name(b.name);
                    let b = if self.percent(40) { b.infix("+", Expr::int(self.random.i64(1..=3))) } else { b };
                    Expr::name(a.name).compare(compare, b)
                }
                (Some(a), _) if self.percent(50) => {
                    let by = self.random.i64(2..=4);
                    Expr::name(a.name).infix("%", Expr::int(by)).compare(compare, Expr::int(1))
                }
                (Some(a), _) => Expr::name(a.name).compare(compare, Expr::int(self.random.i64(0..=5))),
                _ => self.any_comparison(compare),
            },
            35..50 if more => {
                let (a, b) = (self.truth(), self.truth());
                let op = self.pick(&["&&", "||", "^"]);
                Expr::new(ExprKind::Infix(op, a.into(), b.into()), BOOL)
            }
            50..56 if more => Expr::new(ExprKind::Prefix("!", self.truth().into()), BOOL),
            56..70 if self.palette.contains(&BOOL) => match self.update.clone() {
                Some((name, BOOL)) if self.percent(50) => self.own_element(name, BOOL),
                _ => self.read(BOOL).expr,
            },
            _ => self.any_comparison(compare),
        }
    }

    /// Generates a comparison of data.
    fn any_comparison(&mut self, compare: &'static str) -> Expr {
        let types: Vec<Type> = self.palette.iter().copied().filter(|t| *t != BOOL).collect();
        let ty = if types.is_empty() { Type::Is(DType::F32) } else { self.pick(&types) };
        let read = self.read(ty).expr;
        if ty.is_float() && self.percent(8) {
            let mut expr = read.method(self.pick(&["is_nan", "is_finite"]), []);
            expr.ty = BOOL;
            return expr;
        }
        let other = match self.percent(40) {
            true => self.read(ty).expr,
            false if ty.is_float() => Expr::literal(self.pick(&["0.0", "0.25", "-0.5"]), ty),
            false => Expr::literal(self.pick(&["0", "10", "50"]), ty),
        };
        read.compare(compare, other)
    }

    /// Generates a read that only its condition keeps in bounds: `if i >= 2 { x[i - 2] } else { … }`.
    pub(super) fn guarded_read(&mut self, ty: Type) -> Option<Value> {
        let axis = self.axis()?;
        let by = self.random.i64(1..=3);
        let name = || Expr::name(&axis.name);
        let (cond, index) = if self.percent(50) {
            (name().compare(">=", Expr::int(by)), name().infix("-", Expr::int(by)))
        } else {
            (name().infix("+", Expr::int(by)).compare("<", axis.within.clone()), name().infix("+", Expr::int(by)))
        };
        let tensor = self.input(ty, vec![axis.within.clone()]);
        let read = |index| Expr::new(ExprKind::Read { tensor: tensor.clone(), outside: Outside::Never, index: vec![index] }, ty);
        let (then, other) = (read(index), read(name()));
        let size = if ty.is_float() { 1.0 } else { f64::INFINITY };
        Some(Value::new(Expr::new(ExprKind::If(cond.into(), then.into(), other.into()), ty), size, true))
    }

    /// Records that a stage reads an intermediate.
    pub(super) fn mark_read(&mut self, name: &str) {
        self.defined.iter_mut().filter(|d| d.name == name).for_each(|d| d.read = true);
    }
}
