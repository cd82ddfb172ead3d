//! Schedules that are several: tuned constants.

use crate::harness::{choices, profiles};

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
            format!("{choice}: a workgroup of {workgroup} has {n} invocations\n  help: `test` guarantees 256\n")
        };
        let wanted = [
            too_many("B = 16, R = 1", "32x16x1", 512),
            too_many("B = 64, R = 1", "128x64x1", 8192),
            too_many("B = 64, R = 3", "43x22x1", 946),
        ];
        assert_eq!(refused, wanted);
    }
}
