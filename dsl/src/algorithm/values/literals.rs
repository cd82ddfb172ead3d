//! Literals: their types, range checks, and the constants made from them.

use super::maths::has_own_type;
use crate::algorithm::names::{Literal, Symbol};
use crate::algorithm::types::article;
use crate::algorithm::{Checked, Checker};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::expr::{Const, ExprId};
use crate::nest::Space;
use crate::syntax::Name;
use crate::syntax::expr::{BinaryOp, Block, Expr, ExprKind};
use crate::syntax::kernel::Type;
use tilewright_launch::{DType, Numbers};

/// The constants of `f32::…` and similar paths. The constants of angles are in `f32::consts`.
const CONSTANTS: [&str; 15] = [
    "INFINITY",
    "NEG_INFINITY",
    "NAN",
    "EPSILON",
    "MIN_POSITIVE",
    "MAX",
    "MIN",
    "PI",
    "TAU",
    "E",
    "LN_2",
    "LN_10",
    "SQRT_2",
    "LOG2_E",
    "FRAC_1_SQRT_2",
];

/// The most numbers in a `let` of literals without a type. The number is limited, because each use evaluates them again.
const SHORT: usize = 64;

/// The most elements of a constant. It is one instruction of SPIR-V, and these have fewer than 65,536 words.
const MOST_CONSTANTS: usize = 16_384;

impl Checker<'_> {
    /// Returns an expression that consists of few literals without a type.
    pub(super) fn short_literal(&self, e: &Expr) -> Option<Literal> {
        let (is_float, weight) = (self.flexible(e)?, self.weight(e));
        let literal = || Literal { value: e.clone(), names: self.names.clone(), is_float, is_whole: self.is_whole(e), weight };
        (weight <= SHORT).then(literal)
    }

    /// Returns the number of literals in an expression, including those that names stand for.
    fn weight(&self, e: &Expr) -> usize {
        match &e.kind {
            ExprKind::Neg(a) => self.weight(a),
            ExprKind::Binary(_, _, a, b) => self.weight(a) + self.weight(b),
            ExprKind::Method { receiver, args, .. } => self.weight(receiver) + args.iter().map(|a| self.weight(a)).sum::<usize>(),
            ExprKind::If { then, other, .. } => self.weight(&then.value) + self.weight(&other.value),
            ExprKind::Block(block) => self.weight(&block.value),
            ExprKind::Name(name) => match self.names.find(name) {
                Some((_, Symbol::Literal(literal))) => literal.weight,
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Returns `Some` if an expression consists only of literals without a type, so that its use determines the type. The value is
    /// true if one of them is a float.
    pub(super) fn flexible(&self, e: &Expr) -> Option<bool> {
        let all = |parts: &[&Expr]| parts.iter().try_fold(false, |float, part| Some(self.flexible(part)? || float));
        match &e.kind {
            ExprKind::Int { suffix: None, .. } => Some(false),
            ExprKind::Float { suffix: None, .. } => Some(true),
            ExprKind::Neg(a) => self.flexible(a),
            // The right side comes first, because it is the short side in a chain.
            ExprKind::Binary(_, _, a, b) => all(&[b, a]),
            ExprKind::Method { name, .. } if has_own_type(name.as_str()) => None,
            // The count of a rotation has its own type.
            ExprKind::Method { receiver, name, .. } if matches!(name.as_str(), "rotate_left" | "rotate_right") => {
                self.flexible(receiver)
            }
            ExprKind::Method { receiver, args, .. } => {
                let parts: Vec<&Expr> = args.iter().chain([&**receiver]).collect();
                all(&parts)
            }
            ExprKind::If { then, other, .. } => {
                let value = |b: &Block| if b.lets.is_empty() { self.flexible(&b.value) } else { None };
                Some(value(then)? | value(other)?)
            }
            ExprKind::Block(block) if block.lets.is_empty() => self.flexible(&block.value),
            ExprKind::Name(name) => match self.names.find(name) {
                Some((_, Symbol::Literal(literal))) => Some(literal.is_float),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns a number as a literal of its own type, or else of the wanted type. By default, integers are `i32` and floats are `f32`.
    pub(super) fn number(&mut self, e: &Expr, negative: bool, wanted: Option<DType>) -> Checked<ExprId> {
        let (value, suffix, is_float) = match &e.kind {
            ExprKind::Int { value, suffix } => (*value as f64, suffix, false),
            ExprKind::Float { value, suffix } => (*value, suffix, true),
            _ => return self.fail(Error::new(e.span, "this is not a number")),
        };
        let dtype = match suffix {
            Some(suffix) => self.dtype(&Name { text: suffix.clone(), span: e.span })?,
            None => wanted.unwrap_or(if is_float { DType::F32 } else { DType::I32 }),
        };
        let value = if negative { -value } else { value };
        let constant = self.fits(value, is_float, dtype, e.span)?;
        Ok(self.program.exprs.constant(constant))
    }

    /// Returns the literal of a type, if the value fits.
    fn fits(&mut self, value: f64, is_float: bool, dtype: DType, span: SpanId) -> Checked<Const> {
        let constant = Const::number(value, dtype);
        let error = |text: String| Error::new(span, text);
        let shown = if value.abs() < 1e16 { value.to_string() } else { format!("{value:e}") };
        match dtype {
            DType::Bool => {
                self.fail(error("expected a `bool`, found a number".into()).help("write `true`, `false` or a comparison"))
            }
            _ if dtype.is_float() && constant.value().is_infinite() => {
                self.fail(error(format!("{shown} does not fit in {}", article(dtype))))
            }
            _ if dtype.is_float() => Ok(constant),
            _ if is_float && value.fract() == 0.0 => {
                self.fail(error(format!("expected {}, found a float", article(dtype))).help(format!("write `{value}`")))
            }
            _ if is_float => self
                .fail(error(format!("expected {}, found a float", article(dtype))).help("convert the other operand: `… as f32`")),
            DType::I64 if constant.value() != value && value.abs() < 2f64.powi(63) => {
                self.fail(error(format!("{shown} does not fit in 32 bits, which the values of `i64` have in expressions")))
            }
            _ if constant.value() != value => self.fail(error(format!("{shown} does not fit in {}", article(dtype)))),
            _ => Ok(constant),
        }
    }

    /// Returns the constant of a path, for example `f32::INFINITY`.
    pub(super) fn path(&mut self, names: &[Name], span: SpanId) -> Checked<ExprId> {
        let (Some(first), Some(last)) = (names.first(), names.last()) else { return Err(crate::algorithm::Poisoned) };
        // In `core::f32::consts::PI`, the names before the dtype are ignored.
        let start = names.iter().position(|n| !["core", "std"].contains(&n.as_str())).unwrap_or(0);
        let dtype = self.dtype(names.get(start).unwrap_or(first))?;
        let middle = names.get(start + 1..names.len() - 1).unwrap_or_default();
        let value = if middle.iter().all(|n| n.text == "consts") { named_constant(dtype, &last.text) } else { None };
        match value {
            Some(value) => Ok(self.program.exprs.constant(Const::number(value, dtype))),
            None => {
                let known: Vec<&str> = CONSTANTS.into_iter().filter(|c| named_constant(dtype, c).is_some()).collect();
                let error = Error::new(span, format!("unknown constant `{last}` of `{dtype}`"));
                self.fail(error.note(format!("there are {}", list(&known))).maybe_help(did_you_mean(&last.text, known)))
            }
        }
    }

    /// Declares `const W: f32[2, 2] = [[…], […]];`.
    pub(in crate::algorithm) fn constant(&mut self, name: &Name, ty: &Type, value: &Expr) -> Checked<()> {
        let dtype = self.dtype(&ty.dtype)?;
        self.holds_positions(&name.text, dtype, None, ty.span)?;
        let Some(sizes) = &ty.shape else {
            let constant = self.constant_value(value, dtype)?;
            let id = self.program.exprs.constant(constant);
            return self.declare(name, Symbol::Value(id));
        };
        let shape = self.shape(name, sizes, &Space::Constant(Vec::new()))?.extents;
        let mut extents = Vec::new();
        for (id, size) in shape.iter().zip(sizes) {
            match self.program.exprs.as_int(*id) {
                Some(extent) => extents.push(extent as usize),
                None => {
                    let error = Error::new(size.end.span, "the shape of a constant must be known at compile time");
                    return self.fail(error.help("use whole numbers and parameters"));
                }
            }
        }
        let count = extents.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent));
        if count.is_none_or(|n| n > MOST_CONSTANTS) {
            let error = Error::new(ty.span, format!("`{name}` has more than {MOST_CONSTANTS} elements"));
            return self.fail(error.help("constants are part of the SPIR-V module: pass a large tensor as an argument"));
        }
        let mut values = Vec::new();
        self.flatten(value, &extents, dtype, &mut values)?;
        let buffer = self.buffer(name, dtype, shape, Space::Constant(values));
        self.defined.insert(buffer);
        self.declare(name, Symbol::Tensor(buffer))
    }

    /// Collects the elements of nested arrays, row-major.
    fn flatten(&mut self, e: &Expr, extents: &[usize], dtype: DType, values: &mut Vec<Const>) -> Checked<()> {
        let Some((extent, inner)) = extents.split_first() else {
            values.push(self.constant_value(e, dtype)?);
            return Ok(());
        };
        let ExprKind::Array(items) = &e.kind else {
            return self.fail(
                Error::new(e.span, format!("expected an array of {extent}")).help("arrays nest as the shape says, outermost first"),
            );
        };
        if items.len() != *extent {
            return self.fail(Error::new(e.span, format!("expected an array of {extent}, found an array of {}", items.len())));
        }
        let results: Vec<Checked<()>> = items.iter().map(|item| self.flatten(item, inner, dtype, values)).collect();
        results.into_iter().collect()
    }

    /// Returns a number that is known at compile time.
    pub(in crate::algorithm) fn constant_value(&mut self, e: &Expr, dtype: DType) -> Checked<Const> {
        match (&e.kind, dtype) {
            (ExprKind::Bool(b), DType::Bool) => Ok(Const { dtype, bits: u32::from(*b) }),
            (ExprKind::Path(names), _) => {
                let id = self.path(names, e.span)?;
                match self.program.exprs.get(id) {
                    crate::expr::Expr::Const(c) if c.dtype == dtype => Ok(*c),
                    _ => self.fail(Error::new(e.span, format!("this is not {}", article(dtype)))),
                }
            }
            _ => match arithmetic(e) {
                Some((value, is_float)) => self.fits(value, is_float, dtype, e.span),
                None => {
                    let error = Error::new(e.span, format!("expected {} known at compile time", article(dtype)));
                    self.fail(error.help("write a number, or arithmetic of numbers"))
                }
            },
        }
    }
}

/// Returns a number in a directive as a value of a type.
pub fn literal(e: &Expr, dtype: DType) -> Result<Const, Error> {
    let of = |value: f64| Const::number(value, dtype);
    let wrong = || Error::new(e.span, format!("expected {} known at compile time", article(dtype))).help("write a number");
    match &e.kind {
        ExprKind::Bool(b) if dtype == DType::Bool => Ok(Const { dtype, bits: u32::from(*b) }),
        ExprKind::Path(names) => match names.as_slice() {
            [first, last] if DType::from_name(first.as_str()) == Some(dtype) => {
                named_constant(dtype, last.as_str()).map(of).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        },
        ExprKind::Neg(a) if matches!(a.kind, ExprKind::Path(_)) && dtype.is_float() => Ok(of(-literal(a, dtype)?.value())),
        _ => match arithmetic(e) {
            Some((_, true)) if !dtype.is_float() => Err(wrong()),
            Some((value, _)) if dtype.is_float() && of(value).value().is_infinite() => Err(wrong()),
            Some((value, _)) if !dtype.is_float() && of(value).value() != value => Err(wrong()),
            Some((value, _)) if dtype != DType::Bool => Ok(of(value)),
            _ => Err(wrong()),
        },
    }
}

/// Returns the value of arithmetic on numbers, and true if it is a float.
fn arithmetic(e: &Expr) -> Option<(f64, bool)> {
    match &e.kind {
        ExprKind::Int { value, suffix: None } => Some((*value as f64, false)),
        ExprKind::Float { value, suffix: None } => Some((*value, true)),
        ExprKind::Neg(a) => arithmetic(a).map(|(a, float)| (-a, float)),
        ExprKind::Binary(op, _, a, b) => {
            let ((a, x), (b, y)) = (arithmetic(a)?, arithmetic(b)?);
            let float = x || y;
            let value = match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div if float => a / b,
                BinaryOp::Div if b != 0.0 => (a / b).trunc(),
                _ => return None,
            };
            Some((value, float))
        }
        _ => None,
    }
}

/// Returns a constant by Rust's name.
fn named_constant(dtype: DType, name: &str) -> Option<f64> {
    use std::f64::consts;
    let (low, high, epsilon, tiny) = match dtype.numbers() {
        Numbers::Float(format) => (-format.greatest, format.greatest, format.epsilon(), format.least_normal),
        Numbers::Int { least, greatest } => (least as f64, greatest as f64, 0.0, 0.0),
        Numbers::Bool => return None,
    };
    Some(match name {
        "MAX" => high,
        "MIN" => low,
        _ if !dtype.is_float() => return None,
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        "EPSILON" => epsilon,
        "MIN_POSITIVE" => tiny,
        "PI" => consts::PI,
        "TAU" => consts::TAU,
        "E" => consts::E,
        "LN_2" => consts::LN_2,
        "LN_10" => consts::LN_10,
        "SQRT_2" => consts::SQRT_2,
        "LOG2_E" => consts::LOG2_E,
        "FRAC_1_SQRT_2" => consts::FRAC_1_SQRT_2,
        _ => return None,
    })
}
