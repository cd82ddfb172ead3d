//! Shrunk findings of the differential tests about shared memory, its barriers and its size. Each kernel was compiled or run
//! wrongly before it was fixed.

use crate::harness::{check, profiles, refused, try_variant};
use tilewright_dsl::profile::Profile;

/// Elements that are copied again before they were read are overwritten by the invocation that wrote them, for any number of
/// repetitions by a loop in between, and for any component of the index that determines the invocation.
#[test]
fn copies_that_nobody_read() {
    let schedule = "V: k for p {
        tile(i: 1) => thread(x);
        tile(j: 2) => workgroup(y);
        tile(q: 1 => z1, l: 1 => z2);
        promote(z => c0, at: z2, to: shared);
        promote(x => c1, at: z1, to: shared);
        unroll(j);
        c1 {
            fuse(i, q => z1);
            tile(z1: 2 => z2);
            distribute(z1 => thread(linear));
            serial(z2);
        }
    }";
    check(
        "fn k<N>(x: f32[4, N], z: f32[]) -> y: f32[4, N] { y[i, j] = max(l in 0..N, q in 0..j) { x[i, q] - z[] }; }",
        schedule,
        &[&[("N", 1)], &[("N", 5)]],
    );
    let schedule = "V: k for p {
        s {
            tile(i: 2 => z1, h: 2 shift);
            promote(s => s_r, at: workgroup, to: shared);
            distribute(z1 => thread(y));
            unroll(h_o);
            distribute(i => thread(x));
            unroll(j);
            unroll(h);
        }
    }";
    check(
        "fn k<N>(x: f32[N]) -> y: f32[N] {
            let s[i, j, h]: f32[3, 3, 3] = max(k in 0..3) { (i + 2 * j + 4 * h + k) as f32 };
            y[i] = s.clamp()[i, 1, 1] + x[i];
        }",
        schedule,
        &[&[("N", 1)], &[("N", 7)]],
    );
}

/// The copies fit shared memory, and so does a tree's scratch memory, but not both.
#[test]
fn shared_memory_for_all() {
    refused(
        "fn k<M>(x: f32[M, M]) -> y: f32[M] { y[i] = sum(k in 0..M) { x.pad(0.0)[k, 1] }; }",
        "V: k for p {
            tile(k: 64 => z1);
            distribute(k => thread(y), by: tree);
            tile(z1: 64 => z2);
            tile(i: 1) => workgroup(x);
            promote(x => c[z1, k], at: z2, to: shared);
        }",
        "of shared memory in total",
    );
}

/// A placed stage needs room for all components of its state: only the first was counted, and the verifier refused the rest.
#[test]
fn room_for_all_components() {
    let kernel = "fn k<E>(x: f32[E]) -> y: f32[E, E] {
        let m[i]: f32[E] = max(j in 0..E) { x[i] * x[j] };
        let l[i]: f32[E] = sum(j in 0..E) { (x[i] * x[j] - m[i]).exp() };
        y[i, e] = (sum(j in 0..E) { (x[i] * x[j] - m[i]).exp() * x[j] }) / l[i];
    }";
    let schedule = "V: k for p {
        decompose_online(m, l, y => m_b, l_b, y_b, block: 3);
        tile(j_o: 1 => z1);
        rfactor(z1 => part);
        tile(e: 4 => z2) => workgroup(y);
        tile(z1: 8);
        distribute(i => workgroup(x));
        distribute(e => thread(x));
        compute_at(part, z1_o, to: shared);
    }";
    let small = Profile { shared_bytes: 383, ..profiles()[0].clone() };
    let refusal = try_variant(kernel, schedule, &small).err().expect("three components of 128 bytes");
    assert!(refusal.text.contains("`part` does not fit: it takes 384 bytes") && !refusal.is_defect, "{}", refusal.text);
    let enough = Profile { shared_bytes: 384, ..small };
    let variant = try_variant(kernel, schedule, &enough).unwrap_or_else(|refusal| panic!("{}", refusal.text));
    [1, 7, 30].iter().for_each(|n| variant.check(&[("E", *n)], &[]));
}
