//! The ledger's entries about float reductions, which give the length of the longest chain of additions.

use tilewright_differential::compile;
use tilewright_dsl::launch::Feature;
use tilewright_dsl::nest::State;
use tilewright_dsl::profile::Profile;

const SUM: &str = "fn k<N, K>(x: f32[N, K]) -> y: f32[N] { y[i] = sum(k in 0..K) { x[i, k] }; }";

/// A schedule in which each invocation reduces a row.
const ROWS: &str = "tile(i: 64) => workgroup(x); distribute(i => thread(x));";

fn chains(kernel: &str, directives: &str) -> Vec<String> {
    let profile = Profile {
        subgroup: Some(8),
        features: [Feature::SubgroupArithmetic, Feature::SubgroupSize, Feature::AtomicF32Add].into(),
        ..Profile::vulkan_1_1()
    };
    let made = compile::variant(kernel, &format!("V: k for p {{ {directives} }}"), &profile);
    let made = made.unwrap_or_else(|refusal| panic!("{}\n{directives}", refusal.text));
    made.nest.report.ledger.into_iter().filter(|o| o.state == State::Stated).map(|o| o.what).collect()
}

#[test]
fn loops_of_an_invocation_are_a_chain() {
    assert_eq!(chains(SUM, ROWS), ["sum of `y`: chains of up to K additions"]);
    assert_eq!(
        chains(SUM, "tile(i: 1) => workgroup(x); tile(k: 8); unroll(k);"),
        ["sum of `y`: chains of up to 8 * ((K + 7) / 8) additions"]
    );
    let known = SUM.replace("<N, K>", "<N>").replace('K', "96");
    assert_eq!(chains(&known, "tile(i: 1) => workgroup(x); tile(k: 8); unroll(k);"), ["sum of `y`: chains of up to 96 additions"]);
}

#[test]
fn invocations_share_a_chain() {
    assert_eq!(
        chains(SUM, "tile(i: 1) => workgroup(x); tile(k: 64 => k_o); distribute(k => thread(x), by: tree);"),
        ["sum of `y`: chains of up to (K + 63) / 64 + 6 additions"]
    );
    assert_eq!(
        chains(SUM, "tile(i: 1) => workgroup(x); tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup);"),
        ["sum of `y`: chains of up to (K + 7) / 8 + 3 additions"]
    );
    assert_eq!(
        chains(SUM, "tile(i: 1) => workgroup(x); tile(k: 64 => k_o); distribute(k_o => workgroup(y), by: atomic);"),
        ["sum of `y`: chains of up to 64 + (K + 63) / 64 additions"]
    );
}

#[test]
fn partial_results_have_chains_of_their_own() {
    assert_eq!(
        chains(SUM, "y { tile(k: 64 => k_o); rfactor(k_o => part); }"),
        ["sum of `part`: chains of up to 64 additions", "sum of `y`: chains of up to (K + 63) / 64 additions"]
    );
}

#[test]
fn what_does_not_round_has_no_chain() {
    assert_eq!(chains(&SUM.replace("sum(", "max("), ROWS), [""; 0]);
    assert_eq!(chains(&SUM.replace("f32", "i32"), ROWS), [""; 0]);
    assert_eq!(chains(&SUM.replace("sum(", "prod("), ROWS), ["prod of `y`: chains of up to K multiplications"]);
}

#[test]
fn ranges_that_depend_on_axes_count_at_their_longest() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(k in 0..i) { x[i, k] }; }";
    assert_eq!(chains(kernel, ROWS), ["sum of `y`: chains of up to N - 1 additions"]);
}
