//! Methods of values: mathematical functions with Rust's names.

use super::{bits, narrow};
use crate::algorithm::types::article;
use crate::algorithm::{Checked, Checker, Poisoned};
use crate::diag::{Error, SpanId, did_you_mean};
use crate::expr::operators::Takes;
use crate::expr::{Binary, Compare, Const, ExprId, Unary};
use crate::syntax::Name;
use crate::syntax::expr::{Expr, ExprKind};
use crate::syntax::words::{self, Argument};
use tilewright_launch::DType;

/// True if kernels have a method of this name.
pub(in crate::algorithm) fn is_method(name: &str) -> bool {
    method(name).is_some()
}

/// Returns a help with the method whose name is most similar to an unknown name.
pub(in crate::algorithm) fn nearest_method(name: &str) -> Option<String> {
    did_you_mean(name, methods().map(|(known, _)| known))
}

/// True if a method of this name gives the same type for all receivers.
pub(super) fn has_own_type(name: &str) -> bool {
    method(name).is_some_and(|method| method.has_own_type())
}

/// A method. Its arguments, except the receiver, have the receiver's type unless stated otherwise.
#[derive(Clone, Copy)]
enum Method {
    /// An operator of one value.
    Unary(Unary, Takes),
    /// An operator of two values.
    Binary(Binary, Takes),
    /// Rotates an integer's bits to the left by a `u32`.
    RotateLeft,
    /// Rotates an integer's bits to the right by a `u32`.
    RotateRight,
    /// `x.clamp(low, high)`, for all types of numbers. It is NaN if `x` is.
    Clamp,
    /// A bool, for floats.
    IsFinite,
    /// A bool, for floats.
    IsInfinite,
    /// `1 / x`.
    Recip,
    /// `x * a + b`, rounded once or twice.
    MulAdd,
    /// A power of a float with a literal exponent, by multiplication.
    Powi,
    /// A power of an integer. If the exponent is a literal, by multiplication.
    Pow,
}

/// The methods that are composed of operators, and other names of operators.
const COMPOSED: [(&str, Method); 10] = [
    ("rsqrt", Method::Unary(Unary::InverseSqrt, Takes::Floats)),
    ("rotate_left", Method::RotateLeft),
    ("rotate_right", Method::RotateRight),
    ("clamp", Method::Clamp),
    ("is_finite", Method::IsFinite),
    ("is_infinite", Method::IsInfinite),
    ("recip", Method::Recip),
    ("mul_add", Method::MulAdd),
    ("powi", Method::Powi),
    ("pow", Method::Pow),
];

/// Returns all methods: operators first, then the composed ones.
fn methods() -> impl Iterator<Item = (&'static str, Method)> {
    let unary = Unary::ALL.into_iter().filter_map(|op| op.method().map(|takes| (op.name(), Method::Unary(op, takes))));
    let binary = Binary::ALL.into_iter().filter_map(|op| op.method().map(|(name, takes)| (name, Method::Binary(op, takes))));
    unary.chain(binary).chain(COMPOSED)
}

/// Returns the method of a name.
fn method(name: &str) -> Option<Method> {
    methods().find(|(known, _)| *known == name).map(|(_, method)| method)
}

impl Method {
    /// Returns the number of its arguments.
    fn arity(self) -> usize {
        match self {
            Method::Unary(..) | Method::IsFinite | Method::IsInfinite | Method::Recip => 0,
            Method::Binary(..) | Method::RotateLeft | Method::RotateRight | Method::Powi | Method::Pow => 1,
            Method::Clamp | Method::MulAdd => 2,
        }
    }

    /// Returns the types that it takes.
    fn takes(self) -> Takes {
        match self {
            Method::Unary(_, takes) | Method::Binary(_, takes) => takes,
            Method::Clamp => Takes::Numbers,
            Method::RotateLeft | Method::RotateRight | Method::Pow => Takes::Ints,
            Method::IsFinite | Method::IsInfinite | Method::Recip | Method::MulAdd | Method::Powi => Takes::Floats,
        }
    }

    /// True if the type of the result does not determine the type of the receiver.
    fn has_own_type(self) -> bool {
        match self {
            Method::Unary(op, takes) => takes == Takes::Bits || op.result(DType::F32) != DType::F32,
            Method::IsFinite | Method::IsInfinite => true,
            _ => false,
        }
    }
}

/// The help for a method that only integers have.
const OF_INTEGERS: &str = "it needs an integer";

impl Checker<'_> {
    /// Checks `receiver.name(args)`.
    pub(super) fn method(
        &mut self,
        span: SpanId,
        receiver: &Expr,
        name: &Name,
        args: &[Expr],
        wanted: Option<DType>,
    ) -> Checked<ExprId> {
        let Some(method) = method(&name.text) else {
            let error = self.no_method(receiver, name, args);
            return self.fail(error);
        };
        if args.len() != method.arity() {
            let error = Error::new(span, format!("`{name}` takes {}, not {}", counted(method.arity()), args.len()));
            let tensor = matches!(&receiver.kind, ExprKind::Name(n) if self.is_tensor(n));
            let help = tensor.then(|| "write indices after it: `x.clamp()[i, j]`".into());
            return self.fail(error.maybe_help(help));
        }
        if let (Method::Powi | Method::Pow, [exponent]) = (method, args) {
            return self.power(span, matches!(method, Method::Powi), receiver, exponent, wanted);
        }
        if let (Method::RotateLeft | Method::RotateRight, [by]) = (method, args) {
            return self.rotation(method, receiver, name, by, wanted);
        }
        let wanted = wanted.filter(|_| !method.has_own_type());
        let parts: Vec<&Expr> = std::iter::once(receiver).chain(args).collect();
        let mut ids = self.uniform(&format!("`{name}`"), name.span, &parts, wanted)?;
        if matches!(method, Method::Clamp | Method::Binary(Binary::Min | Binary::Max, _)) {
            ids = ids.into_iter().map(|id| self.position(id)).collect();
        }
        let operands: Vec<(&Expr, ExprId)> = parts.iter().copied().zip(ids.iter().copied()).collect();
        self.computes(&format!("`{name}`"), name.span, &operands)?;
        let dtype = ids.first().map_or(DType::Bool, |id| self.program.exprs.dtype(*id));
        if !method.takes().includes(dtype) {
            let error = Error::new(name.span, format!("there is no `{name}` of {}", article(dtype)));
            let is_of_integers = matches!(method.takes(), Takes::Ints | Takes::Bits);
            let cast = |arg: &Expr| match arg.kind {
                ExprKind::Float { .. } => arg.to_string(),
                _ => format!("{} as f32", arg.short_operand()),
            };
            let rest: Vec<String> = args.iter().map(cast).collect();
            let help = dtype.is_int().then(|| format!("write `({} as f32).{name}({})`", receiver.short_operand(), rest.join(", ")));
            let help = match method {
                Method::Unary(Unary::ToBits, _) if dtype.is_int() => {
                    Some("a cast between integers of one width keeps the bits".into())
                }
                _ if is_of_integers => Some(OF_INTEGERS.into()),
                _ => help,
            };
            return self.fail(error.maybe_help(help));
        }
        if let (Method::Binary(op @ (Binary::RemEuclid | Binary::DivEuclid), _), [x, by]) = (method, &ids[..])
            && dtype.is_int()
        {
            return self.euclidean(op == Binary::RemEuclid, *x, *by, name.span);
        }
        self.apply(method, &ids)
    }

    fn apply(&mut self, method: Method, ids: &[ExprId]) -> Checked<ExprId> {
        let exprs = &self.program.exprs;
        let (Some(x), a, b) = (ids.first().copied(), ids.get(1).copied(), ids.get(2).copied()) else { return Err(Poisoned) };
        let dtype = exprs.dtype(x);
        let number = |value: f64| exprs.constant(Const::number(value, dtype));
        let (one, infinity) = (number(1.0), number(f64::INFINITY));
        Ok(match (method, a, b) {
            (Method::Unary(op, Takes::Bits), ..) => narrow::of_bits(exprs, op, x),
            (Method::Unary(Unary::ToBits, _), ..) => bits::of_float(exprs, x),
            (Method::Binary(Binary::MulHi, _), Some(a), _) => narrow::high_product(exprs, x, a),
            (Method::Unary(op, _), ..) => exprs.unary(op, x),
            (Method::Binary(op, _), Some(a), _) => exprs.binary(op, x, a),
            (Method::Clamp, Some(low), Some(high)) => {
                let raised = exprs.binary(Binary::Max, x, low);
                let clamped = exprs.binary(Binary::Min, raised, high);
                // `min` and `max` of NaN and a number are the number, but Rust's `clamp` of NaN is NaN.
                if dtype.is_float() { exprs.select(exprs.unary(Unary::IsNan, x), x, clamped) } else { clamped }
            }
            (Method::IsFinite, ..) => {
                let size = exprs.unary(Unary::Abs, x);
                exprs.compare(Compare::Lt, size, infinity)
            }
            (Method::IsInfinite, ..) => {
                let size = exprs.unary(Unary::Abs, x);
                exprs.compare(Compare::Eq, size, infinity)
            }
            (Method::Recip, ..) => exprs.binary(Binary::Div, one, x),
            (Method::MulAdd, Some(a), Some(b)) => exprs.mul_add(x, a, b),
            _ => return Err(Poisoned),
        })
    }

    /// Checks a rotation.
    fn rotation(&mut self, method: Method, of: &Expr, name: &Name, by: &Expr, wanted: Option<DType>) -> Checked<ExprId> {
        let (of_id, by_id) = (self.value(of, wanted), self.value(by, Some(DType::U32)));
        let (x, n) = (of_id?, by_id?);
        self.computes(&format!("`{name}`"), name.span, &[(of, x), (by, n)])?;
        let (dtype, count) = (self.program.exprs.dtype(x), self.program.exprs.dtype(n));
        if !dtype.is_int() {
            let error = Error::new(name.span, format!("there is no `{name}` of {}", article(dtype)));
            return self.fail(error.help(OF_INTEGERS));
        }
        if count != DType::U32 {
            let error = Error::new(by.span, format!("`{name}` takes a `u32`, not {}", article(count)));
            return self.fail(error.maybe_help(count.is_int().then(|| "convert it: `… as u32`".into())));
        }
        Ok(narrow::rotated(&self.program.exprs, x, n, matches!(method, Method::RotateLeft)))
    }

    fn no_method(&self, receiver: &Expr, name: &Name, args: &[Expr]) -> Error {
        let error = Error::new(name.span, format!("unknown method `{name}`"));
        if name.text == "pad" {
            return error.help("write indices after it: `x.pad(0.0)[i, j]`");
        }
        let args: Vec<Argument> = std::iter::once(receiver).chain(args).map(Argument::from).collect();
        if let Some(help) = words::help(words::VALUES, &name.text, &args) {
            return error.help(help);
        }
        match &receiver.kind {
            ExprKind::Name(n) if self.is_tensor(n) => error.help("a tensor has `pad(v)[…]` and `clamp()[…]`"),
            _ => error.maybe_help(nearest_method(&name.text)),
        }
    }

    pub(in crate::algorithm) fn is_tensor(&self, name: &str) -> bool {
        matches!(self.names.find(name), Some((_, crate::algorithm::names::Symbol::Tensor(_))))
    }
}

/// Returns a number of arguments in words.
fn counted(arity: usize) -> &'static str {
    ["no argument", "one argument"].get(arity).copied().unwrap_or("two arguments")
}
