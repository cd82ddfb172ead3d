//! Shrunk findings of the differential tests about reads at no points, and from tensors without elements.

use crate::harness::check;

/// A packed tensor is read at empty axes, whose components may have any value.
#[test]
fn packed_reads_at_no_points() {
    let kernel = "fn k<OH = ((IW - 4) / 2) + 1, IW>() -> y: bool[OH, OH] { y[i, j] = true; }";
    let schedule = "V: k for p where IW == 3 { pack(y[i, j] => [j / 4, j % 4, i], when: dispatch); }";
    check(kernel, schedule, &[&[("IW", 3)]]);

    let kernel = "fn k<M, H = M / 3>(x: u32[H, M]) -> y: u32[H] { y[i] = x[i, 1 - 1]; }";
    let schedule = "V: k for p where M == 1 { pack(x[a, b] => [a % 8, a / 8, b / 4 % 2, b % 4, b / 8], when: prepare); }";
    check(kernel, schedule, &[&[("M", 1)]]);

    let kernel = "fn k<N, IH, OH = ((IH - 4) / 2) + 1>(x: u32[N, IH]) -> y: u32[OH] {
        let s[i, j]: u32[N, IH] = x[i, j];
        y[i] = s.clamp()[i, 1];
    }";
    let schedule = "V: k for p where IH <= 3 { pack(s[a, b] => [a / 4, b, a % 4]); }";
    check(kernel, schedule, &[&[("N", 3), ("IH", 2)], &[("N", 5), ("IH", 3)]]);
}

/// The same for an empty reduction.
#[test]
fn packed_reads_of_reductions_over_nothing() {
    let kernel = "fn k<M>(x: u32[1, M, 1]) -> y: u32[1, M] { y[i, j] = prod(k in 1..1) { x[i, j, 0 - k] }; }";
    let schedule = "V: k for p {
        pack(x[a, b, c] => [a / 8, c / 3, b / 8, c % 3, b % 4, b / 4 % 2, a % 8], when: caller);
    }";
    check(kernel, schedule, &[&[("M", 0)], &[("M", 7)]]);

    let kernel = "fn k<IH, OH = ((IH - 1) / 2) + 1>(x: f32[IH, IH, 1]) -> y: f32[IH, OH] {
        y[i, j] = max(k in 1..1) { x[i, (j * 2) + k, k] };
    }";
    let schedule = "V: k for p { pack(x[a, b, c] => [b / 4, c, a % 4, b % 4, a / 4], when: caller); }";
    check(kernel, schedule, &[&[("IH", 3)], &[("IH", 1)]]);
}

/// An empty fused axis is read at components that may have any value.
#[test]
fn copies_read_at_no_points() {
    let kernel = "fn k<N>(x: f16[1], z: f16[N]) -> y: f16[N] { y[i] = (sum(k in 0..4, l in 1..1) { x[l] }) + z[i]; }";
    let schedule = "V: k for p { fuse(k, l => z1); promote(x => c, at: workgroup, to: shared); serial(i); }";
    check(kernel, schedule, &[&[("N", 3)]]);
}

/// A read in an empty range, which only its predicate keeps in bounds of an empty tensor, was required to be in bounds.
#[test]
fn reads_of_a_range_of_nothing() {
    check(
        "fn k<N>(x: f32[N - 2], z: f32[N]) -> y: f32[N] { y[i] = z[i] + sum(k in 1..1, l in 0..1) { x.pad(0.0)[1] }; }",
        "V: k for p {
            split(k, [1] => z1);
            distribute(i => workgroup(x));
        }",
        &[&[("N", 2)], &[("N", 3)], &[("N", 9)]],
    );
}

/// Vectors are loaded from tensors without elements, too, and their values are replaced by the fill.
#[test]
fn vectors_of_nothing() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[4, 4] { y[i, j] = x.pad(-1.0)[j]; }";
    let schedule = "V: k for p where N % 4 == 0 { promote(x => c, at: i, to: shared); unroll(j, i); }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 4)], &[("N", 8)]]);
    let kernel = "fn k<N, M>(x: f16[M, N]) -> y: f16[4, 8] { y[i, j] = x.pad(1.0)[i, j]; }";
    let schedule = "V: k for p where N % 8 == 0 { promote(x => c, at: i, to: shared); unroll(j, i); }";
    check(kernel, schedule, &[&[("N", 0), ("M", 3)], &[("N", 8), ("M", 0)], &[("N", 0), ("M", 0)], &[("N", 8), ("M", 3)]]);
}
