//! Shrunk findings of the differential tests about partial results, reductions across invocations and the code around them, and
//! results in copies. Each kernel was compiled or run wrongly before it was fixed.

use crate::harness::{check, instructions, of_subgroups, profiles, refused, variant};
use spirv::Op;

/// Registers that a reduction's result reads were owned by one of the invocations that share the reduction, although the result is
/// no longer distributed across these.
#[test]
fn registers_of_a_result() {
    let kernel = "fn k<N, K>(x: f32[N, K], z: f32[N]) -> y: f32[N] {
        let s[i]: f32[N] = z[i] * 2.0;
        y[i] = sum(k in 0..K) { x[i, k] } + s[i];
    }";
    let sizes: [&[(&str, i64)]; 3] = [&[("N", 1), ("K", 1)], &[("N", 5), ("K", 9)], &[("N", 4), ("K", 33)]];
    let schedule = "V: k for p {
        tile(k: 8 => z1);
        compute_at(s, i, to: register);
        promote(x => c, at: z1, to: shared);
        distribute(k => thread(x), by: tree);
        serial(i);
    }";
    check(kernel, schedule, &sizes);
    let kernel = "fn k<N, K>(x: f32[N, K], z: f32[N]) -> y: f32[N] {
        y[i] = sum(k in 0..K) { x[i, k] * z[i] } + z[i];
    }";
    let schedule = "V: k for p {
        tile(i: 2) => workgroup(y);
        tile(k: 8 => z1);
        distribute(i => thread(y));
        promote(z => z_r, at: workgroup, to: register);
        promote(x => c, at: z1, to: shared);
        distribute(k => thread(x), by: tree);
    }";
    check(kernel, schedule, &sizes);
}

/// Code that was moved out of the loops over partial results kept a predicate that excluded inactive invocations.
#[test]
fn registers_of_inactive_invocations() {
    let kernel = "fn k<N>(x: f32[N], z: f32[2]) -> y: f32[N, N] {
        let s[]: f32[] = max(q in 0..2) { z[q] };
        y[i, j] = (max(k in 0..j) { x[k] }) + s[];
    }";
    let schedule = "V: k for p {
        tile(k: 2 => z1);
        distribute(k => lane(x), by: subgroup);
        tile(i: 2) => workgroup(z);
        compute_at(s, workgroup, to: register);
        unroll(i);
        distribute(j => workgroup(x));
    }";
    let made = variant(kernel, schedule, &of_subgroups(8));
    for n in [1, 3, 6] {
        made.check(&[("N", n)], &[]);
    }
    // Copies that the result reads: of a tensor, and of another copy.
    let kernel = "fn k<N>(x: f32[N], z: f32[N]) -> y: f32[N] { y[i] = (sum(k in 0..3) { x[i] * k as f32 }) + z[i]; }";
    let copies = "tile(i: 2 => z1) => workgroup(z); promote(z => c, at: workgroup, to: register); unroll(i);";
    let of_copies = "split(i, [_, 2] => z1, i); promote(z => c, at: z1, to: shared); promote(c => r, at: z1, to: register);
        unroll(i); serial(z1);";
    for placed in [copies, of_copies] {
        let schedule = format!("V: k for p {{ {placed} distribute(k => lane(x), by: subgroup); }}");
        let made = variant(kernel, &schedule, &of_subgroups(8));
        for n in [1, 2, 7] {
            made.check(&[("N", n)], &[]);
        }
    }
}

/// Full tiles that are empty for all sizes, around the tail of another axis.
#[test]
fn tiles_of_no_points() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K] { y[i] = sum(k in 0..=i) { x[k] }; }";
    let of_workgroups = "tile(i: 4 peel) => workgroup(y); tile(k: 4 peel);";
    let schedules = [
        (3, format!("{of_workgroups} unroll(i);")),
        (3, format!("{of_workgroups} distribute(i => workgroup(z));")),
        (3, format!("{of_workgroups} distribute(i => thread(x));")),
        (
            8,
            "split(i, [2, 3, _] => a, b, c); tile(c: 2 peel => d) => workgroup(z); tile(k: 8 peel); unroll(a, b); serial(c);"
                .into(),
        ),
        (3, "tile(i: 4 peel => t); tile(k: 4 peel); serial(t); unroll(i);".into()),
    ];
    for (most, schedule) in schedules {
        let sizes: Vec<[(&str, i64); 1]> = (1..=most).map(|k| [("K", k)]).collect();
        let sizes: Vec<&[(&str, i64)]> = sizes.iter().map(|size| &size[..]).collect();
        check(kernel, &format!("V: k for p where K <= {most} {{ {schedule} }}"), &sizes);
    }
}

/// A copy in registers of a stage that each invocation computes in registers: the stage did not have an owner, because the copy did
/// not have one yet.
#[test]
fn registers_of_registers() {
    let kernel = "fn k<N>(x: f32[N], z: f32[N]) -> y: f32[2, 2] {
        let s[h]: f32[N] = z[h] * 2.0;
        y[i, j] = x.clamp()[1] + s.pad(0.0)[j];
    }";
    let schedule = "V: k for p {
        promote(x => c, at: i, to: shared);
        distribute(j => thread(y));
        compute_at(s, thread, to: register);
        unroll(i);
        promote(s, at: thread, to: register);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 2)], &[("N", 7)]]);
}

/// Partial results of partial results named an axis of the first whose range was widened.
#[test]
fn partial_results_of_a_hull() {
    let kernel = "fn k<N, Q>(x: i32[N, Q]) -> y: i32[N] { y[i] = sum(l in 0..i + 1, q in 0..Q) { x[l, q] * (l as i32 + 1) }; }";
    let schedule = "V: k for p {
        rfactor(l => part);
        serial(i);
        part { tile(q: 4 => q_o); rfactor(q_o => part_part); serial(l); distribute(i => workgroup(y)); }
        part_part { serial(q_o, l); distribute(i => workgroup(x)); }
    }";
    let sizes: [&[(&str, i64)]; 3] = [&[("N", 1), ("Q", 1)], &[("N", 5), ("Q", 9)], &[("N", 6), ("Q", 4)]];
    check(kernel, schedule, &sizes);
    let kernel =
        "fn k<N, Q>(x: i32[N, 3, Q]) -> y: i32[N] { y[i] = max(l in 0..N, m in 0..3, q in 0..Q) { x[l, m, q] * (l as i32 + 1) }; }";
    let schedule = "V: k for p {
        fuse(l, m => f);
        rfactor(f => part);
        serial(i);
        part { rfactor(q => part_part); serial(f); distribute(i => workgroup(y)); }
        part_part { serial(q, f); distribute(i => workgroup(x)); }
    }";
    check(kernel, schedule, &sizes);
}

/// The verifier required a predicate on a part that is empty for inactive invocations.
#[test]
fn parts_of_inactive_invocations() {
    let kernel = "fn k<N, K>(x: f32[K], z: f32[N]) -> y: f32[N] { y[i] = sum(l in 0..K) { x[l] * z[i] }; }";
    let schedule = "V: k for p {
        tile(i: 2) => workgroup(y);
        distribute(i => lane(x));
        tile(l: 2 => l_o);
        distribute(l => subgroup(y), by: tree);
        promote(x => c, at: l_o, to: shared);
    }";
    let variant = variant(kernel, schedule, &of_subgroups(8));
    for (n, k) in [(1, 1), (3, 5), (4, 8)] {
        variant.check(&[("N", n), ("K", k)], &[]);
    }
}

/// An axis that was fused with another one had its own dimension in the copy, besides the fused axis.
#[test]
fn a_result_of_fused_axes() {
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] { y[i, j] = max(k in 0..2) { x[i] + k as f32 }; }";
    let schedule = "V: k for p where K == 2 {
        tile(i: 2 => z1);
        fuse(i, j => z3);
        promote(y => r, at: workgroup, to: shared);
        distribute(z3 => thread(x));
    }";
    check(kernel, schedule, &[&[("K", 2)]]);
    let schedule = "V: k for p where K == 4 {
        tile(i: 2 => z1);
        fuse(i, j => z3);
        promote(y => r, at: z1, to: shared);
        distribute(z3 => thread(x));
        serial(z1);
    }";
    check(kernel, schedule, &[&[("K", 4)]]);
}

/// Points of a tile that is moved back were distributed to invocations, so that two of them wrote one element.
#[test]
fn a_result_of_moved_tiles() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, h] = x[i] + x[h]; }";
    let schedule = "V: k for p {
        tile(i: 2) => workgroup(y);
        tile(h: 2 shift => z1);
        reorder(z1, i);
        promote(y => r, at: z1, to: shared);
        distribute(i => thread(y));
        unroll(h);
        serial(z1);
    }";
    check(kernel, schedule, &[&[("N", 2)], &[("N", 5)], &[("N", 6)]]);
}

/// A copy of partial results kept their outermost axis, and with it the loops of the surrounding nest.
#[test]
fn a_copy_of_partial_results() {
    let kernel = "fn k<N, K>(x: i32[N, K]) -> y: i32[N] { y[i] = max(l in 0..K) { x[i, l] }; }";
    let schedule = "V: k for p {
        tile(l: 4 => z1);
        rfactor(z1 => part);
        serial(i);
        part {
            tile(i: 2) => workgroup(x);
            promote(part => r, at: z1, to: shared);
            serial(z1);
            distribute(i => thread(z));
        }
    }";
    check(kernel, schedule, &[&[("N", 1), ("K", 1)], &[("N", 5), ("K", 9)], &[("N", 6), ("K", 8)]]);
}

/// Equal extents of a tail and of the full tiles that are written differently.
#[test]
fn equal_extents_in_two_copies() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = max(k in 0..N, l in i..N) { x[l] * x[k] }; }";
    let schedule = "V: k for p {
        tile(j: 1, i: 5) => workgroup(x, z);
        tile(l: 4 peel);
        distribute(i => workgroup(y));
        tile(l_o: 8, k: 2 peel => z2);
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 5)], &[("N", 9)]]);
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] { y[i, j] = sum(k in 0..M, l in 0..=j) { x[l] * x[k] }; }";
    let schedule = "V: k for p {
        fuse(i, j => z1);
        tile(z1: 2 peel) => workgroup(x);
        tile(l: 2, k: 2 peel => z2);
        distribute(z1 => workgroup(z));
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 4)], &[("M", 5)]]);
}

/// Peels of a reduction's axis and of a parallel one.
#[test]
fn peels_across_lanes() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M] { y[i] = prod(k in 0..M) { x[k] }; }";
    let schedule = "V: k for p {
        tile(i: 4) => workgroup(y);
        tile(k: 2 => z1);
        distribute(k => lane(x), by: tree);
        tile(z1: 2 peel => z2, i: 3 peel);
        unroll(i_o, i);
    }";
    let variant = variant(kernel, schedule, &of_subgroups(8));
    for m in [1, 3, 4, 9] {
        variant.check(&[("M", m)], &[]);
    }
    let schedule = "V: k for p {
        tile(i: 4) => workgroup(y);
        tile(k: 4 peel => z1);
        tile(i: 3 peel);
        reorder(i_o, z1, k, i);
        serial(i_o);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 4)], &[("M", 9)]]);
}

/// A stage within another's nest used more invocations than that nest has.
#[test]
fn invocations_of_a_placed_stage() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] {
        let s[i, j]: f32[N, N] = x[i] + x[j];
        y[i, j] = s[i, j];
    }";
    let schedule = "V: k for p {
        tile(i: 4, j: 2) => workgroup(x, y);
        distribute(j => thread(z));
        compute_at(s, workgroup, to: shared);
        serial(i);
        s { fuse(i, j => z1); tile(z1: TARGET => z2); distribute(z1 => thread(linear)); serial(z2); }
    }";
    for target in ["6", "8"] {
        check(kernel, &schedule.replace("TARGET", target), &[&[("N", 1)], &[("N", 5)]]);
        let alone = schedule.replace("distribute(j => thread(z));", "").replace("serial(i)", "serial(i, j)");
        check(kernel, &alone.replace("TARGET", target), &[&[("N", 1)], &[("N", 5)]]);
    }
    let enough = schedule.replace("thread(z)", "thread(x)");
    check(kernel, &enough.replace("TARGET", "6"), &[&[("N", 1)], &[("N", 5)]]);
    check(kernel, &schedule.replace("TARGET", "2"), &[&[("N", 1)], &[("N", 5)]]);
}

/// The invocation that writes a copy of one element also writes the next one.
#[test]
fn one_element_again() {
    let kernel = "fn k<M>(x: f32[M], z: f32[M]) -> y: f32[M, M, M] { y[i, j, h] = sum(k in 0..M) { x[k] * z[j] }; }";
    let schedule = "V: k for p {
        tile(k: 2 => z3);
        promote(z => c, at: j, to: shared);
        promote(x, at: z3, to: shared);
        distribute(k => thread(y), by: tree);
        serial(i);
        serial(j);
        serial(h);
    }";
    check(kernel, schedule, &[&[("M", 1)], &[("M", 6)]]);
}

/// A copy that the result of a reduction across invocations reads, and a copy of it within the reduction's loops: the outer copy
/// was owned by invocations that the result does not know.
#[test]
fn a_copy_for_the_result_and_for_another_copy() {
    let kernel = "fn k<M>(x: f32[M]) -> y: f32[M, M] {
        let s[]: f32[] = 1.0;
        y[i, j] = ((sum(k in 0..M) { x[j] }) + x[j]) + s[];
    }";
    let schedule = "V: k for p {
        tile(j: 2 => z1) => workgroup(x);
        tile(k: 2);
        compute_at(s, i, to: shared);
        promote(x => c, at: workgroup, to: register);
        unroll(j);
        tile(k_o: 4 => z2);
        distribute(k_o => lane(x), by: tree);
        promote(c, at: k, to: register);
        serial(i);
    }";
    let made = variant(kernel, schedule, &of_subgroups(8));
    for m in [1, 3, 9, 17] {
        made.check(&[("M", m)], &[]);
    }
}

/// An axis with one value does not have a loop. The search for an axis that was fused with it, and depends on it, did not end.
#[test]
fn fused_with_what_bounds_it() {
    refused(
        "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 0..1, l in 0..k + 1) { x[i] }; }",
        "V: k for p { tile(l: 1 => z1); fuse(k, z1 => z2); serial(i); }",
        "of `z1` depends on an axis that it is fused with",
    );
    // Partial results are a box.
    let kernel = "fn k<N>(x: f32[N]) -> y: bool[1] { y[i] = all(l in 0..i + 3) { l > i }; }";
    let schedule = "V: k for p {
        tile(l: 2 => z1);
        rfactor(z1 => part);
        part {
            tile(z1: 2 peel) => workgroup(z);
            fuse(i, z1 => z2);
            distribute(z2 => workgroup(x));
        }
    }";
    check(kernel, schedule, &[&[("N", 3)]]);
}

/// Partial results of partial results, where the outer ones' axis is a peeled triangle's.
#[test]
fn peeled_partial_results_of_partial_results() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = max(k in 0..=i, l in 0..N) { x[l] + k as f32 }; }";
    let schedule = "V: k for p {
        rfactor(k => part);
        part {
            rfactor(l => part_part);
            tile(i: 1 => z1, k: 2 peel) => workgroup(x, z);
            tile(l: 2 peel => z3);
            distribute(k => thread(x));
            serial(j);
        }
        serial(i);
        serial(j);
    }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 5)], &[("N", 8)]]);
    let kernel = "fn k<K>(x: f32[K]) -> y: f32[K, K] {
        y[i, j] = min(l in 0..3, q in i..K) { (x[q] + l as f32) * j as f32 };
    }";
    let schedule = "V: k for p {
        rfactor(q => part);
        serial(i);
        serial(j);
        part {
            tile(l: 1 => z1);
            rfactor(z1 => part_part);
            tile(j: 8 => z3, q: 2 peel => z4) => workgroup(y, z);
            distribute(i => workgroup(y));
            vectorize(j, 4, unaligned: scalar);
            distribute(q => workgroup(y));
            serial(j);
        }
    }";
    check(kernel, schedule, &[&[("K", 0)], &[("K", 5)], &[("K", 26)]]);
}

/// The final reduction ends at its own axis, independently of the partial stage's axis.
#[test]
fn partial_results_of_a_triangle() {
    let kernel = "fn k<N>(x: u32[N]) -> y: u32[N, 1, N] { y[i, j, h] = min(k in j..1) { x[i] + (k + h) as u32 }; }";
    let schedule = "V: k for p where N == 3 {
        tile(k: 1 => z1);
        rfactor(z1 => part);
        unroll(i);
        unroll(h);
        part {
            tile(h: 1 => z2, j: 1);
            fuse(j_o, i => z3);
            distribute(z2 => workgroup(z));
            distribute(z3 => thread(y));
        }
    }";
    check(kernel, schedule, &[&[("N", 3)]]);
}

/// Partial results of an empty axis: the index of one was the literal -1, which is not valid in a module.
#[test]
fn partial_results_of_nothing() {
    let kernel = "fn k<M>(x5: f32[M]) -> y0: f32[] { y0[] = max(k in 1..1) { 1.0 }; }";
    let schedule = "V: k for p { tile(k: 1 => z1); rfactor(z1 => y0_part); y0_part { distribute(z1 => thread(x)); } }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        let modules = variant.program.dispatches.iter().map(|d| instructions(&d.spirv));
        let negative = modules.flatten().any(|(opcode, words)| opcode == Op::Constant as u32 && words.last() == Some(&u32::MAX));
        assert!(!negative);
        variant.check(&[("M", 0)], &[]);
    }
}

/// A placed part ends at an unrolled axis. The analysis of the first iteration, whose loop has one value, was reused for the
/// others: neighbours were loaded together, although the last one has no neighbour.
#[test]
fn groups_in_loops_that_end_elsewhere() {
    let kernel = "fn k<N>(x: u32[N]) -> y: u32[N] { y[i] = max(k in 0..=i) { x[k] }; }";
    let schedule = "V: k for p where N == 7 {
        tile(k: 2 => z1);
        rfactor(k => part);
        compute_at(part, i, to: register);
        unroll(k);
        unroll(i);
    }";
    check(kernel, schedule, &[&[("N", 7)]]);
}
