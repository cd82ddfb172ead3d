//! Shrunk findings of the differential tests about copies, stages in the nests of others, peels and reductions across invocations.
//! Each kernel was compiled or run wrongly before it was fixed.

use crate::harness::{Fill, check, profiles, refused, variant};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// The copy was placed outside of the workgroups.
#[test]
fn workgroups_after_a_copy() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = x[i, j] * 2.0; }";
    let schedule = "V: k for p where M <= 8 {
        tile(i: 2) => workgroup(y);
        promote(x => c, at: workgroup, to: shared);
        distribute(j => workgroup(x));
        serial(i);
    }";
    check(kernel, schedule, &[&[("N", 3), ("M", 8)], &[("N", 1), ("M", 5)]]);
}

/// A workgroup wrote back elements of other workgroups, and registers were indexed by the number of the workgroup.
#[test]
fn workgroups_within_a_copy() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, 3] { y[i, j] = x[i]; }";
    for to in ["shared", "register"] {
        let schedule = format!("V: k for p {{ promote(y => r, at: i, to: {to}); serial(i); distribute(j => workgroup(y)); }}");
        refused(kernel, &schedule, if to == "shared" { "each workgroup would have only one" } else { "registers" });
    }
    let kernel = "fn k<N>(x: f32[N, 3]) -> y: f32[N, 3] { y[i, j] = x[i, j]; }";
    let schedule = "V: k for p { promote(x => c, at: i, to: register); serial(i); distribute(j => workgroup(y)); }";
    refused(kernel, schedule, "holds the elements for all values of `j`");
}

/// A component of a fused axis is not a distance from the first component.
#[test]
fn registers_of_digits() {
    let kernel = "fn k<N>(x: f32[3], z: f32[N]) -> y: f32[3, 3] { y[i, j] = prod(k in 0..3) { x[i] }; }";
    let schedule = |to: &str| {
        format!(
            "V: k for p {{
                fuse(i, j => z1);
                tile(z1: 2) => workgroup(x);
                reorder(k, z1);
                promote(x => c, at: k, to: {to});
                unroll(z1);
            }}"
        )
    };
    refused(kernel, &schedule("register"), "registers need constant indices");
}

/// The element of the box that a clamped index reads was not proved.
#[test]
fn a_box_around_clamps() {
    let kernel = "fn k<M, K>(x: f32[M], z: f32[K]) -> y: f32[K] {
        let s[i]: f32[M] = x[i];
        y[i] = s.clamp()[i - 3] + z[i];
    }";
    let schedule = "V: k for p where M <= 11 { tile(i: 2) => workgroup(y); promote(x, at: workgroup, to: shared); serial(i); }";
    check(kernel, schedule, &[&[("M", 1), ("K", 1)], &[("M", 3), ("K", 9)], &[("M", 11), ("K", 14)], &[("M", 2), ("K", 0)]]);
}

/// The strategy was chosen for the loop before its range was widened.
#[test]
fn hulls_across_invocations() {
    let kernel = "fn k<K>(x: i32[K]) -> y: i32[K, K] { y[i, j] = sum(k in i..K) { x[k] }; }";
    let schedule = "V: k for p where K == 6 {
        distribute(k => workgroup(z), by: atomic);
        distribute(i => thread(x));
        serial(j);
    }";
    check(kernel, schedule, &[&[("K", 6)]]);
    let kernel = "fn k<M>(x: i32[M]) -> y: i32[M] { y[i] = sum(k in 0..i) { x[k] }; }";
    let schedule = "V: k for p {
        tile(k: 2 => z1) => workgroup(z), by: atomic;
        tile(k: 1 => z2) => workgroup(y), by: atomic;
        split(i, [2, _] => z3, z4);
        serial(z3);
        distribute(z4 => workgroup(z));
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 7)]]);
}

/// The tail of a range with a negative length is empty.
#[test]
fn the_tail_of_less_than_nothing() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[3] { y[i] = sum(k in 1..N) { x[k] } + i as f32; }";
    let schedule = "V: k for p { tile(k: 2 peel => z); serial(i); }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for n in [1, 2, 5] {
            variant.check(&[("N", n)], &[]);
        }
        for error in variant.refusals(&[("N", 0)]) {
            assert!(error.contains("N - 1"), "{error}");
        }
    }
}

/// For peeled partial results, the verifier required predicates that the branch makes unnecessary.
#[test]
fn peeled_partial_results() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] { y[i, j] = sum(k in 0..K) { x[k] }; }";
    let schedule = "V: k for p {
        tile(k: 2 => z1);
        rfactor(z1 => part);
        distribute(i, j => workgroup(y, x));
        part {
            tile(z1: 2 peel => z3) => workgroup(x);
            distribute(i, j => workgroup(z, y));
            distribute(z1 => thread(z));
        }
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 6)], &[("K", 9)]]);
}

/// A copy that invocations make together within the loops of a reduction was left behind when the partial results were combined.
#[test]
fn copies_of_a_team() {
    let kernel = "fn k<K>(x: f32[K, 4], z: f32[K]) -> y: f32[K] { y[i] = max(k in 0..4, l in 0..K) { x[i, k] * z[l] }; }";
    for schedule in [
        "V: k for p {
            tile(l: 2 => z1);
            distribute(l => thread(x), by: tree);
            promote(x => c, at: z1, to: shared);
            serial(i);
        }",
        "V: k for p {
            tile(l: 2 => z1);
            promote(z => c, at: z1, to: shared);
            promote(x => d, at: k, to: register);
            distribute(l => thread(x), by: tree);
            serial(i);
        }",
    ] {
        check(kernel, schedule, &[&[("K", 1)], &[("K", 5)]]);
    }
}

/// Out of bounds of a peeled axis, loops whose extent depends on the lanes used the extent of the first lane, without a limit.
#[test]
fn a_triangle_peeled_in_lanes() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M] { y[i] = max(q in i..M) { x[q] }; }";
    let schedule = "V: k for p where M == 6 {
        tile(i: 4 => z1) => workgroup(z);
        tile(q: 3 peel);
        vectorize(i, 2, unaligned: scalar);
        distribute(i => thread(x));
    }";
    refused(kernel, schedule, "which differs in lanes");
    let by_atomics = "V: k for p { tile(i: 2) => workgroup(x); tile(q: 2 peel); distribute(q_o => workgroup(z), by: atomic); vectorize(i, 2, unaligned: scalar); }";
    refused(&kernel.replace("f32", "i32"), by_atomics, "which differs in lanes");
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] { y[i, h] = max(k in 0..=i) { x[k] }; }";
    let schedule = "V: k for p {
        tile(i: 2, h: 2 => z1, k: 2 peel => z2);
        reorder(h, z2);
        distribute(i_o => workgroup(y));
        serial(z1);
        distribute(i, h => thread(z, x));
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 5)]]);
}

/// A peeled reduction together with tiles that are moved back.
#[test]
fn shifted_and_peeled() {
    let kernel = "fn k<N>(x: u32[N, N]) -> y: u32[N] { y[i] = min(k in 0..N) { x[i, k] }; }";
    for schedule in [
        "V: k for p { tile(k: 2 peel, i: 2 shift); reorder(i_o, k_o, k); serial(i_o); unroll(i); }",
        "V: k for p { tile(i: 2 shift); tile(k: 2 peel); reorder(i_o, k_o, k); serial(i_o); unroll(i); }",
    ] {
        check(kernel, schedule, &[&[("N", 2)], &[("N", 5)]]);
    }
}

/// A grid size depended on other workgroups.
#[test]
fn a_triangular_grid() {
    let kernel = "fn k<M>(x: u32[M]) -> y: u32[M] { y[i] = max(l in 0..i) { x[l] }; }";
    let schedule = "V: k for p { tile(i: 1) => workgroup(y); distribute(l => workgroup(z), by: atomic); }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 6)]]);
}

/// A copy under a loop whose range is widened later.
#[test]
fn a_copy_under_a_hull() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = min(k in 0..i) { x[k] }; }";
    let schedule = "V: k for p { promote(x => c, at: k, to: shared); tile(k: 1, i: 2 => z1); unroll(z1, i); }";
    check(kernel, &schedule.replace("for p", "for p where N <= 6"), &[&[("N", 1)], &[("N", 6)]]);
}

/// Partial results in a copy: the predicates of the reduction that they belong to had no effect.
#[test]
fn partial_results_promoted() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[5] { y[i] = sum(l in 0..K) { x[l] } + i as f32; }";
    let schedule = "V: k for p {
        tile(l: 2 => z1);
        rfactor(z1 => part);
        part {
            tile(z1: 1) => workgroup(y);
            distribute(i => workgroup(y));
            promote(part => r, at: workgroup, to: shared);
        }
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 7)]]);
}

/// Inactive lanes did not copy, but read the copy.
#[test]
fn registers_of_inactive_lanes() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[6, N, 6] { y[i, j, h] = x[j]; }";
    let schedule = "V: k for p where N <= 11 {
        promote(x => c, at: i, to: shared);
        tile(h: 2 => z2);
        distribute(h => lane(x));
        promote(c => d, at: z2, to: register);
        unroll(i);
        serial(j);
        unroll(z2);
    }";
    let profile =
        Profile { features: [Feature::Address, Feature::SubgroupSize].into(), subgroup: Some(8), ..Profile::vulkan_1_1() };
    let variant = variant(kernel, schedule, &profile);
    [1, 11].into_iter().for_each(|n| variant.check(&[("N", n)], &[]));
}

/// A stage within the nest of a reduction across invocations used these as its own.
#[test]
fn a_reduction_within_a_team() {
    let kernel = "fn k<K>(x: f32[K], z: f32[3]) -> y: f32[K] {
        let s[]: f32[] = max(l in 0..3) { z[l] };
        y[i] = max(k in 0..K) { s[] * x[k] };
    }";
    let schedule = "V: k for p {
        distribute(i => workgroup(x));
        tile(k: 32 => z1);
        distribute(k => thread(x), by: tree);
        compute_at(s, z1, to: register);
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 40)]]);
}

/// A tensor that a stage reads outside of its reduction cannot be copied within the reduction's loops.
#[test]
fn an_epilogue_of_a_copy() {
    let kernel = "fn k<M>(x: f32[M], b: f32[M]) -> y: f32[M] { y[i] = sum(l in 0..M) { x[l] } + b[i]; }";
    let schedule = "V: k for p where M == 7 { promote(b => c, at: i, to: register); reorder(l, i); unroll(i); }";
    refused(kernel, schedule, "reads outside its reduction");
}

/// A stage within another's nest, which was wrongly refused.
#[test]
fn peels_within_a_nest() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[5, K] {
        let s[i]: f32[5] = sum(l in 0..5) { x[l] };
        y[i, j] = s[i];
    }";
    let kernel = kernel.replace("x[l]", "x.clamp()[l]");
    let schedule = "V: k for p { compute_at(s, j, to: shared); unroll(i); serial(j); s { tile(l: 2 peel); } }";
    check(&kernel, schedule, &[&[("K", 1)], &[("K", 5)], &[("K", 8)]]);
}

/// A tile that is longer than its axis cannot be moved back.
#[test]
fn shifts_of_less_than_a_tile() {
    let kernel = "fn k<K, H = K / 2>(x: f32[K]) -> y: f32[H] { y[i] = x[i]; }";
    refused(kernel, "V: k for p where H == 4 { tile(i: 8 shift); unroll(i); }", "`shift` needs a whole tile of 8");
}

/// Partial results of a triangle are a box, whose part beyond the triangle is empty.
#[test]
fn partial_results_of_a_triangle() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = sum(l in i..N) { x[l] + 1.0 }; }";
    for schedule in [
        "V: k for p { rfactor(l => part); }",
        "V: k for p { tile(l: 1 => z1); rfactor(z1 => part); distribute(i => workgroup(y)); serial(j); }",
        "V: k for p { tile(l: 2 => z1); rfactor(z1 => part); part { tile(z1: 2) => workgroup(x); serial(z1, i, j); } }",
    ] {
        check(kernel, schedule, &[&[("N", 1)], &[("N", 2)], &[("N", 5)]]);
    }
}

/// Packed components of an index that depends on data are clamped.
#[test]
fn digits_of_data() {
    let kernel = "fn k<H>(ids: i32[3], x: f32[H, H + 1]) -> y: f32[3] { y[i] = x.pad(0.0)[ids[i], 1]; }";
    let schedule = "V: k for p { pack(x[a, b] => [a / 4, b / 2, a % 4, b % 2], when: caller); }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        variant.check_filled(&[("H", 6)], &[], &|name| if name == "ids" { Fill::Below(8) } else { Fill::Small });
    }
}

/// Out of bounds of a packed stage, a read at an index that is itself read is clamped, too.
#[test]
fn a_packed_gather() {
    let kernel = "fn k<N>(ids: i32[N], x: i32[N, N]) -> y: u32[] {
        let s[i, j]: i32[N, N] = max(k in 0..i) { x.clamp()[ids[1], 1] };
        y[] = s.pad(0)[1, 1] as u32;
    }";
    let schedule = "V: k for p { pack(s[a, b] => [a / 8, a % 8, b % 3, b / 3]); }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        variant.check_filled(&[("N", 7)], &[], &|name| if name == "ids" { Fill::Below(9) } else { Fill::Small });
    }
}

/// The launch checks that a product of sizes is large enough, which the prover cannot derive again.
#[test]
fn shifts_of_what_is_fused() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] { y[i, j] = x[j]; }";
    let schedule = "V: k for p { fuse(i, j => z); tile(z: 2 shift); serial(z_o, z); }";
    check(kernel, schedule, &[&[("M", 2)], &[("M", 3)]]);
}

/// A part with one value is the whole axis, and an axis without a loop has one value.
#[test]
fn atomics_of_one_part() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = sum(k in 0..N) { x[k] }; }";
    let schedule = "V: k for p where N <= 2 { tile(k: 2 => z) => workgroup(y), by: atomic; distribute(i => workgroup(x)); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 2)]]);
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { y[i] = sum(k in 0..i) { x[k] }; }";
    check(kernel, "V: k for p where N == 1 { tile(k: 1 => z) => workgroup(y), by: atomic; }", &[&[("N", 1)]]);
}

/// An axis that is known to be shorter than a tile does not have full tiles with predicates.
#[test]
fn no_full_tiles() {
    let kernel = "fn k<I, O = (I - 2) / 3 + 1>(x: f32[I]) -> y: f32[I, O] { y[j, h] = x[j]; }";
    let schedule = "V: k for p where I == 3 { tile(j: 1, h: 2 peel) => workgroup(x, z); distribute(h => thread(y)); }";
    check(kernel, schedule, &[&[("I", 3)]]);
}

/// A result is promoted under a loop, and an inner loop is moved outside of it.
#[test]
fn a_result_around_which_loops_move() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] { y[i, j] = x[j]; }";
    let schedule = "V: k for p where K == 8 { serial(i, j); promote(y => r, at: i, to: shared); reorder(j, i); }";
    refused(kernel, schedule, "each of its iterations would have only one");
}

/// The fill of a copy out of a bound that depends on a listed axis.
#[test]
fn fills_of_a_triangle() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] { y[i, j] = sum(k in 0..i) { x[k] }; }";
    let schedule = "V: k for p {
        tile(j: 1 => z1, i: 2 => z2) => workgroup(x, z);
        tile(k: 2);
        reorder(k_o, i);
        distribute(i => thread(y));
        promote(x => c[i, k], at: k_o, to: shared, fill: 0.0);
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 6)]]);
}

/// The tail of a peel has one point, but its unrolled loop is as long as a tile, including inside of loops that depend on it.
#[test]
fn a_triangle_under_a_tail() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[5, 5] { y[i, j] = sum(k in 0..j) { x.clamp()[k] }; }";
    let schedule = "V: k for p { tile(j: 2 peel => z2) => workgroup(y); distribute(i => thread(y)); unroll(j); }";
    check(kernel, schedule, &[&[("N", 5)]]);
}

/// The result's copy has its own axes, so that a stage at a fused loop lost its place.
#[test]
fn a_stage_at_a_fused_loop() {
    let kernel = "fn k<N, M>(x: f32[N], z: f32[M]) -> y: f32[N, M] {
        let s[j]: f32[N] = x[j];
        y[i, j] = s.clamp()[j] + z[j];
    }";
    let schedule = "V: k for p {
        compute_at(s, j, to: register);
        fuse(i, j => z1);
        promote(y => r, at: z1, to: shared);
        serial(z1);
    }";
    check(kernel, schedule, &[&[("N", 1), ("M", 3)], &[("N", 4), ("M", 2)]]);
}

/// A listed axis is empty, but the copy still has an element.
#[test]
fn a_list_of_nothing() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] { y[i, j] = sum(k in 1..1) { x.clamp()[k] }; }";
    let schedule = "V: k for p where M <= 4 { promote(x => c[k], at: j, to: shared); unroll(i); serial(j); }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 4)]]);
}

/// An existing copy is not filled by a later `round_up`.
#[test]
fn rounded_up_behind_a_copy() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K] { y[i] = sum(k in i..1) { x[k] }; }";
    let schedule = "V: k for p where K == 1 { promote(x => c, at: k, to: shared); tile(k: 2 round_up => z1); }";
    refused(kernel, schedule, "`round_up` would change the meaning of `sum`");
}

/// Registers in a vector that is written component by component were read before they were initialized.
#[test]
fn components_of_registers() {
    let kernel = "fn k<N>(x: i32[N]) -> y: bool[N, 6] { y[i, j] = x[i] > 10; }";
    let schedule = "V: k for p {
        distribute(i => workgroup(x));
        promote(x => c[j], at: workgroup, to: register);
        unroll(j);
        promote(c => d, at: workgroup, to: register);
    }";
    check(kernel, schedule, &[&[("N", 3)]]);
}

/// Registers that each invocation of a reduction fills, placed around the reduction's loop, were filled outside of it.
#[test]
fn registers_of_a_team() {
    let kernel = "fn k<K>(x: i32[K, 40]) -> y: i32[K] { y[i] = min(k in 0..40) { x[i, k] }; }";
    let schedule = "V: k for p {
        split(i, [2, _] => z1, i);
        tile(k: 32 => z3);
        distribute(k => thread(x), by: tree);
        tile(i: 2) => workgroup(z);
        promote(x => c, at: z3, to: register);
        serial(z1);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 5)]]);
    let kernel = "fn k<K>(x: i32[K]) -> y: i32[] {
        let s[i]: i32[K] = min(k in 0..K) { x[k] };
        y[] = s.clamp()[1];
    }";
    let schedule = "V: k for p {
        s { tile(k: 64 => z1); rfactor(z1 => part); }
        part {
            split(z1, [2, _] => z1, z2);
            tile(k: 32 => z3);
            distribute(k => thread(x), by: tree);
            tile(i: 2, z2: 2) => workgroup(z, x);
            promote(x => c, at: z2, to: register);
            unroll(i);
            serial(z1);
            unroll(z2, z3);
        }
    }";
    check(kernel, schedule, &[&[("K", 1)], &[("K", 5)]]);
}

/// A peeled axis around a reduction across invocations.
#[test]
fn a_tail_beside_a_team() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[7] { y[h] = sum(k in 0..M) { x[k] } + h as f32; }";
    for peel in ["h: 3 peel", "h: 4 peel"] {
        let schedule = format!(
            "V: k for p {{
                tile({peel});
                tile(k: 16 => z);
                distribute(k => thread(x), by: tree);
                distribute(h => thread(z));
                serial(h_o);
            }}"
        );
        check(kernel, &schedule, &[&[("M", 1)], &[("M", 40)]]);
    }
}

/// A result is promoted at a loop that is fused with inner loops: the whole copy was written back for each element.
#[test]
fn a_result_at_what_is_fused() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, 3, 3] { y[i, j, h] = x[i]; }";
    let schedule = "V: k for p { promote(y => r, at: i, to: shared); fuse(i, j, h => z); serial(z); }";
    refused(kernel, schedule, "holds the results of all values of `j`");
}

/// The loop at which a result is promoted was confused with a loop that writes it back, if it is fused.
#[test]
fn a_result_at_a_fused_loop() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N, N] { y[i, j, h] = x[i] + x[j] * x[h]; }";
    let schedule = "V: k for p {
        fuse(i, h => z);
        tile(j: 2) => workgroup(z);
        distribute(j => thread(z));
        promote(y => r, at: z, to: shared);
        serial(z);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 5)]]);
}

/// Several peeled axes around a triangle.
#[test]
fn tails_of_tails() {
    let kernel = "fn k<M>(x: f32[7, 7, M]) -> y: f32[7, 7, M] { y[i, j, h] = prod(k in i..7) { x[i, j, h] + k as f32 }; }";
    let schedule = "V: k for p {
        tile(i: 3 peel => z1, j: 2 peel => z3) => workgroup(z, x);
        split(i, [_, 2] => z4, z5);
        distribute(z4 => thread(z));
        distribute(z5 => thread(x));
        serial(j);
        distribute(h => workgroup(x));
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 3)]]);
}

/// The full tiles of a peeled axis are tiled again.
#[test]
fn tiles_of_full_tiles() {
    let kernel = "fn k<M, N = (M - 1) * 2 + 4>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] + j as f32; }";
    let schedule = "V: k for p {
        tile(i: 1 => z1, j: 3 peel => z2);
        tile(z2: 4 => z5) => workgroup(y);
        tile(z1: 1) => workgroup(x);
        unroll(z2);
        serial(j);
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 4)], &[("M", 11)]]);
}

/// A grid of a product and another count was not proved to reach the product.
#[test]
fn grids_of_products() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = x[i, j]; }";
    let sizes: &[&[(&str, i64)]] = &[&[("N", 1), ("M", 1)], &[("N", 5), ("M", 7)], &[("N", 2), ("M", 16)]];
    for schedule in [
        "V: k for p { tile(i: 2 peel => z1); fuse(j, i, z1 => z5); distribute(z5 => workgroup(z)); }",
        "V: k for p {
            tile(i: 2);
            fuse(i_o, i => z4);
            split(z4, [2, _, 2] => z5, z6, z7);
            distribute(z5 => workgroup(y));
            distribute(z6 => workgroup(y));
            distribute(j => workgroup(x));
            unroll(z7);
        }",
        "V: k for p {
            tile(j: 2 peel => z1, i: 2);
            fuse(z1, i, j => z2);
            distribute(z2 => workgroup(y));
            distribute(i_o => workgroup(x));
        }",
    ] {
        check(kernel, schedule, sizes);
    }
    let kernel = "fn k<M, N = M - 4>(x: f32[M]) -> y: f32[N, N, M] { y[i, j, h] = x[h] + i as f32; }";
    for schedule in [
        "V: k for p { fuse(i, j => z1); tile(z1: 2 peel) => workgroup(x); distribute(z1 => thread(z)); serial(h); }",
        "V: k for p { fuse(i, j, h => z1); tile(z1: 2 peel => z2) => workgroup(x); unroll(z1); }",
    ] {
        check(kernel, schedule, &[&[("M", 5)], &[("M", 9)]]);
    }
}

/// The pieces of a widened range use other names for the loops around both.
#[test]
fn peeled_hulls() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = max(k in i..N) { x[k] }; }";
    let schedule = "V: k for p {
        tile(i: 2 => z1) => workgroup(z);
        tile(k: 2);
        reorder(k_o, i);
        distribute(i => thread(y));
        tile(k_o: 2 peel);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 9)]]);
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 0..i) { x[k] }; }";
    let schedule = "V: k for p {
        tile(i: 3 peel) => workgroup(x);
        tile(k: 1 => z1);
        reorder(z1, i);
        unroll(i);
        tile(z1: 2 peel);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 11)]]);
}

/// A placed stage reads at an index that it reads: the inner read was clamped first, and the outer read was no longer found.
#[test]
fn a_placed_gather() {
    let kernel = "fn k<N>(ids: i32[N], x: i32[N, N]) -> y: i32[N, N] {
        let s[i, j]: i32[N, N] = x.clamp()[ids[i], j] - ids[i];
        y[i, j] = s[i, j];
    }";
    let schedule = "V: k for p {
        tile(i: 2 => z1, j: 2 => z2) => workgroup(z, y);
        compute_at(s, workgroup, to: register);
        unroll(i, j);
    }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for n in [1, 5] {
            variant.check_filled(&[("N", n)], &[], &|name| if name == "ids" { Fill::Below(9) } else { Fill::Small });
        }
    }
}

/// Tiles that are moved back begin at a position that depends on a size, and registers were indexed by it.
#[test]
fn registers_of_shifted_tiles() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }";
    let schedule = "V: k for p where N <= 6 { tile(i: 2 shift); promote(x => c, at: workgroup, to: register); unroll(i_o, i); }";
    refused(kernel, schedule, "known only at run time");
}
