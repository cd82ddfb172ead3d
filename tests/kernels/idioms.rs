//! Schedules as people write them for tiles of particles, stencils and blocks.

use crate::harness::{check, nest};

const NBODY: &str = "fn nbody<N>(p: f32[N, 3], m: f32[N]) -> a: f32[N] {
    a[i] = sum(j in 0..N) {
        let dx = p[j, 0] - p[i, 0];
        let dy = p[j, 1] - p[i, 1];
        let dz = p[j, 2] - p[i, 2];
        m[j] * (dx * dx + dy * dy + dz * dz)
    };
}";

/// A tile of the acting particles is in shared memory, and the particle that is acted on is in registers: two copies of one tensor.
#[test]
fn particles() {
    let threads = "tile(i: 8) => workgroup(x); distribute(i => thread(x)); tile(j: 8 => j_o);";
    let schedules = [
        "promote(p => p_s[j, *], at: j_o, to: shared); promote(p => p_i[*], at: thread, to: register);",
        "promote(p => p_i[*], at: thread, to: register); promote(p => p_s[j, *], at: j_o, to: shared, row_pad: 1);
         promote(a => a_s[*], at: workgroup, to: shared); promote(p_s => p_r[*], at: j, to: register);",
    ];
    for copies in schedules {
        let schedule = format!("V: nbody for p {{ {threads} {copies} }}");
        check(NBODY, &schedule, &[&[("N", 24)], &[("N", 9)], &[("N", 1)], &[("N", 0)]]);
    }
}

/// A block determines how a shared result is written back, with the axes of the copy; or a fact allows vectors.
#[test]
fn a_result_written_back() {
    let kernel = "fn mm<M, N, K>(a: f32[M, K], w: f32[N, K]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * w[j, k] }; }";
    let tiles =
        "tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(c => c_s, at: workgroup, to: shared);";
    let schedule = format!("V: mm for p {{ {tiles} c_s {{ distribute(i, j => thread(y, x)); }} }}");
    check(kernel, &schedule, &[&[("M", 9), ("N", 17), ("K", 5)], &[("M", 1), ("N", 1), ("K", 0)]]);
    let schedule = format!(
        "V: mm for p {{ {tiles} c_s {{ fuse(i, j => t); tile(t: 32 => t_o); distribute(t => thread(linear)); serial(t_o); }} }}"
    );
    check(kernel, &schedule.replace("tile(i: 8, j: 16)", "tile(i: 2, j: 16)"), &[&[("M", 9), ("N", 17), ("K", 5)]]);
    let schedule = format!("V: mm for p where N % 4 == 0 {{ {tiles} }}");
    check(kernel, &schedule, &[&[("M", 9), ("N", 20), ("K", 5)]]);
}

/// Two steps of a stencil that keeps its border share a tile. Reads are clamped, and a clamp does not enlarge a range.
#[test]
fn two_stencil_steps() {
    let kernel = "fn jacobi<N>(x: f32[N]) -> y: f32[N] {
        let t[i]: f32[N] = if i > 0 && i < N - 1 { x[i - 1] + x[i + 1] } else { x[i] };
        y[i] = if i > 0 && i < N - 1 { t[i - 1] + t[i + 1] } else { t[i] };
    }";
    let schedule = "V: jacobi for p { tile(i: 32) => workgroup(x); distribute(i => thread(x)); promote(x => x_s, at: workgroup, to: shared); }";
    assert!(nest(kernel, schedule).contains("shared x_s: f32[36]"), "{}", nest(kernel, schedule));
    check(kernel, schedule, &[&[("N", 1)], &[("N", 2)], &[("N", 3)], &[("N", 33)], &[("N", 64)], &[("N", 65)], &[("N", 0)]]);
}

/// A stage placed below a chain of clamped neighbourhoods, also if the stage in between is inlined in its reader.
#[test]
fn a_stage_below_an_inlined_chain() {
    let kernel = "fn chain<H, OH = (H - 1) / 2 + 1>(x: f32[H]) -> y: f32[OH] {
        let a[i]: f32[H] = sum(u in 0..3) { x.clamp()[i + u - 1] };
        let b[i]: f32[H] = a[i].max(0.0) - a.pad(0.25)[i + 1];
        let c[i]: f32[OH] = max(u in 0..3) { b.pad(-9.0)[2 * i + u - 1] };
        y[i] = c[i] + c.clamp()[i + 1];
    }";
    let schedule = "V: chain for p {
        tile(i: 4) => workgroup(x);
        distribute(i => thread(x));
        compute_at(c, workgroup, to: shared);
        compute_at(a, workgroup, to: shared);
    }";
    assert!(nest(kernel, schedule).contains("shared a: f32[12]"), "{}", nest(kernel, schedule));
    check(kernel, schedule, &[&[("H", 1)], &[("H", 2)], &[("H", 7)], &[("H", 8)], &[("H", 17)], &[("H", 63)]]);
}

/// Each invocation transforms the columns of its own block in registers.
#[test]
fn blocks_of_a_transform() {
    let kernel = "fn dct<BH, BW>(x: f32[BH * 4, BW * 4]) -> y: f32[BH * 4, BW * 4] {
        const C: f32[4, 4] = [[0.5, 0.5, 0.5, 0.5], [0.65, 0.25, -0.25, -0.65], [0.5, -0.5, -0.5, 0.5], [0.25, -0.65, 0.65, -0.25]];
        let r[i, j]: f32[BH * 4, BW * 4] = sum(k in 0..4) { C[j % 4, k] * x[i, j / 4 * 4 + k] };
        y[i, j] = sum(k in 0..4) { C[i % 4, k] * r[i / 4 * 4 + k, j] };
    }";
    let schedules = [
        "V: dct for p { tile(i: 4 exact, j: 32) => workgroup(y, x); distribute(j => thread(x)); reorder(k, i);
         compute_at(r, thread, to: register); r { reorder(k, i); unroll(k, i); } unroll(k, i); }",
        "V: dct for p { tile(j: 32) => workgroup(x); distribute(j => thread(x)); split(i, [_, 4] exact => b, i); distribute(b => workgroup(y));
         compute_at(r, thread, to: register); r { reorder(k, i); unroll(k, i); } reorder(k, i); unroll(k, i); }",
    ];
    for schedule in schedules {
        check(kernel, schedule, &[&[("BH", 3), ("BW", 5)], &[("BH", 1), ("BW", 1)], &[("BH", 0), ("BW", 2)]]);
    }
}

/// A block of several stages makes copies and partial results for each of them, and the block of the written name schedules all of
/// these.
#[test]
fn copies_of_several_stages() {
    let kernel = "fn two<N, M>(x: f32[N + 2, M]) -> (a: f32[N, M], b: f32[N, M]) {
        a[i, j] = max(u in 0..3) { x[i + u, j] };
        b[i, j] = min(u in 0..3) { x[i + u, j] };
    }";
    let schedules = [
        "a, b { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(x => x_s, at: workgroup, to: shared);
                promote(x_s => x_r, at: thread, to: register); unroll(u); }
         x_s { fuse(i_u, j => t); distribute(t => thread(linear)); }",
        "a, b { tile(u: 2 => u_o); rfactor(u_o => part); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));
                compute_at(part, u_o, to: register); }
         part { unroll(u); }",
        "a, b { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(x, at: workgroup, to: shared); }",
    ];
    for schedule in schedules {
        check(
            kernel,
            &format!("V: two for p {{ {schedule} }}"),
            &[&[("N", 9), ("M", 13)], &[("N", 1), ("M", 1)], &[("N", 0), ("M", 3)]],
        );
    }
}

/// An axis that is distributed to threads is a place even if it has one value; and a tile of an axis that is shorter under more
/// facts is all of it.
#[test]
fn places_and_tiles_of_short_axes() {
    let kernel = "fn two<N, M>(x: f32[N, M]) -> y: f32[N] {
        let s[i]: f32[N] = sum(k in 0..M) { x[i, k] };
        y[i] = s[i] * 2.0;
    }";
    let schedules = [
        "tune B in [4, 8] = 4; tile(i: B) => workgroup(x); tile(i: 4) => thread(x); compute_at(s, thread, to: register); s { unroll(i); } unroll(i);",
        "tile(i: 4) => workgroup(x); distribute(i => thread(x)); compute_at(s, thread, to: register); s { tile(k: 8 => k_o); unroll(k); }
         specialize(M == 3); specialize(M == 1, N == 1); specialize(N == 1);",
    ];
    for schedule in schedules {
        let sizes: [&[(&str, i64)]; 4] =
            [&[("N", 9), ("M", 3)], &[("N", 1), ("M", 1)], &[("N", 1), ("M", 7)], &[("N", 12), ("M", 12)]];
        check(kernel, &format!("V: two for p {{ {schedule} }}"), &sizes);
    }
}
