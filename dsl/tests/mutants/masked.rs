//! Tests that the verifier refuses masked scores if the mask, or a fact that it depends on, is missing.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{NodeKind, Phase, Program, walk};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const KERNEL: &str = "fn causal<N, D, E>(query: f16[N, D], key: f16[N, D], value: f16[N, E], scale: f32) -> o: f32[N, E] {
    let s[i, j]: f32[N, N] = sum(d in 0..D) { query[i, d] as f32 * key[j, d] as f32 };
    let m[i]: f32[N] = max(j in 0..i + 1) { s[i, j] };
    let p[i, j]: f32[N, N] = s[i, j].mul_add(scale, -m[i] * scale).exp2();
    let r[i, j]: f16[N, N] = p[i, j] as f16;
    let l[i]: f32[N] = sum(j in 0..i + 1) { p[i, j] };
    o[i, e] = sum(j in 0..i + 1) { r[i, j] as f32 * value[j, e] as f32 } / l[i];
}";

const SCHEDULE: &str = "V: causal for nvidia_hopper where D == 16, E == 16, N % 64 == 0, finite(query), finite(key), finite(value),
    scale > 1e-6, scale < 1e6
{
    decompose_online(m, l, o => m_b, l_b, o_b, block: 32, mask: s);
    tile(i: 64) => workgroup(x);
    reorder(j_o, i, e);
    tile(i: 16) => subgroup(x);
    serial(j_o);
    compute_at(o_b, j_o, to: fragment);
    compute_at(l_b, j_o, to: fragment);
    compute_at(r, j_o, to: fragment);
    compute_at(p, j_o, to: fragment);
    compute_at(m_b, j_o, to: fragment);
    compute_at(s, j_o, to: fragment);
    s { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); }
    m_b, l_b { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16, by: matrix); }
    p, r { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
    o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
    fragment(i, e, 16 x 16);
}";

/// Returns the errors of the program after a change.
fn changed(change: impl FnOnce(&mut Program)) -> Option<String> {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(KERNEL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(SCHEDULE.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let profile = Profile::nvidia_hopper();
    let mut program = compile(&kernel, &schedule, &profile).map_err(|e| e.texts(&spans)).expect("it compiles").program;
    change(&mut program);
    verify(&program, &profile).err().map(|errors| errors.0.iter().map(|e| format!("{e:?}\n")).collect())
}

/// Replaces the value that the scores' leaf stores. `put` gets the mask's condition, the score and -inf.
fn store(program: &mut Program, put: impl Fn(&Program, [ExprId; 3]) -> ExprId) {
    let mut plan = std::mem::take(&mut program.plan);
    let mut changed = 0;
    for dispatch in &mut plan {
        walk::each_mut(&mut dispatch.body, &mut |node| {
            if let NodeKind::Compute(compute) = &mut node.kind
                && compute.phase == Phase::Finish
                && let Expr::Select(cond, score, nothing) = *program.exprs.get(compute.value[0])
            {
                compute.value[0] = put(program, [cond, score, nothing]);
                changed += 1;
            }
        });
    }
    program.plan = plan;
    assert_eq!(changed, 1);
}

#[test]
fn masks() {
    assert_eq!(changed(|_| {}), None);
    let refused = |what: &str, change: &dyn Fn(&mut Program)| {
        assert!(
            changed(change).is_some_and(|errors| errors.contains("are not proved to be the identity where")),
            "{what} is accepted"
        );
    };
    refused("no mask", &|program| store(program, |_, [_, score, _]| score));
    refused("a mask of the other elements", &|program| {
        store(program, |p, [cond, score, nothing]| p.exprs.select(cond, nothing, score))
    });
    refused("a mask of 0", &|program| {
        store(program, |p, [cond, score, nothing]| {
            let zero = p.exprs.constant(tilewright_dsl::expr::Const::number(0.0, p.exprs.dtype(nothing)));
            p.exprs.select(cond, score, zero)
        });
    });
    refused("a mask that ends later", &|program| {
        store(program, |p, [cond, score, nothing]| {
            let Expr::Compare(op, index, end) = *p.exprs.get(cond) else { panic!("no comparison") };
            let later = p.exprs.compare(op, index, p.exprs.sum(end, p.exprs.int(1)));
            p.exprs.select(later, score, nothing)
        });
    });
    refused("nothing known of the scale", &|program| program.checks.bounds.clear());
    refused("no upper bound of the scale", &|program| program.checks.bounds.truncate(1));
    refused("no lower bound of the scale", &|program| drop(program.checks.bounds.remove(0)));
    refused("keys that are perhaps infinite", &|program| program.checks.finite.truncate(1));
    refused("a scale that can be 0", &|program| program.checks.bounds[0].value = 0.0);
}
