//! Matrix products of any size, under every tail.

use crate::harness::{choices, profiles, variant};
use std::fs;
use tilewright_dsl::profile::Profile;

const MATMUL: &str = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const SIZES: [(i64, i64, i64); 9] =
    [(1, 1, 1), (3, 7, 1), (7, 3, 13), (130, 3, 7), (1, 130, 3), (31, 37, 41), (130, 130, 130), (64, 64, 64), (8, 16, 0)];

fn check(schedule: &str) {
    for profile in profiles() {
        let variant = variant(MATMUL, schedule, &profile);
        for (m, n, k) in SIZES {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn planned() {
    check("V: matmul<T = f32> for p {}");
    check("V: matmul<T = f16> for p {}");
}

#[test]
fn guarded_register_tiles() {
    check(
        "V: matmul<T = f32> for p { tile(i: 16, j: 32) => workgroup(y, x); tile(i: 4, j: 4) => thread(y, x); reorder(k, i, j); unroll(i, j); }",
    );
}

#[test]
fn rounded_up_everywhere() {
    check(
        "V: matmul<T = f32> for p {
            tile(i: 16 round_up, j: 32 round_up) => workgroup(y, x);
            tile(i: 4, j: 4) => thread(y, x);
            tile(k: 4 round_up);
            reorder(k_o, k, i, j);
            unroll(k, i, j);
        }",
    );
}

#[test]
fn tails_of_tails() {
    check(
        "V: matmul<T = f32> for p { tile(i: 13, j: 7) => workgroup(y, x); tile(i: 4, j: 3) => thread(y, x); tile(k: 5); reorder(k_o, k, i, j); unroll(i, j, k); }",
    );
    check(
        "V: matmul<T = f32> for p { split(i, [_, 3, 5] => io, it, i); split(j, [3, _, 2] => jo, jt, j); distribute(io, jt => workgroup(y, x)); distribute(it => thread(y)); serial(jo); reorder(jo, k, i, j); unroll(i, j); }",
    );
}

#[test]
fn one_inferred_factor_anywhere() {
    check("V: matmul<T = f32> for p { split(i, [2, _, 4] round_up => r, t, v); distribute(t => workgroup(x)); tile(j: 8) => thread_less; }".replace("tile(j: 8) => thread_less;", "tile(j: 8) => workgroup(y); distribute(j => thread(x)); serial(r, v);").as_str());
}

#[test]
fn fused_symbolic_axes() {
    check("V: matmul<T = f32> for p { fuse(i, j => p); tile(p: 96) => workgroup(x); tile(p: 3) => thread(x); serial(p); }");
}

#[test]
fn folded_coordinates() {
    check("V: matmul<T = f32> for p { tile(i: 6, j: 10) => workgroup(x, x); distribute(i, j => thread(x, x)); }");
}

#[test]
fn exact_and_aligned() {
    let schedule = "V: matmul<T = f32> for p where M % 8 == 0, N % 32 == 0, K % 4 == 0 {
        tile(i: 8 exact, j: 32 exact) => workgroup(y, x);
        tile(i: 4, j: 8) => thread(y, x);
        tile(k: 4 exact);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
        unroll(j);
    }";
    for profile in profiles() {
        let variant = variant(MATMUL, schedule, &profile);
        for (m, n, k) in [(8, 32, 4), (64, 96, 20), (16, 128, 0)] {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn wide_halves() {
    let schedule = "V: matmul<T = f16> for p where N % 64 == 0 {
        tile(i: 8, j: 64) => workgroup(y, x);
        tile(i: 4, j: 8) => thread(y, x);
        reorder(k, i, j);
        unroll(i);
        vectorize(j, 8);
    }";
    for profile in profiles() {
        let variant = variant(MATMUL, schedule, &profile);
        for (m, n, k) in [(1, 64, 4), (13, 128, 7)] {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn lanes_where_nothing_is_aligned() {
    check(
        "V: matmul<T = f32> for p { tile(i: 8, j: 32) => workgroup(y, x); tile(i: 4, j: 4) => thread(y, x); reorder(k, i, j); unroll(i); vectorize(j, 4, unaligned: scalar); }",
    );
    check(
        "V: matmul<T = f32> for p { tile(i: 8, j: 32) => workgroup(y, x); tile(i: 4, j: 4) => thread(y, x); reorder(k, j, i); unroll(j); vectorize(i, 4, unaligned: scalar); }",
    );
}

#[test]
fn alpha_beta_in_place() {
    let kernel = "fn sgemm<M, N, K>(alpha: f32, a: f32[M, K], b: f32[K, N], beta: f32, c: &mut f32[M, N]) {
        c[i, j] = alpha * sum(k in 0..K) { a[i, k] * b[k, j] } + beta * c[i, j];
    }";
    for profile in profiles() {
        let tiled = "V: sgemm for p { tile(i: 8, j: 8) => workgroup(y, x); tile(i: 2, j: 2) => thread(y, x); reorder(k, i, j); unroll(i, j); }";
        for schedule in [tiled, "V: sgemm for p {}"] {
            let variant = variant(kernel, schedule, &profile);
            for (m, n, k) in SIZES {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[1.5, -0.25]);
            }
        }
    }
}

/// Eight lanes of f16 in memory, whose sums are 32 bytes of registers.
#[test]
fn halves_in_eight_lanes_with_wide_sums() {
    let kernel = "fn matmul<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 }) as f16;
    }";
    let schedule = "V: matmul for p where N % 8 == 0 {
        tile(i: 4, j: 32) => workgroup(y, x);
        tile(j: 8) => thread(x);
        distribute(i => thread(y));
        reorder(k, j);
        vectorize(j, 8);
    }";
    let profiles = profiles().into_iter().filter(|profile| profile.features.contains(&tilewright_dsl::launch::Feature::F16));
    for variant in profiles.map(|profile| variant(kernel, schedule, &profile)) {
        for (m, n, k) in [(3, 8, 5), (9, 40, 1), (1, 16, 0)] {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

/// The schedules of the book's chapter on the product are right, for all candidates of their numbers.
#[test]
fn steps_of_the_book() {
    let profile = Profile::bundled("nvidia_hopper").expect("a bundled profile");
    let file = fs::read_to_string(tilewright_tests::root().join("docs/book/steps/matmul.rs")).expect("the steps");
    let mut checked = 0;
    for item in file.split("\nschedule! {").skip(1) {
        let (_, schedule) = item.rsplit_once('}').and_then(|(body, _)| body.split_once("pub ")).expect("a schedule");
        for (choice, variant) in choices(MATMUL, &schedule.replacen(": matmul", ": matmul<T = f32>", 1), &profile) {
            let variant = variant.unwrap_or_else(|refusal| panic!("{choice}: {refusal}"));
            let sizes = [(33, 17, 9), (1, 1, 1), (32, 64, 96), (128, 256, 32), (256, 128, 48)];
            let admitted = sizes.iter().map(|(m, n, k)| [("M", *m), ("N", *n), ("K", *k)]).filter(|dims| variant.admits(dims));
            let count = admitted.inspect(|dims| variant.check(dims, &[])).count();
            assert!(count >= 2, "{schedule} takes {count} of the sizes");
            checked += 1;
        }
    }
    assert_eq!(checked, 9, "eight steps, and a second candidate of the last");
}
