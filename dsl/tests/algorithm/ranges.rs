//! Intermediates whose indices do not begin at 0: their nests, and the errors.

use super::families::nests;

#[test]
fn ranges_begin_at_zero_in_the_program() {
    let kernel = "fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let g[i, j]: f32[-1..=H, W] = x.pad(0.0)[i, j] + i as f32;
        let r[i, j]: f32[2..H + 4, -W..0] = g[i - 3, j + W];
        y[i, j] = g[i - 1, j] + g[i + 1, j] + r.clamp()[i + 2, j - W] + r.pad(1.0)[i, j - W];
    }";
    super::wrong::snapshot("ranges", nests(kernel, "{ root(g, r); }").unwrap_or_else(|errors| panic!("{errors}")));
}

/// The values in registers of an index that is not exact, because it has a conversion.
#[test]
fn ranges_are_read_at_converted_axes() {
    let kernel = "fn k<N>(x: i32[N]) -> y: i32[N] { let s[i]: i32[-1..N - 1] = 2; y[i] = s.clamp()[(i + (1 as i32)) - 1]; }";
    let schedule = "{ tile(i: 1 => t) => workgroup(z); compute_at(s, i, to: register); }";
    let nests = nests(kernel, schedule).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(nests.contains("write y[y.i] = s[0]"), "{nests}");
}

#[test]
fn ranges_are_checked() {
    let of = |body: &str| {
        let text = format!("fn k<N>(x: f32[N], at: i32[N]) -> (y: f32[N], z: f32[N]) {{\n{body}\n}}");
        let rest: String = ["y[i] = 1.0;", "z[i] = 1.0;"].into_iter().filter(|rest| !body.contains(&rest[..4])).collect();
        let text = text.replace("\n}", &format!("\n{rest}\n}}"));
        format!("{body}\n{}", nests(&text, "{}").err().unwrap_or_else(|| "right\n".into()))
    };
    let cases = [
        of("let s[i]: f32[-1..N] = x[i]; y[i] = s[i];"),
        of("let s[i]: f32[-1..N] = x.pad(0.0)[i]; y[i] = s[i - 2];"),
        of("let s[i]: f32[-1..N] = x.pad(0.0)[i]; y[i] = s[i + 1];"),
        of("let s[i]: f32[1..N] = x[i]; y[i] = s[i];"),
        of("let s[i]: f32[1..N] = x[i]; y[i] = s.clamp()[i];"),
        of("let s[i]: f32[3..1] = x[i]; y[i] = s[i];"),
        of("let s[i]: f32[x..N] = x[i]; y[i] = s[i];"),
        of("let s[i]: f32[0..] = x[i]; y[i] = s[i];"),
        of("let s[i]: f32[-1..N] = x.pad(0.0)[i]; y[i] = s[at[i]];"),
        of("let s[i, j]: f32[-1..N, 2] = x.pad(0.0)[i]; y[i] = s[i];"),
        of("const T: f32[0..2] = [1.0, 2.0]; y[i] = T[0] + x[i];"),
        of("let s[i]: f32[-1..N - 1] = x.pad(0.0)[i]; y[i] = s[i - 1]; z[i] = s[i];"),
    ];
    let heads = ["fn k<N>(x: f32[-1..N]) -> y: f32[N] { y[i] = x[i]; }", "fn k<N>(x: f32[N]) -> y: f32[1..N] { y[i] = x[i]; }"];
    let heads = heads.map(|text| format!("{text}\n{}", nests(text, "{}").err().unwrap_or_else(|| "right\n".into())));
    super::wrong::snapshot("ranges_wrong", cases.into_iter().chain(heads).collect::<Vec<_>>().join("\n"));
}
