//! Tests that expressions have the same meaning as in Rust: the language and rustc read the same text.

#![allow(
    clippy::unnecessary_cast,
    clippy::unwrap_used,
    clippy::precedence,
    clippy::identity_op,
    clippy::nonminimal_bool,
    clippy::neg_multiply
)]

use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, evaluate};
use tilewright_dsl::algorithm::{Bindings, check};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::launch::DType;
use tilewright_dsl::syntax::kernel;

/// Evaluates an expression over the scalars `a b c` (of a dtype) and `p q` (bool) in the language. The result has the type `result`.
fn language(text: &str, dtype: &str, result: &str, numbers: [f64; 3], truths: [bool; 2]) -> f64 {
    let text = format!("fn k(a: {dtype}, b: {dtype}, c: {dtype}, p: bool, q: bool) -> y: {result}[] {{ y[] = {text}; }}");
    let mut spans = Spans::new();
    let kernel = kernel::parse(text.parse().unwrap(), &mut spans).into_result().map_err(|e| e.texts(&spans)).unwrap();
    let program = check(&kernel, &Bindings::default()).map_err(|e| e.texts(&spans)).unwrap();
    let mut given = Given::default();
    for ((id, scalar), n) in program.scalars.iter().zip(0..) {
        let value = match scalar.dtype {
            DType::Bool => Value::Bool(truths[n - 3]),
            d if d.is_float() => Value::float(numbers[n]),
            _ => Value::Int(numbers[n] as i64),
        };
        given.scalars.insert(id, value);
    }
    evaluate(&program, &given).unwrap()[&program.outputs[0]].values[0].number()
}

/// Compares integer expressions.
macro_rules! ints {
    ($a:ident $b:ident $c:ident $p:ident $q:ident: $($e:expr);+ $(;)?) => {$(
        for [$a, $b, $c] in [[7i32, 2, 3], [-7, 2, -3], [100, -9, 5], [i32::MAX, 3, 1]] {
            let ($p, $q) = ($a > 0, $b > $c);
            let rust = (|$a: i32, $b: i32, $c: i32, $p: bool, $q: bool| { let _ = ($a, $b, $c, $p, $q); $e })($a, $b, $c, $p, $q);
            let wanted = f64::from(rust);
            let found = language(stringify!($e), "i32", "i32", [$a, $b, $c].map(f64::from), [$p, $q]);
            assert_eq!(found, wanted, "{} of {:?}", stringify!($e), [$a, $b, $c]);
        }
    )+};
}

#[test]
fn integers() {
    ints! {
        a b c p q:
        a - b - c;
        a / b % c;
        a % b / c;
        -a / b;
        b - -c * b;
        (b + c) * b - c;
        b << 2 + 1 >> 1 & c;
        a & b | c ^ a & 7;
        a ^ b & c | 9;
        !a & 0xff;
        !b - 1;
        if (a < b) == q { a } else if p && q || !p { b } else { c };
        (a < b && b < c || p) as i32 + q as i32 * 2;
        -a as i32 + (b as u32 >> 1) as i32;
        -1i32 as i32 - b;
        { let d = b * c; let e = d - 1; d / e + d };
        a.min(b).max(c) - b.abs() * c.signum();
        a.clamp(-3, 3) + b.pow(3);
        a.rem_euclid(b) + c.div_euclid(a) * b.rem_euclid(-3) - a.div_euclid(2) ^ a.rem_euclid(16);
        b.pow(a as u32 & 7) - c.pow(b as u32 % 3) + c.pow(5u32);
        (a & 31).rem_euclid(i32::MIN) + i32::MIN.div_euclid(b);
        a.count_ones() as i32 * 100 + b.leading_zeros() as i32 - c.trailing_zeros() as i32;
        (a.leading_zeros() ^ (b as u32).count_ones()) as i32 + 0u32.leading_zeros() as i32 + (a - a).trailing_zeros() as i32;
        a.rotate_left(5) ^ b.rotate_right(37) ^ c.rotate_left(0) ^ a.rotate_right(32);
        a.rotate_left(b as u32) ^ (b as u32).rotate_right(c as u32) as i32;
        1i32.rotate_left(a as u32) ^ a;
        i32::MAX - b.abs();
        if a & 1 == 1 { 5 } else { -5 };
        (p ^ q) as i32 + (p == q) as i32 + (p != q) as i32;
    }
}

/// Compares float expressions.
macro_rules! floats {
    ($a:ident $b:ident $c:ident: $($e:expr);+ $(;)?) => {$(
        for [$a, $b, $c] in [[0.5f64, 2.0, -3.25], [-7.75, 0.25, 1.5], [1e-3, -2.5, 4.0]] {
            let wanted: f64 = (|$a: f64, $b: f64, $c: f64| { let _ = ($a, $b, $c); $e })($a, $b, $c);
            let found = language(&stringify!($e).replace("f64", "f32"), "f32", "f32", [$a, $b, $c], [false; 2]);
            let same = (found - wanted).abs() <= 1e-6 * wanted.abs().max(1.0) || (found.is_nan() && wanted.is_nan()) || found == wanted;
            assert!(same, "{} of {:?}: {found}, not {wanted}", stringify!($e), [$a, $b, $c]);
        }
    )+};
}

#[test]
fn floats() {
    floats! {
        a b c:
        a - b - c;
        a / b / c * 2.0;
        -a.abs() + b.powi(3) - c.powi(-2);
        a % c + -b % 0.75;
        a.exp() + b.abs().ln() - c.abs().log2() * a.exp2();
        a.sin() * b.cos() / c.tan() + a.tanh() + b.sinh() * 0.01 - c.cosh();
        (a * 0.1).asin() + (b * 0.1).acos() + c.atan() + b.asinh();
        a.abs().sqrt().recip() + b.atan2(c);
        a.floor() + b.ceil() - c.trunc() + a.round() * b.round() - c.round();
        b.abs().powf(c) + a.mul_add(b, c);
        a.round_ties_even() + (b * 2.0).round_ties_even() - (c * 0.5).round_ties_even();
        b.abs().ln_1p() - (c * 1e-6).exp_m1() * 1e6 + a.abs().log10();
        a.copysign(c) * b.copysign(-a) + a.rem_euclid(c) - b.rem_euclid(a) * c.div_euclid(b) + a.div_euclid(-0.75);
        a.min(b).max(c).clamp(-1.0, 1.0);
        a.signum() + b.signum() * c.signum();
        if a < b { 2.0 * a } else { -c };
        if a.is_nan() || (b / 0.0).is_infinite() && c.is_finite() { 1.0 } else { 0.0 };
        f64::MAX.min(a) + core::f64::consts::PI * b;
    }
}

/// Returns the error bound of a reduction's result.
fn error(reduction: &str, dtype: &str, values: &[f64]) -> f64 {
    let text = format!("fn k<N>(x: {dtype}[N]) -> y: {dtype}[] {{ y[] = {reduction}(k in 0..N) {{ x[k] }}; }}");
    let mut spans = Spans::new();
    let kernel = kernel::parse(text.parse().unwrap(), &mut spans).into_result().map_err(|e| e.texts(&spans)).unwrap();
    let program = check(&kernel, &Bindings::default()).map_err(|e| e.texts(&spans)).unwrap();
    let x = program.buffers.ids().find(|b| program.buffers[*b].name == "x").unwrap();
    let values: Vec<Value> = values.iter().map(|v| Value::float(*v)).collect();
    let n = values.len() as i64;
    let mut given = Given::default().dim(&program, "N", n);
    given.tensors.insert(x, Tensor { shape: vec![n], values });
    match evaluate(&program, &given).unwrap()[&program.outputs[0]].values[0] {
        Value::Float(float) => float.error,
        other => panic!("{other:?} is not a float"),
    }
}

/// The error bound is infinite if a partial result, in some order, may exceed the dtype's range.
#[test]
fn overflows() {
    assert!(error("sum", "f16", &[60000.0, -60000.0, 60000.0]).is_infinite());
    assert!(error("sum", "f32", &[60000.0, -60000.0, 60000.0]) < 1.0);
    assert!(error("sum", "f16", &[30000.0, -30000.0, 1.0]) < 100.0);
    assert!(error("prod", "f16", &[-2.5; 16]).is_infinite());
    assert!(error("prod", "f16", &[0.25, 1000.0, 0.25, 1000.0, 0.25]).is_infinite());
    assert!(error("prod", "f32", &[0.25, 1000.0, 0.25, 1000.0, 0.25]) < 1.0);
    assert!(error("prod", "f16", &[0.0, 1000.0, 1000.0]).is_infinite());
    assert!(error("prod", "f16", &[0.25, 1000.0, 0.25]) < 1.0);
    assert!(error("max", "f16", &[65504.0, -65504.0]) < 100.0);
}

/// The bits of each float type, and the float of its bits.
#[test]
fn bits_of_floats() {
    let of = |text: &str, dtype: &str, result: &str, x: f64| language(text, dtype, result, [x, 0.0, 0.0], [false; 2]);
    for x in [0.0, -0.0, 1.0, -2.5, 0.15625, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(of("a.to_bits()", "f32", "u32", x), f64::from((x as f32).to_bits()));
        assert_eq!(of("a.to_bits()", "f16", "u16", x), f64::from(half::f16::from_f64(x).to_bits()));
        assert_eq!(of("a.to_bits()", "bf16", "u16", x), f64::from(half::bf16::from_f64(x).to_bits()));
        for (dtype, float) in [("f32", "f32"), ("f16", "f16"), ("bf16", "bf16")] {
            assert_eq!(of(&format!("{float}::from_bits(a.to_bits())"), dtype, dtype, x).to_bits(), x.to_bits());
        }
    }
    assert!(
        of("f16::from_bits(0x7e00)", "f16", "f16", 0.0).is_nan()
            && of("f32::NAN.to_bits() & 0x7fc00000", "f32", "u32", 0.0) == 2143289344.0
    );
    assert_eq!(of("core::f32::from_bits(1.5.to_bits())", "f32", "f32", 0.0), 1.5);
}
