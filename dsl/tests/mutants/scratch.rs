//! Tests that the verifier refuses all-reduces whose scratch aliases a shared buffer wrongly.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::{Block, BufferId, Node, NodeKind, Program, Scratch, Space, print, walk};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const KERNEL: &str = "fn attention<N, M, D, E>(query: f16[N, D], key: f16[M, D], value: f16[M, E]) -> o: f32[N, E] {
    let s[i, j]: f32[N, M] = sum(d in 0..D) { query[i, d] as f32 * key[j, d] as f32 };
    let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
    let p[i, j]: f32[N, M] = (s[i, j] - m[i]).exp2();
    let r[i, j]: f16[N, M] = p[i, j] as f16;
    let l[i]: f32[N] = sum(j in 0..M) { p[i, j] };
    o[i, e] = sum(j in 0..M) { r[i, j] as f32 * value[j, e] as f32 } / l[i];
}";

const SCHEDULE: &str = "V: attention for nvidia_hopper where D == 16, E == 16, M % 32 == 0, N % 32 == 0 {
    decompose_online(m, l, o => m_b, l_b, o_b, block: 32);
    tile(i: 32) => workgroup(x);
    tile(i: 16) => subgroup(x);
    reorder(j_o, i, e);
    serial(j_o);
    compute_at(o_b, j_o, to: fragment);
    compute_at(l_b, j_o, to: fragment);
    compute_at(r, j_o, to: shared, row_pad: 8);
    compute_at(p, j_o, to: fragment);
    compute_at(m_b, j_o, to: shared);
    compute_at(m_p, j_o, to: shared);
    compute_at(s, j_o, to: fragment);
    s { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 8 x 16); }
    m_b { split(j, [_, 8] => j_r, j); rfactor(j => m_p); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
    l_b { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 8, by: shared); }
    m_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 8); unroll(j_r); }
    p, r { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 8); }
    o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 8 x 16); unroll(j); }
    fragment(i, e, 16 x 8);
}";

fn compiled(kernel: &str, schedule: &str) -> Result<Program, String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let compiled = compile(&kernel, &schedule, &Profile::nvidia_hopper()).map_err(|e| e.texts(&spans))?;
    Ok(compiled.program)
}

fn program() -> (Program, Profile) {
    (compiled(KERNEL, SCHEDULE).expect("it compiles"), Profile::nvidia_hopper())
}

/// Scratch does not alias a copy in two buffers, even if each subgroup has its own rows of it.
#[test]
fn copies_in_two_buffers() {
    let kernel = KERNEL.replace("value: f16[M, E])", "value: f16[M, E], bias: f32[M, N])").replace(
        "let m[i]",
        "let t[i, j]: f32[N, M] = s[i, j] + bias[j, i];
    let m[i]",
    );
    let kernel = kernel.replace("{ s[i, j] }", "{ t[i, j] }").replace("(s[i, j] - m[i])", "(t[i, j] - m[i])");
    let schedule = SCHEDULE
        .replace("compute_at(m_p, j_o, to: shared);", "compute_at(t, j_o, to: fragment);")
        .replace("compute_at(m_b, j_o, to: shared);", "compute_at(m_b, j_o, to: fragment);")
        .replace("m_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 8); unroll(j_r); }", "")
        .replace("p, r {", "p, r, t {")
        .replace("l_b {", "m_b, l_b {")
        .replace(
            "m_b { split(j, [_, 8] => j_r, j); rfactor(j => m_p); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }",
            "pipeline(j_o, b_s, buffers: 2, prefetch: register); b_s { tile(i: 16) => subgroup(x); distribute(j_o_j => lane(x)); unroll(i); }",
        )
        .replace("compute_at(s, j_o, to: fragment);", "compute_at(s, j_o, to: fragment); promote(bias => b_s, at: j_o, to: shared);");
    let program = compiled(&kernel, &schedule).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(program.buffers[named(&program, "b_s")].versions, 2);
    assert!(!print::plan(&program).contains("by tree, in b_s"));
}

/// Returns the local buffer with a name.
fn named(program: &Program, name: &str) -> BufferId {
    let is_it = |id: &BufferId| {
        program.buffers[*id].name == name && matches!(program.buffers[*id].space, Space::Shared | Space::Fragment { .. })
    };
    program.buffers.ids().find(is_it).expect("a buffer")
}

/// Returns the errors of the nest after a change of the scratch of the all-reduce of sums.
fn moved(change: impl FnOnce(&Program, &mut Scratch)) -> Option<String> {
    let (mut program, profile) = program();
    let mut plan = std::mem::take(&mut program.plan);
    let mut change = Some(change);
    for dispatch in &mut plan {
        walk::each_mut(&mut dispatch.body, &mut |node| {
            if let NodeKind::AllReduce(reduction) = &mut node.kind
                && let Some(change) = change.take()
            {
                change(&program, reduction.scratch.as_mut().expect("a scratch"));
            }
        });
    }
    program.plan = plan;
    verify(&program, &profile).err().map(|errors| errors.0.iter().map(|e| format!("{e:?}\n")).collect())
}

#[test]
fn elsewhere() {
    assert_eq!(moved(|_, _| {}), None);
    let (program, _) = program();
    assert!(print::plan(&program).contains("by tree, in m_p"));
    let refused = |what: &str, change: &dyn Fn(&Program, &mut Scratch)| {
        assert!(moved(change).is_some_and(|errors| errors.contains("as scratch, ")), "{what} is accepted");
    };
    refused("one part for all", &|_, scratch| scratch.part = 0);
    refused("a part of another subgroup's, too", &|_, scratch| scratch.part = 8);
    refused("parts past the end", &|_, scratch| scratch.part = 128);
    refused("rows by rows", &|_, scratch| (scratch.row, scratch.column) = (8, 1));
    refused("columns in one another", &|_, scratch| scratch.column = 8);
    refused("columns past the end", &|_, scratch| scratch.column = 64);
    refused("elements at no multiple of 16 bytes", &|_, scratch| scratch.column = 33);
    refused("another type", &|program, scratch| scratch.buffer = named(program, "r"));
    refused("a buffer that is too small", &|program, scratch| scratch.buffer = named(program, "m_b"));
    refused("fragments", &|program, scratch| scratch.buffer = named(program, "p"));
}

/// Returns the innermost body of allocations that start at the beginning of a block.
fn innermost(block: &mut Block) -> &mut Block {
    if !matches!(&block[..], [Node { kind: NodeKind::Alloc { .. }, .. }]) {
        return block;
    }
    let NodeKind::Alloc { body, .. } = &mut block[0].kind else { unreachable!() };
    innermost(body)
}

/// Adds another read of a buffer at the end of the buffer's scope.
fn read_again(program: &Program, block: &mut Block, of: BufferId) {
    for node in block {
        if let NodeKind::Alloc { buffer, body } = &mut node.kind
            && *buffer == of
        {
            let reads = |node: &Node| match &node.kind {
                NodeKind::Compute(compute) => {
                    compute.values().any(|value| program.exprs.reads(value).iter().any(|read| read.buffer == of))
                }
                _ => false,
            };
            let body = innermost(body);
            let again = body.iter().find(|node| walk::nodes(std::slice::from_ref(*node)).any(reads)).cloned();
            body.extend(again);
            return;
        }
        node.blocks_mut().for_each(|inner| read_again(program, inner, of));
    }
}

#[test]
fn over_what_is_needed() {
    let (mut program, profile) = program();
    assert!(matches!(program.buffers[named(&program, "m_p")].space, Space::Shared));
    let mut plan = std::mem::take(&mut program.plan);
    plan.iter_mut().for_each(|dispatch| read_again(&program, &mut dispatch.body, named(&program, "m_p")));
    program.plan = plan;
    let errors = verify(&program, &profile).expect_err("it is refused").0;
    assert!(errors.iter().any(|e| format!("{e:?}").contains("which is still in use there")), "{errors:?}");
}
