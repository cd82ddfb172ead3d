//! Tests the facts about sizes in a kernel's header, and the sizes that the caller gives: the accepted forms, and every refusal.

use std::fmt::Write;
use tilewright_dsl::algorithm::check_generic;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// Returns all errors of a kernel, or `right`.
fn judged(text: &str) -> String {
    let mut spans = Spans::new();
    let parsed = syntax::kernel::parse(text.parse().expect("tokens"), &mut spans);
    let mut errors = parsed.errors;
    if let Some(kernel) = parsed.tree.filter(|k| k.whole) {
        errors.keep(check_generic(&kernel));
    }
    if errors.is_empty() { "right\n".into() } else { strip(&errors.texts(&spans)) }
}

/// Returns all errors of a schedule of a kernel, or, if it is right, the conditions that its launch checks and assumes.
fn compiled(kernel: &str, schedule: &str) -> String {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    match compile(&kernel, &schedule, &Profile::vulkan_1_1()) {
        Ok(made) => made.program.report.ledger.iter().fold(String::new(), |out, o| out + &format!("{:?}: {}\n", o.state, o.what)),
        Err(errors) => strip(&errors.texts(&spans)),
    }
}

/// Removes the name of the parsed string, because it contains a counter that depends on the other tests.
fn strip(text: &str) -> String {
    let mut parts = text.split("<parsed string ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once(">:").map_or(part, |(_, rest)| rest))
}

fn snapshot(name: &str, text: String) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(format!("kernel_{name}"), text));
}

fn kernels(texts: &[&str]) -> String {
    texts.iter().fold(String::new(), |out, text| out + text + "\n" + &judged(text) + "\n")
}

fn schedules(pairs: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (kernel, schedule) in pairs {
        writeln!(out, "{kernel}\n{schedule}\n{}", compiled(kernel, schedule)).expect("a string");
    }
    out
}

#[test]
fn facts() {
    snapshot(
        "facts",
        kernels(&[
            // Facts prove reads in bounds.
            "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 4 { y[i] = x[i] + x[3]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 3 { y[i] = x[i] + x[3]; }",
            "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[N] where N <= M { y[i] = x[i] + z[i]; }",
            "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[N] where N % 4 == 0, M == N / 4 * 4 { y[i] = x[i] + z[i]; }",
            "fn k<N, M = N - 3>(x: f32[N]) -> y: i32[] where M >= 1 { y[] = argmax(k in 0..M) { x[k + 3] }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N == 4 { y[i] = x[i] + x[3]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 && N < 9, finite(x) { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where { y[i] = x[i]; }",
            // Wrong facts.
            "fn k<N>(x: f32[N]) -> y: f32[N] where M >= 1 { y[i] = x[i] + x[3]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N > 4, N < 2 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N == 4, N == 5 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where 1 > 2 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N < 0 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where x { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N + 1 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N % 0 == 0 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where x[0] > 1.0 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where finite(y) { y[i] = x[i]; }",
            "fn k<N>(x: i32[N]) -> y: i32[N] where finite(x) { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1; { y[i] = x[i]; }",
            "fn k<N> where N >= 1 (x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) where N >= 1 -> y: f32[N] { y[i] = x[i]; }",
            // A wrong generic does not cause another error for the fact.
            "fn k<N, M = Q>(x: f32[N]) -> y: f32[N] where M >= 4 { y[i] = x[i] + x[3]; }",
        ]),
    );
}

#[test]
fn facts_of_scalars() {
    snapshot(
        "facts_of_scalars",
        kernels(&[
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a > 0.5, 2.0 >= a { y[i] = x[i] * a; }",
            "fn k<N>(x: i32[N], a: i32) -> y: i32[N] where a != 3, -5 < a { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f16) -> y: f32[N] where a == 0.1 { y[i] = x[i] * a as f32; }",
            // Wrong ones.
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a > 1 { y[i] = x[i] * a; }",
            "fn k<N>(x: i32[N], a: i32) -> y: i32[N] where a > 1.5 { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a > N { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f32, b: f32) -> y: f32[N] where a > b { y[i] = x[i] * a * b; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a + 1.0 > 0.0 { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where N > a { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: bool) -> y: f32[N] where a == 1 { y[i] = if a { x[i] } else { 0.0 }; }",
            "fn k<N>(x: i32[N], a: u32) -> y: i32[N] where a >= -1 { y[i] = x[i] * a as i32; }",
            "fn k<N>(x: f32[N], a: f16) -> y: f32[N] where a < 1e6 { y[i] = x[i] * a as f32; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a > 2.0, a <= 1.0 { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a > 2.0, a < 2.0 { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a == 2.0, a != 2.0 { y[i] = x[i] * a; }",
            "fn k<N>(x: i32[N], a: i32) -> y: i32[N] where a > 2, a < 3 { y[i] = x[i] * a; }",
            "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where finite(a) { y[i] = x[i] * a; }",
        ]),
    );
}

#[test]
fn facts_of_scalars_under_a_schedule() {
    const SCALED: &str = "fn k<N>(x: f32[N], a: f32) -> y: f32[N] where a > 0.5 { y[i] = x[i] * a; }";
    snapshot(
        "facts_of_scalars_under_a_schedule",
        schedules(&[
            (SCALED, "V: k for p where a < 8.0 {}"),
            (SCALED, "V: k for p where a < 0.25 {}"),
            (SCALED, "V: k for p where a < 0.75, a > 1.0 {}"),
            (SCALED, "V: k for p where b < 8.0 {}"),
            (SCALED, "V: k for p { specialize(a < 0.5); }"),
            (
                SCALED,
                "V: k for p { specialize(a > 1.0 && N % 4 == 0); tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); unroll(i); }",
            ),
        ]),
    );
}

#[test]
fn facts_under_a_schedule() {
    const LAST: &str = "fn k<N>(x: f32[N]) -> y: f32[] where N >= 1 { y[] = x[N - 1]; }";
    const FOUR: &str = "fn k<N>(x: f32[N]) -> y: f32[N] where N % 4 == 0, finite(x) { y[i] = x[i]; }";
    const THREE: &str = "fn k<N, C>(x: f32[N, C]) -> y: f32[N] where C == 3 { y[n] = sum(c in 0..C) { x[n, c] }; }";
    const STEP: &str = "fn k<N, S = 1>(x: f32[N]) -> y: f32[N] where S <= 4 { y[i] = x[i] * S as f32; }";
    snapshot(
        "facts_under_a_schedule",
        schedules(&[
            (LAST, "V: k for p {}"),
            (LAST, "V: k for p where N == 0 {}"),
            (LAST, "V: k for p where N < 1 {}"),
            (LAST, "V: k for p where N >= 1 {}"),
            (FOUR, "V: k for p { tile(i: 64) => workgroup(x); vectorize(i, 4); distribute(i => thread(x)); }"),
            (THREE, "V: k for p { tile(n: 64) => workgroup(x); distribute(n => thread(x)); unroll(c); }"),
            (THREE, "V: k for p where C == 3 { tile(n: 64) => workgroup(x); distribute(n => thread(x)); unroll(c); }"),
            (THREE, "V: k for p where C == 4 {}"),
            (THREE, "V: k for p { pin(C); }"),
            (STEP, "V: k<S = 4> for p {}"),
            (STEP, "V: k<S = 5> for p {}"),
        ]),
    );
}

#[test]
fn dims_of_the_caller() {
    snapshot(
        "dims_of_the_caller",
        kernels(&[
            "fn iota(n: dim) -> y: i32[n] { y[i] = i; }",
            "fn k<N>(x: f32[N], m: dim) -> y: f32[m] { y[i] = x.clamp()[i * N / 2]; }",
            "fn k<N, H = m / 2>(x: f32[N], m: dim) -> y: f32[H] where H <= N { y[i] = x[i]; }",
            "fn k(x: f32[m / 2], m: dim) -> y: f32[m] { y[i] = x.clamp()[i]; }",
            "fn k<N>(x: f32[N, n + m], n: dim, m: dim) -> y: f32[N, n] { y[i, j] = x[i, j]; }",
            "fn k<N, M>(x: f32[N + M], m: dim, N: dim) -> y: f32[m] { y[i] = x.pad(0.0)[i + M]; }",
            // Without `dim`, the help explains how to declare it.
            "fn k<N>() -> y: i32[N] { y[i] = i; }",
            "fn k<N, M>(x: f32[N]) -> y: f32[M] { y[i] = x.clamp()[i]; }",
            // Declared twice, or determined by a shape.
            "fn k<N>(x: f32[N], N: dim) -> y: f32[N] { y[i] = x[i]; }",
            "fn k(n: dim, n: dim) -> y: i32[n] { y[i] = i; }",
            "fn k(x: f32[n], n: dim) -> y: f32[n] { y[i] = x[i]; }",
            "fn k<H = n + 1>(x: f32[2 * H], n: dim) -> y: f32[n] { y[i] = x[i]; }",
            "fn k(x: &mut f32[n], n: dim) { x[i] = x[i] + 1.0; }",
            "fn k(x: f32[n, n * m], n: dim, m: dim) -> y: f32[n] { y[i] = x[i, 0]; }",
            // `dim` has only this meaning.
            "fn k(n: dim[2]) -> y: i32[2] { y[i] = n[i]; }",
            "fn k(n: &mut dim) -> y: i32[n] { y[i] = i; }",
            "fn k(n: dim) -> y: dim[n] { y[i] = i; }",
            "fn k<dim: f32 | f16, N>(x: dim[N]) -> y: dim[N] { y[i] = x[i]; }",
            "fn k(f32: dim) -> y: i32[f32] { y[i] = i; }",
            "fn k(n: dim) -> y: i32[n] { y[n] = n; }",
            "fn k<N>(x: f32[N], n: dim) -> y: f32[n] { y[i] = x[i]; }",
        ]),
    );
}

#[test]
fn dims_of_the_caller_under_a_schedule() {
    const IOTA: &str = "fn k(n: dim) -> y: i32[n] { y[i] = i; }";
    const SCALE: &str = "fn k<C, S = 0>(x: f32[C * n], n: dim) -> y: f32[n] { y[i] = x.clamp()[i * S]; }";
    const WEIGHTS: &str = "fn k<N>(x: f32[N], w: f32[N], n: dim) -> y: f32[n] {
    let u[i]: f32[n] = w.clamp()[i] * 2.0;
    y[i] = x.clamp()[i] + u[i];
}";
    snapshot(
        "dims_of_the_caller_under_a_schedule",
        schedules(&[
            (IOTA, "V: k for p where n % 4 == 0 { tile(i: 64) => workgroup(x); vectorize(i, 4); distribute(i => thread(x)); }"),
            (IOTA, "V: k for p where n == 4 { unroll(i); }"),
            (IOTA, "V: k for p { pin(n); specialize(n % 4 == 0); }"),
            (IOTA, "V: k<n = 4> for p {}"),
            // With literals, a shape determines a dim that it does not determine for the kernel.
            (SCALE, "V: k<S = 3> for p where C == 3 {}"),
            (WEIGHTS, "V: k for p { precompute(u); }"),
        ]),
    );
}
