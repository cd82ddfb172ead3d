//! Copies in the registers of each invocation, read in lanes at unaligned offsets, and by sibling stages.

use crate::harness::{check, profiles, refused, variant};

/// Sizes of a stencil with `taps` taps along its columns, whose result has a multiple of eight columns.
fn stencil(schedule: &str, kernel: &str, taps: i64) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for (rows, columns) in [(1, 8), (3, 16), (5, 264), (8, 520)] {
            variant.check(&[("H", rows), ("W", columns + taps - 1)], &[]);
        }
    }
}

/// The taps of a row read vectors of registers that begin at any element.
#[test]
fn taps_of_a_row_in_lanes() {
    let kernel = |dtype: &str, taps: usize| {
        format!(
            "fn taps<H, W, OW = W - {}>(x: {dtype}[H, W]) -> y: {dtype}[H, OW] where W >= {taps} {{
                y[r, c] = sum(j in 0..{taps}) {{ (j + 1) as {dtype} * x[r, c + j] }};
            }}",
            taps - 1
        )
    };
    let head = "V: taps for p where OW % 8 == 0 { tile(r: 1, c: 64) => workgroup(y, x);";
    for lanes in [2, 4] {
        let unrolled = format!(
            "{head} tile(c: 8) => thread(x); promote(x => x_r, at: thread, to: register);
            reorder(j, c); unroll(j); vectorize(c, {lanes}); unroll(c); }}"
        );
        stencil(&unrolled, &kernel("u32", 5), 5);
        stencil(&unrolled, &kernel("f32", 4), 4);
    }
    // f16 in vectors of eight.
    let halves = format!(
        "{head} tile(c: 8) => thread(x); promote(x => x_r, at: thread, to: register); reorder(j, c); unroll(j); vectorize(c, 8); }}"
    );
    stencil(&halves, &kernel("f16", 5), 5);
    // In reverse order, and with a stride.
    let steps = "fn taps<H, W, OW = W - 6>(x: f32[H, W]) -> y: f32[H, OW] where W >= 7 {
        y[r, c] = sum(j in 0..3) { (j + 1) as f32 * x[r, c + 6 - 2 * j] };
    }";
    stencil(&halves.replace("vectorize(c, 8)", "vectorize(c, 4); unroll(c)"), steps, 7);
}

/// Taps in both dimensions, with the rows unrolled.
#[test]
fn taps_of_a_window_in_lanes() {
    let kernel = "fn window<H, W, OH = H - 2, OW = W - 2>(x: f32[H, W], w: f32[3, 3]) -> y: f32[OH, OW] where H >= 3, W >= 3 {
        y[r, c] = sum(i in 0..3, j in 0..3) { w[i, j] * x[r + i, c + j] };
    }";
    for loops in [
        "reorder(i, j, r, c); unroll(i, j, r); vectorize(c, 4);",
        "reorder(j, i, r, c); unroll(i, j, r); vectorize(c, 2); unroll(c);",
    ] {
        let schedule = format!(
            "V: window for p where OW % 4 == 0 {{
                tile(r: 4, c: 64) => workgroup(y, x); tile(r: 2, c: 4) => thread(y, x);
                promote(x => x_r, at: thread, to: register); promote(w => w_r, at: thread, to: register);
                {loops}
            }}"
        );
        for profile in profiles() {
            let variant = variant(kernel, &schedule, &profile);
            for (rows, columns) in [(3, 6), (7, 10), (12, 70)] {
                variant.check(&[("H", rows), ("W", columns)], &[]);
            }
        }
    }
}

/// The registers of a stage are read in lanes as the registers of a copy are. Another copy can be made of them.
#[test]
fn taps_of_a_stage_in_registers() {
    let kernel = "fn blur<H, W, OW = W - 2>(x: f32[H, W]) -> y: f32[H, OW] where W >= 3 {
        let t[r, c]: f32[H, W] = x[r, c] * x[r, c];
        y[r, c] = t[r, c] + 2.0 * t[r, c + 1] + t[r, c + 2];
    }";
    let schedule = "V: blur for p where OW % 8 == 0 {
        tile(r: 1, c: 64) => workgroup(y, x); tile(c: 8) => thread(x); vectorize(c, 4, unaligned: scalar); unroll(c);
        compute_at(t, thread, to: register); t { unroll(c); }
    }";
    stencil(schedule, kernel, 3);
    let wide = "V: blur for p where OW % 8 == 0 {
        tile(r: 1, c: 64) => workgroup(y, x); tile(c: 8) => thread(x); compute_at(t, thread, to: register); vectorize(c, 4); unroll(c);
        promote(t => t_r, at: thread, to: register, vector: 2); t { vectorize(c, 2, unaligned: scalar); unroll(c); }
    }";
    stencil(wide, kernel, 3);
}

/// Lanes of a stage in registers may run along any of its dimensions.
#[test]
fn lanes_across_the_rows_of_registers() {
    let kernel = "fn rows<H, W, OH = H - 1>(x: f32[H, W]) -> y: f32[OH, W] where H >= 1 {
        let t[r, c]: f32[H, W] = x[r, c] * x[r, c];
        y[r, c] = t[r, c] + 2.0 * t[r + 1, c];
    }";
    let schedule = "V: rows for p where W % 8 == 0 {
        tile(r: 3, c: 64) => workgroup(y, x); tile(c: 8) => thread(x); unroll(r); vectorize(c, 4); unroll(c);
        compute_at(t, thread, to: register); t { vectorize(r, 4, unaligned: scalar); unroll(c); }
    }";
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for (rows, columns) in [(1, 8), (2, 8), (9, 72)] {
            variant.check(&[("H", rows), ("W", columns)], &[]);
        }
    }
}

const SCALED: &str = "fn scaled<H, W>(by: f32[H, W + 8], x: f32[3, H, W]) -> y: f32[3, H, W] {
    let ratio[i, j]: f32[H, W] = by[i, j + 4] + by[i, j + 3] + by[i, j + 5];
    y[c, i, j] = ratio[i, j] * x[c, i, j];
}";

const SCALED_SIZES: [&[(&str, i64)]; 3] = [&[("H", 1), ("W", 4)], &[("H", 3), ("W", 260)], &[("H", 2), ("W", 512)]];

/// A stage in registers at the place of a copy reads it.
#[test]
fn a_copy_that_a_stage_beside_reads() {
    let head = "V: scaled for p where W % 4 == 0 { tile(i: 1, j: 256) => workgroup(y, x); tile(j: 4) => thread(x); unroll(c);";
    for (lanes, rest) in [
        ("vectorize(j, 4, unaligned: scalar);", "promote(by => by_r, at: thread, to: register); ratio { unroll(j); }"),
        ("vectorize(j, 4, unaligned: scalar);", "promote(by => by_r, at: thread, to: register); ratio { vectorize(j, 4); }"),
        ("unroll(j);", "promote(by => by_r, at: thread, to: register);"),
        // From a copy of the workgroup.
        (
            "unroll(j);",
            "promote(by => by_s, at: workgroup, to: shared); promote(by_s => by_r, at: thread, to: register); ratio { unroll(j); }",
        ),
    ] {
        check(SCALED, &format!("{head} {lanes} compute_at(ratio, thread, to: register); {rest} }}"), &SCALED_SIZES);
    }
}

/// Two sibling stages of a copy read it, and so does the nest itself. One of the stages reads the other.
#[test]
fn a_copy_that_two_stages_beside_read() {
    let kernel = "fn k<N>(x: f32[N + 4]) -> y: f32[N] {
        let s[i]: f32[N + 2] = x[i] + x[i + 1] * x[i + 2];
        let t[i]: f32[N + 1] = s[i] * s[i + 1] + x[i + 3];
        y[i] = t[i] + t[i + 1] * x[i];
    }";
    let schedule = "V: k for p {
        tile(i: 32) => workgroup(x); tile(i: 4) => thread(x); unroll(i);
        compute_at(t, thread, to: register); compute_at(s, thread, to: register);
        promote(x => x_r, at: thread, to: register);
        s, t { unroll(i); }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 4)], &[("N", 77)]]);
    // A second copy for one of them, within it.
    let twice = schedule.replace("s, t {", "s { promote(x_r => x_q, at: i, to: register); unroll(i); } t {");
    check(kernel, &twice, &[&[("N", 1)], &[("N", 77)]]);
}

/// A list serves the reads of the nest's own axes: the sibling stage has other axes, and reads the tensor.
#[test]
fn a_copy_with_a_list_beside_a_stage() {
    let schedule = "V: scaled for p where W % 4 == 0 {
        tile(i: 1, j: 256) => workgroup(y, x); tile(j: 4) => thread(x); unroll(c, j);
        compute_at(ratio, thread, to: register); promote(by => by_r[j], at: thread, to: register);
    }";
    check(&SCALED.replace("* x[c, i, j]", "* x[c, i, j] + by[i, j]"), schedule, &SCALED_SIZES);
    refused(SCALED, schedule, "a list can only name axes of this stage");
}

/// Within each row of a loop, with a reduction in registers as a sibling of the copy, at a place that is a loop.
#[test]
fn a_copy_that_a_sum_beside_reads() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] where M <= 16 {
        let total[i]: f32[N] = sum(k in 0..M) { x[i, k] };
        y[i, j] = x[i, j] / (total[i].abs() + 1.0);
    }";
    for at in ["thread", "i"] {
        let schedule = format!(
            "V: k for p {{
                tile(i: 8) => workgroup(x); tile(i: 2) => thread(x); unroll(j);
                compute_at(total, {at}, to: register); promote(x => x_r, at: {at}, to: register); unroll(i);
                total {{ unroll(i, k); }}
            }}"
        );
        check(kernel, &schedule, &[&[("N", 1), ("M", 1)], &[("N", 9), ("M", 16)], &[("N", 13), ("M", 7)]]);
    }
}

/// Elements that vectors do not divide are copied one by one.
#[test]
fn a_copy_beside_a_stage_that_no_vector_divides() {
    let schedule = |vector: &str| {
        format!(
            "V: scaled for p where W % 4 == 0 {{
                tile(i: 1, j: 256) => workgroup(y, x); tile(j: 4) => thread(x); unroll(c); vectorize(j, 4, unaligned: scalar);
                compute_at(ratio, thread, to: register); promote(by => by_r, at: thread, to: register{vector}); ratio {{ unroll(j); }}
            }}"
        )
    };
    refused(SCALED, &schedule(", vector: 4"), "4 does not divide the 6 elements of `by_r` along `j`");
    refused(SCALED, &schedule(", vector: 2"), "j_thread * 4 + 3` is not always a multiple of 2");
    check(SCALED, &schedule(""), &SCALED_SIZES);
    // A range that begins with a vector is copied in vectors.
    let aligned = SCALED.replace("by[i, j + 3]", "by[i, j]").replace("j + 5", "j + 6");
    check(&aligned, &schedule(", vector: 2"), &SCALED_SIZES);
}

/// A copy does not serve a stage further out, and one that the invocations of a workgroup compute together.
#[test]
fn stages_that_a_copy_in_registers_does_not_serve() {
    let further_out = "V: scaled for p where W % 4 == 0 {
        tile(i: 1, j: 256) => workgroup(y, x); tile(j: 4) => thread(x);
        compute_at(ratio, thread, to: register); serial(j); promote(by => by_r, at: j, to: register); unroll(c);
    }";
    refused(SCALED, further_out, "promote `by` at the place of `ratio`, or further out");
    let together = "V: scaled for p where W % 4 == 0 {
        tile(i: 1, j: 256) => workgroup(y, x); tile(j: 4) => thread(x);
        compute_at(ratio, workgroup, to: shared); promote(by => by_r, at: workgroup, to: register); unroll(c, j);
    }";
    refused(SCALED, together, "write `to: shared`");
}

/// The registers hold the elements of an image for a clamped stage, whose own elements the result clamps again.
#[test]
fn a_stencil_of_a_clamped_stencil() {
    let kernel = "fn blur<H, W>(x: u16[H, W]) -> y: u16[H, W] where H >= 1, W >= 1 {
        let rows[r, c]: u16[H, W] = x.clamp()[r, c - 1] + 2 * x.clamp()[r, c] + x.clamp()[r, c + 1];
        y[r, c] = rows.clamp()[r - 1, c] + 3 * rows.clamp()[r, c] + rows.clamp()[r + 1, c];
    }";
    for (loops, placed) in [
        ("serial(r_o);", "compute_at(rows, r_o, to: register); promote(x => x_r, at: r_o, to: register); rows { unroll(r, c); }"),
        (
            "unroll(r_o);",
            "compute_at(rows, r_o, to: register); promote(x => x_r, at: thread, to: register); rows { unroll(r, c); }",
        ),
        ("serial(r_o);", "inline(rows); promote(x => x_r, at: r_o, to: register);"),
        ("unroll(r_o);", "inline(rows); promote(x => x_r, at: thread, to: register); promote(x_r => x_2, at: r_o, to: register);"),
        ("serial(r_o);", "inline(rows); promote(x => x_s, at: workgroup, to: shared);"),
    ] {
        let schedule = format!(
            "V: blur for p {{
                tile(r: 4, c: 16) => workgroup(y, x); tile(c: 4) => thread(x); tile(r: 2 => r_o); unroll(r, c); {loops} {placed}
            }}"
        );
        for profile in profiles() {
            let variant = variant(kernel, &schedule, &profile);
            for (rows, columns) in [(1, 1), (2, 3), (5, 17), (13, 31)] {
                variant.check(&[("H", rows), ("W", columns)], &[]);
            }
        }
    }
}
