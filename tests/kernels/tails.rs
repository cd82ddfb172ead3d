//! Every tail inside every other, on parallel axes and on a reduction's, where tiles are cut short and where they are not.

use crate::harness::{profiles, try_variant, variant};

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const TAILS: [&str; 5] = ["guard", "exact", "round_up", "peel", "shift"];

/// Sizes that `tile` divides, does not, and is longer than.
const SIZES: [i64; 3] = [1024, 130, 3];

/// Runs a schedule at all sizes of one dim; at those that a launch refuses, the refusal names this fact.
fn run(schedule: &str, dim: &str, needs: Option<i64>) {
    let variant = variant(MATMUL, schedule, &profiles()[0]);
    for size in SIZES {
        let dims = [("M", 3), ("N", 5), ("K", 4)].map(|(name, other)| (name, if name == dim { size } else { other }));
        match needs {
            Some(least) if size < least => {
                for refusal in variant.refusals(&dims) {
                    assert!(refusal.contains(&format!("{dim} >= {least}")), "{refusal}");
                }
            }
            _ => variant.check(&dims, &[]),
        }
    }
}

/// What is wrong with a schedule.
fn wrong(schedule: &str) -> String {
    match try_variant(MATMUL, schedule, &profiles()[0]) {
        Err(refusal) => refusal.text,
        Ok(_) => panic!("this is legal: {schedule}"),
    }
}

#[test]
fn of_parallel_axes() {
    for outer in TAILS {
        for inner in TAILS {
            // 12 by 5 leaves 2, 8 by 4 nothing: there, all tails but those of the outer tile are one.
            let divided = inner == "exact" || outer == "peel";
            for (first, second) in [(12, 5), (8, 4)].into_iter().take(1 + usize::from(divided)) {
                let text = format!(
                    "V: matmul for p {{ tile(i: {first} {outer} => i_a); tile(i: {second} {inner} => i_b); serial(i_a, i_b, i); distribute(j => workgroup(x)); }}"
                );
                let divides = first % second == 0;
                match (outer, inner) {
                    ("exact", _) => assert!(wrong(&text).contains(&format!("`M % {first} == 0`")), "{text}"),
                    (_, "exact") if !divides => assert!(wrong(&text).contains("`12 % 5 == 0`"), "{text}"),
                    ("peel", "exact") => assert!(wrong(&text).contains("(M % 8) % 4 == 0"), "{text}: {}", wrong(&text)),
                    ("shift", _) => run(&text, "M", Some(first)),
                    _ => run(&text, "M", None),
                }
            }
        }
    }
}

#[test]
fn of_a_reduction() {
    for outer in TAILS {
        for inner in TAILS {
            let divided = inner == "exact" || outer == "peel";
            for (first, second) in [(12, 5), (8, 4)].into_iter().take(1 + usize::from(divided)) {
                let text = format!(
                    "V: matmul for p where finite(a), finite(b) {{ tile(k: {first} {outer} => k_a); tile(k: {second} {inner} => k_b); distribute(i, j => workgroup(y, x)); }}"
                );
                let divides = first % second == 0;
                match (outer, inner) {
                    ("exact", _) => assert!(wrong(&text).contains(&format!("`K % {first} == 0`")), "{text}"),
                    ("shift", _) => assert!(wrong(&text).contains("count points of it twice"), "{text}"),
                    (_, "exact") if !divides => assert!(wrong(&text).contains("`12 % 5 == 0`"), "{text}"),
                    (_, "shift") if !divides => assert!(wrong(&text).contains("count points of it twice"), "{text}"),
                    ("peel", "exact") => assert!(wrong(&text).contains("(K % 8) % 4 == 0"), "{text}"),
                    _ => run(&text, "K", None),
                }
            }
        }
    }
}

/// Full tiles and rests among the workgroups of a grid, in threads, unrolled, in lanes.
#[test]
fn peeled_tiles_everywhere() {
    let schedules = [
        "tile(i: 8 peel, j: 32 peel) => workgroup(y, x); tile(i: 4) => thread(y); tile(j: 2) => thread(x); reorder(k, i, j); unroll(i, j);",
        "tile(i: 8 peel, j: 32 peel) => workgroup(y, x); tile(k: 4 peel); distribute(i => thread(y)); tile(j: 4) => thread(x); reorder(k_o, k, j); unroll(j, k);",
        "tile(i: 8 peel => i_o, j: 8 => j_o); fuse(i_o, j_o => p); distribute(p => workgroup(x)); distribute(i, j => thread(y, x)); tile(k: 8 peel); unroll(k);",
        "tile(i: 4 peel, j: 16) => workgroup(x, x); tile(j: 4 peel => j_b) => workgroup(y); reorder(k, i, j); unroll(i); vectorize(j, 4, unaligned: scalar);",
        "distribute(j => workgroup(x)); tile(i: 8 peel => i_o); serial(i_o); distribute(i => thread(x)); tile(k: 3 peel => k_o); tile(k_o: 2 peel => k_p); unroll(k, k_o);",
        "tile(i: 5 peel => i_o); tile(i_o: 3) => workgroup(x); distribute(i_o, j => workgroup(y, z)); unroll(i);",
    ];
    for text in schedules {
        for profile in profiles() {
            let variant = variant(MATMUL, &format!("V: matmul for p {{ {text} }}"), &profile);
            for (m, n, k) in [(1, 1, 1), (8, 32, 8), (7, 31, 3), (9, 33, 5), (40, 130, 9), (131, 64, 0), (16, 3, 70)] {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
            }
        }
    }
}

/// A literal extent: what is left is known, and shorter than the tiles of the full part.
#[test]
fn of_known_extents() {
    let text = "V: matmul for p where M == 67, N == 130 { tile(i: 16 peel, j: 64 peel) => workgroup(y, x); tile(i: 4) => thread(y); tile(j: 7 peel => j_o); tile(j_o: 1) => thread(x); serial(j_o); reorder(k, i, j); unroll(i, j); }";
    let refused = wrong(text);
    assert!(refused.contains("counts the full tiles of `j`"), "{refused}");
    let text = "V: matmul for p where M == 67, N == 130 { tile(i: 16 peel, j: 64 peel) => workgroup(y, x); tile(i: 4) => thread(y); tile(j: 8) => thread(x); reorder(k, i, j); unroll(i, j); }";
    variant(MATMUL, text, &profiles()[0]).check(&[("M", 67), ("N", 130), ("K", 5)], &[]);
    let text = "V: matmul for p where M == 67 { distribute(j => workgroup(x)); tile(i: 16 shift => i_o); serial(i_o); tile(i: 7 shift => i_p); serial(i_p); unroll(i); }";
    variant(MATMUL, text, &profiles()[0]).check(&[("M", 67), ("N", 3), ("K", 5)], &[]);
}

/// A tensor updated in place: each of its elements once.
#[test]
fn peeled_in_place() {
    const SCALED: &str = "fn scaled<M, N>(x: f32[M, N], c: &mut f32[M, N]) { c[i, j] = c[i, j] * 3.0 + x[i, j]; }";
    for text in [
        "V: scaled for p { tile(i: 4 peel, j: 32 peel) => workgroup(y, x); distribute(j => thread(x)); unroll(i); }",
        "V: scaled for p { distribute(i => workgroup(x)); tile(j: 8 peel => j_o); distribute(j => thread(x)); serial(j_o); }",
    ] {
        let variant = variant(SCALED, text, &profiles()[0]);
        for (m, n) in [(1, 1), (4, 32), (7, 70), (9, 5)] {
            variant.check(&[("M", m), ("N", n)], &[]);
        }
    }
}

/// Ranges that depend on the axis that is peeled, or are themselves peeled.
#[test]
fn peeled_triangles() {
    const TRIANGLE: &str = "fn triangle<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }";
    for text in [
        "V: triangle for p { tile(i: 8 peel) => workgroup(x); distribute(i => thread(x)); tile(j: 4 peel); unroll(j); }",
        "V: triangle for p { tile(i: 8) => workgroup(x); tile(j: 4 peel => j_o); serial(i); tile(j_o: 2 peel); unroll(j); }",
        "V: triangle for p where N >= 3 { tile(i: 3 shift); serial(i_o); tile(j: 4 peel); reorder(j_o, i, j); unroll(i, j); }",
    ] {
        let variant = variant(TRIANGLE, text, &profiles()[0]);
        for n in [3, 8, 13, 40] {
            variant.check(&[("N", n)], &[]);
        }
    }
}
