//! Every tail nested in every other, on parallel axes and on a reduction's, with tiles that are cut short and tiles that are not.

use crate::harness::{check, profiles, refused, try_variant, variant};

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const TAILS: [&str; 5] = ["guard", "exact", "round_up", "peel", "shift"];

/// A size that the tile divides, one that it does not, and one shorter than the tile.
const SIZES: [i64; 3] = [1024, 130, 3];

/// Runs a schedule at all sizes of one dim. If a launch is refused, the refusal must name this fact.
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

/// Returns the text of a schedule's refusal.
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
            // 12 divided by 5 leaves a remainder of 2, and 8 divided by 4 leaves none.
            let divided = inner == "exact";
            for (first, second) in [(12, 5), (8, 4)].into_iter().take(1 + usize::from(divided)) {
                let text = format!(
                    "V: matmul for p {{ tile(i: {first} {outer} => i_a); tile(i: {second} {inner} => i_b); serial(i_a, i_b, i); distribute(j => workgroup(x)); }}"
                );
                let divides = first % second == 0;
                match (outer, inner) {
                    ("exact", _) => assert!(wrong(&text).contains(&format!("`M % {first} == 0`")), "{text}"),
                    (_, "exact") if !divides => assert!(wrong(&text).contains("`12 % 5 == 0`"), "{text}"),
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
            let divided = inner == "exact";
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
                    _ => run(&text, "K", None),
                }
            }
        }
    }
}

/// Full tiles and tails among the workgroups of a grid, in threads, unrolled, in lanes.
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

/// A literal extent.
#[test]
fn of_known_extents() {
    let text = "V: matmul for p where M == 67, N == 130 { tile(i: 16 peel, j: 64 peel) => workgroup(y, x); tile(i: 4) => thread(y); tile(j: 7 peel => j_o); tile(j_o: 1) => thread(x); serial(j_o); reorder(k, i, j); unroll(i, j); }";
    let refused = wrong(text);
    assert!(refused.contains("`j_o` counts the tiles of `j`"), "{refused}");
    let text = "V: matmul for p where M == 67, N == 130 { tile(i: 16 peel, j: 64 peel) => workgroup(y, x); tile(i: 4) => thread(y); tile(j: 8) => thread(x); reorder(k, i, j); unroll(i, j); }";
    variant(MATMUL, text, &profiles()[0]).check(&[("M", 67), ("N", 130), ("K", 5)], &[]);
    let text = "V: matmul for p where M == 67 { distribute(j => workgroup(x)); tile(i: 16 shift => i_o); serial(i_o); tile(i: 7 shift => i_p); serial(i_p); unroll(i); }";
    variant(MATMUL, text, &profiles()[0]).check(&[("M", 67), ("N", 3), ("K", 5)], &[]);
}

/// A tensor updated in place, where each element must be updated once.
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

/// Tiles that are components of a fused axis that is split again. Past its end, reads are in a different tile from the one that the
/// branch would test.
#[test]
fn tiles_of_digits() {
    let kernel = "fn k<K>(x: u32[K]) -> y: u32[] { y[] = sum(k in 0..K) { x.clamp()[k] }; }";
    let digits = "tile(k: 2 peel); tile(k_o: 1); tile(k: 1 => a); fuse(a, k_o_o => b);";
    check(kernel, &format!("V: k for p {{ {digits} }}"), &[&[("K", 9)], &[("K", 8)], &[("K", 1)]]);
    refused(
        kernel,
        &format!("V: k for p {{ {digits} split(b, [2, 2, _] => c, b, d); }}"),
        "cannot peel `k`: its full tiles cannot be described",
    );
}

/// A peeled axis whose points are peeled too, where both tiles become known at the same place.
#[test]
fn peeled_points() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; }";
    let schedule =
        "V: k for p where N <= 3 { tile(i: 3 peel => a); tile(i: 2 peel => b) => workgroup(y); distribute(i => workgroup(x)); }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 2)], &[("N", 3)]]);
    // The branch on the points encloses the one on the tiles.
    let schedule = "V: k for p { tile(i: 5 peel => a); tile(i: 2 peel => b, a: 2) => workgroup(z, y); unroll(a, i); }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 7)], &[("N", 21)]]);
}

/// In full tiles, copies leave out the clamps and fills that they do not need. A halo still needs them, and so does an axis that is not
/// peeled.
#[test]
fn copies_of_full_tiles() {
    for outside in ["pad(0.5)", "clamp()"] {
        let blur = format!(
            "fn blur<N, M>(x: f32[N, M]) -> y: f32[N, M] {{ y[i, j] = sum(k in 0..3) {{ x.{outside}[i + k - 1, j + k - 1] }}; }}"
        );
        for text in [
            "tile(i: 4 peel, j: 8 peel) => workgroup(y, x); promote(x => p, at: workgroup, to: shared); distribute(j => thread(x)); serial(i);",
            "tile(j: 8 peel, i: 4) => workgroup(x, y); promote(x => p, at: workgroup, to: shared); distribute(j => thread(x)); serial(i);",
            "tile(i: 4 peel => i_o); serial(i_o); distribute(j => workgroup(x)); promote(x => p, at: i_o, to: register); unroll(i, k);",
        ] {
            for profile in profiles() {
                let variant = variant(&blur, &format!("V: blur for p {{ {text} }}"), &profile);
                for (n, m) in [(1, 1), (4, 8), (3, 9), (9, 31), (17, 64)] {
                    variant.check(&[("N", n), ("M", m)], &[]);
                }
            }
        }
    }
}

/// Full tiles that occur at no size: there everything can be proved, and the two blocks of the branch were taken for different ones.
#[test]
fn full_tiles_of_no_size() {
    let kernel = "fn k<N>(x: f32[N], y: &mut f32[N, N]) {
        let s[]: f32[] = prod(k in 0..N) { x.clamp()[((k * k) * k) % 65537] };
        y[i, j] = s[];
    }";
    let schedule = "V: k for p where N <= 7 {
        pack(x[a] => [a / 4 % 2, a / 8, a % 4], when: prepare);
        tile(j: 8 peel => z1) => workgroup(y);
        compute_at(s, i, to: shared);
        unroll(j);
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 1)], &[("N", 7)]]);
}

/// Peeled tiles together with copies, stages within the nest, partial results, lanes and atomics, and one grid for the tiles of two
/// peeled axes.
#[test]
fn peeled_beside_other_directives() {
    let matmul = [
        "tile(i: 8 peel, j: 16 peel) => workgroup(y, x); tile(k: 4 peel => k_o); reorder(k_o, k, i, j); promote(a => p[i, k], at: k_o, to: shared);
            promote(b => q[k, j], at: k_o, to: shared); distribute(j => thread(x)); tile(i: 2) => thread(y); unroll(i, k);",
        "tile(i: 4 peel, j: 8 peel) => workgroup(y, x); promote(c, at: workgroup, to: shared); distribute(i, j => thread(y, x)); tile(k: 3 peel); unroll(k);",
        "distribute(j => workgroup(x)); tile(i: 3 peel => i_o); reorder(i_o, k, i); promote(a => q[i], at: k, to: register); serial(i_o); unroll(i);",
        "tile(k: 8 peel => k_o); rfactor(k_o => part); part { tile(i: 4 peel) => workgroup(y); distribute(i => thread(y)); distribute(j, k_o => workgroup(x, z)); }
            tile(i: 4 peel) => workgroup(y); serial(i); distribute(j => workgroup(x));",
        "tile(i: 4 peel, j: 8 peel); fuse(i_o, j_o => tiles); distribute(tiles => workgroup(x)); distribute(i, j => thread(y, x));",
        "tile(j: 32 peel) => workgroup(x); tile(j: 4) => thread(x); tile(i: 4 peel) => workgroup(y); reorder(k, i, j); unroll(i); vectorize(j, 4, unaligned: scalar);",
        "tile(i: 8 peel, j: 8 peel, k: 8 peel); tile(i: 3 peel => i_b, j: 3 peel => j_b, k: 3 peel => k_b); reorder(i_o, j_o, i_b, j_b, i, j, k_o, k_b, k); serial(i_o, j_o, i_b, j_b, i, j);",
    ];
    for text in matmul {
        for profile in profiles() {
            let variant = variant(MATMUL, &format!("V: matmul for p {{ {text} }}"), &profile);
            for (m, n, k) in [(1, 1, 1), (8, 16, 8), (7, 31, 3), (9, 33, 37), (40, 130, 64), (16, 3, 0)] {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
            }
        }
    }
    let sums = "fn sums<N, K>(x: i32[N, K]) -> y: i32[N] { y[i] = sum(k in 0..K) { x[i, k] }; }";
    let atomic = "V: sums for p { tile(i: 4 peel) => workgroup(y); tile(k: 32 peel) => workgroup(z), by: atomic; distribute(i => thread(y)); tile(k: 8 peel => k_b); unroll(k); }";
    check(sums, atomic, &[&[("N", 1), ("K", 1)], &[("N", 4), ("K", 64)], &[("N", 9), ("K", 75)]]);
    let softmax = "fn softmax<B, N>(x: f32[B, N]) -> y: f32[B, N] {
        let m[b]: f32[B] = max(j in 0..N) { x[b, j] };
        let s[b]: f32[B] = sum(j in 0..N) { (x[b, j] - m[b]).exp() };
        y[b, j] = (x[b, j] - m[b]).exp() / s[b];
    }";
    let placed = "V: softmax for p where N >= 1 {
        tile(b: 1) => workgroup(y);
        tile(j: 64 peel) => workgroup(x);
        distribute(j => thread(x));
        compute_at(s, workgroup, to: register);
        s { tile(j: 8 peel); }
    }";
    check(softmax, placed, &[&[("B", 3), ("N", 1)], &[("B", 2), ("N", 64)], &[("B", 1), ("N", 131)]]);
    let window = "fn k<N, M = N + 2>(x: f32[N + 2]) -> y: f32[N] {
        let s[i]: f32[N + 2] = x[i] * 2.0;
        y[i] = s[i] + s[i + 1] + s[i + 2];
    }";
    let placed =
        "V: k for p { tile(i: 16 peel) => workgroup(x); compute_at(s, workgroup, to: shared); distribute(i => thread(x)); }";
    check(window, placed, &[&[("N", 1)], &[("N", 16)], &[("N", 37)]]);
}

/// Past the end of `i` the loop over `k` runs as it does at the last `i`, while a copy is made at `i` itself. A full
/// tile of `j` does not change this.
#[test]
fn full_tiles_under_the_tail_of_another_axis() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = prod(k in i..N, q in 0..N) { x[k] }; }";
    let filled = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = sum(k in i..N, q in 0..N) { x[k] }; }";
    let tile = "tile(j: 2 peel => z1, i: 3 => z2) => workgroup(y, x); serial(i); unroll(j);";
    for (kernel, promote) in [
        (kernel, "promote(x => c, at: q, to: register);"),
        (kernel, "promote(x => c, at: k, to: shared);"),
        (filled, "promote(x => c, at: q, to: register, fill: 0.0);"),
        (filled, "tile(k: 2 round_up => k_o); promote(x => c, at: k_o, to: shared, fill: 0.0);"),
    ] {
        check(kernel, &format!("V: k for p {{ {tile} {promote} }}"), &[&[("N", 1)], &[("N", 2)], &[("N", 7)]]);
    }
}

/// Of two nested fills, the outer one is left out in full tiles.
#[test]
fn full_tiles_of_what_is_filled_twice() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 0..i) { x.pad(0.5)[k] }; }";
    let schedule = "V: k for p {
        split(k, [2, 2, _] => z1, z2, z3);
        tile(z1: 1 => z4, z3: 2 peel);
        promote(x => c[z1, z2, z3], at: z3_o, to: register, fill: 1.5);
        unroll(z2, z3);
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 6)], &[("N", 33)]]);
}

/// A serial loop over the points of the last tile ends with the axis.
#[test]
fn tails_end_with_the_axis() {
    let schedule =
        "V: matmul for p { tile(i: 4 peel) => workgroup(y); serial(i); distribute(j => workgroup(x)); tile(k: 8 peel => k_o); }";
    let variant = variant(MATMUL, schedule, &profiles()[0]);
    for (m, n, k) in [(1, 1, 1), (8, 2, 8), (7, 3, 3), (9, 1, 37), (3, 3, 0)] {
        variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
    }
}

const ROWS: &str = "fn rows<R, C>(x: f32[R, C]) -> (s: f32[R], t: f32[R, C]) {
    s[i] = sum(k in 0..C) { x[i, k] };
    t[i, j] = 2.0 * x[i, j];
}";

/// Each serial loop over part of a guarded axis ends at the extent, so that a tile longer than the axis costs no iterations.
#[test]
fn of_tiles_longer_than_their_axes() {
    let schedules = [
        "s { tile(k: 4096 => g); } t { tile(j: 4096 => h); serial(h, j); }",
        "s { tile(k: 4096 => g); tile(k: 64 => m); } t { tile(j: 4096 => h); tile(j: 48 => l); serial(h, l, j); }",
        "s { split(k, [_, 32, 16, 8] => a, b, c, d); reorder(d, b, c); } t { split(j, [_, 32, 16] => a, b, c); serial(a, b, c); }",
        "s { split(k, [_, 64, 32] => a, b, c); distribute(b => thread(x), by: tree); } t { split(j, [_, 64, 32] => a, b, c); distribute(b => thread(x)); serial(a, c); }",
        "s { tile(k: 100 => g); tile(k: 64 => m); unroll(m); } t { tile(j: 100 => h); tile(j: 8 => l); unroll(l); serial(h, j); }",
        "s { tile(k: 512 => g); } t { tile(j: 64 => h); vectorize(j, 4, unaligned: scalar); serial(h, j); }",
    ];
    for schedule in schedules {
        let text = format!("V: rows for p {{ s, t {{ tile(i: 2) => workgroup(x); serial(i); }} {schedule} }}");
        let variant = variant(ROWS, &text, &profiles()[0]);
        for columns in [1, 3, 16, 130, 4097] {
            variant.check(&[("R", 5), ("C", columns)], &[]);
        }
    }
}

/// The end of a triangular range moves with its row.
#[test]
fn of_tiles_longer_than_a_triangle() {
    let kernel = "fn rows<N>(x: f32[N, N]) -> s: f32[N] { s[i] = sum(k in 0..i + 1) { x[i, k] }; }";
    for schedule in [
        "tile(i: 8) => workgroup(x); serial(i); tile(k: 256 => g);",
        "tile(i: 8) => workgroup(x); tile(i: 4 => h); tile(k: 32 => g); serial(h); reorder(g, k, i); unroll(i);",
        "tile(k: 64 => g); rfactor(g => part); part { tile(k: 48 => h); serial(g, i); }",
    ] {
        let variant = variant(kernel, &format!("V: rows for p {{ {schedule} }}"), &profiles()[0]);
        for rows in [1, 7, 130] {
            variant.check(&[("N", rows)], &[]);
        }
    }
}
