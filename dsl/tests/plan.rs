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

/// Neighbours along the last axis share reads only if that is long enough for all invocations of a CPU.
#[test]
fn windows_along_rows() {
    let kernel = "fn k<H, W>(x: f32[H, W + 4], f: f32[5]) -> y: f32[H, W] { y[i, j] = sum(k in 0..5) { x[i, j + k] * f[k] }; }";
    insta::assert_snapshot!(plans(kernel, &["", "W >= 32"]));
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
fn histograms() {
    let bytes = "fn k<N>(x: u8[N]) -> count: i32[256] where N >= 1 { count[b] = sum(i in 0..N) where x[i] as i32 == b { 1 }; }";
    let joint = "fn k<R, N>(x: i32[R, N], y: i32[R, N], w: f32[R, N]) -> total: f32[R, 16, 32] {
        total[r, a, b] = sum(i in 0..N) where x[r, i] == a && y[r, i] == b { w[r, i] };
    }";
    let open = "fn k<N>(x: i32[N], B: dim) -> best: i32[B] where B >= 1 {
        best[b] = max(i in 0..N) where x[i] == b { i };
    }";
    let of = |kernel, facts: &[&str]| {
        [Profile::mesa_lavapipe(), Profile::nvidia_hopper()]
            .map(|profile| {
                let plan = |facts: &&str| {
                    let made = planned(kernel, facts, &profile);
                    assert!(made.refused.is_empty(), "the first plan is refused: {kernel} where {facts} for {}", profile.name);
                    format!("\n## {} where {facts}\n{}", profile.name, made.plan.source(0))
                };
                facts.iter().map(plan).collect::<String>()
            })
            .concat()
    };
    let texts = [(bytes, &["", "N <= 1024"][..]), (joint, &["", "R >= 64"]), (open, &["", "B <= 4096"])];
    insta::assert_snapshot!(texts.map(|(kernel, facts)| format!("{kernel}\n{}", of(kernel, facts))).join("\n"));
}

#[test]
fn products() {
    let large = "M >= 128, N >= 128, (M + 127) / 128 * ((N + 127) / 128) >= 132, K % 4 == 0, N % 4 == 0";
    insta::assert_snapshot!(plans(MATMUL, &["", "K % 4 == 0, N % 4 == 0", large, "K > 4096, M * N <= 1048576", "M == 8"]));
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

/// A statistic that `root` names has a dispatch of its own, and the others stay in the dispatch that uses them.
#[test]
fn roots_stay_apart() {
    let made = scheduled(SOFTMAX, "", "root(m);", &Profile::vulkan_1_1()).expect("it compiles");
    assert!(made.refused.is_empty());
    let dispatches: Vec<&str> = made.program.plan.iter().map(|dispatch| dispatch.name.as_str()).collect();
    assert_eq!(dispatches, ["m", "y"]);
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

/// Attention of f16, whose keys are all keys or those up to the row's own.
fn attention(keys: &str) -> String {
    format!(
        "fn k<B, N, D, E>(q: f16[B, N, D], k: f16[B, N, D], v: f16[B, N, E], scale: f32) -> o: f16[B, N, E] {{
    let s[b, i, j]: f32[B, N, N] = sum(d in 0..D) {{ q[b, i, d] as f32 * k[b, j, d] as f32 }};
    let m[b, i]: f32[B, N] = max(j in 0..{keys}) {{ s[b, i, j] }};
    let w[b, i, j]: f32[B, N, N] = s[b, i, j].mul_add(scale, -m[b, i] * scale).exp2();
    let h[b, i, j]: f16[B, N, N] = w[b, i, j] as f16;
    let t[b, i]: f32[B, N] = sum(j in 0..{keys}) {{ w[b, i, j] }};
    o[b, i, e] = (sum(j in 0..{keys}) {{ h[b, i, j] as f32 * v[b, j, e] as f32 }} / t[b, i]) as f16;
}}"
    )
}

/// Masked items are 0 only if values are finite, so causal attention is computed in one dispatch only if the facts promise that.
#[test]
fn attention_in_one_dispatch() {
    let heads = "D == 64, E == 64, N % 128 == 0";
    let scores = "scale > 1e-6, scale < 1e6, finite(q), finite(k), finite(v)";
    let cases = [("N", ""), ("i + 1", "finite(v)"), ("i + 1", scores)];
    let hopper = Profile::nvidia_hopper();
    let mut text = String::new();
    for (keys, more) in cases {
        let facts = if more.is_empty() { heads.to_owned() } else { format!("{heads}, {more}") };
        let made = planned(&attention(keys), &facts, &hopper);
        assert_eq!(made.program.plan.len(), 1, "{facts}");
        text += &format!("## keys 0..{keys} where {facts}\n{}\n", made.plan.source(0));
    }
    insta::assert_snapshot!(text);
    assert!(planned(&attention("i + 1"), heads, &hopper).program.plan.len() > 1);
    let few = planned(&attention("N"), "D == 64, E == 64, N % 64 == 0", &hopper);
    assert_eq!(few.program.plan.len(), 1);
    assert!(few.plan.source(0).contains("// 64 queries"), "{}", few.plan.source(0));
}

/// On a CPU, causal attention in f32 is computed in registers.
#[test]
fn causal_attention_in_registers() {
    let kernel = attention("i + 1").replace("f16", "f32");
    let made = planned(&kernel, "D == 64, E == 64", &Profile::mesa_lavapipe());
    assert_eq!(made.program.plan.len(), 1);
    insta::assert_snapshot!(made.plan.source(0));
}

/// `default` alone has the plan of an empty schedule.
#[test]
fn default_alone() {
    let heads = "D == 64, E == 64, N % 128 == 0";
    for (kernel, facts) in [(MATMUL, ""), (SOFTMAX, "C % 4 == 0"), (&attention("N"), heads)] {
        for profile in [Profile::vulkan_1_1(), Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
            let alone = scheduled(kernel, facts, "default;", &profile).expect("it compiles");
            assert_eq!(alone.plan, planned(kernel, facts, &profile).plan, "{kernel} for {}", profile.name);
        }
    }
}

/// `default` plans the rest of a stage: by a plan of the stage that the other directives allow, or else axis by axis.
#[test]
fn default_after_directives() {
    let cases = [
        (MATMUL, "K == 8", "unroll(k); default;"),
        (MATMUL, "", "tile(i: 8, j: 32) => workgroup(y, x); default;"),
        (MATMUL, "", "tile(i: 4 => i_o); unroll(i); default;"),
        (MATMUL, "", "distribute(j => workgroup(x)); default;"),
        (MATMUL, "", "tile(j: 64) => thread(x); default;"),
        (SOFTMAX, "", "m, s { default; } default;"),
        (SOFTMAX, "", "tile(j: 4); default;"),
        (SOFTMAX, "", "default; compute_at(s, workgroup, to: shared); s { tile(i: 1 => i_o); serial(i_o); }"),
    ];
    let mut text = String::new();
    for profile in [Profile::vulkan_1_1(), Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
        for (kernel, facts, items) in cases {
            text += &format!("## {} {{ {items} }}\n", profile.name);
            text += &match scheduled(kernel, facts, items, &profile) {
                Ok(made) => format!("{}{}\n", made.plan.source(0), loops(&made)),
                Err(errors) => format!("{errors}\n"),
            };
        }
    }
    insta::assert_snapshot!(text);
}

/// Returns the loops of all dispatches.
fn loops(made: &Compiled) -> String {
    let printer = tilewright_dsl::nest::print::Printer::new(&made.program);
    let lines: Vec<String> =
        made.program.plan.iter().flat_map(|d| printer.dispatch(d).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let shown = |line: &&String| !line.trim_start().starts_with("with ");
    lines.iter().filter(shown).map(|line| format!("  {line}\n")).collect()
}

/// The sums of halves stay in fragments, and leave them in slices whose rows are aligned for the type of the sum.
#[test]
fn products_in_slices() {
    let facts = "N % 8 == 0, K % 8 == 0";
    let batch = "fn k<B, M, N, K>(a: f16[B, M, K], b: f16[B, K, N], bias: f32[N]) -> c: f16[B, M, N] {
        c[n, i, j] = (sum(k in 0..K) { a[n, i, k] as f32 * b[n, k, j] as f32 } + bias[j]).max(0.0) as f16;
    }";
    let halves = "fn k<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
    let plans = [batch, halves].map(|kernel| planned(kernel, facts, &Profile::nvidia_hopper()).plan.source(0));
    insta::assert_snapshot!(plans.join("\n"));
    let others = ["", "N % 8 == 0", "M % 128 == 0, N % 128 == 0, K % 64 == 0"];
    for facts in others {
        let source = planned(halves, facts, &Profile::nvidia_hopper()).plan.source(0);
        assert!(!source.contains("rfactor"), "{facts}: {source}");
    }
}

/// A plan with tuned constants is a schedule. Its defaults compile to the planned program, and other choices compile, too.
#[test]
fn constants_of_plans() {
    let large = "M >= 128, N >= 128, (M + 127) / 128 * ((N + 127) / 128) >= 132, K % 4 == 0, N % 4 == 0";
    let halves = "fn k<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 }; }";
    let depthwise = "fn k<N, H, W, C>(x: f32[N, H + 2, W + 2, C], f: f32[3, 3, C]) -> y: f32[N, H, W, C] {
        y[n, h, w, c] = sum(i in 0..3, j in 0..3) { x[n, h + i, w + j, c] * f[i, j, c] };
    }";
    let attention = attention("N").replace("f16", "f32");
    let cases = [
        (MATMUL, ""),
        (MATMUL, large),
        (MATMUL, "K > 4096, M * N <= 1048576"),
        (MATMUL, "M == 8"),
        (halves, "M % 128 == 0, N % 128 == 0, K % 64 == 0"),
        (halves, "N % 8 == 0, K % 8 == 0"),
        (SOFTMAX, "C % 4 == 0"),
        (depthwise, "C % 4 == 0"),
        (&attention, "D == 64, E == 64"),
        ("fn k<THREADS>(x: f32[THREADS]) -> y: f32[THREADS] { y[i] = x[i] * 2.0; }", ""),
        ("fn k<R, C>(x: f32[R, C]) -> y: f32[C, R] { y[j, i] = x[i, j]; }", ""),
        ("fn k<R, C>(x: f32[R, C]) -> y: f32[C] { y[j] = sum(i in 0..R) { x[i, j] }; }", ""),
        ("fn k<K>(x: f32[K]) -> y: f32[] { y[] = sum(k in 0..K) { x[k] }; }", ""),
    ];
    for profile in [Profile::vulkan_1_1(), Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
        for (kernel, facts) in cases {
            let made = planned(kernel, facts, &profile);
            let source = made.plan.tuned_source(0);
            let tuned = scheduled(kernel, facts, &source, &profile).unwrap_or_else(|errors| panic!("{source}{errors}"));
            let nests = |made: &Compiled| tilewright_dsl::nest::print::plan(&made.program);
            assert_eq!(nests(&tuned), nests(&made), "{source}");
            let mut others = 0;
            for constant in &made.plan.constants {
                let default = format!("= {};", constant.value);
                let line = source.lines().find(|line| line.starts_with(&format!("tune {} in", constant.name))).expect("a line");
                let compiles = |value: &&i64| {
                    let other = source.replace(line, &line.replace(&default, &format!("= {value};")));
                    scheduled(kernel, facts, &other, &profile).is_ok()
                };
                others += constant.candidates.iter().filter(compiles).count() - 1;
            }
            assert!(others > 0, "{kernel} where {facts} for {}", profile.name);
        }
    }
}

/// A window is computed in registers of the stage that reads it, if that is one stage, and reads each element once.
#[test]
fn windows_where_they_are_used() {
    let normalized = "fn k<H, W, R = 2>(x: f32[H, W], s: f32) -> y: f32[H, W] {
        let w[i, j]: f32[H, W] = sum(u in -R..=R, v in -R..=R) { (s * (x.clamp()[i + u, j + v] - x[i, j])).exp() };
        y[i, j] = sum(u in -R..=R, v in -R..=R) { (s * (x.clamp()[i + u, j + v] - x[i, j])).exp() * x.clamp()[i + u, j + v] } / w[i, j];
    }";
    insta::assert_snapshot!("normalized", plans(normalized, &[""]));
    let matched = "fn k<H, W, D = 5>(a: f32[H, W], b: f32[H, W]) -> best: i32[H, W] {
        let cost[i, j, d]: f32[H, W, D] = sum(u in -1..=1, v in -1..=1) {
            (a.clamp()[i + u, j + v] - b.clamp()[i + u, j + v - d]).abs()
        };
        best[i, j] = argmin(d in 0..D) { cost[i, j, d] };
    }";
    insta::assert_snapshot!("matched", plans(matched, &[""]));
    let activated = "fn k<H, W, C>(x: f32[H + 2, W + 2, C], f: f32[3, 3, C], b: f32[C]) -> y: f32[H, W, C] {
        let s[i, j, c]: f32[H, W, C] = sum(u in 0..3, v in 0..3) { x[i + u, j + v, c] * f[u, v, c] };
        y[i, j, c] = (s[i, j, c] + b[c]).max(0.0);
    }";
    insta::assert_snapshot!("activated", plans(activated, &["", "C % 4 == 0, C >= 32"]));
}

/// A window has a dispatch of its own if two stages read it, or one stage at other places, or if `root` names it.
#[test]
fn windows_apart() {
    let sums = "let s[i, j]: f32[H, W] = sum(u in 0..3, v in 0..3) { x[i + u, j + v] };";
    let two = format!(
        "fn k<H, W>(x: f32[H + 2, W + 2]) -> (y: f32[H, W], z: f32[H, W]) {{ {sums} y[i, j] = s[i, j] * 2.0; z[i, j] = -s[i, j]; }}"
    );
    let other = format!("fn k<H, W>(x: f32[H + 2, W + 2]) -> y: f32[H, W] {{ {sums} y[i, j] = s[i, j] + s.clamp()[i, j + 1]; }}");
    let one = format!("fn k<H, W>(x: f32[H + 2, W + 2]) -> y: f32[H, W] {{ {sums} y[i, j] = s[i, j] * 2.0; }}");
    for (kernel, items, count) in [(&two, "", 3), (&other, "", 2), (&one, "root(s);", 2), (&one, "", 1)] {
        let made = scheduled(kernel, "", items, &Profile::nvidia_hopper()).expect("it compiles");
        assert!(made.refused.is_empty(), "{kernel}");
        assert_eq!(made.program.plan.len(), count, "{kernel} {items}");
    }
}

/// A window whose copy does not fit in shared memory is read from the cache.
#[test]
fn windows_too_large_to_share() {
    let kernel =
        "fn k<H, W>(x: f32[64 * H + 5, W + 5]) -> y: f32[H, W] { y[i, j] = sum(u in 0..5, v in 0..5) { x[64 * i + u, j + v] }; }";
    for profile in [Profile::vulkan_1_1(), Profile::nvidia_hopper()] {
        let made = planned(kernel, "", &profile);
        let plan = made.plan.source(0);
        assert!(!made.refused.is_empty() && plan.contains("unroll(u, v, i)") && !plan.contains("promote"), "{plan}");
    }
}

/// Windows whose stage reads them beyond their ends have plans, too.
#[test]
fn windows_with_borders() {
    for (shape, read) in
        [("1, 1", "s.pad(0.0)[i, j]"), ("1, M", "s.pad(0.0)[i, j]"), ("N, M", "s.clamp()[i, j]"), ("N - 1, M", "s.pad(1.0)[i, j]")]
    {
        let kernel = format!(
            "fn k<N, M>(x: f32[N + 2, M]) -> y: f32[N, M] where N >= 1, M >= 1 {{
                let s[i, j]: f32[{shape}] = sum(u in 0..3) {{ x[i + u, j] }};
                y[i, j] = x[i, j] + {read};
            }}"
        );
        for profile in Profile::all_bundled() {
            planned(&kernel, "", &profile);
        }
    }
    let single = "fn k<N>(x: f32[N + 2]) -> y: f32[N] where N >= 1 {
        let s[i]: f32[1] = sum(u in 0..3) { x[i + u] };
        y[i] = x[i] + s.pad(0.0)[i];
    }";
    for profile in Profile::all_bundled() {
        planned(single, "", &profile);
    }
}

/// An intermediate that a stencil reads at several places is stored if inlining it would read too many elements.
#[test]
fn stencils_of_stencils() {
    let edges = "fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let m[i, j]: f32[H, W] = (x.clamp()[i - 1, j] - x.clamp()[i + 1, j]).abs() + (x.clamp()[i, j - 1] - x.clamp()[i, j + 1]).abs();
        let n[i, j]: f32[H, W] = m.clamp()[i, j] + m.clamp()[i, j + 3] + m.clamp()[i + 3, j] + m.clamp()[i, j - 3];
        y[i, j] = n.clamp()[i, j] + n.clamp()[i - 1, j - 1] + n.clamp()[i + 1, j - 1] + n.clamp()[i - 1, j + 1] + n.clamp()[i + 1, j + 1];
    }";
    insta::assert_snapshot!(plans(edges, &["W >= 32"]));
    // The planner does not change what a stage with directives inlines.
    let tiled = "tile(i: 4, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x));";
    let made = scheduled(edges, "", tiled, &Profile::nvidia_hopper()).expect("it compiles");
    assert_eq!(made.program.plan.len(), 1);
}

/// The columns of a position are computed together if they are few.
#[test]
fn few_columns() {
    let forces = "fn k<N>(p: f32[N, 4]) -> a: f32[N, 3] {
        a[i, c] = sum(j in 0..N) { p[j, 3] * (p[j, c] - p[i, c]) * ((p[j, 0] - p[i, 0]).powi(2) + (p[j, 1] - p[i, 1]).powi(2) + 0.1).rsqrt() };
    }";
    insta::assert_snapshot!(plans(forces, &["", "N <= 256"]));
}

/// Reads at an offset along rows are not wide, and reads at other offsets are.
#[test]
fn stencils_with_wide_reads() {
    let points = |reads: &str| format!("fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] {{ y[i, j] = {reads}; }}");
    let across = points("x.clamp()[i - 1, j] + x.clamp()[i, j - 1] + x[i, j] + x.clamp()[i, j + 1] + x.clamp()[i + 1, j]");
    let along = points("x.clamp()[i, j - 2] + x.clamp()[i, j - 1] + x[i, j] + x.clamp()[i, j + 1]");
    insta::assert_snapshot!("across", plans(&across, &["W % 4 == 0, W >= 32"]));
    insta::assert_snapshot!("along", plans(&along, &["W % 4 == 0, W >= 32"]));
}

/// An intermediate of stencils is computed for the block of an invocation, if that costs less than storing it.
#[test]
fn stencils_with_intermediates() {
    let passes = "fn k<H, W>(x: u16[H, W]) -> y: u16[H, W] where H >= 1, W >= 1 {
        let s[i, j]: u16[-1..H + 1, W] = { let at = |d| x.clamp()[i, j + d] as u32; ((at(-1) + at(0) + at(1)) / 3) as u16 };
        y[i, j] = { let at = |d| s[i + d, j] as u32; ((at(-1) + at(0) + at(1)) / 3) as u16 };
    }";
    insta::assert_snapshot!("two_passes", plans(passes, &["W % 4 == 0, W >= 32"]));
    // The mean of colours is stored, because a block would compute it four times as often, from three planes.
    let corners = "fn k<H, W>(x: f32[3, H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        let g[i, j]: f32[-2..H + 2, -2..W + 2] = 0.3 * x.clamp()[0, i, j] + 0.6 * x.clamp()[1, i, j] + 0.1 * x.clamp()[2, i, j];
        let a[i, j]: f32[-1..H + 1, -1..W + 1] = { let row = |d| g[i + d, j - 1] + 2.0 * g[i + d, j] + g[i + d, j + 1]; row(1) - row(-1) };
        y[i, j] = a[i - 1, j - 1] * a[i - 1, j + 1] - a[i + 1, j - 1] * a[i + 1, j + 1] + a[i, j];
    }";
    insta::assert_snapshot!("corners", plans(corners, &["W % 4 == 0, W >= 32"]));
}

/// Values that all colours share are computed once.
#[test]
fn colours() {
    let kernel = "fn k<H, W>(x: f32[3, H, W]) -> y: f32[3, H, W] where H >= 1, W >= 1 {
        let g[i, j]: f32[H, W] = (0.3 * x[0, i, j] + 0.6 * x[1, i, j] + 0.1 * x[2, i, j]).max(0.01);
        let s[i, j]: f32[H, W] = sum(d in 0..3) { g.clamp()[i, j + d - 1] };
        y[c, i, j] = x[c, i, j] * s[i, j] / g[i, j];
    }";
    insta::assert_snapshot!(plans(kernel, &["W % 4 == 0, W >= 32"]));
}

/// An intermediate that is inlined moves its reader's clamps to its own reads, so a block still copies their elements.
#[test]
fn inlined_clamps() {
    let kernel = "fn k<H, W>(x: u8[H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        let g[i, j]: f32[H, W] = x[i, j] as f32;
        y[i, j] = g.clamp()[i - 1, j] + g.clamp()[i + 1, j - 1] + g.clamp()[i + 1, j + 1];
    }";
    for profile in [Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
        let plan = planned(kernel, "W % 4 == 0, W >= 32", &profile).plan.source(0);
        assert!(plan.contains("promote(x => x_r"), "{plan}");
    }
    // An element of a longer tensor is at another place at the border.
    let longer = kernel.replace("x: u8[H, W]", "x: u8[H + 1, W]");
    let plan = planned(&longer, "W % 4 == 0, W >= 32", &Profile::mesa_lavapipe()).plan.source(0);
    assert!(!plan.contains("promote"), "{plan}");
}

/// The rows of an intermediate are clamped at the border, and so are the elements that it reads in the same rows.
#[test]
fn clamped_passes() {
    let kernel = "fn k<H, W>(x: u16[H, W]) -> y: u16[H, W] where H >= 1, W >= 1 {
        let s[i, j]: u16[H, W] = { let at = |d| x.clamp()[i, j + d] as u32; ((at(-1) + at(0) + at(1)) / 3) as u16 };
        y[i, j] = { let at = |d| s.clamp()[i + d, j] as u32; ((at(-1) + at(0) + at(1)) / 3) as u16 };
    }";
    insta::assert_snapshot!(plans(kernel, &["W % 4 == 0, W >= 32"]));
}

/// A stencil of many elements reads a stored intermediate.
#[test]
fn large_stencils() {
    let reads: Vec<String> = (0..7).flat_map(|i| (0..7).map(move |j| format!("x.clamp()[i + {i} - 3, j + {j} - 3]"))).collect();
    let next: Vec<String> = (0..7).flat_map(|i| (0..7).map(move |j| format!("s.clamp()[i + {i} - 3, j + {j} - 3]"))).collect();
    let kernel = format!(
        "fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {{ let s[i, j]: f32[H, W] = {}; y[i, j] = {}; }}",
        reads.join(" + "),
        next.join(" + ")
    );
    for profile in [Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
        let plan = planned(&kernel, "W % 4 == 0, W >= 32", &profile).plan.source(0);
        assert!(plan.contains("root(s)") && !plan.contains("compute_at"), "{plan}");
    }
}

/// A box that is too large for registers is not copied there, and its size does not overflow.
#[test]
fn far_neighbours() {
    let far = "x.clamp()[i * 2000000000, j * 2000000000] + x.clamp()[i * 2000000000 + 1, j * 2000000000 + 1]";
    for outer in ["s.clamp()[i * 2000000000, j * 2000000000] + s.clamp()[i + 1, j + 1]", far] {
        let kernel = format!(
            "fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] where H >= 1, W >= 32 {{ let s[i, j]: f32[H, W] = {far}; y[i, j] = {outer}; }}"
        );
        for profile in [Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
            let plan = planned(&kernel, "", &profile).plan.source(0);
            assert!(!plan.contains("promote(x"), "{plan}");
        }
    }
}

/// A table of a function is stored, because more elements read it than it has.
#[test]
fn tables() {
    let kernel = "fn k<N>(x: u8[N]) -> y: f32[N] {
        let t[v]: f32[256] = (v as f32 / 255.0).powf(2.2);
        y[i] = t[x[i] as i32] + t[255 - x[i] as i32];
    }";
    for profile in [Profile::vulkan_1_1(), Profile::mesa_lavapipe(), Profile::nvidia_hopper()] {
        let profile =
            Profile { features: tilewright_launch::Feature::ALL.into_iter().map(|(feature, _)| feature).collect(), ..profile };
        let plan = planned(kernel, "", &profile).plan.source(0);
        assert!(plan.contains("root(t)"), "{plan}");
    }
    // Without a function, and at positions that do not depend on data, it is computed where it is read.
    for (from, to) in [(".powf(2.2)", ""), ("x[i] as i32", "i % 256")] {
        let plan = planned(&kernel.replace(from, to), "", &Profile::mesa_lavapipe()).plan.source(0);
        assert!(!plan.contains("root(t)"), "{plan}");
    }
}

/// An item that serves several elements of the result is read once.
#[test]
fn items_of_several_elements() {
    let kernel = "fn k<H, W>(x: f32[8 * H, 8 * W]) -> y: f32[2, 6, H, W] {
        y[p, z, i, j] = sum(a in 0..8, b in 0..8) {
            if (x[8 * i + a, 8 * j + b] * 6.0).floor() == z as f32 { if p == 0 { x[8 * i + a, 8 * j + b] } else { 1.0 } } else { 0.0 }
        };
    }";
    insta::assert_snapshot!(plans(kernel, &[""]));
}

/// A fact about the number of items counts if facts bound each extent, too.
#[test]
fn items_of_several_axes() {
    let kernel = "fn k<N, P, C>(x: f32[N, P, C]) -> y: f32[C] { y[c] = sum(n in 0..N, p in 0..P) { x[n, p, c] }; }";
    let plan = |facts: &str| planned(kernel, facts, &Profile::mesa_lavapipe()).plan.source(0);
    assert_eq!(plan("N * P <= 4096, N >= 1, P >= 1"), plan("N * P <= 4096"));
}

/// A subgroup reduces a short row, and a workgroup a long one. On a CPU an invocation reduces a short row.
#[test]
fn short_rows() {
    insta::assert_snapshot!(plans(SOFTMAX, &["C % 4 == 0, C <= 256", "C <= 256", "C <= 64"]));
}

/// A reduction is computed where it is read if only few of its elements are read.
#[test]
fn sparse_reductions() {
    let diagonal = "fn k<N>(a: f32[N, N], b: f32[N, N]) -> y: f32[N] where N >= 9 {
        let s[i, j]: f32[N, N] = sum(k in 0..9) { a[i, k] * b[k, j] };
        y[i] = s[i, i] + a[i, 0];
    }";
    insta::assert_snapshot!(plans(diagonal, &[""]));
    let dispatches = |kernel: &str, profile: &Profile| planned(kernel, "", profile).program.plan.len();
    // An invocation of a GPU does not compute a long sum, and a CPU computes a chain of sparse reductions at once.
    let long = diagonal.replace("0..9", "0..N");
    assert_eq!((dispatches(&long, &Profile::nvidia_hopper()), dispatches(&long, &Profile::mesa_lavapipe())), (2, 1));
    let chain = "fn k<N>(a: f32[N, N]) -> y: f32[N] where N >= 9 {
        let s[i, j]: f32[N, N] = max(k in 0..N) { a[i, k] * a[k, j] };
        let t[i, j]: f32[N, N] = sum(k in 0..3) { s[i, j] * a[k, j] };
        y[i] = t[i, 0] + a[i, i];
    }";
    assert_eq!(dispatches(chain, &Profile::mesa_lavapipe()), 1);
    // Columns of different lengths are not planned as columns, but their stage computes sparse reductions, too.
    let ragged = "fn k<N>(a: f32[N, N]) -> y: f32[N, N] where N >= 9 {
        let s[h, i, j]: f32[N, N, N] = max(k in 0..9) { a[h, k] * a[k, j] + a[i, k] };
        y[i, j] = sum(k in 0..=i) { a[k, j] } + s[j, i, i];
    }";
    assert_eq!(dispatches(ragged, &Profile::mesa_lavapipe()), 1);
    // Two reads would compute an element twice, and a lookup can read an element many times.
    let twice = diagonal.replace("+ a[i, 0]", "+ s[0, i]");
    let lookup = "fn k<N, M>(a: f32[N, N], at: i32[M]) -> y: f32[M] where N >= 9 {
        let s[i, j]: f32[N, N] = sum(k in 0..9) { a[i, k] * a[k, j] };
        y[i] = s.clamp()[at[i], 0];
    }";
    for kernel in [&twice, lookup] {
        assert_eq!(dispatches(kernel, &Profile::mesa_lavapipe()), 2, "{kernel}");
    }
}

/// Products of bytes use dot products where the profile has an instruction for their signs, and no matrices of their types.
#[test]
fn products_of_bytes() {
    let mut text = String::new();
    let layouts = [("columns", "b: B[K, N]", "b[k, j]"), ("rows", "b: B[N, K]", "b[j, k]")];
    for (profile, [a, b, c]) in [
        (Profile::arm_valhall(), ["i8", "i8", "i32"]),
        (Profile::arm_valhall(), ["u8", "i8", "i32"]),
        (Profile::nvidia_ampere(), ["i8", "u8", "i32"]),
        (Profile::nvidia_ampere(), ["u8", "u8", "u32"]),
    ] {
        for (layout, argument, read) in layouts {
            let kernel = format!(
                "fn k<M, N, K>(a: {a}[M, K], {}) -> c: {c}[M, N] {{ c[i, j] = sum(k in 0..K) {{ a[i, k] as {c} * {read} as {c} }}; }}",
                argument.replace("B[", &format!("{b}["))
            );
            for facts in ["", "K % 16 == 0, N % 16 == 0"] {
                let made = planned(&kernel, facts, &profile);
                assert!(made.refused.is_empty(), "the first plan is refused: {kernel} where {facts} for {}", profile.name);
                text += &format!("\n## {} {a} {b} {layout} where {facts}\n{}", profile.name, made.plan.source(0));
            }
        }
    }
    insta::assert_snapshot!(text);
}
