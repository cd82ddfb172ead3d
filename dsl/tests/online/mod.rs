//! Tests the stages that `decompose_online` makes of a maximum and sums that are relative to it. Read the snapshots in review. [`refused`]
//! tests its refusals, and [`right`] the values.

mod refused;
mod right;

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::{Errors, Spans};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::nest::{Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

const SOFTMAX: &str = "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
    let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
    y[i, j] = (x[i, j] - m[i]).exp() / l[i];
}";

const ATTENTION: &str = "fn attention<B, N, M, D, E>(q: f32[B, N, D], k: f32[B, M, D], v: f32[B, M, E]) -> o: f32[B, N, E] {
    let s[b, i, j]: f32[B, N, M] = sum(d in 0..D) { q[b, i, d] * k[b, j, d] } * 0.5;
    let m[b, i]: f32[B, N] = max(j in 0..M) { s[b, i, j] };
    let p[b, i, j]: f32[B, N, M] = (s[b, i, j] - m[b, i]).exp();
    let l[b, i]: f32[B, N] = sum(j in 0..M) { p[b, i, j] };
    o[b, i, e] = sum(j in 0..M) { p[b, i, j] * v[b, j, e] } / l[b, i];
}";

/// All errors as text. The number in a source's name depends on which tests ran before, so it is left out.
fn text(errors: &Errors, spans: &Spans) -> String {
    let text: String = errors.0.iter().map(|e| e.text(spans) + "\n").collect();
    let mut parts = text.split("<parsed string ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "<source" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the program of a kernel under a schedule, or all errors.
fn compiled(kernel: &str, schedule: &str) -> Result<Program, String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans)
        .into_result()
        .unwrap_or_else(|errors| panic!("{errors:?}"));
    let schedule = format!("V: {} for p {schedule}", kernel.name);
    let schedule = match syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result() {
        Ok(schedule) => schedule,
        Err(errors) => return Err(text(&errors, &spans)),
    };
    let mut profile = Profile::vulkan_1_1();
    profile.features.extend([Feature::F16, Feature::Storage16]);
    let compiled = compile(&kernel, &schedule, &profile);
    compiled.map(|compiled| compiled.program).map_err(|errors| text(&errors, &spans))
}

/// Prints the plan and the obligations. Accesses that are in bounds are left out, because there are too many to read.
fn nests(kernel: &str, schedule: &str) -> String {
    let program = compiled(kernel, schedule).unwrap_or_else(|errors| panic!("{errors}"));
    let owed = program
        .report
        .ledger
        .iter()
        .filter(|o| !o.what.contains("is in bounds of"))
        .map(|o| format!("{}: {:?}\n", o.what, o.state));
    format!("{}\n## ledger\n{}", print::plan(&program), owed.collect::<String>())
}

#[test]
fn softmax() {
    insta::assert_snapshot!(nests(SOFTMAX, "{ decompose_online(m, l); }"));
}

#[test]
fn softmax_in_blocks() {
    insta::assert_snapshot!(nests(SOFTMAX, "{ decompose_online(m, l => m_b, l_b, block: 64); }"));
}

/// If blocks divide the range, no item is out of range.
#[test]
fn softmax_in_whole_blocks() {
    insta::assert_snapshot!(nests(SOFTMAX, "where C % 64 == 0 { decompose_online(m, l => m_b, l_b, block: 64); }"));
}

#[test]
fn attention() {
    insta::assert_snapshot!(nests(ATTENTION, "{ decompose_online(m, l, o); }"));
}

#[test]
fn attention_in_blocks() {
    insta::assert_snapshot!(nests(ATTENTION, "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 64); }"));
}

/// Exponentials are taken relative to 0 where all scores of a block can be -inf: a float can be, a block that is not whole, and a masked one.
#[test]
fn blocks_of_finite_scores_have_no_selections() {
    let kernel = |dtype: &str, range: &str| {
        format!(
            "fn k<R, C>(x: {dtype}[R, C]) -> l: f32[R] where R <= C {{
                let s[i, j]: f32[R, C] = x[i, j] as f32 * 0.5;
                let m[i]: f32[R] = max(j in 0..{range}) {{ s[i, j] }};
                l[i] = sum(j in 0..{range}) {{ (s[i, j] - m[i]).exp() }};
            }}"
        )
    };
    let selects = |dtype: &str, range: &str, facts: &str| {
        let schedule = format!("where {facts} {{ decompose_online(m, l => m_b, l_b, block: 4); }}");
        let program = compiled(&kernel(dtype, range), &schedule).unwrap_or_else(|errors| panic!("{errors}"));
        print::plan(&program).contains("== -inf { 0.0 }")
    };
    assert!(!selects("i32", "C", "C % 4 == 0"));
    assert!(selects("f32", "C", "C % 4 == 0"));
    assert!(selects("i32", "C", "C > 4"));
    assert!(!selects("f32", "C", "C % 4 == 0, finite(x)"));
    assert!(selects("i32", "i + 1", "C % 4 == 0"));
}
