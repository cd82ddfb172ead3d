//! Shrunk findings of the differential tests. Each kernel was compiled or run wrongly before it was fixed.

mod bounds;
pub(super) mod copies;
pub(super) mod fragment;
mod indices_of_tables;
mod mma;
mod nothing;
pub(super) mod places;
mod proofs;
mod rfactor;
pub(super) mod runs;
pub(super) mod shared;
mod updates;

use crate::harness::{check, of_subgroups, profiles, refused, try_variant, variant};
use tilewright_dsl::profile::Profile;

/// A read by a stage that has no points accessed an element of an empty tensor; and the verifier refused it, because the proof
/// depends on the existence of points.
#[test]
fn reads_of_nothing() {
    let kernel = "fn k<N, M, K>(x: f32[M, K], z: f32[N, K]) -> y: f32[N, K] { y[i, j] = x.pad(0.5)[i - 1, j] + z[i, j]; }";
    let sizes = |n, m, k| [("N", n), ("M", m), ("K", k)];
    check(kernel, "V: k for p {}", &[&sizes(3, 0, 40), &sizes(3, 2, 5), &sizes(0, 3, 4)]);

    let kernel = "fn k<N, M>(x: f32[M], z: f32[N]) -> y: f32[N] {
        let s[i]: f32[M] = x[M - 1 - i] * 2.0;
        y[i] = s.pad(0.5)[i - 1] + z[i];
    }";
    let sizes = |n, m| [("N", n), ("M", m)];
    check(kernel, "V: k for p {}", &[&sizes(3, 0), &sizes(3, 2), &sizes(2, 5), &sizes(0, 3)]);

    let kernel = "fn k<N, M, H = M / 3>(x: f32[H, M], z: f32[N]) -> y: f32[N] {
        let s[i]: f32[H] = x.clamp()[1 / 2, 1];
        y[i] = s.pad(0.25)[i + 1] + z[i];
    }";
    check(kernel, "V: k for p {}", &[&sizes(3, 0), &sizes(3, 2), &sizes(2, 5), &sizes(3, 13)]);
}

/// Clamping into an empty tensor is checked at launch.
#[test]
fn the_nearest_of_nothing() {
    let kernel = "fn k<N, M>(x: f32[M], z: f32[N]) -> y: f32[N] { y[i] = x.clamp()[i] + z[i]; }";
    for profile in profiles() {
        let variant = variant(kernel, "V: k for p {}", &profile);
        variant.check(&[("N", 3), ("M", 1)], &[]);
        for error in variant.refusals(&[("N", 3), ("M", 0)]) {
            assert!(error.contains("M >= 1"), "{error}");
        }
    }
}

/// Out of bounds of fused axes, the `j` in the bound of `k` differed from the `j` in the read.
#[test]
fn a_bound_by_a_fused_axis() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = min(k in j..N) { x[k] }; }";
    let fused = "V: k for p { fuse(i, j => q); tile(q: 8) => workgroup(x); tile(q: 3 => r) => thread(x); serial(q); }";
    for schedule in ["V: k for p {}", fused] {
        check(kernel, schedule, &[&[("N", 1)], &[("N", 2)], &[("N", 7)]]);
    }
}

/// A loop that was moved out of the axis of its bound ran when its own range was empty, and read at -1.
#[test]
fn an_empty_range_under_a_hull() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N, N] { y[i, j] = max(k in 0..i) { x[j, i - 1 - k] }; }";
    for schedule in [
        "V: k for p { distribute(j => workgroup(x)); tile(i: 2) => workgroup(y); tile(k: 1 => k_o); reorder(k_o, k, i); unroll(i); }",
        "V: k for p { tile(i: 3) => workgroup(x); reorder(j, k, i); unroll(i); serial(j); }",
        "V: k for p where N % 2 == 0 { distribute(i => workgroup(x)); vectorize(j, 2); serial(j); }",
        "V: k for p where N <= 8 { unroll(k); distribute(i, j => workgroup(x, y)); }",
    ] {
        check(kernel, schedule, &[&[("N", 2)], &[("N", 4)], &[("N", 8)]]);
    }
}

/// Loops that are unrolled up to a bound run even if the axis is empty.
#[test]
fn nothing_up_to_a_bound() {
    let kernel = "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[M] { y[i] = sum(k in 0..N) { x[k] + z[i] }; }";
    let schedule = "V: k for p where N <= 5 { unroll(k); distribute(i => workgroup(x)); }";
    check(kernel, schedule, &[&[("N", 0), ("M", 3)], &[("N", 4), ("M", 2)]]);
    let kernel = "fn k<N, M>(x: f32[N, M]) -> (y: f32[N, M], z: f32[M]) { y[i, j] = x[i, j]; z[j] = 1.0; }";
    let schedule = "V: k for p where N <= 4 { y { distribute(j => workgroup(x)); unroll(i); } }";
    check(kernel, schedule, &[&[("N", 0), ("M", 3)], &[("N", 3), ("M", 2)]]);
}

/// Out of range, a reduction read an element at the clamped index that another invocation updates.
#[test]
fn a_reduction_over_what_is_updated() {
    let kernel = "fn k<N>(x: i32[N, 3], y: &mut i32[N]) { y[i] = sum(k in 0..3) { x[i, k] * y[i] }; }";
    for schedule in [
        "V: k for p {}",
        "V: k for p { tile(i: 2 => o); serial(o); distribute(i => thread(x)); }",
        "V: k for p { tile(i: 8) => workgroup(x); tile(i: 2) => thread(x); reorder(k, i); vectorize(i, 2, unaligned: scalar); }",
    ] {
        check(kernel, schedule, &[&[("N", 1)], &[("N", 5)], &[("N", 16)]]);
    }
}

/// A comparison of f16 did not declare the f16 capability.
#[test]
fn a_comparison_of_f16() {
    let kernel = "fn k<N>(a: f16[N], x: f32[N]) -> y: f32[N] { y[i] = if a[i] <= a[0] { x[i] } else { 2.0 }; }";
    check(kernel, "V: k for p {}", &[&[("N", 5)]]);
}

/// The bound of a reduction's range depends on the axis that is vectorized.
#[test]
fn a_bound_in_lanes() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(k in i..N) { x[k, i] }; }";
    let schedule = "V: k for p { tile(i: 4) => workgroup(x); vectorize(i, 4, unaligned: scalar); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 6)], &[("N", 8)]]);
}

/// Reads along the lanes count, too.
#[test]
fn wide_reads_of_narrow_results() {
    let kernel = "fn k<N>(x: i32[N]) -> y: f16[N] { y[i] = x[i] as f16; }";
    let [profile, _] = profiles();
    let error = try_variant(kernel, "V: k for p where N % 8 == 0 { vectorize(i, 8); serial(i); }", &profile).err();
    assert!(error.is_some_and(|e| e.text.contains("8 lanes of `x: i32` are 32 bytes")));
    check(kernel, "V: k for p where N % 8 == 0 { vectorize(i, 4); serial(i); }", &[&[("N", 8)]]);
}

/// The guard of each lane used the extent of a part that was computed for all lanes.
#[test]
fn guards_by_lane() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = sum(k in 0..i + 1, l in 0..i) { x.pad(0.0)[l - k] }; }";
    let schedule = "V: k for p {
        tile(i: 4 => z1) => workgroup(x);
        split(k, [2, _] => z2, z3);
        tile(j: 1) => workgroup(x);
        vectorize(i, 4, unaligned: scalar);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 4)], &[("N", 9)]]);
}

/// Neighbours were loaded together out of bounds of the tensor, although each of them is padded.
#[test]
fn padded_neighbours() {
    for dtype in ["f32", "f16"] {
        let kernel = format!("fn k<N>(x: {dtype}[N]) -> y: {dtype}[N] {{ y[i] = sum(k in 0..4) {{ x.pad(0.0)[k] * x[i] }}; }}");
        let schedule = "V: k for p { unroll(k); distribute(i => workgroup(x)); }";
        check(&kernel, schedule, &[&[("N", 1)], &[("N", 3)], &[("N", 5)]]);
    }
}

/// Neighbours were loaded together with elements out of bounds: groups begin at multiples of their size, but the loop over them did
/// not.
#[test]
fn neighbours_at_an_offset() {
    let kernel = "fn k<N>(x: f32[5], z: f32[N]) -> y: f32[N] { y[i] = min(k in 1..5) { x[k] * z[i] }; }";
    check(kernel, "V: k for p { unroll(k); distribute(i => workgroup(x)); }", &[&[("N", 3)]]);
    let kernel = "fn k<N>(x: f32[(N - 1) * 2 + 4]) -> y: f32[N, N] { y[i, j] = sum(k in 0..4) { x[j * 2 + k] }; }";
    check(kernel, "V: k for p where N == 4 { unroll(j, k); distribute(i => workgroup(x)); }", &[&[("N", 4)]]);
}

/// An inlined stage reads by data, inside of the index of another read.
#[test]
fn inlined_in_an_index() {
    let kernel = "fn k<N, M>(x: i32[M], t: f32[M, M], z: f32[N]) -> y: f32[N] {
        let s[i]: f32[M] = t.clamp()[x[i] + 1, M - 1 - i];
        y[i] = s.pad(0.5)[i - 2] + z[i];
    }";
    check(kernel, "V: k for p {}", &[&[("N", 3), ("M", 1)], &[("N", 5), ("M", 4)]]);
}

/// With facts, the verifier could not repeat a proof about a read that holds on the algorithm's axes.
#[test]
fn facts_in_the_way() {
    let kernel = "fn k<N, H = N / 3>(x: f32[N]) -> y: f32[H] { y[j] = x.pad(-1.0)[1]; }";
    check(kernel, "V: k for p where N <= 5, H % 1 == 0 {}", &[&[("N", 2)], &[("N", 5)]]);
    check(kernel, "V: k for p where N <= 3, H % 3 == 0 {}", &[&[("N", 2)]]);
}

/// An axis in a bound is tiled again after the bounded loop was moved out of it.
#[test]
fn tiled_after_the_hull() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, h] = sum(q in 0..h + 1) { x[q] }; }";
    let schedule = "V: k for p {
        tile(h: 3, i: 2 => z1) => workgroup(x, x);
        reorder(q, i);
        unroll(i);
        split(h, [_, 2] => z2, z3);
        distribute(z2, z3 => thread(x, y));
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 5)], &[("N", 8)]]);
}

/// A loop over an empty intermediate is unrolled up to a bound.
#[test]
fn an_intermediate_of_nothing() {
    let kernel = "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[M] {
        let s[i, h]: f32[N, M] = sum(k in 0..3) { x[i] + z[h] };
        y[i] = z[i] + s.pad(0.0)[i, i];
    }";
    let schedule =
        "V: k for p where N <= 6 { s { split(i, [2, 7] => i, z1); unroll(i); distribute(z1 => thread(z)); serial(h); } }";
    check(kernel, schedule, &[&[("N", 0), ("M", 4)], &[("N", 3), ("M", 4)]]);
}

/// The bounds of an inlined stage's point were proved on its axes, but not when they are fused.
#[test]
fn inlined_at_a_difference() {
    let kernel = "fn k<K, M>(x: f32[M, K]) -> y: f32[K, K] {
        let s[i, j]: f32[M, K] = x[i, j];
        y[i, j] = s.pad(0.5)[i - j, 1].min(s.clamp()[1, j]);
    }";
    check(kernel, "V: k for p {}", &[&[("K", 3), ("M", 1)], &[("K", 2), ("M", 7)]]);
}

/// The larger of two literals was computed from their difference, which wrapped.
#[test]
fn the_larger_of_literals() {
    let kernel = "fn k<N>(x: i32[N]) -> (y: i32[N], z: i32[N]) {
        y[i] = max(k in 0..2) { 1 };
        z[i] = min(k in 0..2) { k - 3 };
    }";
    let unrolled = "V: k for p { y, z { unroll(k); distribute(i => workgroup(x)); } }";
    check(kernel, unrolled, &[&[("N", 3)]]);
}

/// If a range is empty but its loop runs, a fused axis was divided by its extent of 0.
#[test]
fn a_digit_of_an_empty_range() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, 6] { y[i, j] = max(k in 0..2, l in 0..i) { x.pad(-1.0)[l] }; }";
    let schedule = "V: k for p {
        fuse(i, j => z1);
        fuse(k, l => z2);
        reorder(z2, z1);
        tile(z2: 1 => z3);
        reorder(z1, z3);
        distribute(z1 => workgroup(z));
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 2)], &[("N", 5)]]);
}

/// A kernel with empty results ran its intermediates, on inputs that may be empty.
#[test]
fn an_idle_kernel() {
    let kernel = "fn k<N, H = (N - 3) / 2 + 1>(x: f32[H], z: f32[N]) -> y: f32[H] {
        let s[i]: f32[N] = sum(k in 0..1) { x.pad(0.0)[i] };
        y[j] = s.pad(0.0)[1];
    }";
    check(kernel, "V: k for p {}", &[&[("N", 1)], &[("N", 3)], &[("N", 8)]]);
}

/// An axis that is proved to be empty.
#[test]
fn an_axis_of_nothing() {
    let kernel = "fn k<N, H = (N - 4) / 2 + 1>(x: f32[N]) -> (z: f32[N], y: f32[H]) {
        z[i] = x[i];
        y[i] = sum(k in i..1) { 1.0 };
    }";
    check(kernel, "V: k for p where N == 2 { y { unroll(i); reorder(k, i); } }", &[&[("N", 2)]]);
}

/// The range of a bound whose axis is tiled twice, and again afterwards.
#[test]
fn tiled_around_the_hull() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = max(k in 0..j + 1) { x[k] }; }";
    for schedule in [
        "V: k for p {
            tile(j: 4 => z1) => workgroup(y);
            tile(j: 3 => z2, i: 1 => z3) => workgroup(x, x);
            tile(k: 1 => z5, j: 3 => z6);
            split(j, [_, 2, 2] => j, z7, z8);
            distribute(z7 => thread(z));
            distribute(z8 => thread(x));
        }",
        "V: k for p {
            distribute(i => workgroup(z));
            tile(j: 4 => z1) => workgroup(x);
            tile(j: 3, k: 2 => z2);
            split(j, [_, 2] => z3, z4);
            distribute(j_o => workgroup(y));
            unroll(z3);
            distribute(z4 => thread(y));
        }",
        "V: k for p {
            tile(j: 4) => workgroup(y);
            tile(j: 3 => z2, i: 1 => z3) => workgroup(x, x);
            reorder(k, j);
            tile(j: 2) => thread(y);
            unroll(j);
        }",
    ] {
        check(kernel, schedule, &[&[("N", 1)], &[("N", 5)], &[("N", 9)]]);
    }
}

/// A split with more parts than an index can count is refused at its directive.
#[test]
fn parts_beyond_32_bits() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }";
    let [profile, _] = profiles();
    let error =
        try_variant(kernel, "V: k for p { tile(i: 2147483647) => workgroup(y); tile(i: 8 => o); serial(i, o); }", &profile).err();
    assert!(error.is_some_and(|e| e.text.contains("reach beyond 2^31")));
}

/// The range of a difference of large values must not wrap, so that clamps and predicates stay.
#[test]
fn ranges_beyond_64_bits() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N, N, N] { y[i, j, h, w] = x[i]; }";
    let schedule = "V: k for p where N % 3 == 0 {
        split(i, [2, _, 2] => z1, z2, z3);
        distribute(z1 => workgroup(z));
        distribute(z2 => workgroup(x));
        distribute(z3 => workgroup(x));
        distribute(j => workgroup(z));
        distribute(h => workgroup(x));
        distribute(w => workgroup(y));
    }";
    check(kernel, schedule, &[&[("N", 3)], &[("N", 9)]]);
    let schedule = "V: k for p where N % 4 == 0 {
        distribute(j => workgroup(y));
        fuse(h, i => z1);
        split(z1, [_, 16, 2] => z2, z3, z1);
        tile(w: 1 => z4, z3: 1 => z5, z2: 2 => z6) => workgroup(z, y, x);
        serial(z2);
        distribute(z1 => workgroup(y));
    }";
    check(kernel, schedule, &[&[("N", 4)], &[("N", 8)]]);
    let kernel = "fn k<M>(x: f32[M]) -> (y: f32[M, M, M], z: f32[]) {
        y[i, j, h] = 1.0;
        z[] = y.pad(0.0)[1, 1, 1];
    }";
    let schedule = "V: k for p {
        y {
            fuse(i, j, h => z1);
            split(z1, [_, 2] => z2, z3);
            split(z2, [_, 2, 2] => z4, z5, z6);
            serial(z4);
            distribute(z5 => workgroup(x));
            distribute(z6 => thread(x));
            distribute(z3 => thread(z));
        }
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 3)]]);
}

/// `min(0, H - 1)` with an empty tensor was assumed to be a size, which is at least 0, and so was not clamped.
#[test]
fn sizes_below_zero() {
    let kernel = "fn k<N, M, H = (N - 7) / 2 + 1>(x: i32[H, N], z: i32[M]) -> y: i32[M] {
        let s[i]: i32[H] = x[i, 1];
        y[j] = z[j] + s.pad(0)[0];
    }";
    check(kernel, "V: k for p {}", &[&[("N", 5), ("M", 3)], &[("N", 7), ("M", 3)], &[("N", 12), ("M", 1)]]);
}

/// A range over an empty axis is negative, which must not refuse a launch.
#[test]
fn a_hull_of_nothing() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = min(k in 0..i, l in 0..N) { x[l] }; }";
    check(kernel, "V: k for p { reorder(l, i); reorder(i, l); distribute(i => workgroup(z)); }", &[&[("N", 0)], &[("N", 4)]]);
}

/// The last tile of tiles, under a loop moved out of a triangle, was not proved to reach its end.
#[test]
fn triangles_under_tiles() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 0..i + 1) { x[k] }; }";
    let halves = "V: k for p {
        split(k, [2, _] => p, k);
        tile(i: 7 => a) => workgroup(z);
        tile(i: 4) => workgroup(z);
        reorder(k, i);
        tile(i: 3 => b) => thread(y);
        distribute(i => thread(x));
    }";
    check(kernel, halves, &[&[("N", 1)], &[("N", 23)]]);
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] { y[i, j] = sum(k in 0..=j) { x[k] }; }";
    let parts = "V: k for p {
        split(j, [_, 2, 8] => a, b, j);
        split(a, [2, _] => a, c);
        reorder(k, j);
        tile(j: 5) => thread(z);
        distribute(a => workgroup(y));
        distribute(c => workgroup(y));
        unroll(b, j);
        distribute(i => workgroup(z));
    }";
    check(kernel, parts, &[&[("K", 1)], &[("K", 19)]]);
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = prod(k in 0..=j) { x[k] }; }";
    let lanes = "V: k for p {
        tile(j: 4, i: 1 => a);
        vectorize(j, 2, unaligned: scalar);
        fuse(i, j => q);
        reorder(q, k, j_o);
        reorder(j_o, a);
        tile(j_o: 2) => workgroup(x);
        reorder(a, k);
        distribute(j_o => workgroup(z));
        distribute(q => workgroup(z));
        distribute(a => workgroup(x));
    }";
    check(kernel, lanes, &[&[("N", 1)], &[("N", 13)]]);
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, h] = sum(k in 0..h) { x[k] }; }";
    let thirds = "V: k for p {
        tile(i: 1 => a, h: 8) => workgroup(y, y);
        tile(h: 4 => b, k: 2 => c);
        tile(h: 3 => d) => thread(x);
        unroll(h, b);
    }";
    check(kernel, thirds, &[&[("N", 1)], &[("N", 13)]]);
}

/// Under an empty range, components of a fused axis are divisions by 0, also in lanes.
#[test]
fn digits_of_nothing_in_lanes() {
    let kernel = "fn k<N>(x: f32[3], y: &mut f32[N]) { y[i] = sum(k in 0..3, l in 0..i) { x[k % 2] }; }";
    let schedule = "V: k for p { fuse(k, l => q); tile(i: 16); split(q, [2, _] => r, q); vectorize(i, 2, unaligned: scalar);
        distribute(i => workgroup(y)); serial(i_o); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 18)]]);
}

/// A range that depends on one of the fused axes differs between lanes of the fused axis.
#[test]
fn a_range_that_differs_by_lane() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = sum(k in 0..j) { x[k] }; }";
    let schedule =
        "V: k for p { tile(i: 2 => a, j: 1 => b) => workgroup(z, y); fuse(i, j => q); vectorize(q, 2, unaligned: scalar); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 9)]]);
}

/// For a vector out of bounds, each lane must read the last element, not an element of the last vector.
#[test]
fn the_nearest_of_a_vector() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x.clamp()[i - 4] + x.clamp()[i + 2] * 0.5; }";
    let schedule = "V: k for p where N % 4 == 0 { vectorize(i, 2); distribute(i => thread(x)); }";
    for schedule in [schedule.to_owned(), schedule.replace("i, 2", "i, 4, unaligned: scalar")] {
        check(kernel, &schedule.replace("distribute(i => thread(x))", "serial(i)"), &[&[("N", 4)], &[("N", 16)]]);
    }
}

/// A range that depends on an axis with fewer values than lanes or threads was executed by inactive invocations, with the axis out
/// of bounds.
#[test]
fn a_range_by_an_axis_with_inactive_invocations() {
    let kernel = "fn k<M>(x: u32[M]) -> y: u32[M] { y[i] = prod(k in 0..i) { x[k] + 2 }; }";
    let lanes = variant(kernel, "V: k for p where M == 5 { distribute(i => lane(x)); }", &Profile::mesa_lavapipe());
    lanes.check(&[("M", 5)], &[]);
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] {
        let s[i]: f32[N] = sum(k in 0..=i) { x[k] };
        y[i] = s.clamp()[i - 1] + s.clamp()[i + 2];
    }";
    let schedule = "V: k for p { tile(i: 12 => b) => workgroup(x); distribute(i => thread(x)); compute_at(s, b, to: shared); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 40)]]);
}

/// The verifier could not prove the half of a cube of a derived dim, and a range of a fused axis by a component of another.
#[test]
fn products_of_ranges() {
    let kernel = "fn k<N, H = N - 3>(x: f32[N]) -> y: f32[H, H, H] { y[i, j, h] = x[i] + x[j] * x[h]; }";
    let schedule = "V: k for p where H % 8 == 0 { fuse(h, i => a); fuse(a, j => b); split(b, [2, _] => c, d);
        distribute(c => workgroup(y)); distribute(d => workgroup(z)); }";
    check(kernel, schedule, &[&[("N", 3)], &[("N", 11)]]);
    let kernel = "fn k<K>(x: f32[3, 3], y: &mut f32[K, 3]) { y[i, j] = max(k in 0..3, l in j..3) { x[k, l] }; }";
    let schedule = "V: k for p where K <= 9 { fuse(j, i => a); unroll(a); fuse(k, l => b); }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 8)]]);
}

/// An empty result is read by another result that has an element.
#[test]
fn a_result_of_nothing() {
    let kernel = "fn k<N>(x: f32[N]) -> (y: f32[N], z: f32[]) { y[i] = x[i] * 2.0; z[] = y.pad(-1.0)[1]; }";
    check(kernel, "V: k for p {}", &[&[("N", 0)], &[("N", 1)], &[("N", 5)]]);
}

/// A stage that is not read, because its power of 0 is 1, was computed from elements that were never written.
#[test]
fn computed_for_nobody() {
    refused(
        "fn k<M>(x: f32[2], y: &mut f32[], z: f32[M]) {
            let s[]: f32[] = 1.0 / x[1];
            y[] = sum(k in 0..M) { s[].powi(0) };
        }",
        "V: k for p {
            pack(x[a] => [a / 2, a % 2], when: dispatch);
            compute_at(s, k, to: register);
        }",
        "`s` is not read under `k`",
    );
}

/// Inactive invocations executed full tiles of a loop whose end depends on their axis, and read out of bounds of the tensor,
/// because reads in full tiles are neither clamped nor predicated.
#[test]
fn full_tiles_of_invocations_past_an_axis() {
    let lanes = "V: k for p { tile(k: 4 peel); distribute(h => lane(x)); unroll(i); }";
    let kernel = "fn k<N>(x: f32[3], z: f32[N]) -> y: f32[N, 3] { y[i, h] = z[i] + max(k in 0..h) { x.clamp()[k] }; }";
    let by_lanes = variant(kernel, &lanes.replace("unroll(i)", "serial(i)"), &of_subgroups(8));
    [1, 5].iter().for_each(|n| by_lanes.check(&[("N", *n)], &[]));

    let kernel = "fn k<N>(x: f32[3], z: f32[N, 16]) -> y: f32[N, 3] {
        let s[i, j]: f32[N, 16] = z[i, j].sqrt();
        y[i, h] = s[i, h] + sum(k in 0..h) { x[k] * s[i, k] };
    }";
    let threads = "V: k for p {
        distribute(i => workgroup(x));
        compute_at(s, workgroup, to: shared);
        tile(k: 4 peel);
        distribute(h => thread(x));
        s { distribute(j => thread(x)); }
    }";
    check(kernel, threads, &[&[("N", 1)], &[("N", 5)]]);
}
