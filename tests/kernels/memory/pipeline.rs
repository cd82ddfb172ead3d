//! Pipelines: shared copies that are prefetched while an earlier step is computed, with every number of buffers, at every place,
//! and together with every directive that makes or reads copies. Sizes are odd, and there are zero, one and several steps.

use crate::golden::disassembled;
use crate::harness::{check, nest, profiles, variant};
use tilewright_dsl::profile::Profile;

const MATMUL: &str = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

/// Zero steps, less than one, one, slightly more than one, several.
const SIZES: [(i64, i64, i64); 6] = [(5, 7, 0), (17, 3, 1), (16, 16, 7), (16, 33, 8), (3, 17, 9), (31, 18, 37)];

/// The arguments of a pipeline for a step that contains only the product.
const ALL: [&str; 14] = [
    "pipeline(k_o, buffers: 1, prefetch: register);",
    "pipeline(k_o, buffers: 2, prefetch: register);",
    "pipeline(k_o, buffers: 3, prefetch: register);",
    "pipeline(k_o, buffers: 2);",
    "pipeline(k_o, buffers: 3);",
    "pipeline(k_o, buffers: 2, store: end);",
    "pipeline(k_o, b_s, buffers: 1, prefetch: register);",
    "pipeline(k_o, a_s, buffers: 1, prefetch: register, store: start); pipeline(k_o, b_s, buffers: 2, prefetch: register);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: start, store: start);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: start early, store: start early);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: end early, store: end);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: start early, store: end);",
    "pipeline(k_o, buffers: 2, prefetch: register, fetch: after c, store: before c);",
    "pipeline(k_o, buffers: 3, prefetch: register, fetch: end, store: before c early);",
];

fn large() -> Vec<Profile> {
    let larger = |mut p: Profile| {
        p.shared_bytes = 32768;
        p
    };
    profiles().map(larger).into()
}

/// Checks a product under a schedule with `PIPELINE` in it, at all sizes. The profiles take turns, because drivers need time for
/// each module.
fn check_product(schedule: &str, pipelines: &[&str]) {
    for (pipeline, profile) in pipelines.iter().zip(large().iter().cycle()) {
        let variant = variant(MATMUL, &schedule.replace("PIPELINE", pipeline), profile);
        for (m, n, k) in SIZES {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn boxes_with_guards() {
    let schedule = "V: matmul<T = f32> for p {
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        tile(k: 8 => k_o);
        promote(a => a_s, at: k_o, to: shared);
        promote(b => b_s, at: k_o, to: shared);
        PIPELINE
    }";
    check_product(schedule, &ALL);
}

#[test]
fn lists_with_fills_and_registers() {
    let schedule = "V: matmul<T = f32> for p {
        tile(i: 16 round_up, j: 16 round_up) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        PIPELINE
        split(i, [2, 4, 2] => i_r, i_t, i_v);
        split(j, [2, 4, 2] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 2, unaligned: scalar);
    }";
    check_product(schedule, &ALL);
}

/// Fewer elements than invocations, more by a fraction, and blocks that leave invocations idle.
#[test]
fn idle_invocations() {
    let few = "V: matmul<T = f32> for p {
        tile(i: 7, j: 9) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        tile(k: 5 => k_o);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0);
        promote(b => b_s, at: k_o, to: shared, row_pad: 1);
        PIPELINE
    }";
    check_product(few, &ALL[..9]);
    let blocks = "V: matmul<T = f32> for p {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(i: 2, j: 2) => thread(y, x);
        unroll(i, j);
        tile(k: 8 => k_o);
        promote(a => a_s[k, i_thread, i], at: k_o, to: shared, fill: 0.0);
        promote(b => b_s[k, j_thread, j], at: k_o, to: shared, fill: 0.0);
        PIPELINE
        a_s { distribute(k => thread(linear)); serial(i_thread, i); }
        b_s { split(k, [3, _] => k_r, k_t); distribute(k_t, j_thread => thread(y, x)); serial(k_r); unroll(j); }
    }";
    check_product(&blocks.replace("tile(k: 8 => k_o);\n", "tile(k: 8 => k_o); reorder(k_o, k, i, j);\n"), &ALL[..9]);
}

#[test]
fn vectors() {
    let schedule = "V: matmul<T = DTYPE> for p where K % 8 == 0, N % 8 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 8 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0);
        promote(b => b_s[k, j], at: k_o, to: shared, vector: 4);
        PIPELINE
        tile(i: 4, j: 4) => thread(y, x);
        a_s { fuse(k, i => t); split(t, [_, 4, 16] => r, v, u); distribute(u => thread(linear)); serial(r, v); }
        unroll(i);
        vectorize(j, 4);
    }";
    for dtype in ["f32", "f16"] {
        for (pipeline, profile) in ALL[..9].iter().zip(large().iter().cycle()) {
            let text = schedule.replace("DTYPE", dtype).replace("PIPELINE", pipeline);
            let variant = variant(MATMUL, &text, profile);
            for (m, n, k) in [(5, 8, 0), (16, 16, 8), (33, 24, 40)] {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
            }
        }
    }
}

/// Peeled, pinned and specialized, and with the loop of the steps split before or moved.
#[test]
fn beside_other_directives() {
    let of = |facts: &str, before: &str, tail: &str| {
        format!(
            "V: matmul<T = f32> for p {facts} {{
                {before}
                tile(i: 16, j: 16 {tail}) => workgroup(y, x);
                tile(k: 4 {tail} => k_o);
                split(k_o, [_, 2] => k_p, k_q);
                reorder(k_p, k_q, k, i, j);
                promote(a => a_s[k, i], at: k_q, to: shared, fill: 0.0);
                promote(b => b_s[k, j], at: k_p, to: shared, fill: 0.0);
                PIPELINE
                tile(i: 2, j: 4) => thread(y, x);
                unroll(i, j);
            }}"
        )
    };
    let pipelines = [
        "pipeline(k_q, buffers: 1, prefetch: register); pipeline(k_p, buffers: 2);",
        "pipeline(k_q, buffers: 2, prefetch: register);",
        "pipeline(k_p, buffers: 1, prefetch: register, store: start);",
        "pipeline(k_q, buffers: 3); pipeline(k_p, buffers: 3, prefetch: register);",
    ];
    let versions = "specialize(K % 4 == 0, N % 16 == 0); specialize(K == 8); specialize(K <= 4);";
    for text in [of("", "", ""), of("", "", "peel"), of("", "pin(K);", ""), of("", versions, "")] {
        check_product(&text.replace("b_s[k, j]", "b_s[k_q, k, j]"), &pipelines);
    }
}

/// Partial results: each partial dispatch has its own steps.
#[test]
fn split_k() {
    let schedule = "V: matmul<T = f32> for p {
        split(k, [3, _, 4] => k_w, k_o, k_i);
        rfactor(k_w => part);
        part {
            tile(i: 8, j: 8) => workgroup(y, x);
            distribute(k_w => workgroup(z));
            tile(i: 2, j: 2) => thread(y, x);
            unroll(i, j);
            reorder(k_o, k_i, i, j);
            promote(a => a_s[k_i, i_thread, i], at: k_o, to: shared, fill: 0.0);
            promote(b => b_s[k_i, j_thread, j], at: k_o, to: shared, fill: 0.0);
            PIPELINE
        }
    }";
    check_product(
        &schedule.replace("split(k, [3, _, 4] => k_w, k_o, k_i);", "tile(k: 4 => k_o); tile(k_o: 3 => k_w);").replace("k_i", "k"),
        &ALL[..5],
    );
}

const NCHW: &str = "fn conv_nchw<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
    input: T[N, IC, IH, IW], filter: T[OC, IC, FH, FW]) -> output: T[N, OC, OH, OW] {
    output[n, oc, oh, ow] = sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) {
        input[n, ic, oh + fh, ow + fw] * filter[oc, ic, fh, fw]
    };
}";

#[test]
fn an_implicit_product() {
    let schedule = "V: conv_nchw<T = f32> for p {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: 8 round_up, p: 16 round_up) => workgroup(z, y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(input => cols[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 1);
        promote(filter => w[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 1);
        PIPELINE
        tile(oc: 2, p: 2) => thread(y, x);
        unroll(oc, p);
    }";
    for pipeline in &ALL[..6] {
        for profile in large() {
            let variant = variant(NCHW, &schedule.replace("PIPELINE", pipeline), &profile);
            for (n, oh, ow, ic, oc) in [(1, 1, 1, 1, 1), (2, 3, 7, 2, 9), (1, 4, 5, 5, 3)] {
                variant.check(&[("N", n), ("IH", oh + 2), ("IW", ow + 2), ("IC", ic), ("OC", oc)], &[]);
            }
        }
    }
}

/// A step of several stages, with copies that some of them read.
const CHAIN: &str = "fn chain<M, N, K, L>(a: f32[M, K], b: f32[K, L], d: f32[L, N]) -> c: f32[M, N] {
    let s[i, l]: f32[M, L] = sum(k in 0..K) { a[i, k] * b[k, l] };
    c[i, j] = sum(l in 0..L) { s[i, l] * d[l, j] };
}";

#[test]
fn steps_of_several_stages() {
    let schedule = "V: chain for p {
        tile(i: 8) => workgroup(y);
        tile(j: 16) => workgroup(x);
        tile(l: 8 => l_o);
        reorder(l_o, i, j, l);
        compute_at(s, l_o, to: shared, row_pad: 1);
        promote(b => b_s, at: l_o, to: shared);
        promote(d => d_s, at: l_o, to: shared, fill: 0.0);
        PIPELINE
        s { distribute(i, l => thread(y, x)); }
        tile(j: 8 => j_r);
        distribute(i, j => thread(y, x));
        reorder(l_o, l, j_r);
        unroll(j_r);
    }";
    let pipelines = [
        "pipeline(l_o, d_s, buffers: 1, prefetch: register);",
        "pipeline(l_o, d_s, buffers: 1, prefetch: register, fetch: start, store: after s);",
        "pipeline(l_o, d_s, buffers: 1, prefetch: register, fetch: start, store: after s early);",
        "pipeline(l_o, d_s, buffers: 1, prefetch: register, fetch: after s, store: end);",
        "pipeline(l_o, d_s, buffers: 2, prefetch: register, fetch: before s, store: before c);",
        "pipeline(l_o, d_s, buffers: 2, store: after s);",
    ];
    for pipeline in pipelines {
        for profile in large() {
            let text = schedule.replace("promote(b => b_s, at: l_o, to: shared);", "").replace("PIPELINE", pipeline);
            let variant = variant(CHAIN, &text, &profile);
            for (m, n, k, l) in [(5, 7, 3, 0), (9, 17, 0, 5), (8, 16, 4, 8), (17, 33, 5, 21)] {
                variant.check(&[("M", m), ("N", n), ("K", k), ("L", l)], &[]);
            }
        }
    }
}

/// A loop over results, whose copies several rows share.
#[test]
fn steps_of_a_parallel_loop() {
    let kernel = "fn scaled<N, M>(x: f32[N, M], w: f32[M]) -> y: f32[N, M] { y[i, j] = x[i, j] * w[M - 1 - j]; }";
    let schedule = "V: scaled for p {
        tile(i: 4, j: 32) => workgroup(y, x);
        tile(j: 8 => j_o);
        reorder(j_o, i, j);
        promote(x => x_s, at: j_o, to: shared, row_pad: 1);
        promote(w => w_s, at: j_o, to: shared);
        PIPELINE
        serial(j_o);
        distribute(i, j => thread(y, x));
    }";
    for pipeline in &ALL[..6] {
        let pipeline = pipeline.replace("k_o", "j_o");
        for profile in large() {
            let variant = variant(kernel, &schedule.replace("PIPELINE", &pipeline), &profile);
            for (n, m) in [(1, 1), (5, 31), (4, 32), (3, 77)] {
                variant.check(&[("N", n), ("M", m)], &[]);
            }
        }
    }
}

/// Returns the number of barriers in the loop over the steps.
fn barriers_a_step(pipeline: &str) -> usize {
    let schedule = "V: matmul<T = f32> for p {
        tile(i: 16 round_up, j: 16 round_up) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        PIPELINE
        tile(i: 2, j: 2) => thread(y, x);
        unroll(i, j);
    }";
    let text = nest(MATMUL, &schedule.replace("PIPELINE", pipeline));
    let (_, step) = text.split_once("for k_o in ").expect("the loop over the steps");
    let (step, _) = step.split_once("finish").expect("what follows it");
    step.matches("barrier of the workgroup").count()
}

#[test]
fn barriers() {
    assert_eq!(barriers_a_step(""), 2);
    for (pipeline, count) in ALL.iter().zip([2, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 1, 1]) {
        assert_eq!(barriers_a_step(pipeline), count, "{pipeline}");
    }
}

/// The loop over the steps, which is the first loop in the SPIR-V, does not divide to choose the buffer of a step.
#[test]
fn no_division() {
    let schedule = "V: matmul<T = f32> for p {
        tile(i: 24 round_up, j: 20 round_up) => workgroup(y, x);
        tile(k: 6 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        PIPELINE
        tile(i: 3, j: 4) => thread(y, x);
        unroll(k, i, j);
    }";
    // A copy that is not pipelined has its own loops there.
    for pipeline in ALL.iter().filter(|p| p.contains("prefetch") && !p.starts_with("pipeline(k_o, b_s")) {
        let variant = variant(MATMUL, &schedule.replace("PIPELINE", pipeline), &profiles()[0]);
        let text = disassembled(&variant.program.dispatches[0].spirv);
        let (_, from) = text.split_once("OpLoopMerge ").expect("a loop");
        let merge = from.split(' ').next().expect("the merge block");
        let (step, _) = from.split_once(&format!("{merge} = OpLabel")).expect("the loop's end");
        assert!(step.contains("OpControlBarrier"), "{step}");
        for division in ["OpSDiv", "OpUDiv", "OpSMod", "OpSRem", "OpUMod"] {
            assert!(!step.contains(division), "{pipeline}\n{step}");
        }
    }
}

/// A copy in full tiles of a pipelined copy that is one column shorter: it stays within that.
#[test]
fn a_copy_of_a_pipelined_copy_in_full_tiles() {
    let kernel = "fn k<M, N>(x: f32[M, N]) -> y: f32[M] {
        y[i] = sum(k in 0..N) { x[i, k] };
    }";
    let schedule = "V: k for p {
        tile(i: 3) => workgroup(x);
        tile(k: 2 peel);
        reorder(k_o, i);
        promote(x => c0[k, i], at: k_o, to: shared);
        pipeline(k_o, buffers: 2);
        tile(i: 2) => thread(z);
        distribute(i => thread(x));
        promote(c0 => c2, at: k_o, to: shared);
    }";
    check(kernel, schedule, &[&[("M", 7), ("N", 9)], &[("M", 1), ("N", 1)], &[("M", 5), ("N", 0)]]);
}
