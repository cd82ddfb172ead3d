//! Tests that the verifier refuses online reductions whose blocks do not carry over the state of the previous block.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{Body, Compute, NodeKind, Phase, Program, walk};
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
    compute_at(r, j_o, to: fragment);
    compute_at(p, j_o, to: fragment);
    compute_at(m_b, j_o, to: fragment);
    compute_at(s, j_o, to: fragment);
    s { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
    m_b, l_b { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16, by: matrix); }
    p, r { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
    o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
    fragment(i, e, 16 x 16);
}";

fn program() -> (Program, Profile) {
    let (mut spans, profile) = (Spans::new(), Profile::nvidia_hopper());
    let kernel = syntax::kernel::parse(KERNEL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(SCHEDULE.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let compiled = compile(&kernel, &schedule, &profile).map_err(|e| e.texts(&spans)).expect("it compiles");
    (compiled.program, profile)
}

/// Checks that a change of each node alone is refused, and returns the number of changed nodes.
fn refused(what: &str, change: &dyn Fn(&Program, &mut Compute) -> bool) -> usize {
    let (program, profile) = program();
    assert!(verify(&program, &profile).is_ok());
    let mut count = 0;
    for number in 0.. {
        let (mut broken, mut at, mut done) = (program.clone(), 0, None);
        let mut plan = std::mem::take(&mut broken.plan);
        for dispatch in &mut plan {
            walk::each_mut(&mut dispatch.body, &mut |node| {
                if let NodeKind::Compute(compute) = &mut node.kind {
                    if at == number {
                        done = Some(change(&broken, compute));
                    }
                    at += 1;
                }
            });
        }
        broken.plan = plan;
        match done {
            None => return count,
            Some(false) => continue,
            Some(true) => {}
        }
        assert!(verify(&broken, &profile).is_err(), "{what}, number {number}, is accepted");
        count += 1;
    }
    count
}

#[test]
fn what_does_not_go_on() {
    let begins_anew = refused("an accumulator that begins with the identity", &|program, compute| {
        let Body::Reduce { monoid, .. } = &program.stages[compute.stage].body else { return false };
        let resumes = compute.phase == Phase::Resume;
        if resumes {
            (compute.phase, compute.value) = (Phase::Init, monoid.identity.clone());
        }
        resumes
    });
    assert_eq!(begins_anew, 3);
    // Removes the factor that rescales the sum to the new maximum.
    let not_below = refused("a sum below the old maximum", &|program, compute| {
        let first = compute.value.first().map(|value| program.exprs.get(*value).clone());
        match first {
            Some(Expr::Binary(_, sum, _)) if compute.phase == Phase::Resume => compute.value = vec![sum],
            _ => return false,
        }
        true
    });
    assert_eq!(not_below, 2);
    let another = refused("a result that is added to itself", &|program, compute| {
        let resumes = compute.phase == Phase::Resume;
        if resumes {
            let twice = |value: &ExprId| program.exprs.sum(*value, *value);
            compute.value = compute.value.iter().map(twice).collect();
        }
        resumes
    });
    assert_eq!(another, 3);
}

#[test]
fn what_is_taken_for_the_state() {
    let (program, profile) = program();
    let running = &program.notes.running[0];
    let target = program.definition(running.target).expect("a stage");
    let Body::Reduce { monoid, .. } = &program.stages[target].body else { panic!("no reduction") };
    assert_eq!(monoid.name, "running");
    let item = |n: usize| program.exprs.add(Expr::Item(n as u32), program.exprs.dtype(monoid.identity[n]));
    for n in 0..monoid.combine.len() {
        let is = monoid.combine[n];
        assert_eq!(is, item(n), "each goes on");
        // The items of a block are added to a state that already contains them.
        let twice = program.exprs.sum(running.below[n], is);
        let mut broken = program.clone();
        let Body::Reduce { monoid, .. } = &mut broken.stages[target].body else { panic!("no reduction") };
        monoid.combine[n] = twice;
        assert!(verify(&broken, &profile).is_err(), "component {n} is counted twice, and that is accepted");
    }
    // Removes the initial value of the block's maximum.
    let mut broken = program.clone();
    let before = |compute: &Compute| compute.phase == Phase::Init && program.stages[compute.stage].name == "m_b";
    for dispatch in &mut broken.plan {
        fn without(block: &mut Vec<tilewright_dsl::nest::Node>, is: &dyn Fn(&Compute) -> bool) {
            block.retain(|node| !matches!(&node.kind, NodeKind::Compute(compute) if is(compute)));
            block.iter_mut().flat_map(|node| node.blocks_mut()).for_each(|inner| without(inner, is));
        }
        without(&mut dispatch.body, &before);
    }
    assert!(verify(&broken, &profile).is_err(), "the first block's maximum goes on from nothing, and that is accepted");
}
