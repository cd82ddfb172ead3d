//! Tests the formulas of sizes, and the summary of a variant without sizes.

use tilewright_codegen::cost::{brief, cost, formula};
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::launch::{Dim, Program, Size};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

fn dim(n: u32) -> Size {
    Size::Dim(n)
}

fn shown(size: &Size) -> String {
    formula(size, &|n| ["M", "N", "K"][n as usize].to_owned())
}

fn tiles(n: u32, by: i64) -> Size {
    Size::FloorDiv(dim(n).plus(Size::Const(by - 1)).into(), Size::Const(by).into())
}

#[test]
fn sums_of_products_are_told() {
    let whole = Size::FloorDiv(dim(0).into(), Size::Const(8).into());
    assert_eq!(shown(&whole.times(Size::Const(16)).times(dim(1)).times(dim(2))), "2 M N K");
    assert_eq!(shown(&tiles(0, 8).times(tiles(1, 64)).times(Size::Const(1024).times(dim(2)))), "about 2 M N K");
    assert_eq!(shown(&dim(0).times(dim(0)).plus(Size::Const(3))), "M^2 + 3");
    assert_eq!(shown(&tiles(0, 8).times(dim(2))), "about 1/8 M K");
    let less = Size::Sub(dim(0).times(dim(1)).into(), dim(2).into());
    assert_eq!(shown(&less.times(Size::Const(4))), "4 M N - 4 K");
    assert_eq!(shown(&Size::Min(dim(0).into(), Size::Const(4).into()).times(dim(1))), "N min(M, 4)");
    assert_eq!(shown(&Size::FloorDiv(dim(0).into(), dim(1).into()).times(Size::Const(2))), "2 (M / N)");
    assert_eq!((shown(&Size::Const(0)), shown(&Size::Const(7))), ("0".to_owned(), "7".to_owned()));
    assert_eq!(shown(&Size::Sub(Size::Const(0).into(), dim(0).into())), "-M");
}

/// Returns the summary of a kernel under directives. Its launch program has only the dims, because no backend makes it.
fn summary(profile: &Profile, dims: &[&str], kernel: &str, directives: &str) -> Vec<String> {
    let mut spans = Spans::new();
    let name = kernel.trim_start_matches("fn ").split('<').next().expect("a name");
    let schedule = format!("V: {name} for p {{ {directives} }}");
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let compiled = compile(&kernel, &schedule, profile).unwrap_or_else(|errors| panic!("{}", errors.texts(&spans)));
    let dims = dims.iter().map(|name| Dim { name: (*name).to_owned(), derived: None }).collect();
    brief(&cost(&compiled.program, profile), &Program { dims, ..Program::default() }, profile)
}

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

#[test]
fn a_bottleneck_that_depends_on_sizes_has_its_intensity() {
    let lines = summary(
        &Profile::nvidia_hopper(),
        &["M", "N", "K"],
        MATMUL,
        "tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));",
    );
    let work = "1 dispatch: about 2 M N K flops, (4 M N + 4 M K + 4 N K) B if each tensor is moved once";
    assert_eq!(lines, [work, "bound by memory below 14.0 flops a byte, and by arithmetic above"]);
}

#[test]
fn a_bottleneck_at_every_size_is_proved() {
    let add = "fn add<N>(a: f32[N], b: f32[N]) -> c: f32[N] { c[i] = a[i] + b[i]; }";
    let lines = summary(&Profile::nvidia_hopper(), &["N"], add, "distribute(i => workgroup(x));");
    assert_eq!(lines, ["1 dispatch: N flops, 12 N B if each tensor is moved once", "bound by memory at every size"]);
}

/// Returns the summary of a product on matrix units, with an operation on each result.
fn product(after: &str) -> Vec<String> {
    let kernel = format!(
        "fn product<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] where M % 16 == 0, N % 16 == 0 {{
            c[i, j] = sum(k in 0..K) {{ a[i, k] as f32 * b[k, j] as f32 }}{after};
        }}"
    );
    let directives = "tile(i: 16, j: 16) => workgroup(y, x); tile(k: 16 round_up => k_o); reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0); promote(b => b_s, at: k_o, to: shared, fill: 0.0);
        mma(i, j, k, 16 x 16 x 16);";
    summary(&Profile::nvidia_hopper(), &["M", "N", "K"], &kernel, directives)
}

#[test]
fn matrix_units_are_the_bottleneck_only_if_other_arithmetic_never_is() {
    let lines = product("");
    assert_eq!(lines[1..], ["bound by memory below 206.0 flops a byte, and by matrix units above"], "{lines:?}");
    // At K = 0, the sums take no time.
    let lines = product(".max(0.0)");
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn a_profile_without_rates_has_no_bottleneck() {
    let lines = summary(&Profile::vulkan_1_1(), &["M", "N", "K"], MATMUL, "distribute(i, j => workgroup(y, x));");
    assert_eq!(lines, ["1 dispatch: 2 M N K flops, (4 M N + 4 M K + 4 N K) B if each tensor is moved once"]);
}
