//! Golden nests: the effect of each directive on a nest, before and after lowering. `show` prints the nest where it is placed. Read the
//! snapshots in review. Directives with more tests have modules of their own.

mod accumulate;
mod all_reduce;
mod apply;
mod clone;
mod compute_at;
mod dots;
mod im2col;
mod promote;
mod winograd;

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::print;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

const MATMUL: &str =
    "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
const TRIANGLE: &str = "fn triangle<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }";

/// Returns the nest after each directive and after lowering, or the errors.
fn steps(kernel: &str, head: &str, directives: &[&str]) -> String {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let shown: Vec<String> = directives.iter().map(|d| format!("{d}; show;")).collect();
    let text = format!("V: {} for vulkan_1_1 {head} {{ show; {} }}", kernel.name, shown.join(" "));
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    match compile(&kernel, &schedule, &Profile::vulkan_1_1()) {
        Ok(compiled) => {
            let shows = compiled.warnings.0.iter().map(|w| w.message.trim_start_matches("the nest here:\n").to_owned());
            let titles = ["the naive nest"].into_iter().chain(directives.iter().copied());
            let nests: Vec<String> = titles.zip(shows).map(|(title, nest)| format!("## {title}\n{nest}")).collect();
            format!("{}\n## lowered\n{}", nests.join("\n"), print::plan(&compiled.program))
        }
        Err(errors) => errors.0.iter().map(|e| e.text(&spans) + "\n").collect(),
    }
}

#[test]
fn tile_to_workgroups_and_threads() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "where N % 32 == 0",
        &[
            "tile(i: 8, j: 32) => workgroup(y, x)",
            "tile(i: 4, j: 4) => thread(y, x)",
            "reorder(k, i, j)",
            "unroll(i)",
            "vectorize(j, 4)"
        ]
    ));
}

#[test]
fn tile_in_place_and_round_up() {
    insta::assert_snapshot!(steps(MATMUL, "", &["distribute(i, j => workgroup(y, x))", "tile(k: 8 round_up)", "unroll(k)"]));
}

#[test]
fn split_fuse_and_distribute() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "where M % 8 == 0",
        &[
            "split(i, [2, _, 4] => r, t, v)",
            "fuse(r, t, j => p)",
            "tile(p: 64) => workgroup(x)",
            "distribute(p => thread(x))",
            "serial(v)"
        ]
    ));
}

#[test]
fn folded_thread_coordinates() {
    insta::assert_snapshot!(steps(MATMUL, "", &["tile(i: 4, j: 8) => workgroup(x, x)", "distribute(i, j => thread(x, x))"]));
}

#[test]
fn a_loop_moved_out_of_its_bound_takes_the_hull() {
    insta::assert_snapshot!(steps(
        TRIANGLE,
        "",
        &["tile(i: 8) => workgroup(x)", "tile(i: 2) => thread(x)", "tile(j: 4)", "reorder(j_o, j, i)", "unroll(j, i)"]
    ));
}

#[test]
fn an_unrolled_bound() {
    insta::assert_snapshot!(steps(MATMUL, "where K <= 4", &["distribute(i, j => workgroup(y, x))", "unroll(k)"]));
}

#[test]
fn the_planned_schedule() {
    insta::assert_snapshot!(steps(MATMUL, "", &[]).replace("## the naive nest", "## scheduled"));
}

/// An axis of extent 1 has no loop, but needs one if it is rounded up.
#[test]
fn an_axis_of_one_point_rounded_up() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "where M == 1",
        &["tile(i: 4 round_up) => workgroup(y)", "unroll(i)", "distribute(j => workgroup(x))"]
    ));
}

/// Returns the obligations of a schedule of the matrix product, and how each is met.
fn ledger(directives: &str) -> Vec<String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(MATMUL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: matmul for vulkan_1_1 {{ distribute(i, j => workgroup(y, x)); {directives} }}");
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let compiled = compile(&kernel, &schedule, &Profile::vulkan_1_1()).unwrap_or_else(|e| panic!("{}", e.texts(&spans)));
    let owed = compiled.program.report.ledger.iter().filter(|o| !o.what.contains("is in bounds of"));
    owed.map(|o| format!("{}: {:?}", o.what, o.state)).collect()
}

/// The axis may continue past the end of a part, so the part is guarded: its items are the identity there, and no read is filled.
#[test]
fn a_part_rounded_up_is_guarded() {
    assert_eq!(ledger("tile(k: 8 round_up);"), ["reads out of bounds of `k` are 0, and the item is then the identity: Proved"]);
    // The outer part, and the inner part of an axis that is itself guarded.
    assert_eq!(
        ledger("split(k, [_, 4] => k_o, k); tile(k_o: 4 round_up);"),
        ["the split of `k` runs beyond `K`: Guarded", "the split of `k_o` runs beyond `(K + 3) / 4`: Guarded"]
    );
    assert_eq!(
        ledger("tile(k: 8); tile(k: 3 round_up => k_m);"),
        ["the split of `k` runs beyond `K`: Guarded", "the split of `k` runs beyond `8`: Guarded"]
    );
    insta::assert_snapshot!(steps(
        MATMUL,
        "",
        &["distribute(i, j => workgroup(y, x))", "tile(k: 8)", "tile(k: 3 round_up => k_m)"]
    ));
}

/// Past the end of a fused axis, the reads of all its components are filled.
#[test]
fn fused_axes_rounded_up() {
    let kernel = "fn total<M, K, L>(a: f32[M, K, L]) -> c: f32[M] { c[i] = sum(k in 0..K, l in 0..L) { a[i, k, l] }; }";
    let directives = ["distribute(i => workgroup(x))", "tile(k: 4 => k_o)", "fuse(k, l => p)", "tile(p: 8 round_up)"];
    let nests = steps(kernel, "", &directives);
    insta::assert_snapshot!(nests.split("## lowered").last().unwrap_or_default());
}

#[test]
fn a_last_tile_moved_back() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "",
        &["distribute(i => workgroup(y))", "tile(j: 60) => workgroup(x)", "tile(j: 8 shift)", "serial(j_o)", "unroll(j)"]
    ));
}

#[test]
fn workgroups_of_full_tiles_and_of_the_tail() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "",
        &["tile(i: 8 peel, j: 32 peel) => workgroup(y, x)", "distribute(j => thread(x))", "reorder(k, i)", "unroll(i)"]
    ));
}

#[test]
fn the_tail_of_a_reduction() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "",
        &["tile(i: 8) => workgroup(y)", "distribute(j => workgroup(x))", "tile(k: 4 peel)", "reorder(k_o, i, k)", "unroll(i, k)"]
    ));
}

#[test]
fn the_tail_of_lanes() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "where N % 4 == 0",
        &["distribute(i => workgroup(y))", "tile(j: 8 peel)", "serial(j_o)", "vectorize(j, 4)", "unroll(j)"]
    ));
}

/// Copies of full tiles have no clamps, because they stay in bounds.
#[test]
fn copies_of_full_tiles() {
    insta::assert_snapshot!(steps(
        MATMUL,
        "",
        &[
            "tile(i: 4 peel, j: 8) => workgroup(y, x)",
            "distribute(j => thread(x))",
            "tile(k: 8 peel)",
            "reorder(k_o, i, k)",
            "promote(a => p[i, k], at: k_o, to: shared)",
            "unroll(i)"
        ]
    ));
}
