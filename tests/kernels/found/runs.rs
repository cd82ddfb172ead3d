//! Shrunk findings of the differential tests about wrong runs: faults and wrong values. Each kernel was wrong before it was fixed.

use crate::harness::{Fill, check, of_subgroups, profiles, refused, variant};

/// A stage that each invocation computes for itself had a shared copy of the elements that only the first invocation reads.
#[test]
fn a_shared_copy_for_one_invocation() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] {
        let s[i]: f32[N] = max(k in 0..4) { x[i] * k as f32 };
        y[i] = s[i];
    }";
    let schedule = "V: k for p {
        tile(i: 2) => workgroup(z);
        distribute(i => thread(z));
        compute_at(s, thread, to: register);
        s { promote(x => c, at: k, to: shared); }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 3)]]);
    check(kernel, &schedule.replace("to: shared", "to: register").replace("promote", "unroll(k); promote"), &[&[("N", 3)]]);
}

/// Two unrolled axes that both count consecutive elements: a group's start, which one of them determines, is not a multiple of its
/// size.
#[test]
fn neighbours_of_two_axes() {
    let kernel = "fn k<N>(x: f32[N + 1]) -> y: f32[N] { y[i] = min(k in 0..2) { x[i + k] }; }";
    let schedule = "V: k for p where N % 4 == 0 { tile(i: 2) => workgroup(z); reorder(k, i); unroll(k, i); }";
    check(kernel, schedule, &[&[("N", 4)], &[("N", 12)]]);
}

/// Code beside the loops over partial results moved with them, for example a copy under invocations that do not take part in it.
#[test]
fn beside_the_parts_of_a_reduction() {
    let kernel = "fn k<N, K>(x: f32[K], z: f32[N]) -> y: f32[N] { y[i] = max(k in 0..K) { x[k] * z[i] }; }";
    let schedule = "V: k for p {
        tile(k: 8 => z1);
        distribute(k => thread(x), by: tree);
        tile(i: 2 peel);
        serial(i_o, i);
    }";
    check(kernel, schedule, &[&[("N", 1), ("K", 3)], &[("N", 4), ("K", 9)], &[("N", 5), ("K", 1)]]);
    let schedule = "V: k for p {
        tile(i: 32) => workgroup(y);
        promote(z => c, at: workgroup, to: shared);
        tile(i: 2 => z3);
        distribute(i => lane(x));
        tile(k: 2 => z4);
        distribute(k => subgroup(z), by: tree);
        distribute(z3 => workgroup(x));
    }";
    let variant = variant(kernel, schedule, &of_subgroups(8));
    [1, 5].into_iter().for_each(|n| variant.check(&[("N", n), ("K", 3)], &[]));
}

/// A group of neighbours was read as a whole, although the loop around it is empty for some of them, which are out of bounds.
#[test]
fn neighbours_that_an_empty_loop_leaves_out() {
    let kernel = "fn k<N>(x: f32[1], z: f32[N]) -> y: f32[1] { y[i] = prod(k in i..1) { x[k] } + z.pad(0.0)[i]; }";
    let schedule = "V: k for p { pack(y[i] => [i % 2, i / 2], when: dispatch); y_packed { unroll(i); } }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 3)]]);
}

/// The analysis of loading neighbours together used an index that a shared copy holds, and emitted a read for it.
#[test]
fn neighbours_at_an_index_of_a_copy() {
    let kernel = "fn k<N, K>(x: f32[N, K], q: i32[N]) -> y: f32[N, N] { y[i, j] = x.pad(-1.0)[i, q[j] - 1]; }";
    let schedule = "V: k for p {
        tile(i: 5 => z1, j: 8 => z2) => workgroup(x, y);
        unroll(j);
        promote(q => c, at: i, to: shared);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("N", 12), ("K", 7)], &[("N", 1), ("K", 1)]]);
    let kernel = "fn k<K>(x: f32[K], q: i32[2]) -> y: f32[2] { y[i] = x.pad(0.5)[q[i]]; }";
    let schedule = "V: k for p { promote(q => c, at: workgroup, to: shared); tile(i: 1 => i_o); unroll(i_o); }";
    check(kernel, schedule, &[&[("K", 0)], &[("K", 5)]]);
}

/// An element of a group of neighbours that was written between two reads of the group belonged to another invocation.
#[test]
fn neighbours_in_place() {
    let kernel = "fn k<N>(y: &mut bool[N, 8]) { y[i, h] = !(all(k in 0..4) { y[i, h] }); }";
    let schedule = "V: k for p { distribute(k => lane(x), by: tree); unroll(h); distribute(i => workgroup(y)); }";
    let variant = variant(kernel, schedule, &of_subgroups(8));
    [1, 3].into_iter().for_each(|n| variant.check(&[("N", n)], &[]));
}

/// Elements out of bounds of a copy do not have registers: a write there changed the next row.
#[test]
fn registers_past_the_end() {
    let kernel = "fn k<M>(x: i32[M]) -> y: i32[M, 2] { y[i, j] = x[i]; }";
    let schedule = "V: k for p {
        tile(i: 4) => workgroup(z);
        promote(x => c, at: workgroup, to: register);
        unroll(i, j);
        promote(c => d, at: workgroup, to: register);
        d { tile(i: 3); unroll(i_o, i); }
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 6)]]);
    let kernel = "fn k<M>(x: i32[M, 4]) -> y: i32[M, 4] { y[i, j] = x[i, j] * 2; }";
    let schedule = "V: k for p where M % 2 == 0 {
        tile(i: 2) => workgroup(z);
        promote(x => c, at: workgroup, to: register);
        unroll(i, j);
        c { tile(j: 3); reorder(j_o, j, i); unroll(j_o, j, i); }
    }";
    check(kernel, schedule, &[&[("M", 2)], &[("M", 6)]]);
}

/// A component of a fused axis, in the index of a copy, out of bounds of the axis that its extent depends on: it was divided by 0.
#[test]
fn digits_of_nothing() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = min(k in 0..1, l in j..N) { x[k] }; }";
    let schedule = "V: k for p {
        tile(k: 1 => z1);
        tile(j: 4) => workgroup(y);
        distribute(i => workgroup(x));
        fuse(z1, l => z7);
        promote(x => c, at: z7, to: shared);
        unroll(j);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 6)]]);
}

/// Atomics added twice to elements that two tiles share, because the last tile is moved back.
#[test]
fn shifts_and_atomics() {
    let kernel = "fn k<N>(x: i32[N, 6]) -> y: i32[N] { y[i] = sum(k in 0..6) { x[i, k] }; }";
    let after = "V: k for p { tile(k: 2) => workgroup(z), by: atomic; serial(k); tile(i: 2 shift); serial(i_o); unroll(i); }";
    refused(kernel, after, "atomics add to `y`: `shift` would add to elements of it twice");
    let before = "V: k for p { tile(i: 2 shift); tile(k: 2) => workgroup(z), by: atomic; serial(k, i_o); unroll(i); }";
    refused(kernel, before, "atomics would add to elements twice: the last tile of `i` is moved back");
}

/// Workgroups over a fused axis write back a promoted result: its components are determined by the axes that write it back.
#[test]
fn a_result_of_fused_workgroups() {
    let kernel = "fn k<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * 2.0; }";
    let schedule = "V: k for p { fuse(j, i => q); distribute(q => workgroup(z)); promote(y => c, at: workgroup, to: shared); }";
    check(kernel, schedule, &[&[("M", 1), ("N", 1)], &[("M", 5), ("N", 3)]]);
}

/// Full tiles and tails, of reduction axes and of parallel ones, whose outer parts are distributed to threads later: each thread
/// has all operands.
#[test]
fn peels_before_threads() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = sum(k in 0..N) { x[k] }; }";
    let schedule = "V: k for p {
        tile(j: 1 => q, i: 7) => workgroup(y, z);
        tile(k: 2 peel => r, i: 5);
        tile(i: 2 peel => s);
        distribute(i_o => thread(x));
        unroll(s, i);
    }";
    check(kernel, schedule, &[&[("N", 5)], &[("N", 12)], &[("N", 1)]]);
}

/// The same with several axes, in an order in which each tail of a reduction is peeled again.
#[test]
fn peels_of_peels_of_reductions() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N, N] { y[i, j] = sum(k in 0..N, l in 0..N) { x[k, j] * x[i, l] }; }";
    let dims = [[("N", 1)], [("N", 7)], [("N", 13)]];
    let dims: Vec<&[(&str, i64)]> = dims.iter().map(|dims| &dims[..]).collect();
    for tiles in [
        "tile(k: 2 peel, i: 3 peel); tile(l: 4 peel); reorder(i_o, i, j, k_o, l_o); serial(i_o, i, j);",
        "tile(k: 4 peel, l: 3 peel); tile(i: 2 peel, j: 3 peel); serial(i_o, j_o, i, j); reorder(i_o, j_o, i, j, k_o, l_o);",
        "tile(k: 2 peel); split(i, [_, 4] peel => a, b); tile(k_o: 2 peel => c); tile(b: 3 peel => d); serial(a, j, d, b); reorder(a, j, d, b, k_o, c, k);",
    ] {
        check(kernel, &format!("V: k for p {{ {tiles} }}"), &dims);
    }
}

/// A stage that each invocation computes after a shared copy depends on the invocation, although its loops do not exist yet.
#[test]
fn registers_behind_a_shared_copy() {
    let kernel = "fn k<M>(x0: f32[2], y1: &mut f32[M], x2: f32[]) {
        let s0[i]: f32[M] = sum(l in 0..3) { x0[i % 2] };
        y1[i] = (sum(k in 0..M) { x2[] }) + s0[i];
    }";
    let schedule = |to: &str| {
        format!(
            "V: k for p {{
                tile(i: 2) => workgroup(z);
                distribute(i => thread(x));
                promote(x2, at: k, to: shared);
                compute_at(s0, thread, to: register);
                s0 {{ promote(x0 => c, at: l, to: {to}); }}
            }}"
        )
    };
    for size in [2, 5] {
        check(kernel, &schedule("register"), &[&[("M", size)]]);
        check(kernel, &schedule("shared"), &[&[("M", size)]]);
    }
}

/// A copy ignores sides on which it is proved to be in bounds: the read that it replaces, which clamps or pads there, is the same.
#[test]
fn copies_of_what_is_inside() {
    let kernel = "fn k<N, K>(x: f32[N, N], z: i32[K]) -> (y: f32[N, N], w: i32[N]) {
        y[i, j] = x.clamp()[1, 1];
        w[i] = sum(l in 0..i) { z.pad(0)[1] };
    }";
    let schedule = "V: k for p where K >= 4 {
        pack(x[a, b] => [a / 2, b, a % 2], when: prepare);
        y {
            tile(i: 2 => z1, j: 1 => z2) => workgroup(y, x);
            promote(x_packed => c, at: i, to: shared);
            unroll(i);
        }
        w { distribute(i => workgroup(x)); promote(z => d, at: l, to: shared); }
    }";
    check(kernel, schedule, &[&[("N", 1), ("K", 4)], &[("N", 5), ("K", 4)]]);
}

/// Components of a fused axis, by sizes that may be 0.
#[test]
fn copies_by_digits() {
    let kernel = "fn k<K>(x: i32[K]) -> y: i32[K, K] { y[i, j] = x.pad(0)[j]; }";
    let schedule = "V: k for p where K <= 5 { fuse(i, j => q); promote(x => c, at: q, to: shared); unroll(q); }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 5)]]);
    let kernel = "fn k<N>(x: f16[N]) -> y: f16[N, N] { y[i, j] = max(k in 1..N, l in 0..N) { x[l] }; }";
    let schedule = "V: k for p {
        split(l, [_, 2] => q, l);
        fuse(k, q, l => r);
        rfactor(r => part);
        serial(i);
        distribute(j => workgroup(x));
        part {
            tile(r: 1 => s) => workgroup(y);
            promote(x => c, at: i, to: register);
            serial(i);
            distribute(j => workgroup(x));
        }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 4)]]);
}

/// Registers that are counted backwards, in a tile that exceeds its axis: the read there was before the first register.
#[test]
fn registers_before_the_first() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[j] = x.clamp()[1 - j]; }";
    let schedule = "V: k for p {
        tile(j: 8 => z) => workgroup(x);
        promote(x => c0, at: workgroup, to: register);
        unroll(j);
        promote(c0 => c1[j], at: workgroup, to: register);
        c1 { tile(j: 5); unroll(j_o, j); }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 13)]]);
}

/// Fused ranges with negative lengths: two of them are empty, although the product of their lengths is positive.
#[test]
fn fused_ranges_of_nothing() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 3..N, l in 3..N) { x[k] * x[l] } + x[i]; }";
    let schedule = "V: k for p { fuse(k, l => q); distribute(i => workgroup(x)); }";
    check(kernel, schedule, &[&[("N", 3)], &[("N", 5)]]);
    let kernel = "fn k<N>(x: bool[N]) -> y: f32[N, N] {
        let s[i]: f32[N] = sum(k in i..N, l in i..N) { if x.clamp()[k] { 1.0 } else { -0.5 } };
        y[j, h] = s[h];
    }";
    let schedule = "V: k for p {
        pack(s[a] => [a / 3, a % 3]);
        root(s);
        s { fuse(k, l => q); distribute(i_o => workgroup(z)); unroll(i); }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 5)]]);
}

/// Components of ranges that may be empty, and the fill of a copy of a triangle.
#[test]
fn copies_within_triangles() {
    let kernel = "fn k<W>(x: f32[3], z: f32[W]) -> y: f32[W] { y[i] = min(k in 0..3, l in 0..i) { x[k] } + z[i]; }";
    let schedule = "V: k for p {
        fuse(k, l => q);
        tile(i: 2 => r) => workgroup(y);
        reorder(q, i);
        promote(x => c, at: i, to: register);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("W", 1)], &[("W", 5)]]);
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = sum(k in j..N) { x[k] }; }";
    let schedule = "V: k for p {
        tile(j: 3 => q) => workgroup(y);
        tile(k: 2 => r);
        reorder(r, j);
        promote(x => c[k], at: j, to: register, fill: 0.0);
        unroll(j, k);
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 7)]]);
}

/// The same at sizes that facts make rare.
#[test]
fn copies_at_rare_sizes() {
    let kernel =
        "fn k<OH = (OW - 3) / 2 + 1, OW>(x: f32[3], z: f32[OW]) -> y: f32[OH] { y[i] = min(k in 0..3, l in 0..i) { x[k] }; }";
    let schedule = "V: k for p where OW % 8 == 0, OH >= 4 {
        fuse(k, l => q);
        tile(i: 2 => r) => workgroup(y);
        reorder(q, i);
        promote(x => c, at: i, to: register);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("OW", 16)], &[("OW", 24)]]);
}

/// Moving loops brings the readers of a copy and the copy to one place: the copy's scope is around it.
#[test]
fn copies_around_what_reads_them() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K, K] { let s[i]: f32[K] = x[i] * 2.0; y[i, j, h] = min(k in 0..K) { s[j] }; }";
    let schedule = "V: k for p {
        reorder(k, h);
        compute_at(s, h, to: register);
        promote(x => c, at: k, to: register);
        reorder(h, k);
        serial(i, j, h);
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 5)]]);
    let kernel = "fn k<N>(x: u32[]) -> y: u32[N, N] { let s[]: u32[] = x.clamp()[]; y[i, j] = s[] - 1; }";
    let schedule = "V: k for p where N == 6 {
        compute_at(s, j, to: shared);
        promote(x => c, at: i, to: shared);
        unroll(j, i);
        reorder(j, i);
    }";
    check(kernel, schedule, &[&[("N", 6)]]);
}

/// The next tile begins at the end of an inner tile: a copy in registers was overwritten there by the clamped elements of the
/// previous tile.
#[test]
fn tiles_of_registers_past_their_ends() {
    check(
        "fn k<K>(x: f32[K]) -> y: f32[K] { y[i] = x.clamp()[i] + 1.0; }",
        "V: k for p {
            tile(i: 4);
            tile(i_o: 1) => workgroup(x);
            promote(x => c, at: workgroup, to: register);
            unroll(i);
            c {
                tile(i: 3 => z1);
                tile(z1: 2, i: 2 => z3);
                unroll(z3, z1, i);
            }
        }",
        &[&[("K", 1)], &[("K", 4)], &[("K", 9)]],
    );
    check(
        "fn k<N, K>(x: f32[N, K]) -> y: f32[N] { y[i] = sum(k in 0..K) { x[i, k] }; }",
        "V: k for p {
            tile(i: 8) => workgroup(x);
            tile(i: 3 => z1);
            tile(i: 2 => z2);
            reorder(k, z2, z1, i);
            unroll(z2, z1, i);
        }",
        &[&[("N", 1), ("K", 2)], &[("N", 8), ("K", 3)], &[("N", 13), ("K", 0)]],
    );
}

/// Sums of data wrap, even if their operands' ranges are known: comparisons with them were removed.
#[test]
fn sums_of_data_wrap() {
    let kernel = "fn k<N>(x: i32[N], z: i32[N]) -> (y: i32[N, 4], w: i32[N, 4]) {
        y[i, j] = (x.pad(0)[i].max(1) + 8).max(j) + (x[i].min(5) * 3).min(100) + (z[i].max(2) * x[i].max(3)).max(7);
        w[i, j] = (i as i32 * 1103515245 + 12345).max(0) + (i as i32 * 500000000).max(1) + (j as i32 * 1000000000).min(0)
            + if j as i32 * 715827883 < 0 { 1 } else { 0 }
            + ((i as f32 * 1000000000.0) as i32 + 8).max(-2147483640) % 1000;
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: k for p {}", &profile);
        for n in [1, 7, 70] {
            variant.check_filled(&[("N", n)], &[], &|_| Fill::Wild);
        }
    }
}
