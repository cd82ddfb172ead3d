//! Shrunk findings of the differential tests about copies and the tensors that they replace. The verifier refused each of these
//! kernels before it was fixed.

use crate::harness::{check, of_subgroups, profiles, refused, try_variant, variant};

/// Conditions that small sizes do not meet, so that comparing indices at small sizes proved nothing.
#[test]
fn copies_at_large_sizes() {
    let kernel = "fn k<N, H = (N - 4) / 2 + 1>(x: i32[1], z: i32[N]) -> y: i32[H] {
        let s[j]: i32[1] = x[j];
        y[i] = s.clamp()[i - 2];
    }";
    let schedule = "V: k for p {
        split(i, [_, 32] shift => z1, z2);
        promote(x => c, at: z1, to: shared);
        serial(z1);
        serial(z2);
    }";
    check(kernel, schedule, &[&[("N", 66)], &[("N", 101)]]);

    let kernel = "fn k<M>(x: f32[M, 1, M, 3]) -> y: f32[M] {
        y[i] = prod(l in 0..1, q in i..M) { x[i, 0, l, q % 3] };
    }";
    let schedule = "V: k for p {
        pack(x[a, b, c, d] => [d, a % 8, c % 2, c / 2, b % 2, a / 8, b / 4, b / 2 % 2], when: dispatch);
        tile(q: 2 => z3);
        promote(x_packed => c[q, l], at: z3, to: shared, fill: 0.0);
        serial(i);
        x_packed {
            tile(c_o: 8 shift => z1);
            distribute(a, a_o, d => workgroup(x, z, z));
            serial(b, c, z1, c_o, b_o);
        }
    }";
    check(kernel, schedule, &[&[("M", 15)], &[("M", 20)]]);

    let kernel = "fn k<N, H = N / 2>(x: f32[N]) -> (y: f32[N, N], z: f32[H]) {
        y[i, j] = sum(k in j..N) { x[k] };
        z[i] = x[i] + 1.0;
    }";
    let schedule = "V: k for p {
        y {
            tile(j: 3 => z1) => workgroup(y);
            tile(k: 2 => z3);
            reorder(z3, j);
            promote(x => c[k], at: j, to: register, fill: 0.0);
            unroll(k);
            reorder(j, z3);
            serial(i, j);
        }
        z { tile(i: 25 shift => z1); serial(i, z1); }
    }";
    check(kernel, schedule, &[&[("N", 50)], &[("N", 55)]]);
}

/// A padded stage is computed at a loop over a fused axis: its condition names the fused axis for one of its components.
#[test]
fn padded_at_a_fused_loop() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[3] {
        let s[i]: f32[M] = x[i] + 1.0;
        y[i] = sum(k in 0..2, l in 0..i) { s.pad(0.5)[k] };
    }";
    let schedule = "V: k for p {
        fuse(k, l => z1);
        distribute(i => lane(x));
        compute_at(s, z1, to: register);
    }";
    let variant = variant(kernel, schedule, &of_subgroups(8));
    [0, 1, 4].into_iter().for_each(|m| variant.check(&[("M", m)], &[]));
}

/// The copy of a tensor that is read at no point, whose proved width is negative.
#[test]
fn copies_of_nothing() {
    let kernel = "fn k<W, H = (W - 4) / 2 + 1>(x: i32[H], z: i32[W]) -> y: f32[H] {
        let s[i]: i32[W] = if x.pad(7)[i] < 50 { 1 } else { 2 };
        y[i] = s.clamp()[i - 1] as f32;
    }";
    let schedule = "V: k for p where W <= 8, H % 4 == 0 {
        tile(i: 2 => z1) => workgroup(z);
        promote(x => c, at: workgroup, to: shared);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("W", 2)], &[("W", 3)]]);
}

/// A copy of registers that each invocation of a reduction has for itself: it stayed outside of the code that fills them.
#[test]
fn copies_of_an_invocations_registers() {
    let kernel = "fn k<N>(x: f32[N, 4], z: f32[N]) -> y: f32[N, N] { y[i, j] = sum(k in 0..4) { x[i, k] * z[j] }; }";
    let schedule = "V: k for p {
        tile(j: 2 => z1) => workgroup(z);
        distribute(k => lane(x), by: subgroup);
        promote(x => c, at: i, to: register);
        promote(c => d, at: i, to: register);
        unroll(j);
        serial(i);
    }";
    let variant = variant(kernel, schedule, &of_subgroups(8));
    [1, 4, 5].into_iter().for_each(|n| variant.check(&[("N", n)], &[]));
}

/// If a fact leaves only a few sizes, none of them small, indices are compared at these.
#[test]
fn copies_at_a_few_sizes() {
    check(
        "fn k<H, W = (H - 4) / 3 + 1>(x: f32[H], z: f32[H, W, H]) -> y: f32[H, H, W] {
            let s[i, j, h]: f32[H, W, H] = sum(l in 0..1) { z[i, j, h] };
            y[i, j, w] = min(k in 0..4) { x[w * 3 + k] * s.pad(-1.0)[i, w, w * 3 + k] };
        }",
        "V: k for p where W == 4 {
            fuse(i, j, w => z1);
            tile(z1: 8) => workgroup(y);
            tile(k: 1);
            promote(s => c[z1, k_o, k], at: workgroup, to: shared);
            unroll(z1);
        }",
        &[&[("H", 13)], &[("H", 15)]],
    );
}

/// A loop around a copy runs further after a split, where its quotient by 3 had been proved in bounds. Between the passes, the
/// verifier required a proof that only holds after the first of them.
#[test]
fn copies_within_loops_split_later() {
    check(
        "fn k<K>(x: f32[K, K]) -> y: f32[K] { y[i] = sum(k in 0..K) { x[i, k / 3] }; }",
        "V: k for p {
            tile(i: 2 => z1);
            distribute(i => thread(x));
            tile(k: 4, z1: 1);
            promote(x => c[i, z1, k], at: z1_o, to: shared);
            fuse(z1, z1_o => z2);
            split(k_o, [2, _, 2] => z3, z4, k_o);
            reorder(z2, z3, z4, k_o);
            serial(z2);
        }",
        &[&[("K", 1)], &[("K", 5)], &[("K", 19)]],
    );
}

/// A clamped packed tensor: it was not proved that a tile reads a single block, because its floors have different divisors.
#[test]
fn tiles_within_a_block() {
    let kernel = "fn k<N, M>(x: i32[M], z: i32[N]) -> y: i32[N] { y[i] = x.clamp()[i] - z[i]; }";
    let schedule = "V: k for p {
        pack(x[a] => [a / 8, a % 8], when: dispatch);
        tile(i: 2) => workgroup(x);
        promote(x_packed, at: workgroup, to: shared);
        distribute(i => thread(x));
    }";
    check(kernel, schedule, &[&[("N", 11), ("M", 3)], &[("N", 4), ("M", 8)], &[("N", 23), ("M", 18)]]);

    let kernel = "fn k<N, H = N / 3>(x: f32[N]) -> y: f32[N] {
        let s[i, j, h]: f32[N, H, N] = x[i] + x[h];
        y[i] = s.pad(-1.0)[1, i, 1];
    }";
    let schedule = "V: k for p {
        pack(s[a, b, c] => [a, b / 6, b / 3 % 2, c, b % 3]);
        tile(i: 2 => z1) => workgroup(x);
        promote(s => c0, at: workgroup, to: shared);
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 3)], &[("N", 25)], &[("N", 40)]]);
}

/// Clamped indices: the proofs that they are not negative, and of their distances, expanded minima without end.
#[test]
fn clamped_places() {
    let kernel = "fn k<N>(x: f32[N], w: f32[2]) -> y: f32[N, N] {
        let s[i]: f32[N] = x[i];
        y[i, j] = w[j % 2].max(s.clamp()[i * 2 - j]);
    }";
    let schedule = "V: k for p {
        tile(i: 1) => workgroup(y);
        promote(x => c0, at: j, to: register);
        promote(w => c1, at: j, to: shared);
        tile(j: 2 => z1);
        unroll(j);
        serial(z1);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 4)], &[("N", 9)]]);

    let kernel = "fn k<N>(t: i32[3], x: f32[N]) -> y: f32[N, N] {
        let s[j]: f32[3] = x.pad(-1.0)[t[j]];
        y[i, j] = 0.5 + s.clamp()[i - j];
    }";
    let schedule = "V: k for p where N % 2 == 0 {
        tile(j: 2, i: 3 => z1) => workgroup(z, z);
        promote(t => c0, at: i, to: shared);
        unroll(i);
        serial(j);
    }";
    check(kernel, schedule, &[&[("N", 2)], &[("N", 8)]]);

    let kernel = "fn k<M, K>(x: f32[M, K], z: f32[M]) -> y: f32[M, M] {
        let s[i, j, h]: f32[K, M, M] = x[j, (K - 1) - i] * z[h];
        y[i, j] = s.clamp()[j - i, j, i];
    }";
    check(
        kernel,
        "V: k for p { compute_at(s, j, to: register); serial(i); serial(j); }",
        &[&[("M", 1), ("K", 1)], &[("M", 5), ("K", 3)]],
    );
}

/// A clamped read of a copy of one block: it was not proved to stay in the only block.
#[test]
fn copies_of_one_block() {
    let kernel = "fn k<N, H = N / 2>(x: f32[H, N]) -> y: f32[N] { y[i] = sum(k in 0..H) { x[k, 1] }; }";
    let schedule = "V: k for p where H == 3 {
        tile(i: 1) => workgroup(y);
        tile(k: 3 => z1);
        promote(x => c0[z1, k], at: workgroup, to: shared);
        promote(c0 => c1, at: z1, to: shared);
        tile(z1: 2 => z2);
    }";
    check(kernel, schedule, &[&[("N", 6)], &[("N", 7)]]);
}

/// A component of a component of an axis that is out of bounds: the proof that it is below its extent needs a product of four dims.
#[test]
fn digits_of_digits() {
    let kernel = "fn k<N, M>(t: i32[N], x: f32[M]) -> y: f32[N, N, N, N] { y[i, j, h, w] = x.pad(0.0)[t[h]]; }";
    let schedule = "V: k for p {
        promote(t => c0, at: h, to: register);
        fuse(h, j, w => z1);
        fuse(i, z1 => z2);
        tile(z2: 3 => z3);
        split(z2, [2, 1, _] => z4, z5, z6);
        serial(z3);
        serial(z4);
        unroll(z6);
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 2)], &[("N", 3), ("M", 5)]]);
}

/// Two extents that name different axes with the same value are equal, in tiles of the tail of a fused axis. And one of the two
/// sides of a triangle within a pack can be negative.
#[test]
fn lengths_of_the_same() {
    let kernel = "fn k<M, K, H>(x: f32[M, H, K]) -> y: f32[M, K, H] {
        y[i, j, h] = sum(k in 0..=j) { x[i, h, k] * x[i, (H - 1) - h, j] };
    }";
    let schedule = "V: k for p where H % 8 == 0 {
        fuse(i, j, h => z1);
        tile(z1: 1) => workgroup(y);
        tile(k: 4 peel => z2);
        tile(z2: 8, k: 2 peel);
    }";
    check(kernel, schedule, &[&[("M", 2), ("K", 3), ("H", 8)], &[("M", 1), ("K", 39), ("H", 8)]]);

    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] { y[i, j] = sum(l in i..M, q in j..M) { x[q] }; }";
    let schedule = "V: k for p {
        pack(y[i, j] => [i, j / 3, j % 3], when: caller);
        fuse(l, q => z1);
        distribute(i => workgroup(x));
        distribute(j_o => workgroup(x));
        distribute(j => workgroup(y));
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 3)], &[("M", 7)]]);
}

/// Registers indexed by the workgroup or invocation, which only stages computed there read.
#[test]
fn registers_by_workgroup_or_invocation() {
    let kernel = "fn k<N>(x: i32[N], w: u32[N]) -> y: u32[N, N] {
        let s[j]: u32[N] = w.pad(7)[x[j]];
        y[i, j] = sum(k in 0..1) { x[k] as u32 * s[j] };
    }";
    let schedule = "V: k for p where N <= 9 {
        tile(j: 1) => workgroup(y);
        compute_at(s, j, to: register);
        promote(x => c, at: workgroup, to: register);
        unroll(i);
    }";
    refused(kernel, schedule, "`c` would be indexed by `j_workgroup` at run time\n  note: `j_workgroup` is bound to workgroups");
    check(kernel, &schedule.replace("x => c, at: workgroup, to: register", "x => c, at: workgroup, to: shared"), &[&[("N", 7)]]);

    let kernel = "fn k<>(x: u32[5]) -> y: u32[5] {
        let s[i]: u32[5] = sum(k in 0..5) { x[k] % x[i].max(1) };
        y[i] = s[i];
    }";
    let schedule = "V: k for p {
        distribute(i => thread(z));
        compute_at(s, workgroup, to: register);
        s { unroll(k); promote(x => c, at: workgroup, to: register); }
    }";
    refused(kernel, schedule, "`c` would be indexed by `i` at run time\n  note: `i` is bound to invocations");
    check(kernel, &schedule.replace("x => c, at: workgroup, to: register", "x => c, at: workgroup, to: shared"), &[&[]]);
}

/// A tile of a packed tensor is read at the places of a block, clamped by a minimum: a component of a minimum is the minimum of the
/// components.
#[test]
fn digits_of_clamped_blocks() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = max(k in 0..4) { x.pad(0.5)[i, j / 4 * 4 + k] }; }";
    let schedule = "V: k for p {
        pack(x[a, b] => [a, b / 8, b % 8], when: dispatch);
        tile(j: 2 => z) => workgroup(x);
        promote(x_packed => c, at: j, to: shared);
        serial(i, j);
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 1)], &[("N", 3), ("M", 9)], &[("N", 2), ("M", 16)], &[("N", 0), ("M", 3)]]);
}

/// A copy in registers of a copy in registers, in an unrolled loop: out of bounds of the inner copy it has the nearest element, as
/// in memory.
#[test]
fn copies_of_copies_past_their_end() {
    let kernel = "fn k<M>(x: f32[3], z: f32[M]) -> y: f32[M] {
        let s[i]: f32[M] = sum(k in 0..3) { x.clamp()[3] * x[k] } + z[i];
        y[i] = s[i] * 2.0;
    }";
    let schedule = "V: k for p {
        root(s);
        s {
            promote(x => outer, at: workgroup, to: register);
            unroll(k);
            promote(outer => inner, at: k, to: register);
            serial(i);
        }
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 5)]]);
}

/// The verifier proves that full tiles of a peel do not need a clamp by the same questions in another order.
#[test]
fn clamps_that_full_tiles_do_not_need() {
    let kernel = "fn k<N, M, K>(x: f32[N, K], z: f32[M]) -> y: f32[6, M] {
        const t: f32[1, 2] = [[0.75, 0.25]];
        let s[i, j]: f32[K, N] = x.clamp()[1, j.max(i - 4)].max(t[0, i % 2]);
        y[i, j] = z[j] + s.clamp()[j, 1];
    }";
    let schedule = "V: k for p where K >= 5 {
        tile(j: 2 peel) => workgroup(y);
        distribute(j => workgroup(x));
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 1), ("K", 5)], &[("N", 3), ("M", 10), ("K", 5)], &[("N", 2), ("M", 4), ("K", 12)]]);
}

/// The bound of a clamped index named a triangular range's extent, and so an axis whose tile varies under the place.
#[test]
fn ranges_that_end_at_a_tiled_axis() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[4, N] {
        let s[j]: f32[N] = x.pad(-1.0)[1 - j];
        y[i, j] = max(k in 0..i) { s.clamp()[k] };
    }";
    let schedule = "V: k for p {
        tile(j: 1 => z1, i: 2) => workgroup(z, y);
        promote(x => y_c0, at: workgroup, to: shared);
        serial(i);
    }";
    let sizes: [&[(&str, i64)]; 4] = [&[("N", 0)], &[("N", 1)], &[("N", 3)], &[("N", 9)]];
    check(kernel, schedule, &sizes);
    let guarded = "V: k for p { tile(i: 3) => workgroup(z); promote(x => y_c0, at: workgroup, to: shared); serial(i, j); }";
    for profile in profiles() {
        match try_variant(kernel, guarded, &profile) {
            Ok(variant) => sizes.iter().for_each(|dims| variant.check(dims, &[])),
            Err(refusal) => assert!(!refusal.is_defect && refusal.text.contains("is not bounded"), "{}", refusal.text),
        }
    }
    // Split twice, so that the axis is made of a part of its part.
    let twice = "V: k for p {
        tile(i: 4 => i_o) => workgroup(y); tile(i: 2 => i_m); promote(x => y_c0, at: workgroup, to: shared); serial(i, i_m, j);
    }";
    check(kernel, twice, &sizes);
    // A range that grows with the axis, in a stage that is computed there.
    let stage = "fn k<N>(x: f32[N]) -> y: f32[4, N] {
        let s[j]: f32[N] = x[j] * 2.0;
        y[i, j] = max(k in 0..i + 1) { s.clamp()[k * 2 - 1] };
    }";
    check(stage, "V: k for p { tile(i: 2) => workgroup(y); compute_at(s, workgroup, to: shared); serial(i, j); }", &sizes);
}

/// A copy of registers at a loop that was split later: out of bounds of the axis it has the nearest element, as a copy of memory.
#[test]
fn copies_of_registers_past_an_end() {
    let sizes: [&[(&str, i64)]; 4] = [&[("N", 0)], &[("N", 1)], &[("N", 2)], &[("N", 3)]];
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N <= 3 { y[i] = x[i] * x[i]; }";
    let schedule = "V: k for p {
        promote(x => x_r, at: workgroup, to: register);
        promote(x_r => x_q, at: i, to: register);
        tile(i: 2 => i_o); unroll(i, i_o);
    }";
    check(kernel, schedule, &sizes);
    let parts = "fn k<N>(x: f32[N]) -> y: f32[N] where N <= 3 { y[i] = min(l in 0..N) { x[l] + i as f32 }; }";
    let schedule = "V: k for p {
        tile(l: 2 => z1);
        rfactor(z1 => part);
        promote(part => y_c0, at: i, to: register);
        compute_at(part, workgroup, to: register);
        tile(i: 2 => z3);
        unroll(i, z3, z1);
        part { unroll(z1, i); }
    }";
    check(parts, schedule, &sizes);
}

/// A copy of registers has its fill out of bounds.
#[test]
fn copies_of_registers_with_a_fill() {
    let kernel = "fn k<N>(x: f32[N, 10]) -> y: f32[N] { y[i] = sum(k in 0..10) { x.pad(3.0)[i, k + 2] * 2.0 }; }";
    for lanes in ["unroll(k);", "vectorize(k, 4);", "vectorize(k, 2); unroll(k);"] {
        let schedule = format!(
            "V: k for p {{
                tile(i: 32) => workgroup(x); distribute(i => thread(x));
                promote(x => x_r, at: thread, to: register);
                tile(k: 4 => k_o);
                promote(x_r => x_q[k], at: k_o, to: register, fill: 0.0);
                unroll(k_o, k);
                x_q {{ {lanes} }}
            }}"
        );
        check(kernel, &schedule, &[&[("N", 1)], &[("N", 37)]]);
    }
}

/// Long code of a copy in an unrolled loop was emitted completely before it was refused.
#[test]
fn copies_that_make_long_modules() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(k in 0..N) { x.pad(0.5)[k * 999, i] }; }";
    let schedule = "V: k for p {
        tile(i: 32) => workgroup(x); tile(k: 4 => k_o); reorder(i, k_o, k);
        promote(x => x_r, at: k_o, to: register); unroll(k, i);
    }";
    refused(kernel, schedule, "the SPIR-V module of `y` has more than 131072 words, because `k` is unrolled into 95936 copies");
}

/// The extent of the fused axis is a multiple of a square of a difference, which was not known to be at least 1 there.
#[test]
fn fused_axes_of_equal_differences() {
    let kernel = "fn k<N, OH = N - 3>(x: f32[N]) -> y: f32[N, OH, OH] { y[i, j, h] = x[i]; }";
    let schedule = "V: k for p {
        fuse(i, j, h => z1);
        tile(z1: 1 => z2) => workgroup(x);
        promote(x => y_c0, at: workgroup, to: shared);
    }";
    check(kernel, schedule, &[&[("N", 3)], &[("N", 4)], &[("N", 6)]]);
    let whole =
        "fn k<N, OH = M - 3, M>(x: f32[N, OH, OH], w: f32[M]) -> y: f32[N, OH, OH] { y[i, j, h] = x[i, j, h] * x[i, j, h]; }";
    let schedule = "V: k for p where OH <= 11 {
        fuse(i, j, h => z1);
        tile(z1: 7 => z2) => workgroup(x);
        promote(x => y_c0[z1], at: workgroup, to: shared, fill: 0.0);
        tile(z1: 7 guard) => thread(z);
        distribute(z1 => thread(y));
    }";
    check(whole, schedule, &[&[("N", 2), ("M", 3)], &[("N", 2), ("M", 8)], &[("N", 1), ("M", 14)]]);
}
