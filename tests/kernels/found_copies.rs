//! What the differential tests found of copies and of what they stand for, made small: each was refused by the verifier once.

use crate::harness::{check, of_subgroups, variant};

/// Conditions that no small size meets: what only points tell was not seen at any.
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

/// What is computed at a loop over a fused axis, and padded: its condition names the fused axis for a digit of it.
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

/// The copy of what is read at no point, of which a width below none was proved.
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

/// A copy of the registers that each invocation of a reduction has for itself: it stayed outside of what fills those.
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

/// Where a fact leaves a few sizes, none of them small, indices are compared at those.
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

/// A loop around a copy runs further after a split, where its quotient by 3 had been proved inside: between the passes, the verifier
/// asked for what the first of them does.
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
