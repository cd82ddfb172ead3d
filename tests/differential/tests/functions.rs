//! Tests every function of floats over the whole range of its operands: Rust's value at zeros (with their sign), infinities and
//! NaN, and otherwise within the bound that docs/language.md states. It runs on the Vulkan device and on the reference device.

use tilewright::{Device, DynKernel, Element, bf16, f16};
use tilewright_differential::compile;
use tilewright_differential::devices::devices;
use tilewright_dsl::algorithm::evaluate::Float;
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::{DType, Feature, Program};
use tilewright_dsl::profile::Profile;

/// Several vectors of four, which call the functions of vectors.
const LANES: &str = "y { tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar); }";

/// Compiles a kernel under a schedule of its stage.
fn compiled(kernel: &str, body: &str) -> Program {
    let mut profile = Profile::vulkan_1_1();
    profile.features = [Feature::Storage16, Feature::F16].into();
    let variant = compile::variant(kernel, &format!("V: f for p {{ {body} }}"), &profile);
    variant.unwrap_or_else(|refusal| panic!("{}", refusal.text)).program
}

/// The way in which a function's result is judged.
#[derive(Clone, Copy)]
enum Judge {
    /// It must be Rust's result, bit for bit except for NaN.
    Exact,
    /// It must be within a bound of the value in f64.
    One(Unary),
    Two(Binary),
}

/// A function: its body over `x[i]` and `y[i]`, Rust's result, and the way in which it is judged.
struct Function {
    body: &'static str,
    rust: fn(f32, f32) -> f32,
    judge: Judge,
}

fn one(body: &'static str, op: Unary, rust: fn(f32, f32) -> f32) -> Function {
    Function { body, rust, judge: Judge::One(op) }
}

fn exact(body: &'static str, rust: fn(f32, f32) -> f32) -> Function {
    Function { body, rust, judge: Judge::Exact }
}

fn functions_of_one() -> Vec<Function> {
    use Unary::*;
    vec![
        one("x[i].sqrt()", Sqrt, |x, _| x.sqrt()),
        one("x[i].rsqrt()", InverseSqrt, |x, _| 1.0 / x.sqrt()),
        one("x[i].exp()", Exp, |x, _| x.exp()),
        one("x[i].exp2()", Exp2, |x, _| x.exp2()),
        one("x[i].ln()", Ln, |x, _| x.ln()),
        one("x[i].log2()", Log2, |x, _| x.log2()),
        one("x[i].log10()", Log10, |x, _| x.log10()),
        one("x[i].ln_1p()", Ln1p, |x, _| x.ln_1p()),
        one("x[i].exp_m1()", ExpM1, |x, _| x.exp_m1()),
        one("x[i].sin()", Sin, |x, _| x.sin()),
        one("x[i].cos()", Cos, |x, _| x.cos()),
        one("x[i].tan()", Tan, |x, _| x.tan()),
        one("x[i].asin()", Asin, |x, _| x.asin()),
        one("x[i].acos()", Acos, |x, _| x.acos()),
        one("x[i].atan()", Atan, |x, _| x.atan()),
        one("x[i].sinh()", Sinh, |x, _| x.sinh()),
        one("x[i].cosh()", Cosh, |x, _| x.cosh()),
        one("x[i].tanh()", Tanh, |x, _| x.tanh()),
        // Rust's `asinh` overflows inside.
        one("x[i].asinh()", Asinh, |x, _| f64::from(x).asinh() as f32),
        one("x[i].acosh()", Acosh, |x, _| f64::from(x).acosh() as f32),
        one("x[i].atanh()", Atanh, |x, _| f64::from(x).atanh() as f32),
        one("x[i].erf()", Erf, |x, _| if x.is_infinite() { x.signum() } else { x }),
        exact("x[i].abs()", |x, _| x.abs()),
        exact("x[i].signum()", |x, _| x.signum()),
        exact("x[i].floor()", |x, _| x.floor()),
        exact("x[i].ceil()", |x, _| x.ceil()),
        exact("x[i].round_ties_even()", |x, _| x.round_ties_even()),
        exact("x[i].trunc()", |x, _| x.trunc()),
        exact("x[i].round()", |x, _| x.round()),
        exact("x[i].fract()", |x, _| x.fract()),
        exact("x[i].clamp(-0.75, 2.0)", |x, _| x.clamp(-0.75, 2.0)),
        exact("if x[i].is_nan() { 1.0 } else { 0.0 }", |x, _| f32::from(u8::from(x.is_nan()))),
        exact("if x[i].is_finite() { 1.0 } else { 0.0 }", |x, _| f32::from(u8::from(x.is_finite()))),
        exact("if x[i].is_infinite() { 1.0 } else { 0.0 }", |x, _| f32::from(u8::from(x.is_infinite()))),
        exact("x[i].powi(3)", |x, _| x * (x * x)),
        exact("x[i].powi(0)", |_, _| 1.0),
    ]
}

fn functions_of_two() -> Vec<Function> {
    let two = |body, op, rust| Function { body, rust, judge: Judge::Two(op) };
    vec![
        two("x[i].powf(z[i])", Binary::Pow, |x, y| x.powf(y)),
        two("x[i].atan2(z[i])", Binary::Atan2, |x, y| x.atan2(y)),
        two("x[i] % z[i]", Binary::Rem, |x, y| x % y),
        two("x[i].rem_euclid(z[i])", Binary::RemEuclid, |x, y| x.rem_euclid(y)),
        two("x[i].div_euclid(z[i])", Binary::DivEuclid, |x, y| x.div_euclid(y)),
        exact("x[i].copysign(z[i])", |x, y| x.copysign(y)),
    ]
}

/// Numbers of every size, dense around the ends of formulas, and special values.
fn operands() -> Vec<f32> {
    let special = [0.0, f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE, 1e-40, f32::from_bits(1)];
    let spread = (0..30_000u32).map(|n| f32::from_bits(n * (0x7f80_0000 / 30_000) + n % 977));
    let near =
        [0.25f32, 0.5, 0.6, 0.906_25, 1.0, 1.57, std::f32::consts::PI, 8.0, 9.01, 10.0, 88.7, 89.4, 100.0, 4096.0, 8_388_608.0];
    let near = near.into_iter().flat_map(|x| (0..600u32).map(move |n| f32::from_bits(x.to_bits() - 300 + n)));
    let whole = (0..4000).flat_map(|n| [n as f32, n as f32 + 0.5, (n as f32).next_up(), (n as f32 + 0.5).next_down()]);
    let all: Vec<f32> = special.into_iter().chain(spread).chain(near).chain(whole).collect();
    all.iter().flat_map(|x| [*x, -x]).collect()
}

/// All pairs of special values, and pairs of every size.
fn pairs() -> [Vec<f32>; 2] {
    let sizes = [0.0, 1.0, f32::INFINITY, f32::NAN, 2.0, 3.0, 0.5, 1.5, 1e-30, 1e30, f32::MAX, f32::MIN_POSITIVE, 16_777_216.0];
    let sizes = sizes.into_iter().chain([8_388_609.0, 0.999_999_94, 1.000_000_1, 7.0, 100.0, 1e-40]);
    let all: Vec<f32> = sizes.flat_map(|x: f32| [x, -x]).collect();
    let mut rng = fastrand::Rng::with_seed(36);
    let special = all.iter().flat_map(|a| all.iter().map(|b| (*a, *b)));
    let wild: Vec<_> = (0..40_000).map(|_| (f32::from_bits(rng.u32(..)), f32::from_bits(rng.u32(..)))).collect();
    let tame: Vec<_> = (0..40_000).map(|_| (rng.f32() * 8.0 - 0.5, rng.f32() * 120.0 - 60.0)).collect();
    let near: Vec<_> = (0..20_000).map(|_| (1.0 + (rng.f32() - 0.5) * 1e-3, (rng.f32() - 0.5) * 1e5)).collect();
    special.chain(wild).chain(tame).chain(near).unzip::<_, _, Vec<_>, Vec<_>>().into()
}

/// True if a device may have this result: Rust's at zeros, infinities and NaN, and else one within the bound. A subnormal operand may
/// count as 0, and a subnormal result be one.
fn fits(function: &Function, [x, y]: [f32; 2], got: f32, dtype: DType) -> bool {
    let round = |value: f32| match dtype {
        DType::F16 => f16::from_f32(value).to_f32(),
        DType::BF16 => bf16::from_f32(value).to_f32(),
        _ => value,
    };
    let least = if dtype == DType::F16 { 2f32.powi(-14) } else { f32::MIN_POSITIVE };
    let same = |a: f32, b: f32| a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits();
    let at = |x: f32, y: f32| {
        let rust = (function.rust)(x, y);
        let bound = match function.judge {
            Judge::Exact => return same(round(rust), got) || rust.abs() < least && got.abs() < least,
            Judge::One(op) => Float::exact(x.into()).unary(op, dtype),
            Judge::Two(op) => Float::exact(x.into()).binary(op, Float::exact(y.into()), dtype),
        };
        // An infinity or a zero that does not come from an overflow or underflow. The evaluation leaves open the signs that `powf` and
        // `atan2` have at zeros.
        let is_special =
            rust.is_nan() || !bound.value.is_finite() || rust == 0.0 && (bound.value == 0.0 || bound.value.abs() < 1e-200);
        let overflows = dtype == DType::F32 && rust.is_infinite() && bound.value.abs() > 2.0 * f64::from(f32::MAX);
        if overflows {
            return same(rust, got);
        }
        let has_no_bound = bound.error.is_infinite();
        match is_special
            && !(has_no_bound
                && matches!(function.judge, Judge::One(_) | Judge::Two(Binary::Rem | Binary::RemEuclid | Binary::DivEuclid)))
        {
            true => same(rust, got),
            false => has_no_bound || (bound.value - f64::from(got)).abs() <= bound.error,
        }
    };
    let flushed = [x, y].map(|x| if x.abs() < least { 0.0f32.copysign(x) } else { x });
    at(x, y) || flushed != [x, y] && (at(flushed[0], flushed[1]) || at(flushed[0], y) || at(x, flushed[1]))
}

/// Runs a function on a device.
fn run<T: Element + Copy>(device: &Device, kernel: &DynKernel, operands: &[Vec<T>]) -> Vec<T> {
    let tensors: Vec<_> = operands.iter().map(|v| device.upload([v.len()], v).expect("uploads").into_any()).collect();
    let outputs = kernel.run(tensors.iter().map(Into::into)).expect("it runs");
    outputs[0].download().expect("it downloads")
}

/// Compares a function on all operands on each device, in scalars and in vectors.
fn check<T: Element + Copy>(function: &Function, operands: &[Vec<T>], wide: fn(T) -> f32, dtype: DType) -> Vec<String> {
    let inputs = ["x", "z"][..operands.len()].iter().map(|name| format!("{name}: {dtype}[N]")).collect::<Vec<_>>().join(", ");
    let kernel = format!("fn f<N>({inputs}) -> y: {dtype}[N] {{ y[i] = {}; }}", function.body);
    let mut wrong = Vec::new();
    for body in ["", LANES] {
        let program = compiled(&kernel, body);
        for device in devices() {
            // SAFETY: the compiler made this program.
            let kernel = unsafe { device.load_programs(vec![program.clone()]) }.expect("it loads");
            let results = run(device, &kernel, operands);
            let judged = results.into_iter().enumerate().filter_map(|(n, got)| {
                let of = [wide(operands[0][n]), operands.get(1).map_or(0.0, |v| wide(v[n]))];
                (!fits(function, of, wide(got), dtype)).then(|| {
                    let name = &device.info().name;
                    format!(
                        "{} of {of:?} in {dtype} is {:e}, and Rust's {:e}: {name}",
                        function.body,
                        wide(got),
                        (function.rust)(of[0], of[1])
                    )
                })
            });
            let all: Vec<String> = judged.collect();
            wrong.extend(all.iter().take(4).cloned());
            if all.len() > 4 {
                wrong.push(format!("and {} more", all.len() - 4));
            }
        }
    }
    wrong
}

#[test]
fn functions_of_one_operand() {
    let operands = operands();
    let wrong: Vec<String> =
        functions_of_one().iter().flat_map(|f| check(f, std::slice::from_ref(&operands), |x| x, DType::F32)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_of_two_operands() {
    let wrong: Vec<String> = functions_of_two().iter().flat_map(|f| check(f, &pairs(), |x| x, DType::F32)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests every f16 operand.
#[test]
fn functions_of_halves() {
    if !devices().iter().all(|device| device.info().features.contains(&Feature::F16)) {
        return;
    }
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let is_exact = |f: &&Function| !f.body.contains("powi(3)");
    let mut wrong: Vec<String> = functions_of_one()
        .iter()
        .filter(is_exact)
        .flat_map(|f| check(f, std::slice::from_ref(&all), f16::to_f32, DType::F16))
        .collect();
    let halves = pairs().map(|v| v.into_iter().map(f16::from_f32).collect::<Vec<_>>());
    wrong.extend(functions_of_two().iter().flat_map(|f| check(f, &halves, f16::to_f32, DType::F16)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests every bf16 operand.
#[test]
fn functions_of_bfloats() {
    let all: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let new = ["round_ties_even", "ln_1p", "exp_m1", "log10", "copysign", "euclid", "ln()", "round()", "erf"];
    let is_new = |f: &Function| new.iter().any(|name| f.body.contains(name));
    let one = functions_of_one().into_iter().filter(is_new);
    let mut wrong: Vec<String> = one.flat_map(|f| check(&f, std::slice::from_ref(&all), bf16::to_f32, DType::BF16)).collect();
    let some = pairs().map(|v| v.into_iter().map(bf16::from_f32).collect::<Vec<_>>());
    let two = functions_of_two().into_iter().filter(is_new);
    wrong.extend(two.flat_map(|f| check(&f, &some, bf16::to_f32, DType::BF16)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each function is one function of the module, which its uses share.
#[test]
fn uses_share_a_function() {
    let kernel = "fn f<N>(x: f32[N], z: f32[N]) -> y: f32[N] { y[i] = x[i].tanh() + z[i].tanh() * x[i].powf(z[i]); }";
    let spirv = compiled(kernel, "tile(i: 64) => workgroup(x); distribute(i => thread(x));").dispatches[0].spirv.clone();
    let words: Vec<u32> = spirv.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let (mut at, mut counts) = (5, [0; 2]);
    while let Some(first) = words.get(at) {
        // OpFunction and OpFunctionCall.
        counts[0] += usize::from(first & 0xffff == 54);
        counts[1] += usize::from(first & 0xffff == 57);
        at += (first >> 16) as usize;
    }
    assert_eq!(counts, [3, 3], "the entry and two functions, and three calls");
    let text = String::from_utf8_lossy(&spirv).into_owned();
    assert!(text.contains("tanh_f32") && text.contains("powf_f32"));
}
