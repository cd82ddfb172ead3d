//! Shared buffers that use the same memory at different times.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::{Block, BufferId, Node, NodeKind, Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const KERNEL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const SCHEDULE: &str = "V: matmul for vulkan_1_1 {
    tile(i: 16, j: 32) => workgroup(y, x);
    tile(k: 8 => k_o);
    reorder(k_o, k, i, j);
    promote(a => a_s[k, i], at: k_o, to: shared);
    promote(b => b_s[k, j], at: k_o, to: shared);
    promote(c => c_s, at: workgroup, to: shared);
    tile(i: 2, j: 4) => thread(y, x);
    unroll(i, j);
}";

fn compiled(shared_bytes: u32) -> Result<(Program, Profile), String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(KERNEL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(SCHEDULE.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let profile = Profile { shared_bytes, ..Profile::vulkan_1_1() };
    let compiled = compile(&kernel, &schedule, &profile).map_err(|e| e.texts(&spans))?;
    Ok((compiled.program, profile))
}

fn named(program: &Program, name: &str) -> BufferId {
    program.buffers.ids().find(|id| program.buffers[*id].name == name).expect("a buffer of this name")
}

fn errors(program: &Program, profile: &Profile) -> String {
    verify(program, profile).map_or_else(|errors| errors.texts(&Spans::new()), |()| "right".to_owned())
}

#[test]
fn a_result_over_its_operands() {
    let (program, _) = compiled(2048).expect("it compiles");
    insta::assert_snapshot!(print::plan(&program));
}

#[test]
fn buffers_that_fit_keep_memory_of_their_own() {
    let (program, _) = compiled(4096).expect("it compiles");
    assert!(program.notes.overlaid.is_empty());
}

#[test]
fn the_verifier_refuses_buffers_that_are_live_together() {
    let (mut program, profile) = compiled(2048).expect("it compiles");
    let [a, b] = ["a_s", "b_s"].map(|name| named(&program, name));
    assert!(!program.overlay(a, b) && errors(&program, &profile) == "right");
    let first = program.notes.overlaid[&a];
    program.notes.overlaid.insert(b, first);
    let errors = errors(&program, &profile);
    assert!(errors.contains("overwrites `a_s`, which is still in use there"), "{errors}");
}

#[test]
fn the_verifier_refuses_an_array_that_does_not_fit() {
    let (mut program, profile) = compiled(2048).expect("it compiles");
    let c = named(&program, "c_s");
    program.notes.overlaid.insert(c, 4);
    let errors = errors(&program, &profile);
    assert!(errors.contains("2064 bytes of shared memory, but `vulkan_1_1` has 2048"), "{errors}");
}

/// Without the barrier after the loop, an invocation would write its results over operands that others still read.
#[test]
fn the_verifier_needs_a_barrier_before_memory_is_reused() {
    fn without_barriers(block: &mut Block) {
        block.retain(|node| !matches!(node.kind, NodeKind::Barrier { .. }));
        block.iter_mut().flat_map(Node::blocks_mut).for_each(without_barriers);
    }
    let (mut program, profile) = compiled(2048).expect("it compiles");
    program.plan.iter_mut().for_each(|dispatch| without_barriers(&mut dispatch.body));
    let errors = errors(&program, &profile);
    assert!(errors.contains("in `a_s`") && errors.contains("overwrites an element that another invocation reads"), "{errors}");
}
