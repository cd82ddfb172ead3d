//! Tests every operation of every type against Rust's: NaN, wrapping, division by zero, saturation.

use crate::support::*;
use tilewright::{AnyTensor, DType, Element, Feature, f16};
use tilewright_dsl::expr::{Binary, Compare, Expr, ExprId, Unary};
use tilewright_dsl::nest::{Body, Exec, Phase, Program, Slot};
use tilewright_dsl::profile::Profile;
use tilewright_nests::build::*;

/// One output for each case, all in one dispatch.
fn functions<T>(inputs: &[DType], cases: &[Case<T>]) -> Program {
    let mut b = Builder::new("functions");
    let n = b.dim("N", None);
    let tensors: Vec<_> = inputs.iter().enumerate().map(|(i, dtype)| b.input(&format!("x{i}"), *dtype, &[n])).collect();
    let mut nodes = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let output = b.output(&format!("y{i}"), case.dtype, &[n]);
        let axis = b.parallel(&format!("i{i}"), n);
        let at = b.at(axis);
        let reads: Vec<ExprId> = tensors.iter().map(|t| b.read(*t, &[at])).collect();
        let value = (case.function)(&mut b, &reads);
        let stage = b.stage(output, &[axis], Body::Map(value));
        let parts = b.split(axis, &format!("o{i}"), &[("t", 32)]);
        let stored = guarded(compute(stage, Phase::Whole, access(output, &[at]), value), &[axis], &b.p);
        nodes.extend(nest(&[(parts[0], Exec::Serial), (parts[1], thread(Slot::X))], leaf(stored)));
    }
    b.p.plan = vec![dispatch("y", [32, 1, 1], nodes)];
    b.p
}

/// An expression over the inputs' elements.
type Function = Box<dyn Fn(&mut Builder, &[ExprId]) -> ExprId>;

/// The expected result.
type Wanted<T> = Box<dyn Fn(&[T]) -> Want>;

/// A function of the inputs, and its expected result.
struct Case<T> {
    name: String,
    dtype: DType,
    function: Function,
    want: Wanted<T>,
}

/// The expected value of an element.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// This float, within this error (absolute below 1, relative above).
    Float(f64, f64),
    /// These bits of an `i32`, a `u32` or a bool.
    Bits(u32),
    /// Any value, because Vulkan does not define it.
    Any,
}

/// Runs the cases on inputs.
fn check<T: Element + std::fmt::Debug>(profile: &Profile, inputs: &[Vec<T>], cases: &[Case<T>]) {
    let launch = compile(&functions(&vec![T::DTYPE; inputs.len()], cases), profile);
    // SAFETY: the compiler made it just now.
    let kernel = unsafe { device().load_programs(vec![launch]) }.expect("it loads");
    let n = inputs[0].len();
    let args: Vec<AnyTensor> = inputs.iter().map(|v| device().upload([n], v).expect("uploads").into_any()).collect();
    let outputs = kernel.run(args.iter().map(Into::into)).expect("it runs");
    for (case, output) in cases.iter().zip(&outputs) {
        for (i, got) in floats_or_bits(output, case.dtype).into_iter().enumerate() {
            let operands: Vec<T> = inputs.iter().map(|v| v[i]).collect();
            let want = (case.want)(&operands);
            let same = match (got, want) {
                (_, Want::Any) => true,
                (Got::Bits(g), Want::Bits(w)) => g == w,
                (Got::Float(g), Want::Float(w, error)) => {
                    g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= error * w.abs().max(1.0)
                }
                _ => false,
            };
            assert!(same, "{} of {operands:?} gave {got:?}, should be {want:?}", case.name);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Got {
    Float(f64),
    Bits(u32),
}

fn floats_or_bits(tensor: &AnyTensor, dtype: DType) -> Vec<Got> {
    match dtype {
        DType::F32 => tensor.download::<f32>().expect("floats").into_iter().map(|v| Got::Float(v.into())).collect(),
        DType::F16 => tensor.download::<f16>().expect("halves").into_iter().map(|v| Got::Float(v.into())).collect(),
        DType::I32 => tensor.download::<i32>().expect("integers").into_iter().map(|v| Got::Bits(v as u32)).collect(),
        DType::U32 => tensor.download::<u32>().expect("integers").into_iter().map(Got::Bits).collect(),
        _ => tensor.download::<bool>().expect("truths").into_iter().map(|v| Got::Bits(v.into())).collect(),
    }
}

fn unary<T>(op: Unary, dtype: DType, want: impl Fn(T) -> Want + 'static) -> Case<T>
where
    T: Copy,
{
    Case {
        name: format!("{op:?}"),
        dtype,
        function: Box::new(move |b, x| b.p.exprs.unary(op, x[0])),
        want: Box::new(move |x| want(x[0])),
    }
}

fn binary<T: Copy>(op: Binary, dtype: DType, want: impl Fn(T, T) -> Want + 'static) -> Case<T> {
    Case {
        name: format!("{op:?}"),
        dtype,
        function: Box::new(move |b, x| b.p.exprs.add(Expr::Binary(op, x[0], x[1]), dtype)),
        want: Box::new(move |x| want(x[0], x[1])),
    }
}

fn comparison<T: Copy + PartialOrd + 'static>(op: Compare) -> Case<T> {
    let want = move |a: T, b: T| match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    };
    Case {
        name: format!("{op:?}"),
        dtype: DType::Bool,
        function: Box::new(move |b, x| b.p.exprs.compare(op, x[0], x[1])),
        want: Box::new(move |x| Want::Bits(want(x[0], x[1]).into())),
    }
}

fn cast<T: Copy>(to: DType, want: impl Fn(T) -> Want + 'static) -> Case<T> {
    Case {
        name: format!("as {to}"),
        dtype: to,
        function: Box::new(move |b, x| b.p.exprs.cast(to, x[0])),
        want: Box::new(move |x| want(x[0])),
    }
}

const COMPARISONS: [Compare; 6] = [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];

fn pairs<T: Copy>(values: &[T]) -> Vec<Vec<T>> {
    let first = values.iter().flat_map(|a| values.iter().map(|_| *a)).collect();
    let second = values.iter().flat_map(|_| values.iter().copied()).collect();
    vec![first, second]
}

/// Returns ordinary floats, limits, halves between integers, infinities and NaN.
fn floats() -> Vec<f32> {
    let mut all = vec![0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.3, -0.7, 2.0, 3.0, -3.0, 7.25, 100.5, -100.25];
    all.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 2147483648.0, -2147483648.0, 4294967296.0, 3e9, -3e9, 1e20, 65504.0]);
    all.extend(random(8, 11));
    all
}

/// The exact result of an operation on f32: the result of f32 arithmetic, within `error`.
fn float(value: f32, error: f64) -> Want {
    Want::Float(value.into(), error)
}

#[test]
fn functions_of_one_f32() {
    fn on(inside: impl Fn(f32) -> bool + 'static, f: fn(f32) -> f32, error: f64) -> impl Fn(f32) -> Want {
        move |x| if inside(x) { float(f(x), error) } else { Want::Any }
    }
    let all = |f: fn(f32) -> f32, error| on(|_| true, f, error);
    let near = |most: f32, f: fn(f32) -> f32, error| on(move |x| x.abs() <= most, f, error);
    use Unary::*;
    let f = DType::F32;
    let cases = vec![
        unary(Neg, f, all(|x| -x, 0.0)),
        unary(Abs, f, all(f32::abs, 0.0)),
        unary(Sign, f, all(f32::signum, 0.0)),
        unary(Floor, f, all(f32::floor, 0.0)),
        unary(Ceil, f, all(f32::ceil, 0.0)),
        unary(Round, f, all(f32::round, 0.0)),
        unary(RoundTiesEven, f, all(f32::round_ties_even, 0.0)),
        unary(Trunc, f, all(f32::trunc, 0.0)),
        unary(Fract, f, all(f32::fract, 0.0)),
        unary(Sqrt, f, on(|x| x >= 0.0, f32::sqrt, 1e-6)),
        unary(InverseSqrt, f, on(|x| x > 0.0, |x| 1.0 / x.sqrt(), 1e-6)),
        unary(Exp, f, near(50.0, f32::exp, 2e-5)),
        unary(Exp2, f, near(50.0, f32::exp2, 2e-5)),
        unary(Ln, f, on(|x| x > 0.0, f32::ln, 1e-5)),
        unary(Log2, f, on(|x| x > 0.0, f32::log2, 1e-5)),
        unary(Log10, f, on(|x| x > 0.0, f32::log10, 1e-6)),
        unary(Ln1p, f, on(|x| x > -1.0, f32::ln_1p, 1e-6)),
        unary(ExpM1, f, near(50.0, f32::exp_m1, 1e-6)),
        unary(ToBits, DType::U32, |x: f32| if x.is_nan() { Want::Any } else { Want::Bits(x.to_bits()) }),
        unary(Sin, f, near(3.0, f32::sin, 1e-3)),
        unary(Cos, f, near(3.0, f32::cos, 1e-3)),
        unary(Tan, f, near(1.0, f32::tan, 2e-3)),
        unary(Asin, f, near(1.0, f32::asin, 1e-3)),
        unary(Acos, f, near(1.0, f32::acos, 1e-3)),
        unary(Atan, f, near(1e9, f32::atan, 1e-3)),
        unary(Sinh, f, near(3.0, f32::sinh, 1e-3)),
        unary(Cosh, f, near(3.0, f32::cosh, 1e-3)),
        unary(Tanh, f, near(8.0, f32::tanh, 1e-3)),
        unary(Asinh, f, near(100.0, f32::asinh, 1e-3)),
        unary(Acosh, f, on(|x| (1.0..1e3).contains(&x), f32::acosh, 1e-3)),
        unary(Atanh, f, on(|x| x.abs() < 0.9, f32::atanh, 1e-3)),
        unary(Erf, f, |x: f32| if x.is_nan() { float(x, 0.0) } else { Want::Float(erf(x.into()), 4.0 * f64::from(f32::EPSILON)) }),
        unary(IsNan, DType::Bool, |x: f32| Want::Bits(x.is_nan().into())),
        cast(DType::I32, |x: f32| Want::Bits(x as i32 as u32)),
        cast(DType::U32, |x: f32| Want::Bits(x as u32)),
        cast(DType::F16, |x: f32| Want::Float(f16::from_f32(x).into(), if x.abs() < 65504.0 { 1e-3 } else { 0.0 })),
    ];
    profiles().iter().for_each(|p| check(p, &[floats()], &cases));
}

/// Computes the error function by Simpson's rule.
fn erf(x: f64) -> f64 {
    let end = x.abs().min(7.0);
    let (steps, f) = (4000, |t: f64| (-t * t).exp());
    let width = end / f64::from(steps);
    let inner: f64 = (1..steps).map(|n| f(f64::from(n) * width) * f64::from(2 + n % 2 * 2)).sum();
    let integral = (f(0.0) + inner + f(end)) * width / 3.0;
    (integral * std::f64::consts::FRAC_2_SQRT_PI).copysign(x)
}

/// Operands near the values where `erf` changes its formula, and where it becomes 1.
#[test]
fn the_error_function() {
    let ends = [0.0, 0.90625, 3.9, 4.0, 20.0, 1e-6, 1e-38, 1e-40];
    let near = ends.iter().flat_map(|x: &f32| [x.next_down(), *x, x.next_up()]);
    let between = (0..400).map(|n| n as f32 * 0.0123);
    let values: Vec<f32> = near.chain(between).flat_map(|x| [x, -x]).collect();
    let of = |x: f32| Want::Float(erf(x.into()), 4.0 * f64::from(f32::EPSILON));
    let halves: Vec<f16> = values.iter().map(|x| f16::from_f32(*x)).collect();
    for profile in profiles() {
        check(&profile, std::slice::from_ref(&values), &[unary(Unary::Erf, DType::F32, of)]);
        let of = |x: f16| Want::Float(erf(x.into()), 2f64.powi(-10));
        check(&profile, std::slice::from_ref(&halves), &[unary(Unary::Erf, DType::F16, of)]);
    }
}

#[test]
fn products_with_sums() {
    let floats = [0.0, -0.0, 1.0, -1.5, 3.0, 1e20, -1e20, 1e-3, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let of = |a: f32, b: f32, c: f32| match (a * b + c, a.mul_add(b, c)) {
        // An overflow, or a product that cancels.
        (apart, fused) if apart != fused && !(apart.is_nan() && fused.is_nan()) => Want::Any,
        (_, fused) => float(fused, 1e-6),
    };
    let mut of_three: [Vec<f32>; 3] = Default::default();
    for n in 0..floats.len().pow(3) {
        let digits = [n, n / floats.len(), n / floats.len().pow(2)].map(|digit| floats[digit % floats.len()]);
        of_three.iter_mut().zip(digits).for_each(|(values, value)| values.push(value));
    }
    let case = |dtype| Case {
        name: "mul_add".into(),
        dtype,
        function: Box::new(|b: &mut Builder, x: &[ExprId]| b.p.exprs.mul_add(x[0], x[1], x[2])) as Function,
        want: Box::new(move |x: &[f32]| of(x[0], x[1], x[2])) as Wanted<f32>,
    };
    profiles().iter().for_each(|p| check(p, &of_three, &[case(DType::F32)]));
}

#[test]
fn functions_of_two_f32() {
    let f = DType::F32;
    let exact = |g: fn(f32, f32) -> f32| move |a, b| float(g(a, b), 0.0);
    let mut cases = vec![
        binary(Binary::Add, f, exact(|a, b| a + b)),
        binary(Binary::Sub, f, exact(|a, b| a - b)),
        binary(Binary::Mul, f, exact(|a, b| a * b)),
        binary(Binary::Div, f, |a: f32, b: f32| if b == 0.0 || b.is_infinite() { Want::Any } else { float(a / b, 1e-6) }),
        binary(Binary::Rem, f, |a: f32, b: f32| match (a / b).abs() < 100.0 && b.is_finite() {
            // If the quotient is an integer except for rounding, the remainder can be wrong by a whole divisor.
            true if ((a / b) - (a / b).round()).abs() > 1e-5 || a % b == 0.0 && a / b == (a / b).round() => float(a % b, 1e-4),
            _ => Want::Any,
        }),
        binary(Binary::RemEuclid, f, |a: f32, b: f32| if (a / b).abs() < 1e6 { float(a.rem_euclid(b), 1e-6) } else { Want::Any }),
        binary(Binary::CopySign, f, exact(f32::copysign)),
        binary(Binary::Min, f, exact(f32::min)),
        binary(Binary::Max, f, exact(f32::max)),
        binary(Binary::Atan2, f, |a: f32, b: f32| match a.abs() < 1e9 && b.abs() < 1e9 && a != 0.0 {
            true => float(a.atan2(b), 1e-3),
            false => Want::Any,
        }),
        binary(Binary::Pow, f, |a: f32, b: f32| match a.abs() < 100.0 && a.abs() > 0.1 && b.abs() < 8.0 {
            true => float(a.powf(b), 1e-3),
            false => Want::Any,
        }),
    ];
    cases.extend(COMPARISONS.map(comparison));
    profiles().iter().for_each(|p| check(p, &pairs(&floats()), &cases));
}

#[test]
fn powers_with_literal_exponents() {
    let to = |exponent: f32| Case {
        name: format!("to the power {exponent}"),
        dtype: DType::F32,
        function: Box::new(move |b: &mut Builder, x: &[ExprId]| {
            let e = b.number(exponent.into(), DType::F32);
            b.p.exprs.binary(Binary::Pow, x[0], e)
        }) as Function,
        want: Box::new(move |x: &[f32]| match x[0].abs() < 100.0 && (x[0] != 0.0 || exponent >= 0.0) {
            true => float(x[0].powf(exponent), 1e-3),
            false => Want::Any,
        }) as Wanted<f32>,
    };
    check(&profiles()[0], &[floats()], &[0.0, 1.0, 2.0, 3.0, 0.5, -2.0].map(to));
}

fn bits(value: i32) -> Want {
    Want::Bits(value as u32)
}

#[test]
fn functions_of_i32() {
    let i = DType::I32;
    let values = [0, 1, -1, 2, 3, -3, 7, 31, 32, 33, -40, 100, 65535, 1 << 20, i32::MAX, i32::MIN, i32::MIN + 1, -123_456_789];
    let by = |f: fn(i32, i32) -> i32| move |a, b| bits(f(a, b));
    let divisor = |f: fn(i32, i32) -> i32| move |a, b: i32| if b < 1 { Want::Any } else { bits(f(a, b)) };
    let mut cases = vec![
        binary(Binary::Add, i, by(i32::wrapping_add)),
        binary(Binary::Sub, i, by(i32::wrapping_sub)),
        binary(Binary::Mul, i, by(i32::wrapping_mul)),
        binary(Binary::Div, i, by(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) })),
        binary(Binary::Rem, i, by(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) })),
        binary(Binary::FloorDiv, i, divisor(i32::div_euclid)),
        binary(Binary::FloorMod, i, divisor(i32::rem_euclid)),
        binary(Binary::Min, i, by(i32::min)),
        binary(Binary::Max, i, by(i32::max)),
        binary(Binary::And, i, by(|a, b| a & b)),
        binary(Binary::Or, i, by(|a, b| a | b)),
        binary(Binary::Xor, i, by(|a, b| a ^ b)),
        binary(Binary::Shl, i, by(|a, b| a.wrapping_shl(b as u32))),
        binary(Binary::Shr, i, by(|a, b| a.wrapping_shr(b as u32))),
        binary(Binary::MulHi, i, by(|a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32)),
        unary(Unary::Neg, i, |a: i32| bits(a.wrapping_neg())),
        unary(Unary::Not, i, |a: i32| bits(!a)),
        unary(Unary::Abs, i, |a: i32| bits(a.wrapping_abs())),
        unary(Unary::Sign, i, |a: i32| bits(a.signum())),
        cast(DType::F32, |a: i32| float(a as f32, 0.0)),
        cast(
            DType::F16,
            |a: i32| if a.abs_diff(0) < 60000 { Want::Float(f16::from_f32(a as f32).into(), 1e-3) } else { Want::Any },
        ),
        cast(DType::U32, bits),
    ];
    cases.extend(COMPARISONS.map(comparison));
    profiles().iter().for_each(|p| check(p, &pairs(&values), &cases));
}

#[test]
fn divisions_by_literals() {
    let values = [0, 1, -1, 5, 6, -6, -7, 1000, i32::MAX, i32::MIN, i32::MIN + 5];
    let mut cases = Vec::new();
    for by in [1, 3, 8, 1 << 30, -1, -3, 0] {
        for op in [Binary::Div, Binary::Rem, Binary::FloorDiv, Binary::FloorMod] {
            if by < 1 && matches!(op, Binary::FloorDiv | Binary::FloorMod) {
                continue;
            }
            let want = move |a: i32| match op {
                Binary::FloorDiv => a.div_euclid(by),
                Binary::FloorMod => a.rem_euclid(by),
                _ if by == 0 => 0,
                Binary::Div => a.wrapping_div(by),
                _ => a.wrapping_rem(by),
            };
            cases.push(Case {
                name: format!("{op:?} by {by}"),
                dtype: DType::I32,
                function: Box::new(move |b: &mut Builder, x: &[ExprId]| {
                    let by = b.int(by.into());
                    b.p.exprs.binary(op, x[0], by)
                }) as Function,
                want: Box::new(move |x: &[i32]| bits(want(x[0]))) as Wanted<i32>,
            });
        }
    }
    check(&profiles()[0], &[values.to_vec()], &cases);
}

#[test]
fn functions_of_u32() {
    let u = DType::U32;
    let values = [0, 1, 2, 3, 7, 31, 32, 33, 1 << 31, u32::MAX, u32::MAX - 1, 123_456_789];
    let by = |f: fn(u32, u32) -> u32| move |a, b| Want::Bits(f(a, b));
    let mut cases = vec![
        binary(Binary::Add, u, by(u32::wrapping_add)),
        binary(Binary::Sub, u, by(u32::wrapping_sub)),
        binary(Binary::Mul, u, by(u32::wrapping_mul)),
        binary(Binary::Div, u, by(|a, b| a.checked_div(b).unwrap_or(0))),
        binary(Binary::Rem, u, by(|a, b| a.checked_rem(b).unwrap_or(0))),
        binary(Binary::Min, u, by(u32::min)),
        binary(Binary::Max, u, by(u32::max)),
        binary(Binary::And, u, by(|a, b| a & b)),
        binary(Binary::Or, u, by(|a, b| a | b)),
        binary(Binary::Xor, u, by(|a, b| a ^ b)),
        binary(Binary::Shl, u, by(u32::wrapping_shl)),
        binary(Binary::Shr, u, by(u32::wrapping_shr)),
        binary(Binary::MulHi, u, by(|a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)),
        binary(Binary::IntPow, u, by(u32::wrapping_pow)),
        unary(Unary::FromBits, DType::F32, |a: u32| float(f32::from_bits(a), 0.0)),
        unary(Unary::CountOnes, u, |a: u32| Want::Bits(a.count_ones())),
        unary(Unary::LeadingZeros, u, |a: u32| Want::Bits(a.leading_zeros())),
        unary(Unary::TrailingZeros, u, |a: u32| Want::Bits(a.trailing_zeros())),
        unary(Unary::Neg, u, |a: u32| Want::Bits(a.wrapping_neg())),
        unary(Unary::Not, u, |a: u32| Want::Bits(!a)),
        unary(Unary::Abs, u, Want::Bits),
        unary(Unary::Sign, u, |a: u32| Want::Bits(a.min(1))),
        cast(DType::F32, |a: u32| float(a as f32, 0.0)),
        cast(DType::I32, Want::Bits),
    ];
    cases.extend(COMPARISONS.map(comparison));
    profiles().iter().for_each(|p| check(p, &pairs(&values), &cases));
}

#[test]
fn functions_of_truths() {
    let t = DType::Bool;
    let by = |f: fn(bool, bool) -> bool| move |a, b| Want::Bits(f(a, b).into());
    let mut cases = vec![
        binary(Binary::And, t, by(|a, b| a & b)),
        binary(Binary::Or, t, by(|a, b| a | b)),
        binary(Binary::Xor, t, by(|a, b| a ^ b)),
        unary(Unary::Not, t, |a: bool| Want::Bits((!a).into())),
        cast(DType::F32, |a: bool| float(f32::from(u8::from(a)), 0.0)),
        cast(DType::F16, |a: bool| Want::Float(f64::from(u8::from(a)), 0.0)),
        cast(DType::I32, |a: bool| Want::Bits(a.into())),
        cast(DType::U32, |a: bool| Want::Bits(a.into())),
    ];
    cases.extend([Compare::Eq, Compare::Ne].map(comparison));
    profiles().iter().for_each(|p| check(p, &pairs(&[false, true]), &cases));
}

#[test]
fn functions_of_f16() {
    let h = DType::F16;
    let near = |v: f32| Want::Float(f16::from_f32(v).into(), if v.abs() < 60000.0 { 2e-3 } else { f64::INFINITY });
    let one = |op: Unary, f: fn(f32) -> f32| unary(op, h, move |x: f16| near(f(x.into())));
    let two = |op: Binary, f: fn(f32, f32) -> f32| binary(op, h, move |a: f16, b: f16| near(f(a.into(), b.into())));
    let mut cases = vec![
        one(Unary::Neg, |x| -x),
        one(Unary::Abs, f32::abs),
        one(Unary::Sign, f32::signum),
        one(Unary::Floor, f32::floor),
        one(Unary::Ceil, f32::ceil),
        one(Unary::Round, f32::round),
        one(Unary::RoundTiesEven, f32::round_ties_even),
        one(Unary::ExpM1, f32::exp_m1),
        two(Binary::CopySign, f32::copysign),
        one(Unary::Trunc, f32::trunc),
        one(Unary::Fract, f32::fract),
        unary(Unary::IsNan, DType::Bool, |x: f16| Want::Bits(x.is_nan().into())),
        two(Binary::Add, |a, b| a + b),
        two(Binary::Sub, |a, b| a - b),
        two(Binary::Mul, |a, b| a * b),
        two(Binary::Min, f32::min),
        two(Binary::Max, f32::max),
        cast(DType::F32, |x: f16| float(x.into(), 0.0)),
        cast(DType::I32, |x: f16| bits(x.to_f32() as i32)),
        cast(DType::U32, |x: f16| Want::Bits(x.to_f32() as u32)),
    ];
    cases.extend(COMPARISONS.map(comparison));
    let values: Vec<f16> = floats().into_iter().filter(|x| x.abs() < 70000.0 || !x.is_finite()).map(f16::from_f32).collect();
    profiles().iter().for_each(|p| check(p, &pairs(&values), &cases));
}

#[test]
fn halves_are_stored_and_converted_without_arithmetic() {
    let profile = without(Profile::mesa_lavapipe(), &[Feature::F16]);
    let values: Vec<f16> = floats().into_iter().map(f16::from_f32).collect();
    let cases = vec![
        cast(DType::F32, |x: f16| float(x.into(), 0.0)),
        Case {
            name: "twice".into(),
            dtype: DType::F16,
            function: Box::new(|b: &mut Builder, x: &[ExprId]| {
                let wide = b.p.exprs.cast(DType::F32, x[0]);
                let twice = b.add(wide, wide);
                b.p.exprs.cast(DType::F16, twice)
            }) as Function,
            want: Box::new(|x: &[f16]| match x[0].to_f32().abs() < 30000.0 || !x[0].is_finite() {
                true => Want::Float((x[0].to_f32() * 2.0).into(), 0.0),
                false => Want::Any,
            }) as Wanted<f16>,
        },
    ];
    check(&profile, &[values], &cases);
}
