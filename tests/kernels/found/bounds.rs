//! Shrunk findings of the differential tests about bounds, ends and barriers that were not proved. The verifier refused each of
//! these kernels before it was fixed.

use crate::harness::{check, refused};

/// A stage that is computed in each thread, for an axis that is out of bounds there.
#[test]
fn computed_at_threads_past_the_end() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] {
        let s0[]: f32[] = 1.0;
        let s1[i]: f32[N] = x[i];
        y[i, j] = s0[] + s1[j];
    }";
    let schedule = "V: k for p where N == 5 {
        tile(j: 2) => workgroup(x);
        compute_at(s0, i, to: shared);
        distribute(j => thread(y));
        compute_at(s1, thread, to: register);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("N", 5)]]);

    let kernel = "fn k<N>(x: u32[N], y: &mut u32[N]) {
        let s0[]: u32[] = 1;
        let s1[i]: u32[N] = x[i];
        y[i] = ((prod(l in 0..N) { 1 }) + s0[]) + s1[i];
    }";
    let schedule = "V: k for p {
        tile(l: 1 => z1);
        rfactor(z1 => y_part);
        tile(i: 2) => workgroup(x);
        reorder(z1, i);
        promote(y_part, at: z1, to: shared);
        distribute(i => thread(y));
        compute_at(s1, thread, to: register);
    }";
    check(kernel, schedule, &[&[("N", 6)], &[("N", 1)]]);

    let kernel = "fn k<OH>(x0: f32[((OH - 1) * 1) + 1], x2: f32[OH, OH]) -> y1: f32[2, ((OH - 1) * 1) + 1] {
        let s0[i, j]: f32[2, ((OH - 1) * 1) + 1] = x0[j];
        y1[i, j] = (min(k in 0..=j) { (x2.clamp()[j, i + 3] * 4.0).floor() }) + s0[i, j];
    }";
    let schedule = "V: k for p {
        tile(j: 2 => z1, i: 1) => workgroup(y, y);
        reorder(k, j);
        promote(x2, at: k, to: shared);
        distribute(j => thread(z));
        compute_at(s0, workgroup, to: register);
    }";
    check(kernel, schedule, &[&[("OH", 9)]]);
}

/// A loop that is moved out of the tiles of a peel runs exactly as far as the last full tile.
#[test]
fn triangles_moved_out_of_peeled_tiles() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = sum(k in 0..=i) { x[k, j] }; }";
    let schedule = "V: k for p {
        tile(k: 2, i: 7 peel => z1);
        reorder(j, k_o);
        distribute(z1 => workgroup(x));
        distribute(i => workgroup(z));
        distribute(j => workgroup(z));
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 2)], &[("N", 17), ("M", 1)]]);

    let kernel = "fn k<M, N>(x: f32[N, M]) -> y: f32[N] { y[i] = sum(k in 0..M, l in 0..i) { x[l, k] }; }";
    let schedule = "V: k for p {
        tile(k: 1 exact, i: 3 peel);
        tile(l: 7);
        reorder(l_o, i_o, i, l);
        reorder(i_o, k_o);
        distribute(i_o => workgroup(x));
        unroll(i);
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 2)], &[("N", 11), ("M", 3)]]);
}

/// A tail that is empty for all sizes, for which the verifier required a proof out of bounds.
#[test]
fn a_tail_that_never_runs() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = min(k in 0..N, l in 0..=j) { x[k] }; }";
    let schedule = "V: k for p where N <= 7 {
        tile(j: 16 => z1, i: 4 round_up) => workgroup(y, z);
        tile(j: 5 peel => z2, l: 2);
        distribute(i => workgroup(y));
        distribute(z2 => workgroup(y));
        unroll(j);
    }";
    check(kernel, schedule, &[&[("N", 3)], &[("N", 7)]]);
}

/// A peeled range that ends at a vectorized axis, and that axis split again.
#[test]
fn peels_below_axes_that_are_split_again() {
    let kernel = "fn k<N>(x: f32[N, 4]) -> y: f32[N, 4] { y[i, h] = min(l in h..4) { x[i, l] }; }";
    let schedule = "V: k for p {
        vectorize(h, 2, unaligned: scalar);
        tile(l: 64 peel => z1);
        tile(h: 1 => z2);
        distribute(z2 => workgroup(y));
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 3)]]);
}

/// Vectors of an index that is wider than the elements read there, where all lanes turn out to be equal.
#[test]
fn wide_indices() {
    let kernel = "fn k<K, N>(x: i32[K], t: f16[3, K], z: f16[N]) -> y: f16[N] {
        let s[i, j]: f16[K, K] = t.pad(0.5)[1, x[j]];
        y[i] = s.clamp()[i, i].abs() + z[i];
    }";
    let schedule = "V: k for p where K == 1 { tile(i: 8 => z1); vectorize(i, 8, unaligned: scalar); serial(z1); }";
    refused(kernel, schedule, "8 lanes of `x: i32` are 32 bytes");
}

/// A read that is in bounds because of another range, in the tail of a peel.
#[test]
fn kept_inside_by_another_range() {
    let kernel = "fn k<N>(y: &mut f32[N, N], x: f32[N]) { y[i, j] = max(k in 0..i, l in 0..N) { x.pad(0.0)[i - 1] }; }";
    let schedule = "V: k for p { tile(l: 2 peel); serial(i); distribute(j => workgroup(z)); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 6)], &[("N", 3)]]);
}

/// A copy of one element that its invocation repeats in each iteration, without a barrier because it is not read.
#[test]
fn copies_that_one_invocation_repeats() {
    let kernel = "fn k<N>(x: f32[N], z: f32[N, N]) -> y: f32[N, N] { y[i, j] = sum(k in 0..N) { x[i] * z[k, j] }; }";
    let schedule = "V: k for p {
        tile(k: 2 => k_o);
        tile(i: 8 => i_o, j: 4 => j_o) => workgroup(x, y);
        reorder(k, i, k_o, j);
        promote(z => c0, at: k_o, to: shared);
        promote(x => c1, at: i, to: shared);
        reorder(i, k);
        serial(i);
        distribute(j => thread(z));
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 11)]]);
}

/// By the facts, the tail of a peel is the only workgroup: the square of a dim was not proved to be at most 1.
#[test]
fn the_only_workgroup_of_a_square() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N, N] { y[i, j] = x[i, j]; }";
    let schedule = "V: k for p where N <= 3 {
        fuse(j, i => z1);
        tile(z1: 16 peel) => workgroup(z);
        distribute(z1 => workgroup(y));
    }";
    check(kernel, schedule, &[&[("N", 2)], &[("N", 3)]]);
    let schedule = "V: k for p where N <= 10 {
        fuse(i, j => z1);
        tile(z1: 128 peel) => workgroup(y);
        distribute(z1 => thread(y));
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 10)]]);
}

/// Workgroups that are distinguished by a fused axis, where a predicate leaves one value of one of its components.
#[test]
fn one_value_of_a_digit() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] { y[i, j] = x[j]; }";
    let schedule = "V: k for p {
        tile(i: 2 peel, j: 1 => z1);
        tile(i_o: 2);
        fuse(i_o_o, z1 => z3);
        fuse(z3, i_o => z4);
        unroll(i);
        distribute(z4 => workgroup(y));
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 4)], &[("M", 7)]]);
}

/// Components, by one divisor, of an index below a size that facts give: the prover gave up on the two floors.
#[test]
fn digits_by_one_divisor() {
    let kernel = "fn k<IH, OH = ((IH - 4) / 2) + 1>(x: f16[4, IH]) -> y: f16[OH] {
        y[i] = sum(k in 0..4) { x[k, i * 2 + k] };
    }";
    let schedule = "V: k for p where OH % 8 == 0 {
        pack(y[a] => [a / 8, a % 8], when: caller);
        pack(x[a, b] => [b % 3, a / 6, b / 3, a / 3 % 2, a % 3], when: caller);
    }";
    check(kernel, schedule, &[&[("IH", 2)], &[("IH", 18)], &[("IH", 35)]]);
    let kernel = "fn k<IH, OH = ((IH - 4) / 2) + 1>(x: u32[IH, 3, IH]) -> y: u32[OH] {
        let s[i]: u32[OH] = max(k in 0..4, l in i..OH) { x[1, 1, l + k] };
        y[j] = s[j];
    }";
    let schedule = "V: k for p {
        pack(s[i] => [i / 8, i % 8]);
        pack(x[a, b, c] => [a, b / 16, b / 8 % 2, c / 8, b % 8, c % 8], when: dispatch);
    }";
    check(kernel, schedule, &[&[("IH", 4)], &[("IH", 11)], &[("IH", 21)]]);
}

/// A copy whose own tile ends early, of a shifted tile that exceeds the last one: the verifier considered only one of the two.
#[test]
fn held_back_where_others_run_past() {
    let kernel = "fn k<M>(x: f32[M], z: f32[M]) -> y: f32[M, M] { y[i, j] = x[i] * z[j]; }";
    let schedule = "V: k for p {
        tile(j: 4 => z1) => workgroup(x);
        distribute(j => thread(y));
        tile(i: 2 shift => z2);
        promote(x => c, at: z2, to: shared);
        tile(z2: 2);
        serial(z2_o);
        unroll(z2, i);
        c { tile(i: 4 round_up => z3); distribute(i => thread(linear)); }
    }";
    check(kernel, schedule, &[&[("M", 2)], &[("M", 5)], &[("M", 6)]]);
}

/// The last tile of an invocation's points is moved back, and rewrites elements that the same invocation wrote.
#[test]
fn tiles_moved_back_in_shared_memory() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = x[i] * 2.0; }";
    let schedule = "V: k for p {
        tile(j: 4 => z1, i: 4 => z2) => workgroup(z, x);
        promote(y => r, at: workgroup, to: shared);
        tile(i: 3 => z3) => thread(x);
        tile(i: 2 shift => z4);
        vectorize(j, 4, unaligned: scalar);
        unroll(z4);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 4)], &[("N", 7)]]);
}

/// A fact leaves one workgroup for the full tiles of a tail, or for the tail of that.
#[test]
fn one_workgroup_for_tiles_and_rest() {
    let kernel = "fn k<N, M = ((N - 1) / 2) + 1>(x: i32[N]) -> y: f32[] {
        let s[i, j]: i32[M, ((N - 1) * 3) + 5] = sum(l in 0..1) { i * 7 + j };
        y[] = s.clamp()[2, 4] as f32;
    }";
    let schedule = "V: k for p where N <= 8 {
        s {
            tile(i: 7 peel => z1, j: 1) => workgroup(z, x);
            tile(i: 4 peel) => workgroup(z);
            distribute(i => thread(y));
        }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 5)], &[("N", 7)], &[("N", 8)]]);
}

/// Tiles of the tiles at which a copy is made are out of bounds, while the copying loops end early.
#[test]
fn copies_held_back_past_other_ends() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[j] = x.clamp()[0 - j]; }";
    let schedule = "V: k for p {
        tile(j: 8);
        promote(x => c, at: j_o, to: shared);
        tile(j_o: 2);
        tile(j: 5 => z3) => workgroup(y);
        serial(j_o_o);
        serial(j_o);
        distribute(j => thread(x));
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 9)], &[("N", 16)]]);
}

/// Ranges of the tiles of a tail, and of tiles where at most one is not full.
#[test]
fn hulls_of_rests() {
    let kernel = "fn k<N, H = N / 3>(x: f32[N]) -> y: f32[H, N] { y[i, j] = sum(k in i..H) { x[k] }; }";
    let tiles = "split(k, [_, 2, 2] => z1, z2, z3); tile(z1: 2, i: 2 peel); fuse(i_o, i, j => z5);";
    let inside = format!("V: k for p {{ {tiles} serial(z5); }}");
    refused(kernel, &inside, "the accumulator of `y` would be indexed by `z5` at run time");
    let outside = format!("V: k for p {{ {tiles} reorder(z5, z1_o, z1, z2, z3); serial(z5); }}");
    check(kernel, &outside, &[&[("N", 3)], &[("N", 9)], &[("N", 20)]]);

    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = max(k in 0..=i, l in i..N) { x[l].max(x[k]) }; }";
    let tiles = "tile(i: 2 shift, k: 1, l: 2 => z1); tile(k_o: 1 => z2, z1: 3 peel); reorder(z2, z1_o, i_o);";
    let rest = "unroll(i); distribute(j => workgroup(z));";
    let inside = format!("V: k for p {{ {tiles} reorder(j, z2); serial(i_o); {rest} }}");
    refused(kernel, &inside, "the accumulator of `y` would be indexed by `i_o` at run time");
    let outside = format!("V: k for p {{ {tiles} reorder(i_o, i, j, z2, z1_o, k_o, z1, k, l); serial(i_o); {rest} }}");
    check(kernel, &outside, &[&[("N", 2)], &[("N", 5)], &[("N", 14)]]);
}

/// Components of a clamped index are in range for any index.
#[test]
fn digits_of_clamped_indices() {
    let kernel = "fn k<K>(x: i32[4, K]) -> y: i32[K] {
        let s[]: i32[] = 1;
        let t[i]: i32[K] = if i > 2 { s.pad(7)[] } else { x[1, i / 3] };
        y[i] = t[i];
    }";
    let schedule = "V: k for p {
        pack(t[i] => [i / 8, i / 4 % 2, i % 4]);
        pack(x[a, b] => [b / 4 % 2, a / 8 % 2, a % 8, a / 16, b % 4, b / 8], when: prepare);
        root(s);
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 7)], &[("K", 13)]]);
}

/// An index that is clamped to a derived size is in bounds because of the clamp.
#[test]
fn a_placed_clamp() {
    let kernel = "fn k<N, W, E = (N - 1) * 2 + 5>(x: f32[W, E]) -> y: f32[N, W] {
        let s[i, j]: f32[W, E] = x[i, j];
        y[i, j] = s.clamp()[j, j - i];
    }";
    let schedule = "V: k for p { tile(i: 1, j: 1 => z1) => workgroup(z, y); compute_at(s, workgroup, to: shared); }";
    check(kernel, schedule, &[&[("N", 1), ("W", 3)], &[("N", 5), ("W", 4)]]);
}

/// Repeating a copy without a read in between was reported as a race.
#[test]
fn a_copy_made_again() {
    let kernel = "fn k<K>(x: f32[3, K], z: f32[K, 3]) -> y: f32[K, 3] {
        y[i, j] = sum(l in 0..K, q in 1..K) { x[2 - j, l] * z[l, j] };
    }";
    let schedule = "V: k for p where K <= 3 {
        tile(l: 1 => z3);
        distribute(j => thread(y));
        promote(z => c0, at: z3, to: shared);
        promote(x => c1, at: i, to: shared);
        serial(i);
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 3)]]);
}

/// The size condition of a tile made it harder to prove that packed components are in bounds.
#[test]
fn digits_beside_a_condition() {
    let kernel = "fn k<M>(x: i32[M]) -> y: bool[M, M] {
        let s[i, h]: i32[M, M] = x.clamp()[h / 3];
        y[i, h] = s[i, h] > 3;
    }";
    let schedule = "V: k for p where M % 3 == 0 {
        pack(s[a, b] => [a / 2, b / 4, b / 2 % 2, a % 2, b % 2]);
        s { tile(i_o: 4 shift); distribute(h_o => thread(x)); serial(i_o_o, i_o, h_oo, i, h); }
    }";
    check(kernel, schedule, &[&[("M", 9)], &[("M", 12)]]);
}

/// Ranges that a peeled axis bounds.
#[test]
fn bounded_by_a_peeled_axis() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M] { y[i] = sum(k in 0..i) { x[k] }; }";
    let schedule = "V: k for p {
        tile(i: 8 => z1) => workgroup(x);
        tile(i: 3 peel => z3);
        distribute(i => thread(y));
        unroll(z3);
    }";
    check(kernel, schedule, &[&[("M", 0)], &[("M", 7)], &[("M", 17)]]);
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] { y[i, j] = sum(k in 0..i) { x[k] * j as f32 }; }";
    let schedule = "V: k for p {
        split(i, [_, 2] peel => z1, z2);
        tile(z2: 1, z1: 2 => z3, j: 1 => z4) => workgroup(z, y, z);
        tile(k: 1 => z5);
        reorder(z5, z1);
        unroll(z1);
    }";
    check(kernel, schedule, &[&[("K", 0)], &[("K", 7)], &[("K", 8)]]);
}

/// Two peels of workgroups, one of them of a fused axis.
#[test]
fn workgroups_of_two_peels() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N, N] { y[i, j, h] = x[i] + (j * h) as f32; }";
    let schedule = "V: k for p where N % 8 == 0 {
        fuse(i, j => z1);
        tile(h: 3 peel => z2, z1: 3 peel => z3) => workgroup(y, z);
        distribute(z1 => thread(z));
        serial(h);
    }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 8)], &[("N", 24)]]);
}

/// A list names an axis that the read does not depend on, and that is empty where the result reads the same element.
#[test]
fn a_listed_axis_that_tells_nothing() {
    let kernel = "fn k<M>(x: f32[1], w: f32[M]) -> y: f32[M] { y[i] = (sum(k in 0..M) { x[k % 1] * w[k] }) + x[0]; }";
    let schedule = |to: &str| format!("V: k for p where M == 7 {{ promote(x => c[k], at: workgroup, to: {to}); unroll(i, k); }}");
    for to in ["shared", "register"] {
        check(kernel, &schedule(to), &[&[("M", 7)]]);
    }
}

/// All invocations read a tensor in place: the tail of a peeled axis names the same element in an iteration that does not read it.
#[test]
fn a_tail_in_place() {
    check(
        "fn k<N>(y: &mut i32[N, N]) { y[i, j] = min(q in 0..N) { y[i, j] }; }",
        "V: k for p {
            tile(j: 2 peel);
            tile(j_o: 2);
            distribute(j => thread(y));
            tile(q: 32 => z);
            distribute(q => thread(x), by: tree);
            reorder(j_o, z);
            serial(j_o_o);
            distribute(i => workgroup(x));
            unroll(j_o);
        }",
        &[&[("N", 1)], &[("N", 5)], &[("N", 34)]],
    );
}

/// The tail of partial results of a triangle.
#[test]
fn tails_of_partial_triangles() {
    check(
        "fn k<M>(x: f32[M]) -> y: f32[M, M] {
            let s[j]: f32[M] = x[j] * 2.0;
            y[i, j] = max(k in 0..j, l in 0..M) { s.pad(0.0)[j - 1] + x[l] };
        }",
        "V: k for p {
            y {
                rfactor(k => part);
                distribute(i => workgroup(z));
                serial(j);
            }
            part {
                tile(j: 1 => z1) => workgroup(z);
                tile(l: 2 peel => z2);
                distribute(k => workgroup(y));
                distribute(i => workgroup(x));
            }
            root(s);
        }",
        &[&[("M", 1)], &[("M", 2)], &[("M", 5)]],
    );
}

/// The number of points of fused ranges: of a triangle, by an axis that is a component, and of a peel's tiles.
#[test]
fn fused_ranges() {
    check(
        "fn k<N>(x: f32[N]) -> y: f32[N, N, N] { y[i, j, h] = sum(k in j..N, l in 0..j) { x[k] * x[l] + x[h] }; }",
        "V: k for p {
            fuse(j, h, i => z1);
            fuse(k, l => z2);
            serial(z1);
        }",
        &[&[("N", 1)], &[("N", 5)]],
    );
    check(
        "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 0..N) { x[k] * i as f32 }; }",
        "V: k for p {
            tile(k: 4 => z1);
            tile(z1: 4 => z2);
            fuse(z2, z1 => z3);
            split(z3, [2, 3, _] => z3, z4, z5);
            split(z5, [_, 2] => z6, z5);
            tile(z6: 1 => z8);
            serial(i);
        }",
        &[&[("N", 1)], &[("N", 16)], &[("N", 45)]],
    );
}

/// A result is written back under predicates equivalent to the writer's, with a fact.
#[test]
fn results_under_a_fact() {
    check(
        "fn k<N>(x: f32[N]) -> y: f32[N, N, N] { y[i, h, w] = x[h] + x[w] * i as f32; }",
        "V: k for p {
            split(h, [16, 2, _] => z1, z2, h);
            tile(i: 1 => z3, h: 5, w: 2) => workgroup(x, z, y);
            tile(z1: 5, h: 3) => thread(y, z);
            promote(y => r, at: z2, to: shared);
            unroll(h, z2);
            unroll(z1);
            distribute(w => thread(x));
            specialize(N <= 4);
        }",
        &[&[("N", 1)], &[("N", 4)], &[("N", 35)]],
    );
}

/// Tiles of the axis that counts the tail of a peeled axis: the minimum in its extent hid that they reach its end.
#[test]
fn tiles_of_what_a_peel_leaves() {
    let shifted = "V: k for p {
        tile(i: 2 => z1);
        tile(z1: 4 peel);
        tile(z1_o: 3 shift);
        serial(z1_o_o);
        serial(z1_o);
        unroll(z1);
        unroll(i);
    }";
    check("fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] + 1.0; }", shifted, &[&[("N", 24)], &[("N", 29)], &[("N", 67)]]);
    let split = "V: k for p where N % 8 == 0 {
        tile(i: 8 peel => z1);
        split(i, [_, 2] => i, z2);
        split(z1, [8, _] => z3, z1);
        split(z1, [2, 2, _] => z4, z5, z6);
        serial(z3);
        distribute(z4 => workgroup(z));
        distribute(z5 => workgroup(x));
        distribute(z6 => workgroup(y));
        distribute(i => workgroup(z));
        distribute(z2 => workgroup(x));
        distribute(j => workgroup(x));
    }";
    check(
        "fn k<N>(x: i32[N + 1]) -> y: i32[N + 1, N] { y[i, j] = x[i] * 3 - j; }",
        split,
        &[&[("N", 8)], &[("N", 40)], &[("N", 136)]],
    );
    let triangle = "V: k for p where N % 8 == 0 {
        tile(j: 1, i: 1) => workgroup(x, z);
        tile(l: 5 peel => z1);
        tile(l: 3 => z2);
    }";
    check(
        "fn k<N, M>(x: i32[M, N]) -> y: i32[M, N] { y[i, j] = sum(l in j..N) { x[i, l] }; }",
        triangle,
        &[&[("N", 8), ("M", 3)], &[("N", 24), ("M", 1)]],
    );
    let lanes = "V: k for p {
        tile(k: 2 peel => z1);
        tile(i: 8 => z2);
        distribute(i => workgroup(x));
        tile(z2: 2 => z3);
        distribute(z2 => workgroup(y));
        tile(z3: 2 shift, z1: 4 => z4);
        serial(z3_o);
        unroll(z3);
    }";
    check("fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = min(k in i..N) { x[k] }; }", lanes, &[&[("N", 48)], &[("N", 67)]]);
}

/// A packed tensor is read at a component of a clamped index, by a copy of the places of a block.
#[test]
fn digits_of_clamped_places() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] {
        let s[i, j]: f32[N, M] = 2.0 * x[i, j];
        y[i, j] = sum(k in 0..4) { s.clamp()[i / 4 * 4 + k, j] };
    }";
    let schedule = "V: k for p {
        pack(s[i, j] => [i / 3, j, i % 3]);
        tile(i: 8, j: 3) => workgroup(y, x);
        promote(s => c[k, j], at: i, to: shared);
        serial(i, j);
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 1)], &[("N", 9), ("M", 4)], &[("N", 14), ("M", 3)], &[("N", 0), ("M", 2)]]);
}

/// A loop ends as for the last `i` inside. Past the end of `i`, it runs although the end that `i` itself states would leave it empty.
#[test]
fn reads_of_copies_past_the_end_of_an_axis() {
    let kernel = "fn k<M, OH = M - 1>(x: f32[M], w: f32[OH]) -> y: f32[OH] {
        let s[j]: f32[M] = x[(M - 1) - j];
        y[i] = prod(k in i..OH) { s[k] * w[i] + (if 0 <= (i - 3) { s[i - 2] } else { 0.5 }) };
    }";
    let schedule = "V: k for p where OH <= 2 {
        tile(i: 4);
        tile(k: 2);
        promote(x => x_c, at: k_o, to: shared);
        serial(i);
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 2)], &[("M", 3)]]);
}

/// The hull of `l` ends at a quotient by `K`, which may be 0. A launch computes it all the same.
#[test]
fn fused_hulls() {
    let kernel = "fn k<K>(x: f32[K, K, 3]) -> y: f32[K, K] { y[i, j] = min(k in 0..3, l in 0..i) { x[i, l, k] }; }";
    let schedule = "V: k for p { fuse(i, j => p); reorder(l, p, k); fuse(l, k => q); reorder(p, q); serial(p); }";
    check(kernel, schedule, &[&[("K", 0)], &[("K", 1)], &[("K", 5)]]);
}

/// Some invocations fill a copy, and the loop around it may run past the end of an axis. The clamp of the read is for that axis.
#[test]
fn copies_by_some_invocations() {
    let kernel = "fn k<B, M>(x: f32[B, M, M]) -> y: f32[B, M] { y[z, i] = max(j in 0..M) { x[z, i, j] }; }";
    let schedule = "V: k for p where M % 16 == 0 {
        tile(j: 128 => z1);
        distribute(j => thread(x), by: tree);
        promote(x => c[j], at: z1, to: shared);
        fuse(z, i => z2);
        tile(z2: 1 guard, z1: 4);
        serial(z2_o);
    }";
    check(kernel, schedule, &[&[("B", 2), ("M", 16)], &[("B", 1), ("M", 144)], &[("B", 0), ("M", 32)]]);
}
