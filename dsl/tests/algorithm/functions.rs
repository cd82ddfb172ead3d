//! Functions and closures: a call is its value, and every refusal has its whole text.

use super::without_names;
use tilewright_dsl::algorithm::{check_functions, check_generic};
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expand::needed;
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::functions::{imported_paths, parse};
use tilewright_dsl::syntax::schedule::Schedule;
use tilewright_dsl::syntax::{self, Library, kernel};

/// The functions of other modules, by their paths.
const MODULES: [(&str, &str, &str); 3] = [
    ("maths::cube", "cube", "fn cube(v: f32) -> f32 { square(v) * v } fn square(v) { v * v } fn other(v) { v }"),
    (
        "more::sixth",
        "sixth",
        "use maths::cube as third; pub fn sixth(v) { square(third(v)) } fn square(v: f32) -> f32 { v * v + 0.0 }",
    ),
    // `pub use sixth as power;` in the module `more`.
    (
        "more::power",
        "sixth",
        "use maths::cube as third; pub fn sixth(v) { square(third(v)) } fn square(v: f32) -> f32 { v * v + 0.0 }",
    ),
];

/// Returns an item's tokens after its library, as the carriers collect it.
fn with_library(own: &str) -> (Library, proc_macro2::TokenStream) {
    let own = own.parse().expect("tokens");
    let mut library = Library::default();
    while let Some(path) = library.missing(imported_paths(&own)) {
        let tokens = MODULES.iter().find(|(known, ..)| *known == path.text()).map(|(_, name, text)| {
            let (library, own) = with_library(text);
            needed(&library, &own, name)
        });
        library.add(path.literal(), tokens);
    }
    (library, own)
}

/// Returns the nest of a kernel, or the errors of the kernel.
fn nest(text: &str) -> Result<String, String> {
    let mut spans = Spans::new();
    let (library, own) = with_library(text);
    let parsed = kernel::parse(library.before(&own), &mut spans);
    let mut errors = parsed.errors;
    let checked = parsed.tree.as_ref().and_then(|kernel| errors.keep(check_generic(kernel)));
    let Some((kernel, _)) = parsed.tree.as_ref().zip(checked).filter(|_| errors.is_empty()) else {
        return Err(without_names(&errors.texts(&spans)));
    };
    let tokens = "V: k for p {}".parse().expect("tokens");
    let schedule = syntax::parse(tokens, &mut spans, Schedule::parse).into_result().expect("a schedule");
    let made = compile(kernel, &schedule, &Profile::vulkan_1_1()).map_err(|errors| errors.texts(&spans))?;
    Ok(print::plan(&made.program))
}

#[test]
fn a_call_is_its_value() {
    for (with, without) in [
        ("fn cube(v: f32) -> f32 { v * v * v } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = cube(x[i]); }", "x[i] * x[i] * x[i]"),
        ("fn k<N>(x: f32[N]) -> y: f32[N] { fn cube(v) { v * v * v } y[i] = cube(x[i]); }", "x[i] * x[i] * x[i]"),
        ("fn k<N>(x: f32[N]) -> y: f32[N] { let cube = |v: f32| -> f32 { v * v * v }; y[i] = cube(x[i]); }", "x[i] * x[i] * x[i]"),
        // A `let` of a function is a local value, and a literal takes the type of its use.
        (
            "fn f(v, by) { let w = v + by; w * w } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = f(x[i], 1); }",
            "(x[i] + 1.0) * (x[i] + 1.0)",
        ),
        (
            "fn f<T: f32 | f16>(a: T, b: T) -> T { a + b } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = f(x[i], 1.5) + f(0.5, x[i]); }",
            "x[i] + 1.5 + (0.5 + x[i])",
        ),
        ("fn f<T: f32 | f16>() -> T { 0.5 } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = f(); }", "0.5"),
        ("fn f<T: f32>(n: i32) -> T { n as T } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = f(i); }", "i as f32"),
        // An argument that is a name of the caller keeps its meaning, although a parameter has the same name.
        (
            "fn f(a, b) { a - b } fn k<N>(x: f32[N], a: f32, b: f32) -> y: f32[N] { y[i] = f(b, a) + x[i] * 0.0; }",
            "{ let c = 0.0; b - a + x[i] * c }",
        ),
        (
            "fn f(w) { w * 2 } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = { let w = 3; f(w * 2) * x[i] }; }",
            "(3.0 * 2.0 * 2.0) * x[i]",
        ),
        // Indices stay indices: `/` rounds down, and the read is proved.
        (
            "fn reflect(i, n) { if i < 0 { -i } else { i } } fn k<N>(x: f32[N]) -> y: f32[N] where N >= 2 { y[i] = x[reflect(i - 1, N)]; }",
            "x[if i - 1 < 0 { -(i - 1) } else { i - 1 }]",
        ),
        ("fn half(i: i32) -> i32 { (i - 1) / 2 + 1 } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[half(i)]; }", "x[(i - 1) / 2 + 1]"),
        // A closure sees the axes, dims, tensors and functions at its place.
        (
            "fn twice(v) { 2.0 * v } fn k<N>(x: f32[N]) -> y: f32[N] { let at = |j| twice(x.clamp()[j]); y[i] = at(i - 1) + at(N - 1 - i); }",
            "2.0 * x.clamp()[i - 1] + 2.0 * x.clamp()[N - 1 - i]",
        ),
        (
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = { let by = |d| x.pad(0.0)[i + d]; by(-1) + by(0) + by(1) }; }",
            "x.pad(0.0)[i + -1] + x.pad(0.0)[i] + x.pad(0.0)[i + 1]",
        ),
        (
            "fn k<N>(x: f32[N]) -> y: f32[N] { let one = || 1.0; let f = |a| { let g = |b| a * b; g(x[0 * N + 0].min(one())) }; y[i] = if N > 0 { f(x[i]) } else { 0.0 }; }",
            "if N > 0 { x[i] * x[0].min(1.0) } else { 0.0 }",
        ),
        // A condition of a function holds for its argument's reads of a closure.
        (
            "fn k<N>(x: f32[N]) -> y: f32[N] { let next = |i| x[i + 1]; y[i] = if i + 1 < N { next(i) } else { 0.0 }; }",
            "if i + 1 < N { x[i + 1] } else { 0.0 }",
        ),
        // Functions of other modules, which call others by their own names.
        ("use maths::cube; fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = cube(x[i]); }", "x[i] * x[i] * x[i]"),
        (
            "use more::{sixth, power as other}; fn square(v) { v } fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = square(sixth(x[i])) + other(x[i]); }",
            "{ let c = x[i] * x[i] * x[i]; let d = c * c + 0.0; d + d }",
        ),
    ] {
        let generics = with[with.find("fn k").expect("the kernel")..].split(" -> ").next().expect("the header").to_owned();
        let facts = if with.contains("where N >= 2") { " where N >= 2" } else { "" };
        let plain = format!("{generics} -> y: f32[N]{facts} {{ y[i] = {without}; }}");
        assert_eq!(nest(with), nest(&plain), "{with}\n{plain}");
        assert!(nest(&plain).is_ok(), "{plain}: {:?}", nest(&plain));
    }
}

/// An argument is one expression, however often the body uses it.
#[test]
fn arguments_are_shared() {
    let calls = format!("{}x[i]{}", "f(".repeat(20), ")".repeat(20));
    let text = format!("fn f(v) {{ v * v + v * v.abs() }} fn k<N>(x: f32[N]) -> y: f32[N] {{ y[i] = {calls}; }}");
    let parsed = kernel::parse(text.parse().expect("tokens"), &mut Spans::new()).into_result().expect("a kernel");
    let program = tilewright_dsl::algorithm::check(&parsed, &Default::default()).expect("a program");
    assert!(program.exprs.len() < 200, "{}", program.exprs.len());
    // So is an argument of a generic, and it can be a reduction.
    let (calls, ends) = ("g(".repeat(40), ")".repeat(40));
    let text = format!(
        "fn g<T: f32 | f16>(v: T) -> T {{ v * v + 0.5 }} fn k<N, K>(x: f32[N, K]) -> y: f32[N] {{ y[i] = {calls}sum(k in 0..K) {{ x[i, k] }}{ends}; }}"
    );
    let parsed = kernel::parse(text.parse().expect("tokens"), &mut Spans::new()).into_result().expect("a kernel");
    let program = tilewright_dsl::algorithm::check(&parsed, &Default::default()).expect("a program");
    assert!(program.exprs.len() < 200, "{}", program.exprs.len());
}

#[test]
fn functions_are_checked_alone() {
    let judged = |text: &str| {
        let mut spans = Spans::new();
        let (library, own) = with_library(text);
        let parsed = parse(library.before(&own), &mut spans);
        let mut errors = parsed.errors;
        if let Some(functions) = parsed.tree.filter(|_| errors.is_empty()) {
            errors.keep(check_functions(&functions, &[]));
        }
        without_names(&errors.texts(&spans))
    };
    assert_eq!(
        judged(
            "pub fn f(v: f32) -> f32 { v } fn g<T: f32 | f16>(v: T) -> T { f(v as f32) as T + v } fn h(i, n) { (i + g(0.5) as i32) / n }"
        ),
        ""
    );
    assert_eq!(judged(""), "");
    super::wrong::snapshot(
        "functions_alone",
        [
            "fn f(v: f32) -> i32 { v }",
            "fn f<T: f32 | i32>(v: T) -> T { v.sqrt() }",
            "fn f(v: f32) -> f32 { v * scale }",
            "fn f(v) { v + g(v) } fn g(v) { v + h(v) } fn h(v) { f(v) }",
            "fn f(v) { f(v) }",
            "fn f(v) { relu(v) }",
            "fn f(v) { 1 } fn f(a) { 2 }",
            "fn f(v: half) -> f32 { 1.0 }",
            "fn f(v, v) { v }",
            "fn f<N>(v) { v }",
            "fn f(x: f32[N]) -> f32 { x[0] }",
            "fn f(n: dim) { n }",
            "fn f(x: &f32) { x }",
            "fn f(n) { sum(k in 0..n) { 1.0 } }",
            "fn f(x: f32) -> y: f32 { x }",
            "fn f(v) { v; }",
            "fn f<T: f32 | f16>() { 1.0 }",
            "use maths::*;",
            "use maths::{cube, self};",
            "use maths; fn f(v) { v }",
            "use maths::cube; fn cube(v) { v }",
            "struct A { x: f32 }",
            "fn f(v: f32) -> f32 { v } 1 + 1",
        ]
        .map(|text| format!("{text}\n{}", judged(text)))
        .join("\n"),
    );
}

#[test]
fn calls_are_checked() {
    let wrong = |functions: &str, value: &str| {
        let text =
            format!("{functions}\nfn k<T: f32 | f16, N>(x: f32[N], n: i32[N], h: T[N]) -> y: f32[N] {{\n y[i] = {value};\n}}");
        format!("{functions} {value}\n{}", nest(&text).expect_err(&text))
    };
    let doubling = (1..16).map(|n| format!("fn f{n}(v) {{ f{0}(v) * f{0}(v + 1.0) }} ", n - 1)).collect::<String>();
    let doubling = format!("fn f0(v) {{ v * 0.5 }} {doubling}");
    let deep = (1..120).map(|n| format!("fn g{n}(v) {{ v + (1.0 + (2.0 + (3.0 + (4.0 + g{}(v))))) }} ", n - 1)).collect::<String>();
    let deep = format!("fn g0(v) {{ v }} {deep}");
    let cases = [
        wrong("fn f(v: f32) -> f32 { v }", "f(x[i], 1.0)"),
        wrong("fn f(a, b) { a + b }", "f(x[i])"),
        wrong("fn f(v: f32) -> f32 { v }", "f(n[i])"),
        wrong("fn f(v: i32) -> i32 { v }", "f(0.5) as f32"),
        wrong("fn f(v) { v + 1.0 }", "f(n[i]) as f32"),
        wrong("fn g(v) { v.sqrt() } fn f(v) { g(v) + g(v) }", "f(n[i]) as f32 + f(n[i]) as f32"),
        wrong("fn f(v) -> f32 { v }", "f(n[i])"),
        wrong("fn f<A: f32 | f16>(a: A, b: A) -> A { a + b }", "f(x[i], h[i])"),
        wrong("fn f<A: f16 | bf16>(a: A) -> A { a }", "f(x[i])"),
        wrong("fn f<A: f32 | f16>(n: i32) -> A { n as A }", "f(i) as f32"),
        wrong("fn f(v: T) -> T { v }", "f(h[i]) as f32"),
        wrong("fn f(v) { v * N }", "f(x[i])"),
        wrong("fn f(j) { x[j] }", "f(i)"),
        wrong("fn f(i) { x[0] }", "f(i)"),
        wrong("fn f(i, n) { i / n }", "x[f(i, N - 5)]"),
        wrong("fn f(i) { i + 1 }", "x[f(i)]"),
        wrong("fn f(v) { v }", "f"),
        wrong("fn f(v) { v }", "f[i]"),
        wrong("fn relu(v) { v.max(0.0) }", "rleu(x[i])"),
        wrong("fn f(v) { v }", "maths::f(x[i])"),
        wrong("", "{ let f = |a| a + b; f(x[i]) }"),
        wrong("", "{ let f = |x| x; f(h[i]) as f32 }"),
        wrong("", "{ let f: f32 = |a| a; f(x[i]) }"),
        wrong("", "{ let f = |a| f(a); f(x[i]) }"),
        wrong("", "{ let f = |a| sum(k in 0..N) { a * x[k] }; f(x[i]) }"),
        wrong("", "f(|a| a)"),
        wrong("fn N(v) { v }", "N(x[i])"),
        wrong("fn f(v) { f(v) }", "f(x[i])"),
        wrong("pub fn f(v) { v }", "f(x[i])"),
        wrong("#[inline] fn f(v) { v }", "f(x[i])"),
        wrong(&doubling, "f15(x[i])").replace(&doubling, "doubling"),
        wrong(&deep, "g119(x[i])").replace(&deep, "deep"),
    ];
    super::wrong::snapshot("calls", cases.join("\n"));
}
