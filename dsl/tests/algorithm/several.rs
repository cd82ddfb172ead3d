//! Several reductions in a definition: each one is an intermediate like one that is written by hand.

use super::families::nests;

#[test]
fn reductions_are_intermediates() {
    for (with, without, schedule) in [
        (
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N] { y[i] = sum(k in 0..K) { x[i, k] * x[i, k] } / sum(k in 0..K) { x[i, k] }; }",
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N] {
                let y_sum[i]: f32[N] = sum(k in 0..K) { x[i, k] * x[i, k] };
                let y_sum_2[i]: f32[N] = sum(k in 0..K) { x[i, k] };
                y[i] = y_sum[i] / y_sum_2[i];
            }",
            "{ y_sum, y_sum_2 { tile(k: 8); distribute(i => workgroup(x)); } distribute(i => workgroup(x)); }",
        ),
        // An intermediate has those axes that its reduction uses, also in its ranges, and values with names are part of it.
        (
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N, K] where N >= 1 {
                y[i, j] = {
                    let top = max(p in 0..K) { x[i, p] };
                    let c = x[i, j] * 2.0;
                    (c - top).exp() + sum(m in 0..i + 1) { x[m, j] } * sum(n in 0..N, r in 0..K) { x[n, r] } - sum(q in 0..2) { c * q as f32 }
                };
            }",
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N, K] where N >= 1 {
                let y_max[i]: f32[N] = max(p in 0..K) { x[i, p] };
                let y_sum[i, j]: f32[N, K] = sum(m in 0..i + 1) { x[m, j] };
                let y_sum_2[]: f32[] = sum(n in 0..N, r in 0..K) { x[n, r] };
                let y_sum_3[i, j]: f32[N, K] = sum(q in 0..2) { x[i, j] * 2.0 * q as f32 };
                y[i, j] = (x[i, j] * 2.0 - y_max[i]).exp() + y_sum[i, j] * y_sum_2[] - y_sum_3[i, j];
            }",
            "{}",
        ),
        // A result of argmax is an index whose range is known. Names that are taken get a number.
        (
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N] where K >= 1 {
                let y_sum[i]: f32[N] = x[i, 0].exp();
                y[i] = x[i, argmax(k in 0..K) { x[i, k] }] + sum(k in 0..K) { x[i, k] } + y_sum[i];
            }",
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N] where K >= 1 {
                let y_sum[i]: f32[N] = x[i, 0].exp();
                let y_argmax[i]: i32[N] = argmax(k in 0..K) { x[i, k] };
                let y_sum_2[i]: f32[N] = sum(k in 0..K) { x[i, k] };
                y[i] = x[i, y_argmax[i]] + y_sum_2[i] + y_sum[i];
            }",
            "{}",
        ),
        // In members of a family.
        (
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N] {
                for l in 0..2 { let s[l][i]: f32[N] = sum(k in 0..K) { x[i, k] } / max(k in 0..K) { x[i, k] } + l as f32; }
                y[i] = s[0][i] * s[1][i];
            }",
            "fn k<N, K>(x: f32[N, K]) -> y: f32[N] {
                let s_0_sum[i]: f32[N] = sum(k in 0..K) { x[i, k] };
                let s_0_max[i]: f32[N] = max(k in 0..K) { x[i, k] };
                let s_0[i]: f32[N] = s_0_sum[i] / s_0_max[i] + 0.0;
                let s_1_sum[i]: f32[N] = sum(k in 0..K) { x[i, k] };
                let s_1_max[i]: f32[N] = max(k in 0..K) { x[i, k] };
                let s_1[i]: f32[N] = s_1_sum[i] / s_1_max[i] + 1.0;
                y[i] = s_0[i] * s_1[i];
            }",
            "{ s_0_sum, s_1_max { tile(k: 8); distribute(i => workgroup(x)); } }",
        ),
        // Indices and ranges that are valid only where the definition has points keep its axes.
        (
            "fn k<N, M>(x: f32[M], z: f32[N]) -> y: f32[M, N] where N >= 1 {
                y[j, i] = sum(k in 0..2) { x.clamp()[1 % M] } + sum(k in 0..M - 1) { x[k] } + sum(k in 0..M) { x[k] } + sum(k in 0..N) { z[k] };
            }",
            "fn k<N, M>(x: f32[M], z: f32[N]) -> y: f32[M, N] where N >= 1 {
                let y_sum[j, i]: f32[M, N] = sum(k in 0..2) { x.clamp()[1 % M] };
                let y_sum_2[j, i]: f32[M, N] = sum(k in 0..M - 1) { x[k] };
                let y_sum_3[]: f32[] = sum(k in 0..M) { x[k] };
                let y_sum_4[]: f32[] = sum(k in 0..N) { z[k] };
                y[j, i] = y_sum[j, i] + y_sum_2[j, i] + y_sum_3[] + y_sum_4[];
            }",
            "{}",
        ),
        // In an update, and among truth values.
        (
            "fn k<N>(x: f32[N], y: &mut f32[N]) {
                y[i] = if any(k in 0..N) { x[k] > 1.0 } && all(k in 0..N) { x[k] < 9.0 } { y[i] + 1.0 } else { y[i] };
            }",
            "fn k<N>(x: f32[N], y: &mut f32[N]) {
                let y_any[]: bool[] = any(k in 0..N) { x[k] > 1.0 };
                let y_all[]: bool[] = all(k in 0..N) { x[k] < 9.0 };
                y[i] = if y_any[] && y_all[] { y[i] + 1.0 } else { y[i] };
            }",
            "{}",
        ),
    ] {
        let wanted = nests(without, schedule).unwrap_or_else(|errors| panic!("{errors}\n{without}"));
        let found = nests(with, schedule).unwrap_or_else(|errors| panic!("{errors}\n{with}"));
        // The definitions of axes are printed in the order in which the axes were made.
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(lines(&found), lines(&wanted), "{with}");
    }
}

#[test]
fn reductions_are_checked() {
    let of = |header: &str, value: &str| {
        let text = format!("fn k<N>(x: f32[N]{header} {{\n y[i] = {value};\n}}");
        format!("{value}\n{}", nests(&text, "{}").expect_err(&text))
    };
    let cases = [
        of(") -> y: f32[N]", "sum(k in 0..N) { x[k] + max(j in 0..N) { x[j] } }"),
        of(") -> y: f32[N]", "sum(k in 0..2) { x[k] } + max(k in 0..N) { x[k] }"),
        of(") -> y: f32[N]", "if N > 2 { sum(k in 0..2) { x[k] } } else { max(k in 0..N) { x[k] } }"),
        of(", y: &mut f32[N])", "sum(k in 0..N) { x[k] * y[i] } + max(k in 0..N) { x[k] }"),
        of(") -> y: f32[N]", "sum(k in 0..N) { x[k] } + max(j in 0..N) { x[k] }"),
        of(") -> y: f32[N]", "sum(k in 0..N) { x[k] } + max(j in 0..N) { true }"),
    ];
    super::wrong::snapshot("several", cases.join("\n"));
}
