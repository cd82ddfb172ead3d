//! Updates of arguments: their order, and the errors.

use super::families::nests;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::schedule::Schedule;
use tilewright_dsl::syntax::{self, kernel};
use tilewright_dsl::verify::verify;

/// Returns the names of a kernel's stages that have dispatches, in order.
fn dispatches(kernel: &str) -> Vec<String> {
    let nests = nests(kernel, "{}").unwrap_or_else(|errors| panic!("{errors}\n{kernel}"));
    nests
        .lines()
        .filter_map(|line| line.strip_prefix("dispatch "))
        .map(|line| line.split([' ', ',']).next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn updates_follow_the_readers_of_old_values() {
    for (arguments, body, order) in [
        // Averages that other updates need are inlined everywhere, because those updates come first.
        ("m: &mut f32[N], v: &mut f32[N]", "let a[i]: f32[N] = m[i] + 1.0; m[i] = a[i]; v[i] = v[i] * a[i];", "v m"),
        // An output that is defined last reads old values.
        ("m: &mut f32[N]", "let a[i]: f32[N] = m[i] * 2.0; m[i] = 0.0; y[i] = a[i];", "y m"),
        // In a circle, one of the intermediates is stored.
        ("a: &mut f32[N], b: &mut f32[N]", "let p[i]: f32[N] = a[i]; a[i] = b[i]; b[i] = p[i];", "p a b"),
        // So is an intermediate that reads other elements of the tensor that it updates.
        ("m: &mut f32[N]", "let p[i]: f32[N] = m[N - 1 - i]; m[i] = p[i] + m[i];", "p m"),
        // Reductions are stored in any case.
        ("m: &mut f32[N]", "let s[]: f32[] = sum(i in 0..N) { m[i] }; m[i] = m[i] / s[];", "s_part s m"),
    ] {
        let output = if order.contains('y') { "-> y: f32[N]" } else { "" };
        let kernel = format!("fn k<N>({arguments}) {output} {{ {body} }}");
        assert_eq!(dispatches(&kernel).join(" "), order, "{kernel}");
    }
}

#[test]
fn updates_are_checked() {
    let of = |body: &str, schedule: &str| {
        let text = format!("fn k<N>(x: f32[N], m: &mut f32[N], v: &mut f32[N]) {{\n{body}\n}}");
        format!("{body}\n{}", nests(&text, schedule).expect_err(&text))
    };
    let swap = "let p[i]: f32[N] = m[i]; m[i] = v[i]; v[i] = p[i];";
    let cases = [
        of("m[i] = x[i]; v[i] = m[i];", "{}"),
        of("m[i] = x[i]; let a[i]: f32[N] = m[i] + x[i]; v[i] = a[i];", "{}"),
        of("m[i] = x[i]; let at = |i| m[i]; v[i] = at(i);", "{}"),
        of("let first = m[0]; m[i] = x[i] + first; v[i] = first;", "{}"),
        of("m[i] = m[N - 1 - i]; v[i] = x[i];", "{}"),
        of("m[i] = sum(j in 0..i) { m[j] }; v[i] = x[i];", "{}"),
        of(swap, "{ inline(p); }"),
        of(swap, "{ v { compute_at(p, workgroup, to: shared); } }"),
        of("let p[i]: f32[N] = m[N - 1 - i]; m[i] = p[i]; v[i] = x[i];", "{ m { compute_at(p, workgroup, to: shared); } }"),
    ];
    super::wrong::snapshot("updates_of_several", cases.join("\n"));
}

/// The verifier does not rely on the order that the front end chose.
#[test]
fn dispatches_after_an_update_are_rejected() {
    let kernel = "fn k<N>(x: f32[N], m: &mut f32[N]) -> y: f32[N] { y[i] = m[N - 1 - i]; m[i] = x[i]; }";
    let mut spans = Spans::new();
    let kernel = kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule =
        syntax::parse("V: k for p {}".parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let mut program = compile(&kernel, &schedule, &Profile::vulkan_1_1()).expect("it compiles").program;
    verify(&program, &Profile::vulkan_1_1()).expect("it is right");
    program.plan.reverse();
    let errors = verify(&program, &Profile::vulkan_1_1()).expect_err("`y` reads new values");
    assert!(errors.texts(&spans).contains("flow: `m` is used after its update"), "{}", errors.texts(&spans));
}
