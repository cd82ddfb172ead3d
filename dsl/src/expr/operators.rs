//! Operators: one row for each function of one or two values. The checker, the printers, constant folding, the evaluation and the prover
//! read these rows. An operator's instructions are in the backend, and its formula, if it needs several, in `codegen`.

use super::erf::erf;
use tilewright_launch::DType;

/// Comparisons. They are the relations that a launch checks.
pub use tilewright_launch::Relation as Compare;

/// Functions of one value. The result has the operand's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it; each means what Rust's function of that name does")]
pub enum Unary {
    /// Data wraps.
    Neg,
    /// For a bool, the negation. For an integer, bit by bit.
    Not,
    /// The lowest `i32` stays as it is.
    Abs,
    /// For a float, Rust's `signum`: 1 or -1 also for zeros, NaN for NaN. For an integer, -1, 0 or 1.
    Sign,
    Floor,
    Ceil,
    /// Rounds half away from zero, as Rust does.
    Round,
    /// Rounds half to the even integer.
    RoundTiesEven,
    Trunc,
    /// `x - trunc(x)`.
    Fract,
    Sqrt,
    InverseSqrt,
    Exp,
    Exp2,
    /// `exp(x) - 1`, also for small operands.
    ExpM1,
    Ln,
    Log2,
    Log10,
    /// `ln(1 + x)`, also for small operands.
    Ln1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    /// The error function: `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0 to the operand.
    Erf,
    /// For a `u32`, the number of bits that are 1.
    CountOnes,
    /// For a `u32`, the number of 0 bits above the highest 1; 32 for 0.
    LeadingZeros,
    /// For a `u32`, the number of 0 bits below the lowest 1; 32 for 0.
    TrailingZeros,
    /// A bool: true if the operand is NaN.
    IsNan,
    /// The bits of an `f32` as a `u32`, or of an `f16` as a `u16`.
    ToBits,
    /// The `f32` with the bits of a `u32`, or the `f16` with the bits of a `u16`.
    FromBits,
    /// Converts `i32` data to an index of the same value.
    Index,
}

/// Functions of two values of one type; the result has that type. The exponent of [`Binary::IntPow`] has its own type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// Data wraps.
    Add,
    /// Data wraps.
    Sub,
    /// Data wraps.
    Mul,
    /// For `i32` and `u32` data, the high 32 bits of the 64-bit product.
    MulHi,
    /// For floats, the IEEE quotient. For integers, the truncated quotient; a quotient by zero is 0, and the lowest integer by -1
    /// is itself.
    Div,
    /// For integers, the remainder of `Div` with the dividend's sign; by zero it is 0. For floats, the same as in Rust, for
    /// quotients below 2^20.
    Rem,
    /// The integer quotient of the Euclidean division, which belongs to `RemEuclid`. Of integers by zero it is 0.
    DivEuclid,
    /// The remainder of the Euclidean division, which is not negative. Of integers by zero it is 0.
    RemEuclid,
    /// For indices, the quotient rounded towards minus infinity. The divisor is proved to be at least 1.
    FloorDiv,
    /// For indices, the remainder of `FloorDiv`, which is not negative.
    FloorMod,
    /// If one operand is NaN, the other operand.
    Min,
    /// If one operand is NaN, the other operand.
    Max,
    /// `a` to the power `b`, for floats.
    Pow,
    /// `a` to the power `b`, for integers. The exponent is a `u32`. Data wraps.
    IntPow,
    /// The angle of the point (x = `b`, y = `a`), for floats.
    Atan2,
    /// `a` with the sign of `b`, for floats.
    CopySign,
    /// For bools or integers.
    And,
    /// For bools or integers.
    Or,
    /// For bools or integers.
    Xor,
    /// For integers. The count is taken modulo 32.
    Shl,
    /// For integers; arithmetic for signed ones. The count is taken modulo 32.
    Shr,
}

/// The types that the method of an operator takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Floats.
    Floats,
    /// Floats and signed integers.
    Signed,
    /// All types but bools.
    Numbers,
    /// Integers.
    Ints,
    /// Integers, whose bits are taken as a `u32`.
    Bits,
}

impl Takes {
    /// True if it includes a type.
    pub fn includes(self, dtype: DType) -> bool {
        match self {
            Takes::Floats => dtype.is_float(),
            Takes::Signed => dtype.is_float() || dtype.is_signed_int(),
            Takes::Numbers => dtype != DType::Bool,
            Takes::Ints | Takes::Bits => dtype.is_int(),
        }
    }
}

/// Rust's precedences, from the loosest to the tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "each is the level of the operators that it names")]
pub enum Level {
    /// The level of a place that needs no parentheses.
    Any,
    OrElse,
    AndAlso,
    Compared,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Cast,
    Prefix,
    Postfix,
}

impl Level {
    /// Returns the level of the right operand of a left-associative operator of this level, which must be tighter.
    pub fn tighter(self) -> Level {
        use Level::*;
        let levels = [Any, OrElse, AndAlso, Compared, Or, Xor, And, Shift, Sum, Product, Cast, Prefix, Postfix];
        levels.get(self as usize + 1).copied().unwrap_or(Postfix)
    }
}

/// How an operator of two values is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// `a + b`.
    Infix(&'static str, Level),
    /// `a.min(b)`.
    Method(&'static str),
}

/// The error of a device's result.
#[derive(Clone, Copy, Debug)]
pub enum Precision {
    /// None, or the operand's: integers, signs, and values that are taken as they are.
    Exact,
    /// None, except where the operand's error reaches a jump. The function gives the distance to the nearest jump.
    Steps(fn(f64) -> f64),
    /// The operand's, except where it reaches a jump.
    Teeth(fn(f64) -> f64),
    /// `n + m * |x|` times the distance from 1 to the next number of the type, relative to the result, as Vulkan bounds an
    /// instruction.
    Epsilons(f64, f64),
    /// Units in the last place of a result in f32. A result in f16 is computed in f32 and rounded.
    Ulps(f64),
    /// 2^-11, as Vulkan bounds sines, whose slope is at most 1. It holds for operands of up to a few thousand turns.
    Sine,
    /// Units in the last place of a result in f32, between the poles of the tangent. It holds for operands of up to a few thousand turns.
    Tangent(f64),
}

/// The facts about a function of one value.
struct UnaryRow {
    op: Unary,
    /// The method's name. An operator has a name in the style of a method.
    name: &'static str,
    /// The types that its method takes, if it has a method.
    takes: Option<Takes>,
    /// The type of the result, if it is not the operand's.
    returns: Option<fn(DType) -> DType>,
    /// True if it is arithmetic that indices have.
    index: bool,
    /// The value for a float.
    float: fn(f64) -> f64,
    /// The value for an integer, before it wraps to its type.
    int: fn(i64) -> Option<i64>,
    /// The least and the greatest result for integers, if they do not depend on the operand.
    range: Option<(i64, i64)>,
    precision: Precision,
}

/// Returns the row of a function of floats.
const fn float(op: Unary, name: &'static str, float: fn(f64) -> f64, precision: Precision) -> UnaryRow {
    UnaryRow { op, name, takes: Some(Takes::Floats), returns: None, index: false, float, int: Some, range: None, precision }
}

/// Returns the row of an operator that is not a method and is exact.
const fn exact(op: Unary, name: &'static str, of_float: fn(f64) -> f64, int: fn(i64) -> Option<i64>) -> UnaryRow {
    UnaryRow { takes: None, int, ..float(op, name, of_float, Precision::Exact) }
}

/// Returns the row of a count of an integer's bits.
const fn bits(op: Unary, name: &'static str, int: fn(i64) -> Option<i64>) -> UnaryRow {
    UnaryRow { takes: Some(Takes::Bits), range: Some((0, 32)), ..exact(op, name, |x| x, int) }
}

/// Returns the type of a float's bits.
fn bits_of(float: DType) -> DType {
    if float.bits() == 32 { DType::U32 } else { DType::U16 }
}

/// Returns the float type whose bits have a type.
fn float_of(bits: DType) -> DType {
    if bits.bits() == 32 { DType::F32 } else { DType::F16 }
}

/// The functions of one value, in the order of the variants.
const UNARY: [UnaryRow; 39] = {
    use Precision::{Epsilons, Exact, Sine, Steps, Tangent, Teeth, Ulps};
    let to_whole: fn(f64) -> f64 = |x| (x - x.round()).abs();
    [
        UnaryRow { index: true, ..exact(Unary::Neg, "neg", |x| -x, i64::checked_neg) },
        exact(Unary::Not, "not", |x| x, |i| Some(!i)),
        UnaryRow { takes: Some(Takes::Signed), index: true, ..exact(Unary::Abs, "abs", f64::abs, i64::checked_abs) },
        UnaryRow {
            takes: Some(Takes::Signed),
            index: true,
            int: |i| Some(i.signum()),
            range: Some((-1, 1)),
            ..float(Unary::Sign, "signum", f64::signum, Steps(f64::abs))
        },
        float(Unary::Floor, "floor", f64::floor, Steps(to_whole)),
        float(Unary::Ceil, "ceil", f64::ceil, Steps(to_whole)),
        float(Unary::Round, "round", f64::round, Steps(|x| (x - x.floor() - 0.5).abs())),
        float(Unary::RoundTiesEven, "round_ties_even", f64::round_ties_even, Steps(|x| (x - x.floor() - 0.5).abs())),
        float(Unary::Trunc, "trunc", f64::trunc, Steps(to_whole)),
        float(Unary::Fract, "fract", f64::fract, Teeth(to_whole)),
        float(Unary::Sqrt, "sqrt", f64::sqrt, Epsilons(5.0, 0.0)),
        float(Unary::InverseSqrt, "inverse_sqrt", |x| 1.0 / x.sqrt(), Epsilons(5.0, 0.0)),
        float(Unary::Exp, "exp", f64::exp, Epsilons(3.0, 2.0)),
        float(Unary::Exp2, "exp2", f64::exp2, Epsilons(3.0, 2.0)),
        float(Unary::ExpM1, "exp_m1", f64::exp_m1, Ulps(4.0)),
        float(Unary::Ln, "ln", f64::ln, Ulps(4.0)),
        float(Unary::Log2, "log2", f64::log2, Ulps(4.0)),
        float(Unary::Log10, "log10", f64::log10, Ulps(4.0)),
        float(Unary::Ln1p, "ln_1p", f64::ln_1p, Ulps(4.0)),
        float(Unary::Sin, "sin", f64::sin, Sine),
        float(Unary::Cos, "cos", f64::cos, Sine),
        float(Unary::Tan, "tan", f64::tan, Tangent(8.0)),
        float(Unary::Asin, "asin", f64::asin, Ulps(4.0)),
        float(Unary::Acos, "acos", f64::acos, Ulps(4.0)),
        float(Unary::Atan, "atan", f64::atan, Ulps(6.0)),
        float(Unary::Sinh, "sinh", f64::sinh, Ulps(4.0)),
        float(Unary::Cosh, "cosh", f64::cosh, Ulps(4.0)),
        float(Unary::Tanh, "tanh", f64::tanh, Ulps(8.0)),
        float(Unary::Asinh, "asinh", f64::asinh, Ulps(8.0)),
        float(Unary::Acosh, "acosh", f64::acosh, Ulps(4.0)),
        float(Unary::Atanh, "atanh", f64::atanh, Ulps(8.0)),
        float(Unary::Erf, "erf", erf, Ulps(4.0)),
        bits(Unary::CountOnes, "count_ones", |i| Some((i as u32).count_ones().into())),
        bits(Unary::LeadingZeros, "leading_zeros", |i| Some((i as u32).leading_zeros().into())),
        bits(Unary::TrailingZeros, "trailing_zeros", |i| Some((i as u32).trailing_zeros().into())),
        UnaryRow { returns: Some(|_| DType::Bool), ..float(Unary::IsNan, "is_nan", |x| x, Exact) },
        // The bits of -0 are not 0.
        UnaryRow { returns: Some(bits_of), int: |_| None, ..float(Unary::ToBits, "to_bits", |x| x, Exact) },
        UnaryRow { returns: Some(float_of), ..exact(Unary::FromBits, "from_bits", |x| x, Some) },
        exact(Unary::Index, "index", |x| x, Some),
    ]
};

impl Unary {
    /// Every function of one value.
    pub const ALL: [Unary; UNARY.len()] = {
        let (mut all, mut n) = ([Unary::Neg; UNARY.len()], 0);
        while n < UNARY.len() {
            assert!(UNARY[n].op as usize == n, "the rows are in the order of the variants");
            all[n] = UNARY[n].op;
            n += 1;
        }
        all
    };

    const fn row(self) -> &'static UnaryRow {
        &UNARY[self as usize]
    }

    /// Returns the method's name. An operator has a name in the style of a method.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns its symbol before the operand, if it is not written as a method.
    pub fn prefix(self) -> Option<&'static str> {
        match self {
            Unary::Neg => Some("-"),
            Unary::Not => Some("!"),
            _ => None,
        }
    }

    /// Returns the types that its method takes, if kernels have a method for it.
    pub fn method(self) -> Option<Takes> {
        self.row().takes
    }

    /// True if it is a function of floats or bits, which costs more than arithmetic.
    pub fn is_function(self) -> bool {
        matches!(self.method(), Some(Takes::Floats | Takes::Bits)) && self.row().returns.is_none()
    }

    /// Returns the type of the result.
    pub fn result(self, operand: DType) -> DType {
        self.row().returns.map_or(operand, |of| of(operand))
    }

    /// True for the arithmetic that indices have.
    pub fn is_arithmetic(self) -> bool {
        self.row().index
    }

    /// Returns the value for a float.
    pub fn of_float(self, a: f64) -> f64 {
        (self.row().float)(a)
    }

    /// Returns the value for an integer, before it wraps to its type. `None` if the value does not fit in 64 bits.
    pub fn of_int(self, a: i64) -> Option<i64> {
        (self.row().int)(a)
    }

    /// True if the value for 0 is 0.
    pub fn keeps_zero(self, dtype: DType) -> bool {
        if dtype.is_float() { self.of_float(0.0) == 0.0 } else { dtype.is_int() && self.of_int(0) == Some(0) }
    }

    /// Returns the least and the greatest result for integers, if they do not depend on the operand.
    pub fn range(self) -> Option<(i64, i64)> {
        self.row().range
    }

    /// Returns the error of a device's result.
    pub fn precision(self) -> Precision {
        self.row().precision
    }
}

/// The facts about a function of two values.
struct BinaryRow {
    op: Binary,
    spelling: Spelling,
    /// The types that its method takes, if it has a method.
    takes: Option<Takes>,
    /// True if it is arithmetic that indices have.
    index: bool,
    /// The value for integers of 64 bits, before it wraps to its type. `None` if it is not defined.
    int: fn(i128, i128) -> Option<i128>,
}

/// Returns the row of an operator.
const fn infix(op: Binary, symbol: &'static str, level: Level, int: fn(i128, i128) -> Option<i128>) -> BinaryRow {
    BinaryRow { op, spelling: Spelling::Infix(symbol, level), takes: None, index: false, int }
}

/// Returns the row of an operator that indices have.
const fn arithmetic(op: Binary, symbol: &'static str, level: Level, int: fn(i128, i128) -> Option<i128>) -> BinaryRow {
    BinaryRow { index: true, ..infix(op, symbol, level, int) }
}

/// Returns the row of a method.
const fn method(op: Binary, name: &'static str, takes: Takes, int: fn(i128, i128) -> Option<i128>) -> BinaryRow {
    BinaryRow { op, spelling: Spelling::Method(name), takes: Some(takes), index: false, int }
}

/// The functions of two values, in the order of the variants.
const BINARY: [BinaryRow; 21] = {
    use Takes::{Floats, Ints, Numbers};
    [
        arithmetic(Binary::Add, "+", Level::Sum, |a, b| Some(a + b)),
        arithmetic(Binary::Sub, "-", Level::Sum, |a, b| Some(a - b)),
        arithmetic(Binary::Mul, "*", Level::Product, |a, b| Some(a * b)),
        method(Binary::MulHi, "mul_hi", Ints, |a, b| Some((a * b) >> 32)),
        arithmetic(Binary::Div, "/", Level::Product, |a, b| Some(if b == 0 { 0 } else { a / b })),
        arithmetic(Binary::Rem, "%", Level::Product, |a, b| Some(if b == 0 { 0 } else { a % b })),
        method(Binary::DivEuclid, "div_euclid", Numbers, |a, b| Some(a.checked_div_euclid(b).unwrap_or(0))),
        method(Binary::RemEuclid, "rem_euclid", Numbers, |a, b| Some(a.checked_rem_euclid(b).unwrap_or(0))),
        arithmetic(Binary::FloorDiv, "/", Level::Product, |a, b| if b > 0 { Some(a.div_euclid(b)) } else { None }),
        arithmetic(Binary::FloorMod, "%", Level::Product, |a, b| if b > 0 { Some(a.rem_euclid(b)) } else { None }),
        BinaryRow { index: true, ..method(Binary::Min, "min", Numbers, |a, b| Some(if a < b { a } else { b })) },
        BinaryRow { index: true, ..method(Binary::Max, "max", Numbers, |a, b| Some(if a < b { b } else { a })) },
        method(Binary::Pow, "powf", Floats, |_, _| None),
        BinaryRow { takes: None, ..method(Binary::IntPow, "pow", Ints, |a, b| Some(a.wrapping_pow(b as u32))) },
        method(Binary::Atan2, "atan2", Floats, |_, _| None),
        method(Binary::CopySign, "copysign", Floats, |_, _| None),
        infix(Binary::And, "&", Level::And, |a, b| Some(a & b)),
        infix(Binary::Or, "|", Level::Or, |a, b| Some(a | b)),
        infix(Binary::Xor, "^", Level::Xor, |a, b| Some(a ^ b)),
        infix(Binary::Shl, "<<", Level::Shift, |a, b| Some(a << (b & 31))),
        infix(Binary::Shr, ">>", Level::Shift, |a, b| Some(a >> (b & 31))),
    ]
};

impl Binary {
    /// Every function of two values.
    pub const ALL: [Binary; BINARY.len()] = {
        let (mut all, mut n) = ([Binary::Add; BINARY.len()], 0);
        while n < BINARY.len() {
            assert!(BINARY[n].op as usize == n, "the rows are in the order of the variants");
            all[n] = BINARY[n].op;
            n += 1;
        }
        all
    };

    const fn row(self) -> &'static BinaryRow {
        &BINARY[self as usize]
    }

    /// Returns how kernels write it for operands of a type.
    pub fn spelling(self, dtype: DType) -> Spelling {
        match (self, dtype) {
            (Binary::And, DType::Bool) => Spelling::Infix("&&", Level::AndAlso),
            (Binary::Or, DType::Bool) => Spelling::Infix("||", Level::OrElse),
            _ => self.row().spelling,
        }
    }

    /// Returns the name of its method and the types that the method takes, if kernels have a method for it.
    pub fn method(self) -> Option<(&'static str, Takes)> {
        match self.row().spelling {
            Spelling::Method(name) => self.row().takes.map(|takes| (name, takes)),
            Spelling::Infix(..) => None,
        }
    }

    /// True if it is a function of floats, which costs more than arithmetic.
    pub fn is_function(self) -> bool {
        self.row().takes == Some(Takes::Floats) && self != Binary::CopySign
    }

    /// True for the arithmetic that indices have.
    pub fn is_arithmetic(self) -> bool {
        self.row().index
    }

    /// Returns the value for integers, before it wraps to its type. It fits in 128 bits. `None` if it is not defined.
    pub fn of_ints(self, a: i64, b: i64) -> Option<i128> {
        (self.row().int)(a.into(), b.into())
    }

    /// Returns the value for integers that do not wrap. `None` if the value is not defined or does not fit in 64 bits.
    pub fn exact(self, a: i64, b: i64) -> Option<i64> {
        self.of_ints(a, b).and_then(|value| i64::try_from(value).ok())
    }
}
