//! Costs, against numbers counted by hand.

use tilewright_dsl::compile::compile;
use tilewright_dsl::cost::{Cost, cost};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// The dims of the kernels here, in the order in which they are declared.
const DIMS: [i64; 3] = [64, 128, 256];

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

fn of(kernel: &str, directives: &str) -> Vec<Cost> {
    let mut spans = Spans::new();
    let name = kernel.trim_start_matches("fn ").split('<').next().expect("a name");
    let schedule = format!("V: {name} for p {{ {directives} }}");
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    match compile(&kernel, &schedule, &Profile::mesa_lavapipe()) {
        Ok(compiled) => cost(&compiled.program),
        Err(errors) => panic!("{}", errors.texts(&spans)),
    }
}

/// Flops, functions, and bytes read and written of each tensor, of all workgroups.
fn total(cost: &Cost) -> (i64, i64, Vec<(&str, i64, i64)>) {
    let groups = cost.workgroups().eval(&DIMS).expect("a number");
    let all = |size: &tilewright_dsl::launch::Size| size.eval(&DIMS).expect("a number") * groups;
    let tensors = cost.tensors.iter().map(|t| (t.name.as_str(), all(&t.read), all(&t.written))).collect();
    (all(&cost.each.flops), all(&cost.each.functions), tensors)
}

#[test]
fn without_reuse_every_multiplication_reads_both_operands() {
    let costs = of(MATMUL, "distribute(i, j => workgroup(y, x));");
    let (m, n, k) = (64, 128, 256);
    let reads = m * n * k * 4;
    assert_eq!(total(&costs[0]), (2 * m * n * k, 0, vec![("a", reads, 0), ("b", reads, 0), ("c", 0, m * n * 4)]));
    assert_eq!(costs[0].compulsory().eval(&DIMS), Some((m * k + k * n + m * n) * 4));
    assert_eq!((costs[0].guards, costs[0].barriers, costs[0].at_most), (0, 0, false));
}

#[test]
fn a_register_tile_reads_each_operand_once_a_tile() {
    let costs =
        of(MATMUL, "tile(i: 8, j: 32) => workgroup(y, x); tile(i: 4, j: 2) => thread(y, x); reorder(k, i, j); unroll(i, j);");
    let (m, n, k) = (64, 128, 256);
    // `a` once for two columns, `b` once for four rows.
    let (a, b) = (m * n / 2 * k * 4, m / 4 * n * k * 4);
    assert_eq!(total(&costs[0]), (2 * m * n * k, 0, vec![("a", a, 0), ("b", b, 0), ("c", 0, m * n * 4)]));
    assert_eq!(costs[0].guards, 2, "the update and the finish");
}

#[test]
fn what_does_not_depend_on_inner_loops_counts_where_it_is_hoisted_to() {
    let kernel = "fn rows<M, N>(x: f32[M, N], s: f32[M]) -> y: f32[M, N] { y[i, j] = x[i, j] * s[i].exp() + 1.0; }";
    let costs = of(kernel, "distribute(i => workgroup(x)); serial(j);");
    let (m, n) = (64, 128);
    assert_eq!(total(&costs[0]), (2 * m * n, m, vec![("x", m * n * 4, 0), ("s", m * 4, 0), ("y", 0, m * n * 4)]));
}

#[test]
fn the_bound_of_a_triangle_counts_as_its_largest() {
    let kernel = "fn below<M, N>(x: f32[M, M], w: f32[N]) -> y: f32[M] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }";
    let costs = of(kernel, "distribute(i => workgroup(x));");
    let (flops, _, tensors) = total(&costs[0]);
    assert!(costs[0].at_most);
    assert_eq!((flops, tensors[0]), (64 * 64, ("x", 64 * 64 * 4, 0)));
}
