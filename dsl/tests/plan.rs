//! Plans: the directives that the planner writes for kernels of each form, for a profile of each kind of device. Read the snapshots in
//! review. The values are tested by the differential tests, which plan a tenth of their pairs.

use tilewright_dsl::compile::{Compiled, compile};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// Compiles a kernel under an empty schedule with these facts.
fn planned(kernel: &str, facts: &str, profile: &Profile) -> Compiled {
    scheduled(kernel, facts, "", profile).unwrap_or_else(|errors| panic!("{kernel} where {facts} for {}: {errors}", profile.name))
}

fn scheduled(kernel: &str, facts: &str, items: &str, profile: &Profile) -> Result<Compiled, String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let facts = if facts.is_empty() { String::new() } else { format!("where {facts}") };
    let text = format!("V: k for p {facts} {{ {items} }}");
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    compile(&kernel, &schedule, profile).map_err(|errors| errors.texts(&spans))
}

/// Returns the plans of a kernel under each list of facts, for a device without figures, a CPU and a GPU.
fn plans(kernel: &str, facts: &[&str]) -> String {
    let mut text = format!("{kernel}\n");
    for profile in [Profile::vulkan_1_1(), Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
        for facts in facts {
            let made = planned(kernel, facts, &profile);
            assert!(made.refused.is_empty(), "the first plan is refused: {kernel} where {facts} for {}", profile.name);
            text += &format!("\n## {} where {facts}\n{}", profile.name, made.plan.source(0));
        }
    }
    text
}

const MATMUL: &str =
    "fn k<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
const SOFTMAX: &str = "fn k<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let m[i]: f32[R] = max(k in 0..C) { x[i, k] };
    let s[i]: f32[R] = sum(k in 0..C) { (x[i, k] - m[i]).exp() };
    y[i, j] = (x[i, j] - m[i]).exp() / s[i];
}";

#[test]
fn pointwise() {
    insta::assert_snapshot!(plans(
        "fn k<N, M>(x: f32[N, M], y: f32[N, M]) -> z: f32[N, M] { z[i, j] = x[i, j] + y[i, j]; }",
        &[""]
    ));
}

#[test]
fn rows_of_different_layouts() {
    let bias = "fn k<N, C>(x: f32[N, C], b: f32[C]) -> y: f32[N, C] { y[i, c] = (x[i, c] + b[c]).max(0.0); }";
    insta::assert_snapshot!(plans(bias, &["", "C % 4 == 0, C >= 32"]));
}

#[test]
fn transposes() {
    insta::assert_snapshot!(plans("fn k<R, C>(x: f32[R, C]) -> y: f32[C, R] { y[j, i] = x[i, j]; }", &[""]));
}

#[test]
fn windows() {
    let depthwise = "fn k<N, H, W, C>(x: f32[N, H + 2, W + 2, C], f: f32[3, 3, C]) -> y: f32[N, H, W, C] {
        y[n, h, w, c] = sum(i in 0..3, j in 0..3) { x[n, h + i, w + j, c] * f[i, j, c] };
    }";
    insta::assert_snapshot!(plans(depthwise, &["", "C % 4 == 0"]));
}

#[test]
fn windows_that_slide_along_memory() {
    let fir = "fn k<N>(x: f32[N + 63], f: f32[64]) -> y: f32[N] { y[i] = sum(t in 0..64) { x[i + t] * f[t] }; }";
    insta::assert_snapshot!(plans(fir, &[""]));
}

#[test]
fn rows() {
    insta::assert_snapshot!(plans(SOFTMAX, &["", "C % 4 == 0", "C == 64"]));
}

#[test]
fn columns() {
    let columns = "fn k<R, C>(x: f32[R, C]) -> y: f32[C] { y[j] = sum(i in 0..R) { x[i, j] }; }";
    insta::assert_snapshot!(plans(columns, &["", "R <= 2048"]));
}

#[test]
fn a_single_element() {
    insta::assert_snapshot!(plans("fn k<K>(x: f32[K]) -> y: f32[] { y[] = sum(k in 0..K) { x[k] }; }", &["", "K <= 16384"]));
}

#[test]
fn products() {
    let large = "M >= 128, N >= 128, (M + 127) / 128 * ((N + 127) / 128) >= 132, K % 4 == 0, N % 4 == 0";
    insta::assert_snapshot!(plans(MATMUL, &["", "K % 4 == 0, N % 4 == 0", large, "K > 4096", "M == 8"]));
}

#[test]
fn convolutions() {
    let conv = "fn k<N, H, W, C, O>(x: f32[N, H + 2, W + 2, C], f: f32[3, 3, C, O]) -> y: f32[N, H, W, O] {
        y[n, h, w, o] = sum(i in 0..3, j in 0..3, c in 0..C) { x[n, h + i, w + j, c] * f[i, j, c, o] };
    }";
    insta::assert_snapshot!(plans(conv, &["", "C >= 16, C % 4 == 0, O % 4 == 0", "C == 3"]));
}

/// A stage with a directive is not planned, and the others are.
#[test]
fn stages_that_are_not_mentioned() {
    let made = scheduled(
        SOFTMAX,
        "",
        "m { tile(i: 1) => workgroup(x); tile(k: 32 => k_o); distribute(k => thread(x), by: tree); }",
        &Profile::vulkan_1_1(),
    );
    let stages: Vec<Option<String>> = made.expect("it compiles").plan.blocks.into_iter().map(|block| block.stage).collect();
    assert_eq!(stages, [None, Some("s".to_owned())]);
}

/// The same kernel has the same plan, whatever its parts are called.
#[test]
fn names_do_not_matter() {
    let renamed = MATMUL.replace("a", "left").replace("b[", "right[").replace("b:", "right:");
    let plan = |kernel: &str| -> Vec<String> {
        let source = planned(kernel, "", &Profile::nvidia_hopper()).plan.source(0);
        source.lines().map(|line| line.split(" //").next().unwrap_or_default().trim_end().to_owned()).collect()
    };
    let words = [("a_", "left_"), ("(a ", "(left "), ("b_", "right_"), ("(b ", "(right ")];
    let named = |line: &String| words.iter().fold(line.clone(), |line, (from, to)| line.replace(from, to));
    assert_eq!(plan(&renamed), plan(MATMUL).iter().map(named).collect::<Vec<_>>());
    assert_eq!(plan(MATMUL), plan(MATMUL));
}

/// Two stages copy the same tensor, under different names.
#[test]
fn two_products_of_one_tensor() {
    let gated = "fn k<M, N, K>(x: f32[M, K], w: f32[K, N], v: f32[K, N]) -> y: f32[M, N] {
        let p[i, j]: f32[M, N] = sum(k in 0..K) { x[i, k] * w[k, j] };
        let q[i, j]: f32[M, N] = sum(k in 0..K) { x[i, k] * v[k, j] };
        y[i, j] = p[i, j] * q[i, j];
    }";
    insta::assert_snapshot!(plans(gated, &[""]));
}

/// Extents of 0, and numbers of items beyond 64 bits, have a plan or the plain schedule.
#[test]
fn extents_at_the_ends() {
    let window = |n: &str| {
        format!(
            "fn k<N, C, O>(x: f32[N + {n}, C], f: f32[{n}, C, O]) -> y: f32[N, O] {{
                y[n, o] = sum(t in 0..{n}, c in 0..C) {{ x[n + t, c] * f[t, c, o] }};
            }}"
        )
    };
    let huge = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        y[i] = sum(a in 0..2147483647, b in 0..2147483647, c in 0..2147483647) { x.clamp()[i + a + b + c] };
    }";
    for profile in Profile::all_bundled() {
        for kernel in [&window("0"), &window("2147483647"), huge] {
            drop(scheduled(kernel, "", "", &profile));
        }
        assert!(planned(&window("0"), "", &profile).program.plan.len() <= 2);
    }
}
