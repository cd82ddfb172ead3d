//! Correct programs that were refused because a proof was missing. Each one is run, so that the new proofs are tested, too.

use crate::harness::{check, profiles, variant};

/// Runs a kernel with values for its scalars.
fn check_scalars(kernel: &str, schedule: &str, sizes: &[&[(&str, i64)]], scalars: &[&[f64]]) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        for (dims, scalars) in sizes.iter().flat_map(|dims| scalars.iter().map(move |scalars| (dims, scalars))) {
            variant.check(dims, scalars);
        }
    }
}

const EIGHT: [(&str, i64); 8] = [("A", 2), ("B", 1), ("C", 3), ("D", 2), ("E", 1), ("F", 2), ("G", 3), ("H", 5)];

/// A product of eight sizes is one term.
#[test]
fn eight_dimensions() {
    let dims = "A, B, C, D, E, F, G, H";
    let kernel = format!(
        "fn k<{dims}>(x: f32[{dims}]) -> y: f32[{dims}] {{ y[a, b, c, d, e, f, g, h] = 2.0 * x[a, b, c, d, e, f, g, h]; }}"
    );
    let schedules = [
        "",
        "fuse(a, b, c, d, e, f, g, h => p); tile(p: 64) => workgroup(x); distribute(p => thread(x));",
        "fuse(a, b, c, d, e, f, g => p); tile(p: 4, h: 16) => workgroup(y, x); distribute(p, h => thread(y, x));",
        "fuse(a, b, c, d => p); fuse(e, f, g, h => q); tile(p: 4, q: 16) => workgroup(y, x); distribute(p, q => thread(y, x));",
        "reorder(h, g, f, e, d, c, b, a); fuse(h, g, f, e, d, c, b, a => p); tile(p: 32) => workgroup(x); distribute(p => thread(x));",
    ];
    for schedule in schedules {
        check(&kernel, &format!("V: k for p {{ {schedule} }}"), &[&EIGHT]);
    }
    let longer = "A + 1, B + 1, C + 1, D + 1, E + 1, F + 1, G + 1, H + 1";
    let kernel = format!(
        "fn k<{dims}>(x: f32[{dims}]) -> y: f32[{longer}] {{ y[a, b, c, d, e, f, g, h] = x.pad(1.0)[a, b, c - 1, d, e, f, g, h - 1]; }}"
    );
    check(&kernel, "V: k for p {}", &[&EIGHT]);
}

/// A scalar in an index is data, which wraps. The index of a copy's element wraps as the reader's index does.
#[test]
fn copies_at_scalars() {
    let shared = "tile(i: 8) => workgroup(x); promote(x => x_s, at: workgroup, to: shared); distribute(i => thread(x));";
    let far: [&[f64]; 5] = [&[0.0], &[1.0], &[-3.0], &[40.0], &[-2147483648.0]];
    for outside in ["clamp()", "pad(0.5)"] {
        let kernel = format!(
            "fn k<H>(x: f32[H], ph: i32) -> y: f32[H] where H >= 1 {{ y[i] = sum(k in 0..3) {{ x.{outside}[i + k - ph] }}; }}"
        );
        check_scalars(&kernel, &format!("V: k for p {{ {shared} }}"), &[&[("H", 21)], &[("H", 1)]], &far);
        let kernel = format!(
            "fn k<H>(x: f32[H], ph: i32) -> y: f32[H] where H >= 1 {{
                let t[i]: f32[H] = x[i] * 2.0;
                y[i] = sum(k in 0..3) {{ t.{outside}[i + k - ph] }};
            }}"
        );
        let schedule =
            "V: k for p { tile(i: 8) => workgroup(x); distribute(i => thread(x)); compute_at(t, workgroup, to: shared); }";
        check_scalars(&kernel, schedule, &[&[("H", 21)], &[("H", 1)]], &far);
    }
    let kernel = "fn k<H, W>(x: f32[H, W], ph: i32, pw: u32) -> y: f32[H, W] where H >= 1, W >= 1 {
        y[i, j] = sum(k in 0..3, l in 0..3) { x.clamp()[i + k - ph, j * 2 + l - pw as i32] };
    }";
    let schedule = "V: k for p {
        tile(i: 4, j: 8) => workgroup(y, x);
        promote(x => x_s, at: workgroup, to: shared);
        distribute(i, j => thread(y, x));
    }";
    check_scalars(kernel, schedule, &[&[("H", 9), ("W", 13)]], &[&[1.0, 2.0], &[-5.0, 4294967295.0]]);
}

/// No dim is negative, even if an equation determines its value.
#[test]
fn dims_that_equations_give() {
    let kernel = "fn k<N, M>(s: f32[N, M], past: dim) -> y: f32[N] where M == N + past {
        y[i] = max(j in 0..i + past + 1) { s[i, j] };
    }";
    for schedule in ["", "tile(i: 8) => workgroup(x); distribute(i => thread(x));"] {
        let schedule = format!("V: k for p {{ {schedule} }}");
        check(kernel, &schedule, &[&[("N", 5), ("M", 9), ("past", 4)], &[("N", 3), ("M", 3), ("past", 0)]]);
    }
}

/// With `g == 1` there is one group. A bound on the stride `cg` bounds the footprint of a copy.
#[test]
fn facts_that_bound_indices() {
    let kernel = "fn k<C, MG>(x: f32[C], w: f32[C, MG], g: dim, cg: dim) -> y: f32[g * MG] {
        y[m] = sum(c in 0..cg) { x.pad(0.0)[m / MG * cg + c] * w.pad(0.0)[m / MG * cg + c, m % MG] };
    }";
    for fact in ["g == 1", "g <= 1"] {
        let schedule = format!(
            "V: k for p where {fact} {{
                tile(m: 8) => workgroup(x);
                distribute(m => thread(x));
                tile(c: 4 => c_o);
                promote(w => w_s, at: c_o, to: shared);
            }}"
        );
        check(kernel, &schedule, &[&[("C", 7), ("MG", 11), ("g", 1), ("cg", 7)], &[("C", 7), ("MG", 3), ("g", 1), ("cg", 9)]]);
    }
    let schedule = "V: k for p where g == 2 { tile(m: 8) => workgroup(x); distribute(m => thread(x)); }";
    check(kernel, schedule, &[&[("C", 8), ("MG", 5), ("g", 2), ("cg", 4)]]);

    let kernel = "fn k<H>(x: f32[H], s: dim, d: dim, n: dim) -> y: f32[n] { y[i] = sum(k in 0..3) { x.pad(0.0)[i * s + k * d] }; }";
    let schedule = "V: k for p where s <= 2, d <= 3 {
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
        promote(x => x_s, at: workgroup, to: shared);
    }";
    let sizes: [&[(&str, i64)]; 3] = [
        &[("H", 40), ("s", 2), ("d", 3), ("n", 17)],
        &[("H", 40), ("s", 1), ("d", 0), ("n", 9)],
        &[("H", 4), ("s", 0), ("d", 1), ("n", 9)],
    ];
    check(kernel, schedule, &sizes);
}

/// The elements of a table are literals: reads at them are proved, copied and kept in registers.
#[test]
fn tables_of_indices() {
    let n: [&[(&str, i64)]; 3] = [&[("N", 70)], &[("N", 1)], &[("N", 0)]];
    let kernel = "fn k<N>(x: i32[N]) -> y: f32[N] {
        const W: f32[8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        const V: i32[4] = [3, 1, 0, 2];
        const U: u32[4] = [3, 1, 0, 7];
        y[i] = W[V[x[i] & 3]] + W[U[x[i] & 3] as i32];
    }";
    check(kernel, "V: k for p {}", &n);
    let kernel = "fn k<N>(x: f32[N + 9]) -> y: f32[N] {
        const D: u32[3] = [0, 4, 9];
        y[i] = sum(k in 0..3) { x[i + D[k] as i32] };
    }";
    let shared = "tile(i: 16) => workgroup(x); promote(x => x_s, at: workgroup, to: shared); distribute(i => thread(x));";
    check(kernel, &format!("V: k for p {{ {shared} }}"), &n);
    let kernel = "fn k<N>(x: f32[N + 57]) -> y: f32[N] {
        const AT: i32[3] = [0, 24, 56];
        y[i] = max(d in 0..3) { x[(i + AT[d]).clamp(0, N + 56)] };
    }";
    check(kernel, "V: k for p {}", &n);
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        const V: i32[4] = [3, 1, 0, 2];
        const U: i32[4] = [-2, -1, 1, 2];
        y[i] = sum(k in 0..4) { x.pad(0.5)[2 * i + U[V[k]] * 3] };
    }";
    check(kernel, &format!("V: k for p {{ {shared} }}"), &n[..2]);
}

/// The offsets of a stencil are two columns of a table.
#[test]
fn tables_of_offsets() {
    let kernel = "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] where N >= 1, M >= 1 {
        const D: i32[5, 2] = [[-1, 0], [0, -1], [0, 0], [1, 0], [0, 1]];
        const W: f32[5] = [0.25, 0.5, -1.0, 0.5, 0.25];
        const S: bool[5] = [true, true, false, true, true];
        y[i, j] = sum(k in 0..5) { if S[k] { W[k] * x.clamp()[i + D[k, 0], j + D[k, 1]] } else { 0.0 } };
    }";
    let threads = "tile(i: 4, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));";
    let row = "tile(i: 4, j: 8) => workgroup(y, x); distribute(i => thread(y)); unroll(j, k);";
    let copies = [
        format!("{threads} promote(x => x_s, at: workgroup, to: shared);"),
        format!("{threads} unroll(k);"),
        format!("{row} promote(x => x_r, at: thread, to: register);"),
    ];
    for copy in copies {
        let schedule = format!("V: k for p {{ {copy} }}");
        check(kernel, &schedule, &[&[("N", 9), ("M", 17)], &[("N", 1), ("M", 1)]]);
    }
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        const D: i32[3] = [-1, 0, 1];
        let t[i]: f32[N] = x.clamp()[i + D[0]] * 2.0;
        let u[i]: f32[N] = sum(k in 0..3) { t.clamp()[i + D[k]] };
        y[i] = sum(l in 0..3) { u.clamp()[i - 2 * D[l]] };
    }";
    for tail in ["", "tile(l: 2 => l_o);"] {
        let schedule = format!(
            "V: k for p {{
                tile(i: 16) => workgroup(x);
                distribute(i => thread(x));
                {tail}
                compute_at(u, workgroup, to: shared);
                compute_at(t, workgroup, to: shared);
            }}"
        );
        check(kernel, &schedule, &[&[("N", 37)], &[("N", 1)]]);
    }
}

/// An index may contain data whose range is known.
#[test]
fn data_with_a_range_in_an_index() {
    let kernel = "fn k<H>(x: f32[H + 57], at: i32[H]) -> y: f32[H] {
        y[i] = x[i + at[i].clamp(0, 56)] + x[at[i].clamp(3, 50) + i] + x[(at[i] & 31) + i];
    }";
    check(kernel, "V: k for p {}", &[&[("H", 19)], &[("H", 1)], &[("H", 0)]]);
}

/// Returns a kernel of stages that read each other with clamped indices, and the directives that compute each stage at a tile.
fn chain(stages: &[&str], last: &str, shape: &str) -> (String, String) {
    let defined: Vec<String> = stages.iter().enumerate().map(|(n, stage)| format!("let a{n}{stage}")).collect();
    let placed: Vec<String> = (0..stages.len()).rev().map(|n| format!("compute_at(a{n}, workgroup, to: shared);")).collect();
    (format!("fn k{shape} {{ {} {last} }}", defined.join("\n")), placed.join(" "))
}

/// Nested clamps are one interval.
#[test]
fn chains_of_clamps() {
    let mut stages = vec!["[i]: f32[N] = x.clamp()[i - 1] + x.clamp()[i + 1];".to_owned()];
    for n in 0..7 {
        stages.push(format!("[i]: f32[N] = a{n}.clamp()[i - 1] - a{n}.clamp()[i + {}];", 1 + n % 2));
    }
    let stages: Vec<&str> = stages.iter().map(String::as_str).collect();
    let (kernel, placed) = chain(&stages, "y[i] = a7.clamp()[i + 3] * 2.0;", "<N>(x: f32[N]) -> y: f32[N] where N >= 1");
    let schedule = format!("V: k for p {{ tile(i: 16) => workgroup(x); {placed} distribute(i => thread(x)); }}");
    check(&kernel, &schedule, &[&[("N", 37)], &[("N", 3)], &[("N", 1)]]);

    let stages = [
        "[i, j]: f32[N, M] = x.clamp()[i - 1, j] + x.clamp()[i, j + 1];",
        "[i, j]: f32[N, M] = a0.pad(0.0)[i - 1, j] + a0.pad(0.0)[i, j + 1];",
        "[i, j]: f32[N, M] = a1.clamp()[i - 1, j - 2] + a1.clamp()[i, j + 1];",
        "[i, j]: f32[N, M] = a2.clamp()[i - 1, j] + a2.clamp()[i + 1, j + 1];",
        "[i, j]: f32[N, M] = a3.pad(1.0)[i - 1, j] + a3.pad(1.0)[i, j + 1];",
    ];
    let last = "y[i, j] = a4.clamp()[i - 1, j + 1] * 2.0;";
    let (kernel, placed) = chain(&stages, last, "<N, M>(x: f32[N, M]) -> y: f32[N, M] where N >= 1, M >= 1");
    let schedule = format!("V: k for p {{ tile(i: 4, j: 8) => workgroup(y, x); {placed} distribute(i, j => thread(y, x)); }}");
    check(&kernel, &schedule, &[&[("N", 9), ("M", 19)], &[("N", 1), ("M", 2)]]);
}

/// Nested clamps if each stage is twice or half as long as the stage before it.
#[test]
fn clamped_pyramids() {
    let stages = [
        "[i]: f32[2 * N] = x.clamp()[i / 2] + x.clamp()[i / 2 + 1];",
        "[i]: f32[4 * N] = a0.clamp()[i / 2] - a0.clamp()[i / 2 - 1];",
        "[i]: f32[8 * N] = a1.clamp()[i / 2] + a1.clamp()[i / 2 + 1];",
        "[i]: f32[16 * N] = a2.clamp()[i / 2] - a2.clamp()[i / 2 + 1];",
    ];
    let (kernel, placed) = chain(&stages, "y[i] = a3[i] * 2.0;", "<N>(x: f32[N]) -> y: f32[16 * N] where N >= 1");
    let schedule = format!("V: k for p {{ tile(i: 32) => workgroup(x); {placed} distribute(i => thread(x)); }}");
    check(&kernel, &schedule, &[&[("N", 5)], &[("N", 1)]]);

    let stages = [
        "[i]: f32[4 * N] = x.clamp()[2 * i - 1] + x.clamp()[2 * i + 1];",
        "[i]: f32[2 * N] = a0.clamp()[2 * i - 1] - a0.clamp()[2 * i + 1];",
        "[i]: f32[N] = a1.clamp()[2 * i - 1] + a1.clamp()[2 * i + 1];",
    ];
    let last = "y[i] = a2.clamp()[i - 1] + a2.clamp()[i + 1];";
    let (kernel, placed) = chain(&stages, last, "<N>(x: f32[8 * N]) -> y: f32[N] where N >= 1");
    let schedule = format!("V: k for p {{ tile(i: 8) => workgroup(x); {placed} distribute(i => thread(x)); }}");
    check(&kernel, &schedule, &[&[("N", 13)], &[("N", 1)]]);
}

/// A clamped sum of parts of one axis, and a copy of the elements that an intermediate reads with it, in a tile of a tile.
#[test]
fn clamped_sums_of_one_axis_in_copies() {
    let kernel = "fn k<M, K>(x0: i32[M], y0: &mut i32[K]) {
        let s0[i, j]: i32[M, M] = x0[i] * x0[j];
        let s1[]: i32[] = 0;
        y0[i] = s0.clamp()[((i - 3) + i) - 1, i - 3] + s1[];
    }";
    let schedule = "V: k for p where K <= 12 {
        tile(i: 2) => workgroup(x);
        promote(x0 => y0_c0, at: workgroup, to: shared);
        tile(i: 1 => z1) => thread(z);
    }";
    check(kernel, schedule, &[&[("M", 1), ("K", 1)], &[("M", 3), ("K", 11)], &[("M", 40), ("K", 12)]]);
}

/// Elements of `u32` tables as indices. A launch knows that they are small.
#[test]
fn tables_of_unsigned_offsets() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        const AT: u32[3, 2] = [[1, 2], [1, 0], [1, 1]];
        let s[i]: f32[N] = x.clamp()[i + (AT[0, 0] as i32)];
        y[i] = s.clamp()[i + (AT[i % 3, 1] as i32)] + x.clamp()[1 + (AT[1, 0] as i32)] + x.pad(0.5)[(AT[i % 3, 0] - AT[i % 3, 1]) as i32];
    }";
    for schedule in ["", "precompute(s);", "tile(i: 4) => workgroup(x); distribute(i => thread(x));"] {
        check(kernel, &format!("V: k for p {{ {schedule} }}"), &[&[("N", 1)], &[("N", 6)], &[("N", 131)]]);
    }
}

/// A fill past the end of a table of unsigned offsets, and arithmetic on its elements, keep the elements' range.
#[test]
fn unsigned_offsets_in_padded_tiles() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        const AT: u32[3, 2] = [[1, 2], [1, 0], [1, 1]];
        y[i] = sum(k in 0..3) { x.clamp()[i + (AT[k, 1] as i32)] * x.clamp()[1 + ((AT[k, 0] * 6 % 5 + AT[k, 1].min(7) / 2) as i32)] };
    }";
    for schedule in [
        "serial(i); tile(k: 2 round_up);",
        "serial(i); tile(k: 2 round_up); unroll(k);",
        "tile(i: 4) => workgroup(x); distribute(i => thread(x)); tile(k: 2 round_up); unroll(k);",
    ] {
        check(kernel, &format!("V: k for p {{ {schedule} }}"), &[&[("N", 1)], &[("N", 6)], &[("N", 131)]]);
    }
}

/// The extent of a triangular loop outside of the fused axis that bounds it is a quotient by a symbolic extent. A second split of
/// that loop reaches its end.
#[test]
fn a_second_split_of_a_hull_over_a_fused_axis() {
    let kernel = "fn k<M>(x: f32[M], N: dim) -> y: f32[M, N] {
        y[i, j] = prod(l in 0..i + 1) { x[l] };
    }";
    for schedule in [
        "tile(l: 2); reorder(l_o, l, z1); tile(l_o: 1 => z2); reorder(z1, z2, l); distribute(z1 => workgroup(y));",
        "tile(l: 2); reorder(l_o, l, z1); tile(l_o: 3 => z2); reorder(z1, z2, l); distribute(z1 => workgroup(y));",
        "reorder(l, z1); tile(l: 2 => z2); tile(z2: 1 => z3, z1: 2 => z4); reorder(z1, z3); distribute(z4 => workgroup(y)); unroll(z1);",
    ] {
        let schedule = format!("V: k for p {{ fuse(i, j => z1); {schedule} }}");
        check(kernel, &schedule, &[&[("N", 1), ("M", 1)], &[("N", 5), ("M", 7)], &[("N", 3), ("M", 16)]]);
    }
}

/// A read of a packed tensor by a quotient of a triangular index, beside the fact of a shifted tile of the packed extent.
#[test]
fn a_quotient_in_a_packed_tensor_with_a_shifted_tile() {
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N, N] where N >= 4 {
        y[i, j] = sum(k in 0..j + 1) { x[1, k / 3] };
    }";
    let schedule = "V: k for p {
        pack(y[a, b] => [b / 8, a, b % 8], when: caller);
        pack(x[a, b] => [a / 4, b / 4, a % 4, b % 4], when: dispatch);
        x_packed { tile(b_o: 4 shift); unroll(a); vectorize(b, 4); serial(a_o); serial(b_o_o); unroll(b_o); }
    }";
    check(kernel, schedule, &[&[("N", 13)], &[("N", 16)], &[("N", 35)]]);
}

/// The value that a reduction stores is not within the reduction's range, which may be empty.
#[test]
fn remainders_beside_empty_ranges() {
    let kernel = "fn k<F = 1>(n: dim) -> y: f32[n, n] {
        let s[j]: f32[n] = if j < 1 { 1.0 } else { 0.0 };
        y[i, j] = sum(k in 1..F) { 1.0 } + s.clamp()[(j * i) % n];
    }";
    check(kernel, "V: k for p {}", &[&[("n", 1)], &[("n", 4)], &[("n", 7)]]);
}

/// `N % 3 == 0` and `N % 8 == 0` together: the second fact bears on the quotient by the first.
#[test]
fn two_divisors_of_a_dim() {
    let kernel = "fn k<N>(x: f32[N * 2, 2, N, N]) -> y: f32[N, N, N] where N % 3 == 0 {
        let s[i, j, h]: f32[N, N, N] = x[1, 1, 1, i / 3];
        y[i, j, h] = s.pad(0.0)[(j + i) - 1, h, i];
    }";
    let schedule = "V: k for p where N % 8 == 0 {
        pack(x[a, b, c, d] => [c / 4 % 2, d / 2, d % 2, c / 8, a / 2, b, c % 4, a % 2], when: prepare);
        pack(s[a, b, c] => [a / 8, b / 8, b / 4 % 2, c / 3, a % 8, b % 4, c % 3]);
    }";
    check(kernel, schedule, &[&[("N", 24)]]);
}

/// The range of `k` is empty, so no item is added where `l` is filled.
#[test]
fn filled_items_under_an_empty_range() {
    let kernel = "fn k<W>(x: f32[W, 1], w: f32[W, 2]) -> y: f32[W, W, W] {
        y[i, j, h] = sum(k in 1..1, l in 0..2) { x.pad(-1.0)[l, k + h] * w[j, l] };
    }";
    let schedule = "V: k for p {
        tile(i: 1, j: 8, h: 8) => workgroup(z, y, x);
        tile(l: 8 round_up => l_o);
        reorder(k, l_o, j, h, l);
        promote(x => x_s, at: l_o, to: shared, fill: 0.0);
        unroll(j, h);
    }";
    check(kernel, schedule, &[&[("W", 3)], &[("W", 0)]]);
}

/// The full tile's value lacks a part that is always the fill, so its sum has fewer terms.
#[test]
fn a_part_that_is_always_the_fill() {
    let kernel = "fn k<M>(x: i32[M]) -> y: i32[3] {
        let s0[]: i32[] = 0;
        let s1[i]: i32[M] = 1;
        y[i] = (s0.pad(0)[] + s1.pad(0)[1 - 3]) + s0.clamp()[];
    }";
    check(kernel, "V: k for p { tile(i: 2 peel) => workgroup(z down); serial(i); }", &[&[("M", 0)], &[("M", 4)]]);
}

/// The iterations past the end of a peeled loop have constant indices outside the table.
#[test]
fn a_table_past_the_end_of_an_unrolled_tail() {
    let kernel = "fn k<N>(y: &mut f16[N]) {
        const t: f16[1, 4] = [[0.25, 0.25, 1.0, 1.0]];
        y[i] = sum(k in 0..4) { t[1 % 1, (4 - 1) - k] };
    }";
    check(kernel, "V: k for p { tile(k: 3 peel => z1); unroll(k, z1); distribute(i => workgroup(x)); }", &[&[("N", 5)]]);
}

/// The literal index -1 is not clamped, because `y` is empty and no invocation reads `x`.
#[test]
fn a_literal_index_of_a_result_without_elements() {
    let kernel = "fn k<OH = (W - 2) + 1, W>(x: f32[W]) -> y: f32[OH] where W == 1 {
        let s[j]: f32[OH] = x.clamp()[1 - 2];
        y[j] = s[1];
    }";
    check(kernel, "V: k for p {}", &[&[("W", 1)]]);
}

/// A minimum of two dims that is at least 1 makes each of them at least 1, and so a multiple of 4 at least 4.
#[test]
fn positive_minima() {
    let kernel = "fn k<N, M>(x: i32[N], z: i32[M]) -> y: i32[N.min(M)] where N % 2 == 0, M % 4 == 0 { y[i] = x.clamp()[1]; }";
    check(kernel, "V: k for p where N % 4 == 0 {}", &[&[("N", 0), ("M", 4)], &[("N", 4), ("M", 0)], &[("N", 8), ("M", 4)]]);
    let kernel = "fn k<N, M>(x: u32[N], z: u32[N.min(M)], w: u32[M]) -> y: u32[] {
        let s[]: u32[] = z.clamp()[0];
        y[] = prod(k in 0..1) { x.pad(7)[k] * s[] };
    }";
    check(kernel, "V: k for p where N % 8 == 0 { root(s); }", &[&[("N", 8), ("M", 1)], &[("N", 16), ("M", 20)]]);
}
