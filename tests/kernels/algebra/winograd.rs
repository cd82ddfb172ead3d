//! Convolutions by Winograd's algorithm against the direct sum, in all layouts and sizes.

use crate::harness::{Fill, check, devices, instructions, profiles, refused, variant};
use spirv::Op;
use tilewright_differential::compile;
use tilewright_dsl::algorithm::evaluate::evaluate;
use tilewright_prove::launch::{inputs, launch};

const NHWC: &str = "fn conv<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[3, 3, IC, OC]) -> y: f32[N, H, W, OC] {
    y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) { x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] * w[fh, fw, ic, oc] };
}";

/// Sizes that tiles divide, sizes that they do not, and sizes shorter than a tile. Also one channel, and empty tensors.
const SIZES: [[(&str, i64); 5]; 6] = [
    [("N", 1), ("H", 12), ("W", 12), ("IC", 8), ("OC", 4)],
    [("N", 2), ("H", 7), ("W", 5), ("IC", 3), ("OC", 5)],
    [("N", 1), ("H", 1), ("W", 3), ("IC", 1), ("OC", 1)],
    [("N", 1), ("H", 2), ("W", 13), ("IC", 5), ("OC", 2)],
    [("N", 0), ("H", 4), ("W", 4), ("IC", 2), ("OC", 2)],
    [("N", 1), ("H", 4), ("W", 4), ("IC", 0), ("OC", 2)],
];

fn at_all_sizes(kernel: &str, schedule: &str) {
    check(kernel, schedule, &SIZES.each_ref().map(|s| &s[..]));
}

#[test]
fn every_tile() {
    for m in [2, 4, 6] {
        at_all_sizes(
            NHWC,
            &format!("V: conv for p where IC <= 64 {{ decompose_winograd(y => v, u, g, m: {m}, tolerance: 1e-4); }}"),
        );
    }
    let points = "decompose_winograd(y => v, u, g, m: 4, points: [0, 1, -1, 2, -2], tolerance: 1e-4);";
    at_all_sizes(NHWC, &format!("V: conv for p where IC <= 64 {{ {points} }}"));
}

/// Every stage can be scheduled like any other.
#[test]
fn scheduled() {
    let schedule = "V: conv for p where IC <= 64 {
        decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-4);
        precompute(u);
        u { distribute(ic, oc => workgroup(y, x)); unroll(p, q); }
        v { distribute(n, th, tw => workgroup(z, y, x)); tile(ic: 4); reorder(ic_o, p, q, ic); unroll(p, q, ic); serial(ic_o); }
        g {
            fuse(p, q => pq);
            fuse(n, th, tw => t);
            tile(t: 4, oc: 8) => workgroup(y, x);
            distribute(pq => workgroup(z));
            tile(ic: 4 round_up => ic_o);
            reorder(ic_o, ic, t, oc);
            promote(v => v_s[t, ic], at: ic_o, to: shared, fill: 0.0);
            promote(u => u_s[ic, oc], at: ic_o, to: shared, fill: 0.0);
            distribute(t, oc => thread(y, x));
            unroll(ic);
        }
        tile(oh: 4 peel, ow: 4 peel) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        serial(n);
        unroll(oh, ow);
    }";
    at_all_sizes(NHWC, schedule);
}

/// If an axis that is unrolled selects between expressions, only the selected expression is left. Zeros vanish, multiplications by
/// 1 are removed, and rows share terms: F(2, 3) in two dimensions takes 32 additions per tile of inputs, and 24 per tile of results
/// (Lavin and Gray, section 4.1).
#[test]
fn operations_of_a_tile() {
    let schedule = "V: conv for p where IC <= 64, H % 2 == 0, W % 2 == 0 {
        decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);
        tile(oh: 2, ow: 2) => workgroup(z, y);
        unroll(oh, ow);
        serial(n);
        distribute(oc => workgroup(x));
    }";
    // In another layout too, the plain schedule of `v` unrolls its rows.
    let packed = schedule.replace("        tile(", "        pack(v[p, q, n, i, j, c] => [n, i, j, p, q, c]);\n        tile(");
    for schedule in [schedule, &packed] {
        let program = variant(NHWC, schedule, &profiles()[0]).program;
        let count = |stage: &str, opcodes: &[Op]| {
            let dispatch = program.dispatches.iter().find(|d| d.name == stage).expect("the stage");
            instructions(&dispatch.spirv).iter().filter(|(opcode, _)| opcodes.iter().any(|op| *op as u32 == *opcode)).count()
        };
        for (stage, additions) in [("v", 32), ("y", 24)] {
            assert_eq!(count(stage, &[Op::FAdd, Op::FSub]), additions, "{stage}");
            assert_eq!(count(stage, &[Op::FMul, Op::FNegate]), 0, "{stage}");
        }
    }
}

/// The factors in either order, other layouts, groups, one dimension, no padding, and stages that follow or precede.
#[test]
fn every_convolution() {
    let nchw = "fn k<N, C, H, W, K>(x: f32[N, C, H + 2, W + 2], w: f32[K, C, 3, 3], b: f32[K]) -> y: f32[N, K, H, W] {
        y[n, k, i, j] = (sum(c in 0..C, r in 0..3, s in 0..3) { w[k, c, r, s] * x[n, c, i + r, j + s] } + b[k]).max(0.0);
    }";
    let sizes: [&[(&str, i64)]; 2] =
        [&[("N", 1), ("C", 3), ("H", 5), ("W", 9), ("K", 2)], &[("N", 2), ("C", 1), ("H", 4), ("W", 4), ("K", 3)]];
    let of = |m: i64| format!("V: k for p where C <= 9 {{ decompose_winograd(y => v, u, g, m: {m}, tolerance: 1e-4); }}");
    check(nchw, &of(4), &sizes);
    let grouped = "fn k<G, C, H, W, K>(x: f32[H + 2, W + 2, G, C], w: f32[3, 3, G, C, K]) -> y: f32[H, W, G, K] {
        y[i, j, g, k] = sum(r in 0..3, s in 0..3, c in 0..C) { x[i + r, j + s, g, c] * w[r, s, g, c, k] };
    }";
    let sizes: [&[(&str, i64)]; 1] = [&[("G", 2), ("C", 3), ("H", 5), ("W", 6), ("K", 2)]];
    check(grouped, &of(4).replace("u, g", "u, q"), &sizes);
    let depthwise = "fn k<C, H, W>(x: f32[H, W, C], w: f32[3, 3, C]) -> y: f32[H, W, C] {
        y[i, j, c] = sum(r in 0..3, s in 0..3) { x.pad(0.0)[i + r - 1, j + s - 1, c].max(0.0) * w[r, s, c] };
    }";
    check(depthwise, &of(2), &[&[("C", 3), ("H", 5), ("W", 6)]]);
    let fir =
        "fn k<C, N>(x: f32[N + 4, C], w: f32[5, C]) -> y: f32[N] { y[i] = sum(c in 0..C, t in 0..5) { x[i + t, c] * w[t, c] }; }";
    check(fir, &of(2), &[&[("C", 3), ("N", 7)], &[("C", 1), ("N", 1)]]);
    let rows = "fn k<C, H, W>(x: f32[H, W + 2, C], w: f32[3, C]) -> y: f32[H, W] {
        y[i, j] = sum(s in 0..3, c in 0..C) { x[i, j + s, c] * w[s, c] };
    }";
    check(rows, &of(6), &[&[("C", 3), ("H", 2), ("W", 17)]]);
    let blocks = "fn k<G, N>(x: f32[N + 2, G * 4], w: f32[3, 4, G]) -> y: f32[N, G] {
        y[i, g] = sum(t in 0..3, c in 0..4) { x[i + t, g * 4 + c] * w[t, c, g] };
    }";
    check(blocks, &of(4).replace("u, g", "u, q").replace(" where C <= 9", ""), &[&[("G", 3), ("N", 9)]]);
    let flat = "fn k<G, N>(x: f32[N + 2, G * 4], w: f32[3, G * 4]) -> y: f32[N, G] {
        y[i, g] = sum(t in 0..3, c in 0..4) { x[i + t, g * 4 + c] * w[t, g * 4 + c] };
    }";
    check(flat, &of(4).replace("u, g", "u, q").replace(" where C <= 9", ""), &[&[("G", 3), ("N", 9)]]);
    let causal = "fn k<C, N>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
        y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * (if t >= 1 { w.clamp()[t - 1, c] } else { 0.0 }) };
    }";
    check(causal, &of(2), &[&[("C", 3), ("N", 9)]]);
    let scaled = "fn k<C, N>(x: f32[N + 2, C], w: f32[3, C], b: f32[C], y: &mut f32[N]) {
        y[i] = sum(t in 0..3, c in 0..C) { b[c] * x[i + t, c] * w[t, c] * 0.5 } + y[i] * 2.0;
    }";
    check(scaled, &of(4), &[&[("C", 3), ("N", 9)], &[("C", 2), ("N", 1)]]);
}

/// A convolution of an intermediate, and two convolutions in sequence.
#[test]
fn two_of_a_kernel() {
    let kernel = "fn k<C, H, W>(x: f32[H, W, C], w: f32[3, 3, C, C], z: f32[3, 3, C, C]) -> y: f32[H, W, C] {
        let s[i, j, k]: f32[H, W, C] = sum(r in 0..3, q in 0..3, c in 0..C) { x.pad(0.0)[i + r - 1, j + q - 1, c] * w[r, q, c, k] };
        y[i, j, k] = sum(r in 0..3, q in 0..3, c in 0..C) { s.pad(0.0)[i + r - 1, j + q - 1, c] * z[r, q, c, k] };
    }";
    let schedule = "V: k for p where C <= 9 {
        decompose_winograd(s => v1, u1, g1, m: 2, tolerance: 1e-4);
        decompose_winograd(y => v2, u2, g2, m: 4, tolerance: 1e-4);
        precompute(u1, u2);
    }";
    check(kernel, schedule, &[&[("C", 3), ("H", 5), ("W", 6)], &[("C", 1), ("H", 1), ("W", 1)]]);
}

/// f16 terms, summed in f32 and in f16, and transformed tiles stored as f16.
#[test]
fn halves() {
    let kernel = "fn k<C, N>(x: f16[N + 2, C], w: f16[3, C]) -> y: f16[N] {
        y[i] = (sum(c in 0..C, t in 0..3) { x[i + t, c] as f32 * w[t, c] as f32 }) as f16;
    }";
    let sizes: [&[(&str, i64)]; 2] = [&[("C", 3), ("N", 9)], &[("C", 8), ("N", 4)]];
    check(kernel, "V: k for p where C <= 9 { decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-5); }", &sizes);
    check(kernel, "V: k for p where C <= 9 { decompose_winograd(y => v, u, g, m: 4, store: f16, tolerance: 2e-3); }", &sizes);
    let all = kernel.replace("as f32 ", "").replace("as f32", "").replace(" as f16", "");
    check(&all, "V: k for p where C <= 9 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-2); }", &sizes);
}

/// Measures the error that is stated before anything runs: the root of the mean square of the differences from the exact
/// convolution, in f64, relative to the root of the mean square of its results.
#[test]
fn the_stated_error() {
    let kernel = "fn k<H, W, C, K>(x: f32[H + 2, W + 2, C], w: f32[3, 3, C, K]) -> y: f32[H, W, K] {
        y[i, j, k] = sum(r in 0..3, s in 0..3, c in 0..C) { x[i + r, j + s, c] * w[r, s, c, k] };
    }";
    let blocks = "g {
        tile(c: 16 => c_o);
        rfactor(c_o => part);
        compute_at(part, c_o, to: register);
        distribute(p => workgroup(x));
        serial(q, ti, tj, k);
    }";
    for (m, store, channels, directives) in [
        (2, "f32", 64, ""),
        (4, "f32", 16, ""),
        (4, "f32", 96, ""),
        (6, "f32", 32, ""),
        (2, "f16", 16, ""),
        (4, "f16", 16, ""),
        (6, "f16", 32, ""),
        (4, "f32", 96, blocks),
        (2, "f32", 512, blocks),
    ] {
        let schedule = format!(
            "V: k for p where C == {channels} {{ decompose_winograd(y => v, u, g, m: {m}, store: {store}, tolerance: 0.1); {directives} }}"
        );
        let made = compile::variant(kernel, &schedule, &profiles()[0]).unwrap_or_else(|refusal| panic!("{}", refusal.text));
        let ledger = made
            .nest
            .report
            .ledger
            .iter()
            .find_map(|o| o.what.split_once("expected relative error of `y` is "))
            .expect("it is stated");
        let stated: f64 = ledger.1.split(',').next().expect("a number").parse().expect("a number");
        let size = if channels > 100 { 12 } else { 24 };
        assert_eq!(ledger.1.contains("summed in blocks (16, then"), !directives.is_empty(), "{}", ledger.1);
        let dims = [("H", size), ("W", size), ("C", channels), ("K", 8)];
        let inputs = inputs(&made.algorithm, &dims, &[], &|_| Fill::Small, &mut fastrand::Rng::with_seed(7)).expect("shapes");
        let wanted = evaluate(&made.algorithm, &inputs.given).expect("the evaluation");
        // SAFETY: the compiler made this program.
        let kernel = unsafe { devices()[1].load_programs(vec![made.program.clone()]) }.expect("it loads");
        let results = launch(&kernel, &made.program, &made.algorithm, &inputs).expect("it runs");
        let (mut errors, mut squares) = (0.0, 0.0);
        for (id, values) in results {
            for (got, wanted) in values.iter().zip(&wanted[&id].values) {
                errors += (got.number() - wanted.number()).powi(2);
                squares += wanted.number().powi(2);
            }
        }
        let measured = f64::sqrt(errors / squares);
        assert!(
            (measured / stated - 1.0).abs() < 0.15,
            "F({m}, 3), {store}, {channels} channels, {directives}: {measured:e}, stated {stated:e}"
        );
    }
}

/// `pack` gives the stages of a decomposition a different layout.
#[test]
fn packed() {
    let schedule = "V: conv for p where IC <= 64 {
        decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);
        pack(v[p, q, n, th, tw, ic] => [ic / 4, p, q, n, th, tw, ic % 4]);
        pack(u[p, q, ic, oc] => [p, q, oc / 8, ic, oc % 8]);
        precompute(u);
    }";
    at_all_sizes(NHWC, schedule);
}

#[test]
fn refusals() {
    let of = |kernel: &str, arguments: &str, why: &str| {
        refused(kernel, &format!("V: conv for p where IC <= 64 {{ decompose_winograd({arguments}); }}"), why);
    };
    of(NHWC, "y => v, u, g, m: 4", "needs a `tolerance`");
    of(NHWC, "y => v, u, g, m: 6, tolerance: 1e-7", "above the tolerance 1e-7");
    of(NHWC, "y => v, u, g, m: 3, tolerance: 1e-4", "a tile of 3 results is not possible for 3 taps");
    of(NHWC, "y => v, v, g, m: 2, tolerance: 1e-4", "the name `v` is already used");
    of(NHWC, "y => v, x, g, m: 2, tolerance: 1e-4", "the name `x` is already used");
    of(NHWC, "y => v, u, g, m: 2, points: [0, 1], tolerance: 1e-4", "needs 3 finite points");
    of(NHWC, "y => v, u, g, m: 2, points: [0, 1, 1], tolerance: 1e-4", "two of the points are equal");
    of(&NHWC.replace("oh + fh", "oh * 2 + fh"), "y => v, u, g, m: 2, tolerance: 1e-4", "stride 2 in `oh`");
    of(&NHWC.replace("oh + fh", "oh + fh * 2"), "y => v, u, g, m: 2, tolerance: 1e-4", "dilation 2 in `fh`");
    of(&NHWC.replace("fh in 0..3", "fh in 0..4").replace("f32[3, 3", "f32[4, 3"), "y => v, u, g, m: 2, tolerance: 1e-4", "4 taps");
    let unbounded = "V: conv for p { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4); }";
    refused(NHWC, unbounded, "the number of products that `y` sums is unbounded");
}
