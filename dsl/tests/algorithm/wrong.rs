//! Wrong kernels, each with all its errors. Read the snapshots in review: would these messages help a user?

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use tilewright_dsl::algorithm::check_generic;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::syntax::kernel;

/// Returns all errors of a kernel, or `right`.
fn judged(text: &str) -> String {
    let mut spans = Spans::new();
    let parsed = kernel::parse(text.parse().unwrap(), &mut spans);
    let mut errors = parsed.errors;
    if let Some(kernel) = parsed.tree {
        errors.keep(check_generic(&kernel));
    }
    if errors.is_empty() { "right\n".into() } else { strip(&errors.texts(&spans)) }
}

/// Removes the name of the parsed string, because it contains a counter that depends on the other tests.
fn strip(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.split("<parsed string ").enumerate() {
        let part = if n == 0 { part } else { part.split_once(">:").map_or(part, |(_, rest)| rest) };
        out += part;
    }
    out
}

/// Returns kernels, each followed by its verdict.
pub(super) fn all(kernels: &[&str]) -> String {
    let mut out = String::new();
    for kernel in kernels {
        let shown: Vec<&str> = kernel.lines().map(|l| l.strip_prefix("        ").unwrap_or(l)).collect();
        writeln!(out, "{}\n{}", shown.join("\n"), judged(&shown.join("\n"))).unwrap();
    }
    out
}

/// Compares a text with the snapshot of this name.
pub(super) fn snapshot(name: &str, text: String) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(format!("kernel_{name}"), text));
}

/// Returns a kernel over `x`, `ids` and `y` with this body.
fn body(text: &str) -> String {
    format!("fn k<N, M>(x: f32[N, M], ids: i32[N], s: f32) -> y: f32[N, M] {{ {text} }}")
}

/// Returns bodies, each followed by its verdict.
fn bodies(texts: &[&str]) -> String {
    texts.iter().fold(String::new(), |out, text| out + text + "\n" + &judged(&body(text)) + "\n")
}

#[test]
fn syntax() {
    snapshot(
        "syntax",
        all(&[
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] += x[i]; }",
            "fn k<N>(x: f32[N]) -> f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: &f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<const N: usize>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] where N % 4 == 0 { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { for i in 0..N { y[i] = x[i]; } }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = while x[i] > 0.0 { 1.0 }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = match x[i] { _ => 1.0 }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = return x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = if x[i] > 0.0 { x[i] }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = 0.0 < x[i] < 1.0; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = { let a = x[i]; a; }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = { let mut a = x[i]; a }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = { let t[j]: f32[N] = x[j]; t[i] }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { let t: f32[N] = x; y[i] = t[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { let t[i] = x[i]; y[i] = t[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i]: f32[N] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y = x; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = (x[i])[0]; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i].max; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = mean(k in 0..N) { x[k] }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in N) { x[k] }; }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] }",
            "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = ; y[i] = x[;]; }",
            "fn k<N(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "struct K;",
            "fn k<N>(x: f32[N], x: f32[M] y: f32) -> z: f32[N] { const W = [1.0]; z[i] = x[i] @ y; let 3 = 4; }",
        ]),
    );
}

#[test]
fn headers() {
    snapshot(
        "headers",
        all(&[
            "fn k<N>(x: f64[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<N>(x: bf16[N], i: usize, q: flot32[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<T: f32 | f64 | f32, N>(x: T[N]) -> y: T[N] { y[i] = x[i]; }",
            "fn k<Typ: f32 | f16, N>(x: Tpy[N]) -> y: Typ[N] { y[i] = x[i]; }",
            "fn k<T: f32 | f16, N>(x: T[T]) -> y: N[N] { y[i] = x[i]; }",
            "fn k<N, N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N], x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N], f32: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N], s: &mut f32) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N]) { let y[i]: f32[N] = x[i]; }",
            "fn k<N>(x: f32[N]) -> y: f32 { y[i] = x[i]; }",
            "fn k<N, A = B + 1, B = A * N>(x: f32[N]) -> y: f32[A] { y[i] = 0.0; }",
            "fn k<N, M>(x: f32[N]) -> y: f32[N / M] { y[i] = x[i]; }",
            "fn k<N, S = 0>(x: f32[N]) -> y: f32[N / S] { y[i] = x[i]; }",
            "fn k<N, S = 2 - 3>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N, S = 3000000000>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
            "fn k<N>(x: f32[N], s: i32) -> y: f32[s] { y[i] = 0.0; }",
            "fn k<N>(x: f32[N]) -> y: f32[N.max(2)] { y[i] = 0.0; }",
            "fn k<N>(x: f32[K]) -> y: f32[N] { y[i] = 0.0; }",
            "fn k<N>(x: f32[N][N]) -> y: f32[N] { y[i] = 0.0; }",
            "fn k<N>(x: f32[1, 2, 3, 4, 5, 6, 7, 8, N]) -> y: f32[N] { y[i] = 0.0; }",
            "fn k<N>(x: f32[N]) -> (y: f32[N], z: f32[N]) { y[i] = x[i]; }",
            "fn k<N>(x: &mut f32[N]) -> y: f32[N] { y[i] = 1.0; }",
            "fn k<N, M>(x: f32[N]) -> y: f32[N, M] { y[i, j] = x[i]; }",
            "fn k<N>(x: f32[N / 2]) -> y: f32[N] { y[i] = 0.0; }",
            "fn k<N, M>(x: f32[N * M]) -> y: f32[N] { y[i] = 0.0; }",
        ]),
    );
}

#[test]
fn definitions() {
    snapshot(
        "definitions",
        bodies(&[
            "y[i, i] = x[i, 0];",
            "y[ids[i], j] = x[i, j];",
            "y[i + 1, j] = x[i, j];",
            "y[2 * i, j] = x[i, j];",
            "y[0, j] = x[0, j];",
            "y[i] = x[i, 0];",
            "y[x, j] = 0.0;",
            "y[i, j] = 0.0; y[i, j] = 1.0;",
            "x[i, j] = 0.0; y[i, j] = 1.0;",
            "s[i, j] = 0.0; y[i, j] = 1.0;",
            "z[i, j] = 0.0; y[i, j] = 1.0;",
            "const W: f32[2] = [0.0, 1.0]; W[i] = 0.0; y[i, j] = 1.0;",
            "let t[i, j]: f32[N, M] = x[i, j]; y[i, j] = 1.0;",
            "y[i, j] = t[i, j]; let t[i, j]: f32[N, M] = x[i, j];",
            "y[i, j] = t[i, j]; let t[i, j]: f32[N, M] = y[i, j];",
            "y[i, j] = y.pad(0.0)[i - 1, j] + x[i, j];",
            "let x[i]: f32[N] = 0.0; y[i, j] = x[i, j];",
            "let t[i]: i32[N] = x[i, 0]; y[i, j] = t[i] as f32;",
            "const W: f32[2, 2] = [[0.0, 1.0], [2.0]]; const V: f32[N] = [0.0]; const U: i32 = 0.5; const Q: f32[2] = [s, 1.0]; y[i, j] = W[0, 0];",
            "let c = sum(i in 0..N) { x[i, 0] }; y[i, j] = c;",
        ]),
    );
}

#[test]
fn values() {
    snapshot(
        "values",
        bodies(&[
            "y[i, j] = x[i, j] + ids[i];",
            "y[i, j] = x[i, j] * i;",
            "y[i, j] = ids[i];",
            "y[i, j] = x[i, j] + 1i32;",
            "y[i, j] = if x[i, j] { 1.0 } else { 0.0 };",
            "y[i, j] = if x[i, j] > 0 { 1.0 } else { ids[i] };",
            "y[i, j] = x[i, j] && true;",
            "y[i, j] = !x[i, j];",
            "y[i, j] = (ids[i] + 0.5) as f32;",
            "y[i, j] = (x[i, j] > 0.0) as f32;",
            "y[i, j] = x[i, j] as bool as i32 as f32;",
            "y[i, j] = x[i, j] as f64;",
            "y[i, j] = 1e39;",
            "y[i, j] = (ids[i] + 3000000000) as f32;",
            "y[i, j] = -(ids[i] as u32) as f32;",
            "y[i, j] = x[i, j] ^ 1.0;",
            "y[i, j] = ((ids[i] > 0) < (ids[i] > 1)) as i32 as f32;",
            "y[i, j] = x;",
            "y[i, j] = q + i_;",
            "y[i, j] = idz[i] as f32 + xx[i, j];",
            "y[i, j] = thread as f32;",
            "y[i, j] = s[i];",
            "y[i, j] = x[i];",
            "y[i, j] = x[i, s];",
            "y[i, j] = [1.0, 2.0];",
            "y[i, j] = { let i = 3; x[i, j] };",
            "y[i, j] = { let a = x[i, k]; a + a * a };",
            "y[i, j] = (i / N) as f32 + (i / M) as f32 + (i / (i - 1)) as f32 + (i % 0) as f32;",
            "y[i, j] = f32::INFINTY + i32::PI;",
        ]),
    );
}

#[test]
fn maths() {
    snapshot(
        "maths",
        bodies(&[
            "y[i, j] = max(x[i, j], 0.0);",
            "y[i, j] = exp(x[i, j]);",
            "y[i, j] = relu(x[i, j]);",
            "y[i, j] = f32(ids[i]);",
            "y[i, j] = x[i, j].sqr();",
            "y[i, j] = x[i, j].sum();",
            "y[i, j] = x[i, j].log();",
            "y[i, j] = x[i, j].max();",
            "y[i, j] = x.clamp();",
            "y[i, j] = x.pad(0.0);",
            "y[i, j] = x.len() as f32;",
            "y[i, j] = ids[i].exp() as f32;",
            "y[i, j] = x[i, j].max(ids[i]);",
            "y[i, j] = x[i, j].powi(ids[i]) + x[i, j].pow(2) + ids[i].pow(-1) as f32;",
            "y[i, j] = x[i, j].pow(x[i, 0]);",
            "y[i, j] = x[i, j].pow(2.5);",
            "let n = 3; y[i, j] = x[i, j].pow(n) + x[i, j].pow(-2);",
            "y[i, j] = sum(x[i, j]);",
            "y[i, j] = scatter(x, ids);",
            "y[i, j] = (x[i, j] > 0.0).abs();",
        ]),
    );
}

#[test]
fn functions_of_floats_and_integers() {
    snapshot(
        "functions",
        bodies(&[
            "y[i, j] = x[i, j].log1p() + x[i, j].expm1() + x[i, j].rint() + x[i, j].round_even();",
            "y[i, j] = x[i, j].bitcast();",
            "y[i, j] = ids[i].to_bits() as f32;",
            "y[i, j] = x[i, j].to_bits();",
            "y[i, j] = x[i, j].from_bits();",
            "y[i, j] = f32::from_bits(ids[i]);",
            "y[i, j] = f32::from_bits(x[i, j]) + f32::from_bits(1.5);",
            "y[i, j] = f16::from_bits(3u32) as f32 + bf16::from_bits(70000) as f32;",
            "y[i, j] = u32::from_bits(3) as f32;",
            "y[i, j] = f32::from_bits(3, 4) + f32::from_bits();",
            "y[i, j] = f64::from_bits(3) as f32;",
            "y[i, j] = from_bits(3u32);",
            "y[i, j] = x[i, j].copysign(ids[i]);",
            "y[i, j] = ids[i].copysign(1) as f32;",
            "y[i, j] = x[i, j].copysign();",
            "y[i, j] = ids[i].round_ties_even();",
            "y[i, j] = ids[i].pow(ids[i]) as f32 + ids[i].pow(x[i, j]) as f32 + ids[i].pow(j) as f32;",
            "y[i, j] = ids[i].pow(2000) as f32;",
            "y[i, j] = i.rem_euclid(j) as f32;",
            "y[i, j] = i.div_euclid(0) as f32;",
            "y[i, j] = x[i, j].rem_euclid(ids[i]);",
            "y[i, j] = (ids[i] > 0).div_euclid(true) as f32;",
            "y[i, j] = x[i, j].modulo(2.0) + x[i, j].fmod(2.0);",
        ]),
    );
}

#[test]
fn functions_of_bits() {
    snapshot(
        "bits",
        bodies(&[
            "y[i, j] = x[i, j].count_ones() as f32;",
            "y[i, j] = (ids[i] > 0).leading_zeros() as f32;",
            "y[i, j] = ids[i].trailing_zeros();",
            "y[i, j] = (ids[i] + ids[i].count_ones()) as f32;",
            "y[i, j] = ids[i].popcount() as f32;",
            "y[i, j] = ids[i].rotate_left(ids[i]) as f32;",
            "y[i, j] = ids[i].rotate_left(1.5) as f32;",
            "y[i, j] = ids[i].rotate_left(-1) as f32;",
            "y[i, j] = ids[i].rotate_right(x[i, j]) as f32;",
            "y[i, j] = x[i, j].rotate_right(3);",
            "y[i, j] = ids[i].rotate_left() as f32;",
            "y[i, j] = x[i, j].mul_hi(2.0);",
            "y[i, j] = ids[i].mul_hi(3u32) as f32;",
            "y[i, j] = ids[i].widening_mul(3) as f32;",
            "y[i, j] = ids[i].erf();",
            "y[i, j] = erf(x[i, j]) + x[i, j].erfc();",
            "y[i, j] = x[i, j].fma(2.0, s) + x[i, j].mul_add(ids[i], s);",
            "y[i, j] = ids[i].mul_add(2, 3) as f32;",
            "y[i, j] = x[ids[i].count_ones() as i32, j];",
        ]),
    );
}

#[test]
fn reads() {
    snapshot(
        "reads",
        bodies(&[
            "y[i, j] = x[i + 1, j];",
            "y[i, j] = x[i - 1, j];",
            "y[i, j] = x[j, i];",
            "y[i, j] = x[2 * i, j + N];",
            "y[i, j] = x[ids[i], j];",
            "y[i, j] = x[s as i32, j];",
            "y[i, j] = if i > 0 { x[i - 2, j] } else { 0.0 };",
            "y[i, j] = if ids[i] < N { x[ids[i], j] } else { 0.0 };",
            // Another element than the condition covers, a sum that may wrap, a number that changes when cast to `i32`, and the value of
            // `pad`.
            "y[i, j] = if 0 <= ids[i] && ids[i] < N { x[ids.clamp()[i + 1], j] } else { 0.0 };",
            "y[i, j] = if 0 <= ids[i] && ids[i] + 1 < N { x[ids[i] + 1, j] } else { 0.0 };",
            "y[i, j] = if ids[i] as u32 > 5 { x[(ids[i] as u32) as i32, j] } else { 0.0 };",
            "let k[i]: i32[N] = ids[i].max(0).min(N - 1); y[i, j] = x[k.pad(-1)[i + 1], j];",
            "let k[i]: i32[N] = argmax(l in 0..M) { x[i, l] }; y[i, j] = x[i, k[i]] + x[k[i], j];",
            "let k[i]: i32[N] = argmax(l in 0..M) { x[i, l] }; y[i, j] = x[i, k[i] + 1];",
            "y[i, j] = x[(i as f32 * 0.5) as i32, j];",
            "y[i, j] = x.pad(x[i, j])[i + 1, j];",
            "y[i, j] = x.pad(0)[i + 1, j] + x.pad(true)[i, j];",
            "y[i, j] = sum(k in 0..3) { x[i + k, j] };",
            "const W: f32[3] = [0.0, 1.0, 2.0]; y[i, j] = W[i % 4];",
            "let a = i > 0; y[i, j] = x[i, j];",
            "y[i, j] = { let a = x[i - 1, j]; if i > 0 { a } else { 0.0 } };",
            "y[i, j] = x[i as u32, j];",
        ]),
    );
}

#[test]
fn conv_reads() {
    snapshot(
        "conv_reads",
        all(&[
            "fn conv<IW, S = 2, OW = (IW - 3) / S + 1>(x: f32[IW], w: f32[3]) -> y: f32[OW + 1] {
            y[o] = sum(f in 0..3) { x[o * S + f] * w[f] };
        }",
            "fn conv<OW, S = 2, IW = (OW - 1) * S + 3>(x: f32[IW], w: f32[3]) -> y: f32[OW] {
            y[o] = sum(f in 0..3) { x[o * S + f] * w[f] };
        }",
            "fn conv<IW, OW = IW - 2>(x: f32[IW], w: f32[3]) -> y: f32[OW] {
            y[o] = sum(f in 0..4) { x[o + f] * w[f] };
        }",
            "fn conv<IW, S = 1, D = 1>(x: f32[(IW - 1) * S + 2 * D + 1], w: f32[3]) -> y: f32[IW] {
            y[o] = sum(f in 0..3) { x[o * S + f * D] * w[f] };
        }",
        ]),
    );
}

#[test]
fn reductions() {
    snapshot(
        "reductions",
        bodies(&[
            "y[i, j] = sum(k in 0..N) { x[k, j] } / sum(k in 0..M) { x[i, k] };",
            "y[i, j] = sum(k in 0..N) { sum(l in 0..M) { x[k, l] } };",
            "y[i, j] = sum(k in 0..ids[i]) { x[k, j] };",
            "y[i, j] = sum(i in 0..N) { x[i, j] };",
            "y[i, j] = sum(k in 0..N, k in 0..M) { x[k, k] };",
            "y[i, j] = sum(k in 0..N) { x[k, j] > 0.0 };",
            "y[i, j] = any(k in 0..N) { x[k, j] };",
            "y[i, j] = argmax(k in 0..N) { x[k, j] };",
            "y[i, j] = argmax(k in 0..i) { x[k, j] } as f32;",
            "y[i, j] = argmax(k in 0..N, l in 0..k + 1) { x[k, 0] } as f32;",
            "y[i, j] = sum(k in 0..i - j) { x[k, j] };",
            "y[i, j] = sum(k in 0..N) { x[k, j] } + k as f32;",
            "y[i, j] = sum(k in 0..K) { z[k, j] };",
            "y[i, j] = sum(k in 0..3.5) { 1.0 };",
        ]),
    );
}

#[test]
fn updates() {
    snapshot(
        "updates",
        all(&[
            "fn k<N>(x: &mut f32[N]) { x[i] = x[N - 1 - i]; }",
            "fn k<N>(x: &mut f32[N], a: f32[N]) -> y: f32[N] { x[i] = x[i] + a[i]; y[i] = x[i]; }",
            "fn k<N>(x: &mut f32[N]) { x[i] = x[i] + x.pad(0.0)[i]; }",
            "fn k<N>(x: &mut f32[N]) { x[i] += 1.0; }",
        ]),
    );
}

#[test]
fn dtypes_decide() {
    snapshot(
        "dtypes_decide",
        all(&[
            "fn k<T: f32 | i32, N>(x: T[N]) -> y: T[N] { y[i] = x[i].exp(); }",
            "fn k<T: f32 | f16, U: f32 | f16, N>(x: T[N], z: U[N]) -> y: T[N] { y[i] = x[i] + z[i]; }",
            "fn k<T: f32 | f16, N>(x: T[N]) -> y: T[N] { y[i] = x[i] * 70000.0; }",
        ]),
    );
}

#[test]
fn a_wrong_name_is_said_once() {
    let text = body("let a[i]: f32[N] = q[i]; let b[i]: f32[N] = a[i] * c; let d[i]: f32[N] = a[i] + b[i]; y[i, j] = d[i] * s;");
    assert_eq!(judged(&text).matches("error:").count(), 2, "{}", judged(&text));
}

/// Mistakes with dtypes of 8 and 16 bits.
#[test]
fn narrow() {
    let kernel = |value: &str| {
        format!(
            "fn k<N>(b: i8[N], u: u8[N], h: i16[N], w: u16[N], f: bf16[N], g: f16[N], x: i32[N], t: f32[64]) -> y: i8[N] {{ y[i] = {value}; }}"
        )
    };
    let values = [
        "b[i] + u[i]",
        "b[i] + h[i]",
        "u[i] + w[i]",
        "h[i] + w[i]",
        "b[i] + x[i]",
        "b[i] * f[i]",
        "(f[i] + g[i]) as i8",
        "(x[i] as u32 + b[i]) as i8",
        "x[i]",
        "f[i]",
        "u[i] as bool as i8",
        "-u[i] as i8",
        "u[i].abs() as i8",
        "b[i] + 200",
        "b[i] + 1.5",
        "(u[i] - 256) as i8",
        "(f[i] + 1e39) as i8",
        "b[u[i]]",
        "t[u[i] as i32] as i8",
        "b[i].sqrt()",
        "b[i].powi(2)",
        "f[i].count_ones() as i8",
        "(u[i] & f[i]) as i8",
        "i8::NAN",
        "(f[i] + bf16::INFINTY) as i8",
        "b[i] << 1.0",
        "if b[i] { 1 } else { 0 }",
        "sum(k in 0..N) { x[k] }",
        "argmax(k in 0..N) { b[k] }",
        "b.pad(0.0)[i + 1]",
    ];
    let text = values.iter().fold(String::new(), |out, value| out + value + "\n" + &judged(&kernel(value)) + "\n");
    snapshot("narrow", text);
    snapshot(
        "narrow_heads",
        all(&[
            "fn k<N>(x: i64[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<N>(x: u64[N], n: int) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<N>(x: bfloat16[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<N>(x: byte[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<N>(x: int8[N], z: uint8[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<N>(x: char[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
            "fn k<T: i8 | u8, N>(x: T[N]) -> y: T[N] { y[i] = -x[i]; }",
            "fn k<T: i8 | bf16, N>(x: T[N]) -> y: T[N] { y[i] = x[i] >> 1; }",
            "fn k<N>(x: u8[N]) -> y: u8[N] { const T: u8[3] = [1, 2, 256]; y[i] = x[i] * T[0]; }",
            "fn k<N>(x: i8[N]) -> y: i8[N] { const C: i8 = -129; y[i] = x[i] + C; }",
        ]),
    );
}

/// Elements of `i64` are indices only.
#[test]
fn positions() {
    let kernel = |text: &str| format!("fn k<N, M>(x: f32[N, M], at: i64[N], s: f32) -> y: f32[N] where M >= 1 {{ {text} }}");
    let of_f32 = [
        // Right: kept in bounds in each way, compared with an `i32`, or converted.
        "y[i] = x.clamp()[at[i], 0] + x.pad(0.0)[at[i], 0];",
        "y[i] = if 0 <= at[i] && at[i] < N { x[at[i], 0] } else { s };",
        "y[i] = x[at[i].clamp(0, N - 1), at[i].max(0).min(M - 1)];",
        "y[i] = { let k = at[i]; x.clamp()[if k < 0 { k as i32 + N } else { k as i32 }, 0] };",
        "y[i] = x.clamp()[at.pad(-1)[i + 1], if i > 0 { at[i] } else { 0 }];",
        // Not in bounds.
        "y[i] = x[at[i], 0];",
        "y[i] = if at[i] < N { x[at[i], 0] } else { s };",
        // Arithmetic.
        "y[i] = x.clamp()[at[i] + 1, 0];",
        "y[i] = x.clamp()[-at[i], 0];",
        "y[i] = x.clamp()[!at[i], 0];",
        "y[i] = x.clamp()[at[i] & 7, at[i] >> 3];",
        "y[i] = x.clamp()[at[i].abs(), at[i].rem_euclid(M)];",
        "y[i] = x.clamp()[at[i].pow(2), 0];",
        "y[i] = x.clamp()[at[i].rotate_left(3), 0];",
        "y[i] = s * at[i];",
        // Comparisons that the nearest number of 32 bits does not decide.
        "y[i] = if at[i] == at.clamp()[i + 1] { 1.0 } else { 0.0 };",
        "y[i] = if at[i] < s { 1.0 } else { 0.0 };",
        // Reductions and conversions.
        "y[i] = sum(j in 0..N) { at[j] } as f32;",
        "y[i] = x.clamp()[argmax(j in 0..N) { at[j] }, 0];",
        "y[i] = at[i] as f32;",
        "y[i] = at[i];",
        // Other tensors and numbers.
        "let t[i]: i64[N] = i as i64; y[i] = x.clamp()[t[i], 0];",
        "const T: i64[2] = [0, 1]; y[i] = x.clamp()[T[i % 2], 0];",
        "const K: i64 = 3; y[i] = x.clamp()[K, 0];",
        "y[i] = if at[i] == 5000000000 { 1.0 } else { 0.0 };",
    ];
    let of_i64 = [
        "y[i] = argmax(j in 0..M) { x[i, j] } as i64;",
        "y[i] = if x[i, 0] > 0.0 { i as i64 } else { -1 };",
        "y[i] = at[i].min(N) as i64;",
        "y[i] = (at[i] as u32 as i32).count_ones() as i64;",
        "y[i] = at[i];",
        "y[i] = if x[i, 0] > 0.0 { at[i] } else { 0 };",
        "y[i] = i;",
        "y[i] = x[i, 0] as i64;",
        "y[i] = (i * i) as i64;",
        "y[i] = (i * 3000000000) as i64;",
        "y[i] = (i * 1000000 * 1000000) as i64;",
        "y[i] = 5000000000;",
    ];
    let of_i64_kernel = |text: &str| format!("fn k<N, M>(x: f32[N, M], at: i64[N]) -> y: i64[N] where M >= 1 {{ {text} }}");
    let mut said = String::new();
    for (texts, kernel) in [(&of_f32[..], &kernel as &dyn Fn(&str) -> String), (&of_i64, &of_i64_kernel)] {
        texts.iter().for_each(|text| said += &format!("{text}\n{}\n", judged(&kernel(text))));
    }
    let heads = [
        "fn k<N>(x: f32[N], at: i64) -> y: f32[N] { y[i] = x.clamp()[at]; }",
        "fn k<T: i32 | i64, N>(x: f32[N], at: T[N]) -> y: f32[N] { y[i] = x.clamp()[at[i]]; }",
        "fn k<N>(at: &mut i64[N]) { at[i] = (at[i] as i32 + 1) as i64; }",
        "fn k<N>(at: &mut i64[N]) { at[i] = at[i]; }",
    ];
    snapshot("positions", said + &all(&heads));
}

/// The axes of a wrong definition have the same names.
#[test]
fn names_after_a_wrong_definition() {
    let texts = ["let t[i, j]: f32[N, M] = x[i, j + 1]; y[i, j] = sum(k in 0..M) { x[i + 1, j + k] };"];
    snapshot("names_after_a_wrong_definition", bodies(&texts));
}
