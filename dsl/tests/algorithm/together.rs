//! Tensors that are defined together, and the errors.

use super::families::nests;

#[test]
fn definitions_share_a_nest() {
    let kernel = "fn k<R, C>(x: f32[R, C]) -> (mean: f32[R], spread: f32[R], least: i32[R]) where C >= 1 {
        (mean[r], spread[r], least[r]) = {
            let total = sum(c in 0..C) { x[r, c] };
            let squares = sum(c in 0..C) { x[r, c] * x[r, c] };
            let m = total / C as f32;
            (m, squares / C as f32 - m * m, argmin(c in 0..C) { x[r, c] })
        };
    }";
    super::wrong::snapshot("together", nests(kernel, "{}").unwrap_or_else(|errors| panic!("{errors}")));
}

#[test]
fn definitions_together_are_checked() {
    let of = |body: &str, schedule: &str| {
        let text = format!("fn k<N>(x: f32[N, N], m: &mut f32[N, N], v: &mut f32[N, N]) -> (y: f32[N], z: i32[N]) {{\n{body}\n}}");
        let rest = "m[i, j] = x[i, j]; v[i, j] = x[i, j]; y[i] = 1.0; z[i] = 1;";
        let rest: String = rest
            .split_inclusive(';')
            .filter(|part| !body.contains(part.trim_start().split('[').next().unwrap_or_default()))
            .collect();
        let text = text.replace("\n}", &format!("\n{rest}\n}}"));
        format!("{body}\n{}", nests(&text, schedule).err().unwrap_or_else(|| "right\n".into()))
    };
    let both = "(m[i, j], v[i, j]) = (v[i, j], m[i, j]);";
    let cases = [
        of("(y[i], z[i]) = (1.0, 2);", "{}"),
        of("(y[i], z[i]) = 1.0;", "{}"),
        of("(y[i], z[i]) = (1.0, 2, 3);", "{}"),
        of("(y[i], z[i]) = (1.0, 2.0);", "{}"),
        of("(y[i], z[j]) = (1.0, 2);", "{}"),
        of("(y[i], m[i]) = (1.0, 2.0);", "{}"),
        of("(y[i], y[i]) = (1.0, 2.0);", "{}"),
        of("(y[i], z[i]) = (1.0, y[i] as i32);", "{}"),
        of("(y[i], q[i]) = (1.0, 2);", "{}"),
        of("(m[i, j], v[i, j]) = { let t = w; (t, t) };", "{}"),
        of("(m[i, j], v[i, j]) = if x[i, j] > 0.0 { (1.0, 2.0) } else { (2.0, 1.0) };", "{}"),
        of("(m[i, j], v[i, j]) = (x[i, j], m[j, i]);", "{}"),
        of("(m[i, j], v[i, j]) = (x[i, j], m[i, j]); y[i] = m[i, i];", "{}"),
        of(both, "{ v { tile(i: 4) => workgroup(x); } }"),
        of(both, "{ m { tile(i: 4 shift); } }"),
        of(both, "{ m { tile(i: 4, j: 4) => workgroup(y, x); promote(v => v_copy, at: workgroup, to: shared); } }"),
        of(
            "(y[i], z[i]) = (x[i, 0], 2);",
            "{ y { tile(i: 4) => workgroup(x); promote(y => y_copy, at: workgroup, to: shared); } }",
        ),
        of("(m[i, j], v[i, j]) = (x[i, j], x[j, i]);", "{ pack(v[i, j] => [j, i], when: caller); }"),
    ];
    super::wrong::snapshot("together_wrong", cases.join("\n"));
}
