//! Softmax and attention whose maximum and sums are computed in one pass, against the plain definitions.

use crate::harness::{check, nest, profiles, variant};

const SOFTMAX: &str = "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let m[i]: f32[R] = max(k in 0..C) { x[i, k] };
    let l[i]: f32[R] = sum(k in 0..C) { (x[i, k] - m[i]).exp() };
    y[i, j] = (x[i, j] - m[i]).exp() / l[i];
}";

const ATTENTION: &str = "fn attention<B, N, M, D, E>(q: f32[B, N, D], k: f32[B, M, D], v: f32[B, M, E]) -> o: f32[B, N, E] {
    let s[b, i, j]: f32[B, N, M] = sum(d in 0..D) { q[b, i, d] * k[b, j, d] } * 0.5;
    let m[b, i]: f32[B, N] = max(j in 0..M) { s[b, i, j] };
    let p[b, i, j]: f32[B, N, M] = (s[b, i, j] - m[b, i]).exp();
    let l[b, i]: f32[B, N] = sum(j in 0..M) { p[b, i, j] };
    o[b, i, e] = sum(j in 0..M) { p[b, i, j] * v[b, j, e] } / l[b, i];
}";

/// Sizes that are multiples of blocks, are not, and are shorter than blocks; and empty tensors. (Without keys, the sums are 0.)
const SIZES: [[(&str, i64); 5]; 6] = [
    [("B", 2), ("N", 8), ("M", 16), ("D", 8), ("E", 8)],
    [("B", 1), ("N", 7), ("M", 13), ("D", 5), ("E", 3)],
    [("B", 1), ("N", 1), ("M", 1), ("D", 1), ("E", 1)],
    [("B", 1), ("N", 33), ("M", 70), ("D", 4), ("E", 9)],
    [("B", 1), ("N", 0), ("M", 4), ("D", 4), ("E", 4)],
    [("B", 1), ("N", 5), ("M", 0), ("D", 4), ("E", 4)],
];

fn at_all_sizes(schedule: &str) {
    check(ATTENTION, schedule, &SIZES.each_ref().map(|s| &s[..]));
}

#[test]
fn softmax() {
    let sizes: [&[(&str, i64)]; 4] = [&[("R", 3), ("C", 8)], &[("R", 5), ("C", 13)], &[("R", 1), ("C", 1)], &[("R", 0), ("C", 4)]];
    check(SOFTMAX, "V: softmax for p { decompose_online(m, l); }", &sizes);
    check(SOFTMAX, "V: softmax for p { decompose_online(m, l => m_b, l_b, block: 4); }", &sizes);
}

#[test]
fn attention() {
    at_all_sizes("V: attention for p { decompose_online(m, l, o); }");
    at_all_sizes("V: attention for p { decompose_online(m, l, o => m_b, l_b, o_b, block: 16); }");
}

/// One dispatch, without scores in memory.
#[test]
fn attention_in_one_dispatch() {
    at_all_sizes(
        "V: attention for p {
            decompose_online(m, l, o => m_b, l_b, o_b, block: 16);
            tile(b: 1, i: 8) => workgroup(y, x);
            tile(e: 8 => e_o);
            reorder(e_o, i, j_o, e);
            distribute(i => thread(x));
            unroll(e);
            serial(e_o, j_o);
            compute_at(o_b, j_o, to: register);
            compute_at(l_b, j_o, to: register);
            compute_at(p, j_o, to: shared);
            compute_at(m_b, j_o, to: shared);
            compute_at(s, j_o, to: shared);
        }",
    );
}

/// The statistics of a row at the place of a workgroup, in memory that it shares and in registers, by all of its invocations and by one.
#[test]
fn softmax_in_one_dispatch() {
    let sizes: [&[(&str, i64)]; 4] = [&[("R", 3), ("C", 77)], &[("R", 9), ("C", 13)], &[("R", 1), ("C", 1)], &[("R", 0), ("C", 4)]];
    for to in ["shared", "register"] {
        let schedule = format!(
            "V: softmax for p {{
                decompose_online(m, l);
                tile(i: 1) => workgroup(x);
                tile(j: 32 => j_o);
                distribute(j => thread(x));
                serial(j_o);
                compute_at(l, workgroup, to: {to});
                l {{ tile(k: 32 => k_o); distribute(k => thread(x), by: tree); }}
            }}"
        );
        check(SOFTMAX, &schedule, &sizes);
    }
    let alone = "V: softmax for p {
        decompose_online(m, l);
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
        serial(j);
        compute_at(l, thread, to: register);
    }";
    check(SOFTMAX, alone, &sizes);
}

const WIDE: [[(&str, i64); 5]; 5] = [
    [("B", 2), ("N", 8), ("M", 16), ("D", 16), ("E", 16)],
    [("B", 1), ("N", 7), ("M", 13), ("D", 16), ("E", 16)],
    [("B", 1), ("N", 33), ("M", 70), ("D", 16), ("E", 16)],
    [("B", 1), ("N", 0), ("M", 4), ("D", 16), ("E", 16)],
    [("B", 1), ("N", 5), ("M", 0), ("D", 16), ("E", 16)],
];

/// One row for each invocation, with all its data in registers. A row has one maximum and one sum for all columns of its result.
#[test]
fn attention_in_registers() {
    let schedule = "V: attention for p where E == 16, D == 16 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 8);
        tile(b: 1, i: 8) => workgroup(y, x);
        distribute(i => thread(x));
        reorder(j_o, e);
        unroll(e);
        serial(j_o);
        compute_at(o_b, j_o, to: register);
        compute_at(l_b, j_o, to: register);
        compute_at(p, j_o, to: register);
        compute_at(m_b, j_o, to: register);
        compute_at(s, j_o, to: register);
        promote(q => q_r, at: thread, to: register);
        s { unroll(j, d); }
        p, m_b, l_b { unroll(j); }
        o_b { reorder(j, e); unroll(j, e); }
    }";
    check(ATTENTION, schedule, &WIDE.each_ref().map(|s| &s[..]));
    let nest = nest(ATTENTION, schedule);
    for line in
        ["register o_acc0: f32[]", "register o_acc2: f32[16]", "update (o_acc0[], o_acc1[]) running= (m_b[0, 0, 0], l_b[0, 0, 0])"]
    {
        assert!(nest.contains(line), "no `{line}` in\n{nest}");
    }
}

/// Keys and values in shared memory, for stages that are placed where they are copied.
#[test]
fn attention_with_shared_keys() {
    let schedule = "V: attention for p where E == 16, D == 16 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 16);
        tile(b: 1, i: 16) => workgroup(y, x);
        tile(i: 4, e: 4) => thread(y, x);
        reorder(j_o, i, e);
        unroll(i, e);
        serial(j_o);
        compute_at(o_b, j_o, to: register);
        compute_at(l_b, j_o, to: shared);
        compute_at(p, j_o, to: shared);
        compute_at(m_b, j_o, to: shared);
        compute_at(s, j_o, to: shared);
        promote(v => v_s, at: j_o, to: shared);
        promote(k => k_s, at: j_o, to: shared);
        o_b { reorder(j, i, e); unroll(i, e); }
        s { tile(i: 4, j: 4) => thread(y, x); reorder(d, i, j); unroll(i, j); }
    }";
    check(ATTENTION, schedule, &WIDE.each_ref().map(|s| &s[..]));
}

/// Each row sees the keys up to its own: a workgroup's blocks end where its last row does.
#[test]
fn causal_attention() {
    let causal = ATTENTION.replace("<B, N, M,", "<B, N,").replace("B, M,", "B, N,").replace("B, N, M]", "B, N, N]");
    let causal = causal.replace("j in 0..M", "j in 0..i + 1");
    let schedule = "V: attention for p where E == 16, D == 16 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 16);
        tile(b: 1, i: 16) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 4, e: 4) => thread(y, x);
        unroll(i, e);
        serial(j_o);
        compute_at(o_b, j_o, to: register);
        compute_at(l_b, j_o, to: shared);
        compute_at(p, j_o, to: shared);
        compute_at(m_b, j_o, to: shared);
        compute_at(s, j_o, to: shared);
        promote(v => v_s, at: j_o, to: shared);
        promote(k => k_s, at: j_o, to: shared);
        o_b { reorder(j, i, e); unroll(i, e); }
        s { tile(i: 4, j: 4) => thread(y, x); reorder(d, i, j); unroll(i, j); }
    }";
    let sizes: [&[(&str, i64)]; 3] = [
        &[("B", 2), ("N", 8), ("D", 16), ("E", 16)],
        &[("B", 1), ("N", 33), ("D", 16), ("E", 16)],
        &[("B", 1), ("N", 1), ("D", 16), ("E", 16)],
    ];
    for schedule in ["V: attention for p { decompose_online(m, l, o); }", schedule] {
        check(&causal, schedule, &sizes);
    }
}

/// Partial results without blocks: two empty states are combined.
#[test]
fn partial_results_of_nothing() {
    let kernel = "fn k<N, D, E>(q: f32[N, D], k: f32[N, D], v: f32[N, E]) -> o: f32[N, E] {
        let s[i, j]: f32[N, N] = sum(d in 0..D) { q[i, d] * k[j, d] };
        let m[i]: f32[N] = max(j in 0..i + 1) { s[i, j] };
        let l[i]: f32[N] = sum(j in 0..i + 1) { (s[i, j] - m[i]).exp() };
        o[i, e] = (sum(j in 0..i + 1) { (s[i, j] - m[i]).exp() * v[j, e] }) / l[i];
    }";
    let schedule = "V: k for p where E % 8 == 0 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 16);
        tile(j_o: 2 => z1);
        rfactor(j_o => o_part);
        o_part { unroll(j_o); serial(i, e); }
    }";
    check(kernel, schedule, &[&[("N", 1), ("D", 30), ("E", 16)], &[("N", 40), ("D", 3), ("E", 8)]]);
}

/// Several copies at one place: each is within the scope of the copy that it reads, also after `reorder`.
#[test]
fn copies_at_one_place() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> l: f32[N] {
        let t[i, j]: f32[N, M] = x[i, j] * 2.0;
        let m[i]: f32[N] = max(j in 0..M) { t[i, j] };
        l[i] = sum(j in 0..M) { (t[i, j] - m[i]).exp() }.ln() + m[i];
    }";
    let schedule = "V: k for p {
        decompose_online(m, l => m_b, l_b, block: 8);
        tile(i: 4) => workgroup(x);
        reorder(j_o, i);
        unroll(i);
        compute_at(l_b, j_o, to: register);
        compute_at(m_b, j_o, to: shared);
        compute_at(t, j_o, to: shared);
        promote(m_b => m_s[i], at: j_o, to: shared);
        m_b { serial(j_o, i); }
        t { serial(i, j); }
        l_b { unroll(i); }
    }";
    check(kernel, schedule, &[&[("N", 7), ("M", 13)], &[("N", 4), ("M", 8)], &[("N", 1), ("M", 0)]]);
    let schedule = "V: attention for p where N == 2, M == 2 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 1);
        reorder(j_o, e);
        compute_at(o_b, e, to: register);
        promote(m_b => m_1, at: j_o, to: register);
        promote(m_1 => m_2, at: j_o, to: register);
        unroll(i);
        reorder(e, j_o);
        serial(b, e);
    }";
    check(ATTENTION, schedule, &[&[("B", 1), ("N", 2), ("M", 2), ("D", 4), ("E", 2)]]);
}

/// The state carried from block to block has a factor of the differences, multiplied out or not. A negative factor is refused. This
/// also holds if the invocations of a workgroup have partial maxima and one of them has the state.
#[test]
fn scaled_scores() {
    let kernel = |exponent: &str| {
        format!(
            "fn k<R, C, E>(x: f32[R, C], v: f32[C, E], a: f32) -> y: f32[R, E] {{
                let m[i]: f32[R] = max(j in 0..C) {{ x[i, j] }};
                let p[i, j]: f32[R, C] = {exponent};
                let l[i]: f32[R] = sum(j in 0..C) {{ p[i, j] }};
                y[i, e] = sum(j in 0..C) {{ p[i, j] * v[j, e] }} / l[i];
            }}"
        )
    };
    let exponents = [
        "((x[i, j] - m[i]) * a).exp()",
        "(x[i, j] * (a * 0.5) - m[i] * (a * 0.5)).exp2()",
        "x[i, j].mul_add(a, -m[i] * a).exp2()",
        "x[i, j].mul_add(a, -(a * m[i])).exp()",
    ];
    let registers = "V: k for p where E == 4 {
        decompose_online(m, l, y => m_b, l_b, y_b, block: 8);
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
        reorder(j_o, e);
        unroll(e);
        serial(j_o);
        compute_at(y_b, j_o, to: register);
        compute_at(l_b, j_o, to: register);
        compute_at(p, j_o, to: register);
        compute_at(m_b, j_o, to: register);
        p, m_b, l_b { unroll(j); }
        y_b { reorder(j, e); unroll(j, e); }
    }";
    let parts = "V: k for p where E == 4 {
        decompose_online(m, l, y => m_b, l_b, y_b, block: 32);
        tile(i: 1) => workgroup(x);
        reorder(j_o, e);
        unroll(e);
        serial(j_o);
        compute_at(y_b, j_o, to: register);
        compute_at(l_b, j_o, to: register);
        compute_at(p, j_o, to: shared);
        compute_at(m_b, j_o, to: shared);
        p { distribute(j => thread(x)); }
        m_b, l_b { tile(j: 16 => j_r); distribute(j => thread(x), by: tree); }
        y_b { tile(j: 16 => j_r); reorder(j_r, j, e); distribute(j => thread(x), by: tree); unroll(e); }
    }";
    for exponent in exponents {
        for (schedule, goes_on) in [("V: k for p { decompose_online(m, l, y); }", 0), (registers, 2), (parts, 1)] {
            let kernel = kernel(exponent);
            assert_eq!(nest(&kernel, schedule).matches("resume ").count(), goes_on, "{schedule}");
            for profile in profiles() {
                let variant = variant(&kernel, schedule, &profile);
                for (rows, columns) in [(3, 70), (9, 8), (1, 1), (2, 0)] {
                    for a in [0.75, 2.0, 0.0] {
                        variant.check(&[("R", rows), ("C", columns), ("E", 4)], &[a]);
                    }
                }
                for refusal in variant.refusals_of(&[("R", 3), ("C", 7), ("E", 4)], -0.5f32) {
                    assert!(refusal.ends_with("`V`: `a >= 0.0` does not hold for a = -0.5"), "{refusal}");
                }
            }
        }
    }
}

/// Steps of two blocks, whose second one may be out of bounds: repeated elements there are not added.
#[test]
fn steps_of_two_blocks() {
    let schedule = "V: attention for p where E == 16, D == 16, M % 16 == 0 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 16);
        tile(b: 1, i: 1) => workgroup(y, x);
        distribute(e => thread(x));
        STEPS
        compute_at(o_b, j_o, to: register);
        compute_at(l_b, j_o, to: register);
        compute_at(p, j_o, to: shared);
        compute_at(m_b, j_o, to: shared);
        compute_at(s, j_o, to: shared);
        s, p { distribute(j => thread(x)); }
        m_b, l_b { distribute(j => thread(x), by: tree); }
        o_b { distribute(e => thread(x)); }
    }";
    let sizes = [16, 48, 64, 0].map(|m| [("B", 1), ("N", 3), ("M", m), ("D", 16), ("E", 16)]);
    for (steps, goes_on) in [("serial(j_o);", 2), ("tile(j_o: 2 => j_s); serial(j_s, j_o);", 2)] {
        let schedule = schedule.replace("STEPS", steps);
        assert_eq!(nest(ATTENTION, &schedule).matches("resume ").count(), goes_on, "{steps}");
        check(ATTENTION, &schedule, &sizes.each_ref().map(|s| &s[..]));
    }
}

/// The invocations of a workgroup share the maximum, and one of them has the sums.
#[test]
fn sums_of_one_invocation() {
    let schedule = "V: attention for p where E == 4, D == 4 {
        decompose_online(m, l, o => m_b, l_b, o_b, block: 32);
        tile(b: 1, i: 1) => workgroup(y, x);
        reorder(j_o, e);
        unroll(e);
        serial(j_o);
        compute_at(o_b, j_o, to: register);
        compute_at(l_b, j_o, to: shared);
        compute_at(p, j_o, to: shared);
        compute_at(m_b, j_o, to: shared);
        compute_at(s, j_o, to: shared);
        s, p { distribute(j => thread(x)); }
        m_b, l_b { tile(j: 16 => j_r); distribute(j => thread(x), by: tree); }
        o_b { unroll(e); }
    }";
    let sizes = [1, 33, 64, 0].map(|m| [("B", 1), ("N", 3), ("M", m), ("D", 4), ("E", 4)]);
    check(ATTENTION, schedule, &sizes.each_ref().map(|s| &s[..]));
}
