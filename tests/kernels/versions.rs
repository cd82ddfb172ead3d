//! Schedules that give several variants or versions: tuned constants, versions under additional facts, pinned dims.

use crate::harness::{choices, profiles, variant};
use tilewright_dsl::launch::{ParamValue, VersionDispatch};
use tilewright_dsl::profile::Profile;

const MATMUL: &str = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const SIZES: [(i64, i64, i64); 5] = [(1, 1, 1), (7, 3, 13), (31, 37, 41), (64, 64, 64), (8, 16, 0)];

#[test]
fn every_choice_of_tuned_constants_is_right_or_says_why_not() {
    let schedule = "V: matmul<T = f32> for p {
        tune B in [4, 16, 64] = 16;
        tune R in [1, 3] = 1;
        tile(i: B, j: B * 2) => workgroup(y, x);
        tile(i: R, j: R) => thread(y, x);
        reorder(k, i, j);
        unroll(i, j);
    }";
    for profile in profiles() {
        let mut refused = Vec::new();
        for (choice, outcome) in choices(MATMUL, schedule, &profile) {
            match outcome {
                Ok(variant) => SIZES.iter().for_each(|(m, n, k)| variant.check(&[("M", *m), ("N", *n), ("K", *k)], &[])),
                Err(why) => refused.push(format!("{choice}: {}", why.split("error: ").nth(1).unwrap_or_default())),
            }
        }
        let too_many = |choice, workgroup, n| {
            format!(
                "{choice}: a workgroup of {workgroup} has {n} invocations\n  note: `test` guarantees 256\n  help: make the tile smaller, or distribute fewer axes\n"
            )
        };
        let wanted = [
            too_many("B = 16, R = 1", "32x16x1", 512),
            too_many("B = 64, R = 1", "128x64x1", 8192),
            too_many("B = 64, R = 3", "43x22x1", 946),
        ];
        assert_eq!(refused, wanted);
    }
}

#[test]
fn the_version_whose_facts_hold_runs() {
    let schedule = "V: matmul<T = f32> for p {
        tile(i: 8, j: 32) => workgroup(y, x);
        tile(i: 4, j: 4) => thread(y, x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4, unaligned: scalar);
        specialize(K == 8, N % 4 == 0);
        specialize(K % 4 == 0, N % 4 == 0);
        specialize(N % 4 == 0);
    }";
    for profile in profiles() {
        let variant = variant(MATMUL, schedule, &profile);
        let taken = |(m, n, k): (i64, i64, i64)| {
            let dims = [("M", m), ("N", n), ("K", k)];
            variant.check(&dims, &[]);
            let taken = variant.taken(&dims);
            assert_eq!(taken[0], taken[1]);
            taken[0].clone()
        };
        assert_eq!(taken((7, 12, 8)), "V where K == 8, N % 4 == 0");
        assert_eq!(taken((7, 36, 12)), "V where K % 4 == 0, N % 4 == 0");
        assert_eq!(taken((9, 36, 0)), "V where K % 4 == 0, N % 4 == 0");
        assert_eq!(taken((33, 36, 13)), "V where N % 4 == 0");
        for sizes in SIZES.into_iter().filter(|(_, n, _)| n % 4 != 0) {
            assert_eq!(taken(sizes), "V");
        }
    }
}

/// A dispatch that facts do not change is stored once in a variant.
#[test]
fn versions_share_their_dispatches() {
    let kernel = "fn outer<R, C, K>(x: f32[R, K], z: f32[C]) -> y: f32[R, C] {
        let total[i]: f32[R] = sum(k in 0..K) { x[i, k] };
        y[i, j] = total[i] * z[j];
    }";
    let schedule = "V: outer for p {
        total { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }
        tile(i: 8, j: 32) => workgroup(y, x);
        tile(j: 4) => thread(x);
        serial(i);
        vectorize(j, 4, unaligned: scalar);
        specialize(C % 4 == 0);
    }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for (r, c, k) in [(3, 5, 7), (64, 32, 1), (130, 12, 0), (1, 1, 1)] {
            variant.check(&[("R", r), ("C", c), ("K", k)], &[]);
        }
        let [version] = variant.program.specialized.as_slice() else { panic!("one version") };
        assert!(matches!(version.dispatches.as_slice(), [VersionDispatch::Same(0), VersionDispatch::Own(_)]));
    }
}

#[test]
fn pinned_dims_are_constants_of_the_pipeline() {
    let pinned = "V: matmul<T = f32> for p {
        tile(i: 8, j: 32) => workgroup(y, x);
        tile(i: 4, j: 4) => thread(y, x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i, j);
        pin(K, N);
    }";
    for profile in profiles() {
        for schedule in
            [pinned, "V: matmul<T = f32> for p { pin(K, N, M); }", "V: matmul<T = f16> for p where K % 4 == 0 { pin(K); }"]
        {
            let variant = variant(MATMUL, schedule, &profile);
            assert!(variant.program.dispatches.iter().all(|d| !d.constants.is_empty()));
            for (m, n, k) in SIZES.into_iter().filter(|(_, _, k)| !schedule.contains("where") || k % 4 == 0) {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
            }
        }
    }
}

/// A dim that follows from pinned dims alone is a constant too. A version under a fact that makes a pinned dim a literal does not
/// pin it.
#[test]
fn derived_dims_follow_pinned_ones() {
    let conv = "fn conv<IW, C, FW = 3, S = 2, OW = (IW - FW) / S + 1>(x: f32[IW, C], w: f32[FW, C]) -> y: f32[OW] {
        y[o] = sum(f in 0..FW, c in 0..C) { x[o * S + f, c] * w[f, c] };
    }";
    let schedule = "V: conv for p { tile(o: 16) => workgroup(x); distribute(o => thread(x)); pin(IW, C); specialize(C == 4); }";
    for profile in profiles() {
        let variant = variant(conv, schedule, &profile);
        let [dispatch] = variant.program.dispatches.as_slice() else { panic!("one dispatch") };
        assert!(!dispatch.params.iter().any(|p| matches!(p.value, ParamValue::Size(_))), "{:?}", dispatch.params);
        let [version] = variant.program.specialized.as_slice() else { panic!("one version") };
        let [VersionDispatch::Own(own)] = version.dispatches.as_slice() else { panic!("a dispatch of its own") };
        assert!(own.constants.len() < dispatch.constants.len());
        for (w, c) in [(3, 1), (37, 4), (130, 3), (4, 0)] {
            variant.check(&[("IW", w), ("C", c)], &[]);
        }
    }
}

/// The versions of a plan with more facts come before the version that has only the facts of other stages, and no version occurs twice.
#[test]
fn planned_versions_are_in_order() {
    let kernel = "fn covariance<N, D>(x: f32[N, D]) -> (mean: f32[D], c: f32[D, D]) where N >= 1 {
        mean[d] = sum(n in 0..N) { x[n, d] } / N as f32;
        let centre[d]: f32[D] = sum(n in 0..N) { x[n, d] } / N as f32;
        c[a, b] = sum(n in 0..N) { (x[n, a] - centre[a]) * (x[n, b] - centre[b]) };
    }";
    let variant = variant(kernel, "V: covariance for p {}", &Profile::mesa_lavapipe());
    let facts: Vec<&str> = variant.program.specialized.iter().map(|version| version.under.as_str()).collect();
    assert_eq!(facts, ["D >= 64, N % 4 == 0, D % 4 == 0, N <= 4096", "N <= 4096"]);
    for n in [1, 3, 4] {
        for d in [1, 5, 64, 68] {
            variant.check(&[("N", n), ("D", d)], &[]);
        }
    }
}
