//! Defects of drivers: small kernels whose obvious instructions do not behave as SPIR-V says on some driver, and similar kernels.
//! `docs/drivers.md` lists the defects. Each test here runs on any device.

pub(super) mod halves;

use crate::harness::{Fill, devices, instructions, profiles, refused, variant};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// One invocation for each element.
const PLAIN: &str = "tile(i: 32) => workgroup(x); distribute(i => thread(x));";

/// Returns a schedule with these directives for each output.
fn schedule(outputs: &[&str], directives: &str) -> String {
    let blocks: Vec<String> = outputs.iter().map(|name| format!("{name} {{ {directives} }}")).collect();
    format!("V: k for p {{ {} }}", blocks.join(" "))
}

/// Returns a profile of the harness, without and with the float controls.
pub fn with_controls() -> [Profile; 2] {
    let [without, _] = profiles();
    let mut with = without.clone();
    with.features.extend([Feature::Nan16, Feature::Nan32]);
    [without, with]
}

/// Checks every element, for inputs that include NaN, infinities and the limits of integers.
fn check(kernel: &str, schedule: &str, dims: &[(&str, i64)], profiles: &[Profile]) {
    for profile in profiles {
        let variant = variant(kernel, schedule, profile);
        variant.check_partly(dims, &[], &|_| Fill::Wild, |elements| elements / 5);
        variant.check_partly(dims, &[], &|_| Fill::Small, |elements| elements / 5);
    }
}

/// Returns a kernel with many outputs `y0`, `y1`, …, one for each expression.
pub fn of_each(arguments: &str, dtype: &str, values: &[String]) -> String {
    let outputs: Vec<String> = (0..values.len()).map(|n| format!("y{n}: {dtype}[N]")).collect();
    let bodies: Vec<String> = values.iter().enumerate().map(|(n, value)| format!("y{n}[i] = {value};")).collect();
    format!("fn k<N>({arguments}) -> ({}) {{ {} }}", outputs.join(", "), bodies.join("\n"))
}

/// Checks expressions, at most eight per kernel.
fn expressions(arguments: &str, dtype: &str, values: &[String], profiles: &[Profile]) {
    for values in values.chunks(8) {
        let names: Vec<String> = (0..values.len()).map(|n| format!("y{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let schedule = schedule(if values.len() == 1 { &["y0"] } else { &names }, PLAIN);
        check(&of_each(arguments, dtype, values), &schedule, &[("N", 200)], profiles);
    }
}

/// A driver merged two consecutive signed minima or maxima to one instruction, which dropped the negations of its operands. An
/// absolute value, which is a maximum, and each step of a reduction are affected, too.
#[test]
fn extremes_of_negated_integers() {
    let negations = ["x[i].abs()", "-x[i]", "(0 - x[i])", "(x[i] * -1)", "(!x[i] + 1)", "(if x[i] < 0 { -x[i] } else { x[i] })"];
    let mut values = Vec::new();
    for negated in negations {
        let of = |name: &str| negated.replace("x[", &format!("{name}["));
        values.extend([
            format!("{negated}.max(q[i])"),
            format!("q[i].max({negated})"),
            format!("{negated}.max(q[i]).max(z[i])"),
            format!("{negated}.max({}).max({})", of("q"), of("z")),
            format!("{negated}.min({}).min({})", of("q"), of("z")),
            format!("{negated}.max(q[i]).min(z[i])"),
            format!("{negated}.clamp(-3, 40).max(q[i])"),
            format!("(-(x[i].max(q[i]))).max(-z[i]).max({negated})"),
        ]);
    }
    expressions("x: i32[N], q: i32[N], z: i32[N]", "i32", &values, &profiles());
}

/// The same defect in reductions, whose accumulator is an operand of each step.
#[test]
fn reductions_of_negated_integers() {
    let negations = ["x[i, k].abs()", "-x[i, k]", "(x[i, k] * -1)", "x[i, k].abs().max(-3)", "-(x[i, k].max(5))", "(2 - x[i, k])"];
    for negated in negations {
        for unroll in ["", "unroll(k);", "tile(k: 4 => k_o); unroll(k);"] {
            let kernel = format!(
                "fn k<N, K = 12>(x: i32[N, K]) -> (low: i32[N], high: i32[N]) {{
                    low[i] = min(k in 0..K) {{ {negated} }};
                    high[i] = max(k in 0..K) {{ {negated} }};
                }}"
            );
            let schedule = schedule(&["low", "high"], &format!("{PLAIN} {unroll}"));
            check(&kernel, &schedule, &[("N", 70)], &profiles());
        }
    }
}

/// The same defect in indices: a clamped index of a negated axis must not give another element.
#[test]
fn indices_that_are_extremes_of_negated_axes() {
    let kernel = "fn k<N, M = 40>(x: f32[N]) -> y: f32[N, M] { y[i, j] = x.clamp()[(-i).max(-j).max(-3) + 5]; }";
    let schedule = "V: k for p { tile(j: 32) => workgroup(x); distribute(j => thread(x)); serial(i); }";
    check(kernel, schedule, &[("N", 9)], &profiles());
}

/// The driver kept negations of unsigned integers and of floats; other drivers must do so, too.
#[test]
fn extremes_of_other_negated_numbers() {
    let unsigned =
        ["(0 - x[i]).max(q[i]).max(z[i])", "(0 - x[i]).max(0 - q[i]).max(0 - z[i])", "(!x[i] + 1).min(q[i]).min(0 - z[i])"];
    expressions("x: u32[N], q: u32[N], z: u32[N]", "u32", &unsigned.map(str::to_owned), &profiles());
    let floats = [
        "x[i].abs().max(q[i]).max(z[i])",
        "(-x[i]).max(-q[i]).max(-z[i])",
        "(-x[i]).min(q[i].abs()).min(-z[i])",
        "x[i].abs().max(q[i].abs()).max(z[i].abs())",
        "(-(x[i].max(q[i]))).max(-z[i])",
    ];
    for dtype in ["f32", "f16"] {
        let arguments = format!("x: {dtype}[N], q: {dtype}[N], z: {dtype}[N]");
        expressions(&arguments, dtype, &floats.map(str::to_owned), &with_controls());
    }
}

/// Functions whose numbers are at least 0: a driver knew their range, and assumed that they are never NaN.
const RANGED: [&str; 9] = [
    "x[i].exp()",
    "x[i].exp2()",
    "x[i].abs()",
    "(x[i] * x[i])",
    "(x[i].exp() + 1.0)",
    "x[i].sin()",
    "x[i].sin().exp()",
    "(if q[i] < 0.0 { x[i].exp() } else { 1.0 })",
    "(if x[i] < 0.0 { -x[i] } else { x[i] })",
];

/// Clamping NaN gives the lower end. For values with a range from 0, the driver assumed that the clamped value is at least 0, and
/// dropped `abs`.
#[test]
fn extremes_of_nan() {
    for ranged in RANGED {
        let values = [
            format!("{ranged}.clamp(-2.0, 2.0).abs()"),
            format!("{ranged}.max(-2.0).abs()"),
            format!("{ranged}.max(q[i]).abs()"),
            format!("(-{ranged}).min(2.0).max(-9.0)"),
            format!("{ranged}.max(-2.0).max(0.0)"),
            format!("{ranged}.min(-9.0).abs()"),
        ];
        ranged_expressions(ranged, &values);
    }
}

/// Checks expressions of x and q in f32, and some of them in f16.
fn ranged_expressions(ranged: &str, values: &[String]) {
    expressions("x: f32[N], q: f32[N]", "f32", values, &with_controls());
    if RANGED[..3].contains(&ranged) {
        expressions("x: f16[N], q: f16[N]", "f16", values, &with_controls());
    }
}

/// Comparisons with NaN are false. If the driver knew a range, it evaluated the comparison by the range, even with the float
/// controls.
#[test]
fn comparisons_with_nan() {
    for ranged in RANGED {
        let values = [
            format!("if {ranged} > -2.0 {{ 1.0 }} else {{ 5.0 }}"),
            format!("if {ranged} >= -2.0 {{ {ranged} }} else {{ q[i] }}"),
            format!("if -2.0 < {ranged} {{ 1.0 }} else {{ 5.0 }}"),
            format!("if {ranged} != {ranged} {{ 1.0 }} else {{ 5.0 }}"),
            format!("if {ranged} == {ranged} {{ 1.0 }} else {{ 5.0 }}"),
            format!("if {ranged} <= {ranged} {{ 1.0 }} else {{ 5.0 }}"),
            format!("if {ranged}.is_nan() {{ 1.0 }} else {{ 5.0 }}"),
            format!("(if {ranged} > -2.0 {{ {ranged} }} else {{ -7.0 }}).abs().min(8.0)"),
        ];
        ranged_expressions(ranged, &values);
    }
}

/// The same defect through registers, shared memory and reductions, because drivers propagate ranges through some of them.
#[test]
fn nan_by_way_of_memory() {
    let kernel = "fn k<N, K = 6>(x: f32[N, K]) -> (y: f32[N, K], low: f32[N], high: f32[N], best: i32[N]) {
        let s[i, k]: f32[N, K] = x[i, k].exp();
        y[i, k] = (if s[i, k] > -2.0 { 1.0 } else { 5.0 }) + s[i, k].clamp(-2.0, 2.0).abs();
        low[i] = min(k in 0..K) { x[i, k].abs().clamp(-2.0, 2.0).abs() };
        high[i] = max(k in 0..K) { if x[i, k].abs() >= 0.0 { x[i, k] } else { 3.0 } };
        best[i] = argmax(k in 0..K) { x[i, k].abs() };
    }";
    for place in ["inline(s);", "compute_at(s, i, to: register); unroll(k);", "compute_at(s, workgroup, to: shared);"] {
        let schedule = format!(
            "V: k for p {{
                y {{ tile(i: 8) => workgroup(x); serial(i, k); {place} }}
                low {{ {PLAIN} }}
                high {{ {PLAIN} unroll(k); }}
                best {{ {PLAIN} }}
            }}"
        );
        check(kernel, &schedule, &[("N", 50)], &with_controls());
    }
}

/// The maximum of f16 values was wrong, if each step chooses one of two values by a condition and then multiplies, divides or
/// subtracts: the result was the smaller of two values.
#[test]
fn extremes_of_chosen_halves() {
    let conditions = ["l >= k || c[1, l] > -0.5", "l >= k || c[i + k, l] > 0.5", "l >= k || n[l] > 3"];
    let rest = ["/ y[0]", "/ -y[0].abs()", "* z[i]", "- y[0]"];
    for (condition, dtype) in conditions.into_iter().flat_map(|c| [(c, "f16"), (c, "f32")]) {
        let values = rest.map(|rest| format!("(if {condition} {{ x[i] }} else {{ y[i] }}) {rest}"));
        let outputs = ["a", "b", "c0", "d", "e", "f", "g", "h"];
        let body = |(n, name): (usize, &&str)| {
            let op = if n % 2 == 0 { "max" } else { "min" };
            format!("{name}[i] = {op}(k in 0..2, l in 0..2) {{ {} }};", values[n / 2])
        };
        let bodies: Vec<String> = outputs.iter().enumerate().map(body).collect();
        let types: Vec<String> = outputs.iter().map(|name| format!("{name}: {dtype}[N]")).collect();
        let kernel = format!(
            "fn k<N>(c: {dtype}[N + 1, 2], n: i32[2], x: {dtype}[N], y: {dtype}[N], z: {dtype}[N]) -> ({}) {{ {} }}",
            types.join(", "),
            bodies.join("\n")
        );
        for profile in profiles() {
            let variant = variant(&kernel, &schedule(&outputs, PLAIN), &profile);
            (0..3).for_each(|_| variant.check(&[("N", 40)], &[]));
        }
    }
}

/// Forms of `(if c { x } else { 0 }) & m`: an element or a padding, shifted, or a number that a condition chooses.
const CHOICES: [&str; 5] = [
    "(if k >= j { q as T } else { x[j, k, l] })",
    "(if k >= j { x[j, k, l] } else { 0 })",
    "x.pad(0)[j, k - 2, l]",
    "(x.pad(0)[j, k - 2, l] << 3)",
    "((if k >= j { x[j, k, l] } else { 0 }) * 3)",
];

/// The element or 0, combined with a mask that is invariant in the inner loop: the driver hoisted the condition out of the loop,
/// and used wrong bits.
#[test]
fn ands_of_choices() {
    let masks = ["z[j, k]", "(0 - z[j, k])", "(z[j, k] << 1)", "(if k >= j { z[j, k] } else { 0 })", "7"];
    let [addresses, descriptors] = profiles();
    let spilled = Profile { push_bytes: 8, ..addresses.clone() };
    for (dtype, choice) in ["u32", "i32"].into_iter().flat_map(|dtype| CHOICES.map(|choice| (dtype, choice))) {
        let outputs: Vec<String> = (0..masks.len()).map(|n| format!("y{n}")).collect();
        let body = |(y, mask): (&String, &str)| {
            format!("{y}[i, j] = sum(k in 1..N, l in 0..j + 1, q in 0..3) {{ {} & {mask} }};", choice.replace('T', dtype))
        };
        let bodies: Vec<String> = outputs.iter().zip(masks).map(body).collect();
        let types: Vec<String> = outputs.iter().map(|y| format!("{y}: {dtype}[N, N]")).collect();
        let arguments = format!("x: {dtype}[N, N, N], z: {dtype}[N, N]");
        let kernel = format!("fn k<N>({arguments}) -> ({}) {{ {} }}", types.join(", "), bodies.join("\n"));
        let profiles = [addresses.clone(), descriptors.clone(), spilled.clone()];
        check(&kernel, "V: k for p {}", &[("N", 5)], &profiles);
    }
}

/// The same defect in the position of a maximum, and with an argument in memory, because the parameters do not fit push constants.
#[test]
fn ands_of_choices_in_other_places() {
    for value in ["(-h) & x.pad(0)[i, k - 2]", "(-h) & (x.pad(0)[i, k - 2] << 3)", "((i - h) as i32) & x.pad(0)[i, k - 2]"] {
        let kernel = format!("fn k<N>(x: i32[N, 3]) -> y: i32[N, N] {{ y[i, h] = argmax(k in 0..3, q in 0..N) {{ {value} }}; }}");
        for n in [3, 7] {
            check(&kernel, "V: k for p {}", &[("N", n)], &profiles());
        }
    }
    let kernel = "fn k<N>(x: u32[N, N, N], a: u32) -> y: u32[N, N] {
        y[i, j] = sum(k in 1..N, l in 0..j + 1, q in 0..3) { (if k >= j { q as u32 } else { x[j, k, l] }) & a };
    }";
    let profile = Profile { push_bytes: 8, ..profiles()[0].clone() };
    let variant = variant(kernel, "V: k for p { distribute(i, j => workgroup(z, y)); }", &profile);
    (0..3).for_each(|_| variant.check(&[("N", 6)], &[7.0]));
}

/// An element of 16 bits with its bytes swapped, in several forms, and similar ones: the driver returned 0 or other bits.
#[test]
fn swaps_of_bytes() {
    let forms = [
        "x[i].rotate_left(8)",
        "x[i].rotate_right(24)",
        "(x[i] + 1).rotate_left(8) + 1",
        "(x[i] << 8) | (x[i] >> 8)",
        "(((x[i] as u32) << 8) ^ ((x[i] as u32) >> 8)) as T",
        "((((x[i] as u32) << 8) & 65280) | ((x[i] as u32) >> 8)) as T",
        "(((x[i] as u32) * 256) | ((x[i] as u32) >> 8)) as T",
        "(((x[i] as u32) * 256) | ((x[i] as u32) / 256)) as T",
        "(((x[i] as u32) << 8) | (((x[i] as u32) >> 8) & 255)) as T",
        "(((x[i] as u32) << 8) | (((x[i] as u32) & 65280) >> 8)) as T",
        "(((x[i] as u32) << 8) + ((x[i] as u32) >> 8)) as T",
        "(((x[i] as u32) << 8) | (z[i] as u32)) as T",
        "x[i].rotate_left(4)",
    ];
    for dtype in ["u16", "i16"] {
        let values: Vec<String> = forms.iter().map(|form| form.replace('T', dtype)).collect();
        let kernel = of_each(&format!("x: {dtype}[N], z: {dtype}[N]"), dtype, &values);
        let names: Vec<String> = (0..values.len()).map(|n| format!("y{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let vectors = "tile(i: 64) => workgroup(x); tile(i: 2) => thread(x); vectorize(i, 2, unaligned: scalar);";
        for directives in [PLAIN, vectors] {
            check(&kernel, &schedule(&names, directives), &[("N", 100)], &profiles().map(shorts));
        }
    }
}

/// Returns a profile with elements of 16 bits.
fn shorts(mut profile: Profile) -> Profile {
    profile.features.insert(Feature::Storage16);
    profile
}

/// Arithmetic that is simple for numbers, but NaN for NaN and infinity. Drivers used the simple result, also after reassociating
/// the operations.
const SIMPLE: [&str; 24] = [
    "x[i] - x[i]",
    "x[i] + (-x[i])",
    "x[i] / 1.0 - x[i]",
    "(x[i] + 0.0) - x[i]",
    "(x[i] - x[i]) * q[i]",
    "x[i] * q[i] - q[i] * x[i]",
    "(x[i] + q[i]) - (q[i] + x[i])",
    "(x[i] + q[i]) - x[i] - q[i]",
    "(x[i] - q[i]) - x[i]",
    "(x[i] * 2.0) - x[i]",
    "(x[i] * 2.0) - x[i] - x[i]",
    "x[i].max(x[i]) - x[i]",
    "(if q[i] < 0.0 { x[i] } else { x[i] }) - x[i]",
    "x[i].floor() - x[i].floor().trunc()",
    "x[i].sqrt() * x[i].sqrt() - x[i]",
    "1.0 / (1.0 / x[i]) - x[i]",
    "x[i].powi(2) - x[i] * x[i]",
    "x[i] * 0.0",
    "x[i] * -0.0",
    "0.0 / x[i]",
    "x[i].exp() * 0.0",
    "x[i].mul_add(0.0, q[i])",
    "x[i] * ((i as f32) * 0.0)",
    "(if q[i] < 0.0 { 1.0 } else { 0.0 }) * x[i]",
];

/// Such arithmetic is not simplified, on every profile. (Values are not near 1.5, so that rounding does not decide a comparison.)
#[test]
fn arithmetic_on_nan() {
    for simple in SIMPLE {
        let values =
            |simple: &str| vec![format!("({simple}).exp2().max(-2.0)"), format!("if ({simple}) < 1.5 {{ 1.0 }} else {{ 2.0 }}")];
        expressions("x: f32[N], q: f32[N]", "f32", &values(simple), &with_controls());
        let halves = simple.replace("f32", "f16");
        expressions("x: f16[N], q: f16[N]", "f16", &values(&halves), &with_controls()[..1]);
    }
}

/// A counter that is 0 in one iteration, times infinity, is NaN. A driver that unrolls the loop knows the 0.
#[test]
fn counters_times_infinity() {
    let values = [
        "((k as f32) * x[i]).exp2().max(-2.0)",
        "((k as f32) * x[i] + q[i]).exp2().max(-2.0)",
        "(((k - 1) as f32) * x[i] + q[i]).exp2().max(-2.0)",
        "((((k + 1) as f32) - 1.0) * x[i] + q[i]).exp2().max(-2.0)",
        "if (k as f32) * x[i] < 1.0 { 1.0 } else { 3.0 }",
        "if ((k & 1) as f32) * x[i] < 1.0 { 1.0 } else { 3.0 }",
        "(((i - (if k == 0 { i } else { 0 })) as f32) * x[i] + q[i]).exp2().max(-2.0)",
        "(((i - i.min(i + k)) as f32) * x[i] + q[i]).exp2().max(-2.0)",
    ];
    for unroll in ["serial(i);", "unroll(i); unroll(k);", "vectorize(i, 4);"] {
        for value in values {
            let kernel = format!("fn k<N>(x: f32[N], q: f32[N]) -> y: f32[N] {{ y[i] = sum(k in 0..3) {{ {value} }}; }}");
            check(
                &kernel,
                &format!("V: k for p where N % 4 == 0 {{ tile(i: 32) => workgroup(x); tile(i: 4) => thread(x); {unroll} }}"),
                &[("N", 200)],
                &with_controls(),
            );
        }
    }
}

/// A padding of 0 is certain in some iterations, or for sizes that the pipeline knows. Times infinity it is NaN.
#[test]
fn certain_paddings_times_infinity() {
    let values = [
        "(z.pad(0.0)[i + k - 1] * x[i]).exp2().max(-2.0)",
        "(x.pad(0.0)[k - 1] * z[i] + q[i]).exp2().max(-2.0)",
        "(w.pad(0.0)[k + 1] * x[i] + q[i]).exp2().max(-2.0)",
        "((if k == 1 { 0.0 } else { q[i] }) * x[i]).exp2().max(-2.0)",
        "((if 2 < M + k { -0.0 } else { w.clamp()[0] }) * x[i]).exp2().max(-2.0)",
        "(w.pad(0.0)[2] / w.pad(0.0)[k + 2]).exp2().max(-2.0)",
        "if (c.pad(0)[i + k - 1] as f32) * x[i] < 1.0 { 1.0 } else { 3.0 }",
        "if ((if k == 1 { 0 } else { c[i] }) as f32) * x[i] < 1.0 { 1.0 } else { 3.0 }",
        "if ((c[i] * (k - 1)) as f32) * x[i] < 1.0 { 1.0 } else { 3.0 }",
    ];
    for unroll in ["serial(i);", "unroll(i); unroll(k);", "vectorize(i, 4);"] {
        let halves = |value: &&&str| !value.contains("as f32");
        let of_halves = values.iter().filter(halves).map(|value| (value, "f16"));
        for (value, dtype) in values.iter().map(|value| (value, "f32")).chain(of_halves) {
            let kernel = format!(
                "fn k<N, M>(x: {dtype}[N], z: {dtype}[N], q: {dtype}[N], w: {dtype}[M], c: i32[N]) -> y: {dtype}[N] {{
                    y[i] = max(k in 0..3) {{ {value} }};
                }}"
            );
            let directives = format!("pin(M); tile(i: 32) => workgroup(x); tile(i: 4) => thread(x); {unroll}");
            let schedule = format!("V: k for p where N % 4 == 0 {{ {directives} }}");
            check(&kernel, &schedule, &[("N", 68), ("M", 2)], &with_controls()[..if dtype == "f16" { 1 } else { 2 }]);
        }
    }
}

/// In f16, the product with such a padding gave the other factor, the square root of a clamped quotient, and not 0.
#[test]
fn certain_paddings_of_halves() {
    let factors = [
        "x[i].max(q[0]).clamp(-2.0, 2.0).abs().sqrt()",
        "((x[i] * 4.0).ceil() / (q[0].abs() + 1.0)).max(q.pad(0.0)[i / 3]).clamp(-2.0, 2.0).abs().sqrt()",
        "((x[i] * 4.0) / (q[0].abs() + 1.0)).max(q[0]).clamp(-2.0, 2.0).abs()",
        "(x[i] / (q[0].abs() + 1.0)).abs().sqrt()",
    ];
    for factor in factors {
        let kernel = format!(
            "fn k<M, C = 4>(z: f16[C, M], q: f16[C], x: f16[C]) -> y: f16[C] {{
                y[i] = {factor} * z.pad(0.0)[i, 2 * i - 1] * q[i] - x[(C - 1) - i];
            }}"
        );
        for m in [1, 3] {
            for profile in &profiles() {
                let variant = variant(&kernel, "V: k for p { pin(M); unroll(i); }", profile);
                variant.check_partly(&[("M", m)], &[], &|_| Fill::Small, |elements| elements - 1);
            }
        }
    }
}

/// Products with zeros that a compiler knows from a table, or computes from literals.
#[test]
fn zeros_of_tables() {
    let zeros = ["t[k]", "(t[k] - 1.0)", "(u[k] as f32)", "((if k == 1 { 1.0 } else { q[i] }) - 1.0)", "(t[k] * t[2 - k])"];
    for (zero, schedule) in
        zeros.into_iter().flat_map(|zero| ["serial(i);", "unroll(i, k);", "vectorize(i, 4);"].map(|s| (zero, s)))
    {
        let kernel = format!(
            "fn k<N>(x: f32[N], q: f32[N]) -> y: f32[N] {{
                const t: f32[3] = [1.0, 0.0, 0.75];
                const u: i32[3] = [1, 0, 2];
                y[i] = sum(k in 0..3) {{ {zero} * x[i] }};
            }}"
        );
        let schedule =
            format!("V: k for p where N % 4 == 0 {{ tile(i: 32) => workgroup(x); tile(i: 4) => thread(x); {schedule} }}");
        check(&kernel, &schedule, &[("N", 200)], &with_controls());
    }
    let of_loop = "fn k<N>(x: f16[3, N, N]) -> y: f16[N] {
        const t: f16[1, 3] = [[0.75, 1.0, 0.0]];
        let s[j]: f16[N] = sum(k in 0..3) { (x[1, 0, j].recip().sin() * t[0, k]) * 1.0 };
        y[j] = s.clamp()[1];
    }";
    let of_lanes = "fn k<N, K>(a: f16, x: f16[K, N]) -> y: f16[N] {
        const t: f16[2, 4] = [[-1.0, 0.0, 0.0, 0.75], [-1.0, 1.0, 0.75, 0.25]];
        let s[i, j]: f16[N, K] = (((if (i % 4) >= 1 { a } else { x[j, i] }).clamp(0.0, 0.75) / (x[j, i].abs() + 1.0)) + x[j, i]).abs() + 0.5;
        y[i] = (prod(k in i..N) { x.clamp()[i - 3, i] }) + s.clamp()[i, i + 2].rsqrt() * t[i % 2, i % 4];
    }";
    let lanes = "V: k for p where N % 8 == 0 { vectorize(i, 8, unaligned: scalar); distribute(i => workgroup(z)); }";
    for profile in with_controls().into_iter().chain(profiles()) {
        variant(of_loop, "V: k for p {}", &profile).check_partly(&[("N", 40)], &[], &|_| Fill::Small, |n| n / 8);
        variant(of_lanes, lanes, &profile).check(&[("N", 16), ("K", 37)], &[0.0]);
    }
}

/// Barriers in long unrolled code make a CPU driver compile for minutes. The compiler refuses the loop that causes them.
#[test]
fn barriers_written_out() {
    let kernel = "fn k<N, K>(x: f32[N, K], z: f32[N, K]) -> y: f32[N, N] { y[i, j] = sum(k in 0..K) { x[i, k] * z[j, k] }; }";
    let schedule = |unrolled: &str| {
        format!(
            "V: k for p {{
                tile(i: 16, j: 1) => workgroup(y, x);
                tile(k: 64 => k_t);
                distribute(k => thread(x), by: tree);
                {unrolled}
            }}"
        )
    };
    refused(kernel, &schedule("unroll(i);"), "barriers in ");
    let profile = &profiles()[0];
    let variant = variant(kernel, &schedule("serial(i);"), profile);
    variant.check(&[("N", 9), ("K", 11)], &[]);
}

/// Loops in many unrolled copies make a GPU's driver compile for seconds to minutes. The compiler refuses the loop that causes
/// them.
#[test]
fn loops_written_out() {
    let kernel = "fn k<N, K>(x: f32[N, K], z: f32[N, K]) -> y: f32[N, N] { y[i, j] = sum(k in 0..K) { x[i, k] * z[j, k] }; }";
    let schedule = |rest: &str| format!("V: k for p {{ tile(i: 8, j: 16) => workgroup(y, x); {rest} unroll(i, j); }}");
    refused(kernel, &schedule(""), "makes 128 loops");
    let variant = variant(kernel, &schedule("reorder(k, i, j);"), &profiles()[0]);
    variant.check(&[("N", 9), ("K", 11)], &[]);
}

/// The literal bound of a long loop is compared directly in one copy of the loop, and hidden from the driver if the loop occurs
/// several times.
#[test]
fn bounds_of_loops_written_out() {
    let long = "sum(k in 0..K) { x[i, k] * z[i, k].exp() }";
    // The cost of the inner loop is not known.
    let nested = "sum(k in 0..K, l in 0..K) { x[i, k] * z[i, l] }";
    for (value, tile, copies, is_hidden) in [(long, 500, 1, false), (long, 500, 4, true), (nested, 60, 4, true)] {
        let kernel = format!("fn k<N, K>(x: f32[N, K], z: f32[N, K]) -> y: f32[N] {{ y[i] = {value}; }}");
        let schedule = format!(
            "V: k for p where K % {tile} == 0 {{ tile(i: {copies}) => workgroup(x); tile(k: {tile}); unroll(i); reorder(k_o, i, k); }}"
        );
        let variant = variant(&kernel, &schedule, &profiles()[0]);
        let module = instructions(&variant.program.dispatches[0].spirv);
        let bound = module.iter().find(|(op, words)| *op == CONSTANT && words[2] == tile);
        let is_compared = bound.is_some_and(|(_, bound)| module.iter().any(|(op, words)| *op == LESS && words[3] == bound[1]));
        assert_eq!(is_compared, !is_hidden, "{value}, {copies} copies");
        variant.check(&[("N", 9), ("K", 2 * i64::from(tile))], &[]);
    }
}

/// Only the combining step of a reduction is fused. In f16, the `Fma` that adds to the accumulator is not decorated; every other
/// `Fma` is.
#[test]
fn sums_of_halves() {
    let kernel = "fn k<N, K>(x: f16[N, K], w: f16[N]) -> y: f16[N] {
        y[i] = (sum(k in 0..K) { (x[i, k] * w[i] + x[i, k]) * w[i] }) * w[i] + w[i];
    }";
    for (dtype, decorated) in [("f16", 1), ("f32", 2)] {
        let made = variant(&kernel.replace("f16", dtype), "V: k for p { serial(i); }", &profiles()[0]);
        let module = instructions(&made.program.dispatches[0].spirv);
        let fused = module.iter().filter(|(op, words)| *op == EXTENDED && words[3] == FMA).map(|(_, words)| words[1]);
        let of = |id: u32| module.iter().any(|(op, words)| *op == DECORATE && words[..] == [id, NO_CONTRACTION]);
        let fused: Vec<bool> = fused.map(of).collect();
        assert_eq!((fused.len(), fused.iter().filter(|is| **is).count()), (2, decorated), "{dtype}");
        made.check(&[("N", 9), ("K", 11)], &[]);
    }
}

const EXTENDED: u32 = 12;
const CONSTANT: u32 = 43;
const DECORATE: u32 = 71;
const LESS: u32 = 177;
const FMA: u32 = 50;
const NO_CONTRACTION: u32 = 42;

/// Sums and extremes of integers by subgroup, many of them in both branches of a peeled loop.
#[test]
fn integers_by_subgroup() {
    let size = devices()[0].info().limits.subgroup;
    let profile = Profile { subgroup: Some(size), ..Profile::amd_rdna3() };
    for copies in [12, 16, 24] {
        let schedule = format!(
            "V: k for p {{
                rfactor(q => part);
                tile(h: 1 => h_o) => workgroup(z);
                serial(i, j);
                part {{
                    tile(h: 16 => h_o, i: {copies} peel => i_o) => workgroup(x, x);
                    tile(l: 2 => l_o);
                    tile(l: {size} round_up => l_oo);
                    distribute(l => thread(x), by: subgroup);
                    distribute(q => workgroup(y));
                    unroll(i);
                    distribute(j => workgroup(y));
                    distribute(h => thread(z));
                }}
            }}"
        );
        let sum = "x0.pad(7)[j, k] * x1.clamp()[l - 2] - 9 + x2.clamp()[l + h - 1] + 6";
        for (reduction, dtype, value) in [
            ("sum", "i32", sum),
            ("sum", "i32", "x1[l] + x2[h]"),
            ("sum", "u32", sum),
            ("max", "i32", sum),
            ("min", "i32", "x1[l].min(x2[h])"),
            ("max", "u32", sum),
        ] {
            let kernel = format!(
                "fn k<K>(x0: {dtype}[K, 1], x1: {dtype}[K], x2: {dtype}[K]) -> y: {dtype}[K, K, K] {{
                    y[i, j, h] = {reduction}(k in 0..1, l in 0..K, q in 0..i) {{ {value} }};
                }}"
            );
            variant(&kernel, &schedule, &profile).check(&[("K", 9)], &[]);
        }
    }
}

/// The high half of a product, which a driver computed wrongly for the constant 2^31 - 1.
#[test]
fn high_products() {
    for factor in ["2147483647", "1073741823", "3", "65535", "q[i]"] {
        let value = format!("x[i].mul_hi({factor})");
        let sum = format!("sum(k in 0..i) {{ x[k].mul_hi({}) }}", factor.replace("[i]", "[k]"));
        for dtype in ["i32", "u32"] {
            let arguments = format!("x: {dtype}[N], q: {dtype}[N]");
            expressions(&arguments, dtype, &[value.clone(), sum.clone()], &with_controls()[..1]);
        }
    }
}

/// Quotients and remainders by 3, 6 and 18 of vectors of two integers, at which a driver's compiler crashed.
#[test]
fn quotients_of_vectors() {
    let kernel = "fn k<B, M, N = 16>(x: f32[M, B, N]) -> y: f32[N, M, B] { y[j, i, z] = x[i, z, j]; }";
    let schedule = "V: k for p {
        pack(y[j, i, z] => [i / 4, z, j / 3, i % 2, j % 3, i / 2 % 2], when: caller);
        fuse(i_o, j_o, j => z1);
        vectorize(z1, 2, unaligned: scalar);
        distribute(i_oo => workgroup(x));
        distribute(z => workgroup(y));
        distribute(z1 => workgroup(y));
        distribute(i => workgroup(y));
    }";
    check(kernel, schedule, &[("B", 1), ("M", 3)], &profiles());
}
