//! The refusals of `decompose_online`, each with its whole message.

use crate::online::{SOFTMAX, compiled};
use tilewright_dsl::nest::print;

/// A correct schedule of a softmax.
const RIGHT: &str = "{ decompose_online(m, l); }";

/// Returns a kernel with a softmax's stages: the maximum and the sum, as given, and a result that reads both.
fn rows(max: &str, sum: &str) -> String {
    format!(
        "fn k<R, C>(x: f32[R, C], w: f32[R, C], z: f32[C, C], t: f32[R], a: f32) -> y: f32[R] {{
            let m[i]: f32[R] = {max};
            let l[i]: f32[R] = {sum};
            y[i] = m[i] + l[i] + x.pad(0.0)[i, 0] + w.pad(0.0)[i, 0] + z.pad(0.0)[0, 0] + t[i] + a;
        }}"
    )
}

/// The maximum of a row.
const MAX: &str = "max(j in 0..C) { x[i, j] }";
/// The sum of exponentials relative to it.
const SUM: &str = "sum(j in 0..C) { (x[i, j] - m[i]).exp() }";

/// Statements that are refused for every kernel. Here the kernel is a softmax.
const STATEMENTS: &[(&str, &str)] = &[
    // Syntax.
    ("nothing", "{ decompose_online(); }"),
    ("no parentheses", "{ decompose_online; }"),
    ("one member", "{ decompose_online(m); }"),
    ("one member, in blocks", "{ decompose_online(m => m_b, block: 64); }"),
    ("no comma between members", "{ decompose_online(m l); }"),
    ("a number in place of a member", "{ decompose_online(m, 1); }"),
    ("a string in place of a member", "{ decompose_online(\"m\", l); }"),
    ("a key without an arrow", "{ decompose_online(m, l, block: 64); }"),
    ("no `block`", "{ decompose_online(m, l => m_b, l_b); }"),
    ("`block` without a number", "{ decompose_online(m, l => m_b, l_b, block); }"),
    ("`block` with nothing after the colon", "{ decompose_online(m, l => m_b, l_b, block:); }"),
    ("no names for blocks", "{ decompose_online(m, l => block: 64); }"),
    ("nothing after the arrow", "{ decompose_online(m, l =>); }"),
    ("too few names", "{ decompose_online(m, l => m_b, block: 64); }"),
    ("too many names", "{ decompose_online(m, l => m_b, l_b, o_b, block: 64); }"),
    ("a misspelt key", "{ decompose_online(m, l => m_b, l_b, blocks: 64); }"),
    ("something after `block`", "{ decompose_online(m, l => m_b, l_b, block: 64, tail: peel); }"),
    ("`block` in front of the names", "{ decompose_online(m, l => block: 64, m_b, l_b); }"),
    ("a target", "{ decompose_online(m, l) => thread(x); }"),
    // Masked scores.
    ("`mask` in front of `block`", "{ decompose_online(m, l => m_b, l_b, mask: s, block: 64); }"),
    ("`mask` without scores", "{ decompose_online(m, l => m_b, l_b, block: 64, mask:); }"),
    ("`mask` without blocks", "{ decompose_online(m, l, mask: s); }"),
    ("something after `mask`", "{ decompose_online(m, l => m_b, l_b, block: 64, mask: s, tail: peel); }"),
    ("scores that are an input", "{ decompose_online(m, l => m_b, l_b, block: 64, mask: x); }"),
    ("a maximum in place of the scores", "{ decompose_online(m, l => m_b, l_b, block: 64, mask: m); }"),
    // The size of a block.
    ("a block of 0", "{ decompose_online(m, l => m_b, l_b, block: 0); }"),
    ("a block of -4", "{ decompose_online(m, l => m_b, l_b, block: -4); }"),
    ("a block of 2.0", "{ decompose_online(m, l => m_b, l_b, block: 2.0); }"),
    ("a block of a size", "{ decompose_online(m, l => m_b, l_b, block: C); }"),
    ("a block of an unknown axis", "{ decompose_online(m, l => m_b, l_b, block: B); }"),
    // Names.
    ("a stage that is misspelt", "{ decompose_online(m, ll); }"),
    ("a maximum that is not a stage", "{ decompose_online(largest, l); }"),
    ("an input in place of a stage", "{ decompose_online(x, l); }"),
    ("one member twice", "{ decompose_online(m, l, l); }"),
    ("the maximum as a sum", "{ decompose_online(m, m); }"),
    ("the sum in front of the maximum", "{ decompose_online(l, m); }"),
    ("the name of a stage for a block's", "{ decompose_online(m, l => m_b, l, block: 64); }"),
    ("the name of an input for a block's", "{ decompose_online(m, l => x, l_b, block: 64); }"),
    ("the name of a dim for a block's", "{ decompose_online(m, l => R, l_b, block: 64); }"),
    ("one name for two stages of a block", "{ decompose_online(m, l => b, b, block: 64); }"),
    ("the same members again", "{ decompose_online(m, l); decompose_online(m, l); }"),
    ("the same members again, in blocks", "{ decompose_online(m, l); decompose_online(m, l => m_b, l_b, block: 64); }"),
    ("the result as a sum", "{ decompose_online(m, l, y); }"),
    // Its position, and other directives on its stages.
    ("after a directive", "{ tile(i: 4) => workgroup(x); decompose_online(m, l); }"),
    ("in a block of directives", "{ l { decompose_online(m, l); } }"),
    ("a directive for a member that is gone", "{ decompose_online(m, l); m { tile(i: 4) => workgroup(x); } }"),
    ("a member that is gone, as a root", "{ decompose_online(m, l); root(m); }"),
    (
        "a member that is gone, placed",
        "{ decompose_online(m, l); tile(i: 4) => workgroup(y); compute_at(m, workgroup, to: shared); }",
    ),
    ("a member that is gone, packed", "{ decompose_online(m, l); pack(m[i] => [i / 4, i % 4]); }"),
    ("a member that is gone, precomputed", "{ decompose_online(m, l); precompute(m); }"),
    ("the sum, precomputed", "{ decompose_online(m, l); precompute(l); }"),
    ("the sum, packed", "{ decompose_online(m, l); pack(l[i] => [i / 4, i % 4]); }"),
    ("the sum, inlined", "{ decompose_online(m, l); inline(l); }"),
    ("a sum of a block, inlined", "{ decompose_online(m, l => m_b, l_b, block: 64); inline(l_b); }"),
];

/// Maxima and sums that it does not recognize: a title, the maximum, the sum.
const ROWS: &[(&str, &str, &str)] = &[
    // The maximum.
    ("a sum in place of the maximum", "sum(j in 0..C) { x[i, j] }", SUM),
    ("a minimum in place of the maximum", "min(j in 0..C) { x[i, j] }", SUM),
    ("no reduction in place of the maximum", "t[i]", SUM),
    ("a maximum with something after it", "max(j in 0..C) { x[i, j] } + 1.0", SUM),
    ("a maximum with a bound", "(max(j in 0..C) { x[i, j] }).max(0.0)", SUM),
    // The sum.
    ("a maximum in place of the sum", MAX, "max(j in 0..C) { (x[i, j] - m[i]).exp() }"),
    ("a product in place of the sum", MAX, "prod(j in 0..C) { (x[i, j] - m[i]).exp() }"),
    ("no reduction in place of the sum", MAX, "(t[i] - m[i]).exp()"),
    ("a sum that does not see the maximum", MAX, "sum(j in 0..C) { x[i, j].exp() }"),
    ("a sum that sees the maximum in what follows it alone", MAX, "sum(j in 0..C) { x[i, j] } * m[i]"),
    ("a shorter range", MAX, "sum(j in 0..C - 1) { (x[i, j] - m[i]).exp() }"),
    ("a range that begins later", MAX, "sum(j in 1..C) { (x[i, j] - m[i]).exp() }"),
    ("another range", MAX, "sum(j in 0..i + 1) { (x.clamp()[i, j] - m[i]).exp() }"),
    ("two axes in place of one", MAX, "sum(j in 0..C, k in 0..2) { (x[i, j] - m[i]).exp() }"),
    ("another order of axes", "max(j in 0..C, k in 0..R) { x[k, j] }", "sum(k in 0..R, j in 0..C) { (x[k, j] - m[i]).exp() }"),
    // Other readers of the maximum.
    ("the maximum of another row", MAX, "sum(j in 0..C) { (x[i, j] - m.clamp()[i + 1]).exp() }"),
    (
        "the maximum of the row with the number of the item",
        "max(j in 0..R) { z.clamp()[i, j] }",
        "sum(j in 0..R) { (z.clamp()[i, j] - m[j]).exp() }",
    ),
    ("the maximum of this row and of another", MAX, "sum(j in 0..C) { (x[i, j] - m[i]).exp() * m[0] }"),
    // The use of its value.
    ("no exponential", MAX, "sum(j in 0..C) { x[i, j] - m[i] }"),
    ("the maximum less the score", MAX, "sum(j in 0..C) { (m[i] - x[i, j]).exp() }"),
    ("twice the maximum", MAX, "sum(j in 0..C) { (x[i, j] - 2.0 * m[i]).exp() }"),
    ("the maximum added", MAX, "sum(j in 0..C) { (x[i, j] + m[i]).exp() }"),
    ("the maximum alone", MAX, "sum(j in 0..C) { m[i].exp() }"),
    ("the square of an exponential", MAX, "sum(j in 0..C) { (x[i, j] - m[i]).exp() * (x[i, j] - m[i]).exp() }"),
    ("the power of an exponential", MAX, "sum(j in 0..C) { (x[i, j] - m[i]).exp().powi(2) }"),
    ("an exponential and 1", MAX, "sum(j in 0..C) { (x[i, j] - m[i]).exp() + 1.0 }"),
    ("a divisor", MAX, "sum(j in 0..C) { 1.0 / (x[i, j] - m[i]).exp() }"),
    ("an exponential times the maximum", MAX, "sum(j in 0..C) { (x[i, j] - m[i]).exp() * m[i] }"),
    ("a condition on the maximum", MAX, "sum(j in 0..C) { if x[i, j] < m[i] { (x[i, j] - m[i]).exp() } else { 0.0 } }"),
    ("another value in a choice", MAX, "sum(j in 0..C) { if j < i { (x[i, j] - m[i]).exp() } else { 0.5 } }"),
    ("a logarithm", MAX, "sum(j in 0..C) { (x[i, j] - m[i]).exp().ln() }"),
    ("another constant below", MAX, "sum(j in 0..C) { (x[i, j] - m[i] - 1.0).exp() }"),
    // The scores.
    ("other scores", MAX, "sum(j in 0..C) { (w[i, j] - m[i]).exp() }"),
    ("scores with a factor", MAX, "sum(j in 0..C) { (x[i, j] * 0.5 - m[i]).exp() }"),
    ("scores of another row", MAX, "sum(j in 0..C) { (x[0, j] - m[i]).exp() }"),
    (
        "scores that a mask leaves out of the sum's exponential alone",
        MAX,
        "sum(j in 0..C) { ((if j < i { x[i, j] } else { 0.0 }) - m[i]).exp() }",
    ),
    ("a mask of the maximum that the sum does not have", "max(j in 0..C) { if j < i { x[i, j] } else { -f32::INFINITY } }", SUM),
    // A factor inside the exponential.
    ("a factor that depends on the row", MAX, "sum(j in 0..C) { ((x[i, j] - m[i]) * t[i]).exp() }"),
    ("a divisor within", MAX, "sum(j in 0..C) { ((x[i, j] - m[i]) / a).exp() }"),
    ("a factor of 0", MAX, "sum(j in 0..C) { ((x[i, j] - m[i]) * 0.0).exp() }"),
    ("a negated difference", MAX, "sum(j in 0..C) { (-(x[i, j] - m[i])).exp() }"),
    ("a factor below 0", MAX, "sum(j in 0..C) { ((x[i, j] - m[i]) * -2.0).exp() }"),
];

/// Kernels of other forms: a title, the kernel, the schedule.
const KERNELS: &[(&str, &str, &str)] = &[
    (
        "a maximum of integers",
        "fn k<R, C>(x: i32[R, C]) -> y: f32[R] {
            let m[i]: i32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { ((x[i, j] - m[i]) as f32).exp() };
            y[i] = l[i];
        }",
        RIGHT,
    ),
    (
        "the place of the maximum",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: i32[R] = argmax(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i] as f32).exp() };
            y[i] = l[i];
        }",
        RIGHT,
    ),
    (
        "a transposed read of the maximum",
        "fn k<R, C>(x: f32[R, R, C]) -> y: f32[R, R] {
            let m[h, i]: f32[R, R] = max(j in 0..C) { x[h, i, j] };
            y[h, i] = sum(j in 0..C) { (x[h, i, j] - m[i, h]).exp() };
        }",
        "{ decompose_online(m, y); }",
    ),
    (
        "one row's maximum for all",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[]: f32[] = max(i in 0..R, j in 0..C) { x[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[]).exp() };
        }",
        "{ decompose_online(m, y); }",
    ),
    (
        "two maxima",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let n[i]: f32[R] = max(j in 0..C) { x[i, j] * 2.0 };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            let h[i]: f32[R] = sum(j in 0..C) { (x[i, j] * 2.0 - n[i]).exp() };
            y[i] = l[i] + h[i];
        }",
        "{ decompose_online(m, l, h); }",
    ),
    (
        "two bases",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            let h[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp2() };
            y[i] = l[i] + h[i];
        }",
        "{ decompose_online(m, l, h); }",
    ),
    (
        "two factors",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (0.5 * (x[i, j] - m[i])).exp() };
            let h[i]: f32[R] = sum(j in 0..C) { (0.25 * (x[i, j] - m[i])).exp() };
            y[i] = l[i] + h[i];
        }",
        "{ decompose_online(m, l, h); }",
    ),
    (
        "two bases in one sum",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() + (x[i, j] - m[i]).exp2() };
        }",
        "{ decompose_online(m, y); }",
    ),
    (
        "a sum within the items of another",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() * (x[i, j] + l[i]) };
        }",
        "{ decompose_online(m, l, y); }",
    ),
    (
        "the sum of another row as a divisor",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() } / l[0];
        }",
        "{ decompose_online(m, l, y); }",
    ),
    (
        "the sum and the maximum needed besides a result of other axes",
        "fn k<N, M, E>(s: f32[N, M], v: f32[M, E]) -> (o: f32[N, E], g: f32[N]) {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let l[i]: f32[N] = sum(j in 0..M) { (s[i, j] - m[i]).exp() };
            o[i, e] = sum(j in 0..M) { (s[i, j] - m[i]).exp() * v[j, e] } / l[i];
            g[i] = m[i] + l[i].ln();
        }",
        "{ decompose_online(m, l, o); }",
    ),
    (
        "a maximum that is an output besides a result of other axes",
        "fn k<N, M, E>(s: f32[N, M], v: f32[M, E]) -> (m: f32[N], o: f32[N, E]) {
            m[i] = max(j in 0..M) { s[i, j] };
            o[i, e] = sum(j in 0..M) { (s[i, j] - m[i]).exp() * v[j, e] };
        }",
        "{ decompose_online(m, o); }",
    ),
    (
        "weights that something else reads besides a result of other axes",
        "fn k<N, M, E>(s: f32[N, M], v: f32[M, E]) -> (o: f32[N, E], g: f32[N, M]) {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let p[i, j]: f32[N, M] = (s[i, j] - m[i]).exp();
            o[i, e] = sum(j in 0..M) { p[i, j] * v[j, e] };
            g[i, j] = p[i, j];
        }",
        "{ decompose_online(m, o); }",
    ),
    (
        "the axes in another order",
        "fn k<R, Q, C>(x: f32[R, Q, C]) -> (m: f32[R, Q], l: f32[Q, R]) {
            m[h, i] = max(j in 0..C) { x[h, i, j] };
            l[i, h] = sum(j in 0..C) { (x[h, i, j] - m[h, i]).exp() };
        }",
        "{ decompose_online(m, l); }",
    ),
    (
        "a reader of the maximum in front of the sum",
        "fn k<R, C>(x: f32[R, C]) -> (y: f32[R], l: f32[R]) {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            y[i] = m[i] * 2.0;
            l[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
        }",
        "{ decompose_online(m, l); }",
    ),
    (
        "weights that are gone",
        "fn k<N, M>(s: f32[N, M]) -> o: f32[N] {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let p[i, j]: f32[N, M] = (s[i, j] - m[i]).exp();
            o[i] = sum(j in 0..M) { p[i, j] };
        }",
        "{ decompose_online(m, o); root(p); p { tile(i: 4) => workgroup(x); } }",
    ),
    (
        "weights that a sum reads which is not named",
        "fn k<N, M, E>(s: f32[N, M], v: f32[M, E]) -> o: f32[N, E] {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let p[i, j]: f32[N, M] = (s[i, j] - m[i]).exp();
            let l[i]: f32[N] = sum(j in 0..M) { p[i, j] };
            o[i, e] = sum(j in 0..M) { p[i, j] * v[j, e] } / l[i];
        }",
        RIGHT,
    ),
    (
        "blocks of two axes",
        "fn k<R, C, D>(x: f32[R, C, D]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C, k in 0..D) { x[i, j, k] };
            y[i] = sum(j in 0..C, k in 0..D) { (x[i, j, k] - m[i]).exp() };
        }",
        "{ decompose_online(m, y => m_b, y_b, block: 64); }",
    ),
    (
        "a sum in two statements",
        "fn k<R, C>(x: f32[R, C]) -> (y: f32[R], z: f32[R]) {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            z[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() * x[i, j] };
        }",
        "{ decompose_online(m, y); decompose_online(m, z); }",
    ),
    (
        "names of blocks in two statements",
        "fn k<R, C>(x: f32[R, C], w: f32[R, C]) -> (y: f32[R], z: f32[R]) {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let n[i]: f32[R] = max(j in 0..C) { w[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            z[i] = sum(j in 0..C) { (w[i, j] - n[i]).exp() };
        }",
        "{ decompose_online(m, y => m_b, s_b, block: 8); decompose_online(n, z => n_b, s_b, block: 8); }",
    ),
];

/// Scores of a triangle, each used without a change.
const MASKED: &str = "fn k<N, D>(q: f16[N, D], k: f16[N, D], a: f32) -> l: f32[N] {
    let s[i, j]: f32[N, N] = sum(d in 0..D) { q[i, d] as f32 * k[j, d] as f32 };
    let m[i]: f32[N] = max(j in 0..i + 1) { s[i, j] };
    l[i] = sum(j in 0..i + 1) { ((s[i, j] - m[i]) * a).exp() } + m[i];
}";

/// The facts that a mask of them needs.
const FACTS: &str = "N % 8 == 0, D <= 64, finite(q), finite(k), a > 1e-6, a < 1e6";

/// The exponent multiplied out.
const OUT: [&str; 2] = ["((s[i, j] - m[i]) * a)", "(s[i, j].mul_add(a, -m[i] * a))"];

/// Masks that are wrong, or not proved to be right: a title, a part of the kernel and its replacement, and the facts.
const MASKS: &[(&str, [&str; 2], &str)] = &[
    ("right: multiplied out", OUT, FACTS),
    ("a range that blocks divide", ["0..i + 1", "0..N"], FACTS),
    ("blocks that pass the end of the scores", ["", ""], "N % 4 == 0, D <= 64, finite(q), finite(k), a > 1e-6, a < 1e6"),
    ("keys that are perhaps infinite", ["", ""], "N % 8 == 0, D <= 64, finite(q), a > 1e-6, a < 1e6"),
    ("sums of any length", ["", ""], "N % 8 == 0, finite(q), finite(k), a > 1e-6, a < 1e6"),
    ("scores of f32, whose products can be infinite", ["f16", "f32"], FACTS),
    ("a factor with an unknown sign", ["", ""], "N % 8 == 0, D <= 64, finite(q), finite(k)"),
    ("a factor that can be 0", ["", ""], "N % 8 == 0, D <= 64, finite(q), finite(k), a >= 0.0, a < 1e6"),
    ("a factor that devices may take for 0", ["", ""], "N % 8 == 0, D <= 64, finite(q), finite(k), a > 0.0, a < 1e6"),
    ("right: differences times a factor that can be infinite", ["", ""], "N % 8 == 0, D <= 64, finite(q), finite(k), a > 1e-6"),
    ("a factor that can be infinite, multiplied out", OUT, "N % 8 == 0, D <= 64, finite(q), finite(k), a > 1e-6"),
    ("a factor that is below 0", ["", ""], "N % 8 == 0, D <= 64, finite(q), finite(k), a < -1.0, a > -2.0"),
    ("a factor with which scores can be infinite", OUT, "N % 8 == 0, D <= 64, finite(q), finite(k), a > 1e-6, a < 1e38"),
    ("scores that are read in another place, too", ["+ m[i]", "+ s[i, 0]"], FACTS),
    ("scores that are read at other points", ["max(j in 0..i + 1) { s[i, j] }", "max(j in 0..i + 1) { s[j, i] }"], FACTS),
    ("the maximum of something made of the scores", ["{ s[i, j] }", "{ s[i, j] * 0.5 }"], FACTS),
    ("items that are not 0 for a score of -inf", ["((s[i, j] - m[i]) * a).exp()", "((s[i, j] - m[i]) * a).exp() * s[i, j]"], FACTS),
];

/// Other kernels in which scores past the range have an effect: a title, and the other stages.
const READERS: &[(&str, &str)] = &[
    (
        "a stage that reads the maximum, and that the sum's stored value reads",
        "let m[i]: f32[16] = max(j in 0..i + 1) { s[i, j] };
        let z[i]: f32[16] = s[i, 15] - m[i];
        l[i] = sum(j in 0..i + 1) { (s[i, j] - m[i]).exp() } * z[i];",
    ),
    (
        "an out-of-bounds weight in the stored value",
        "let m[i]: f32[16] = max(j in 0..i + 1) { s[i, j] };
        let p[i, j]: f32[16, 16] = (s[i, j] - m[i]).exp();
        l[i] = sum(j in 0..i + 1) { p[i, j] } * p[i, 15];",
    ),
    (
        "transposed scores beside their own",
        "let m[i]: f32[16] = max(j in 0..12) { s[i, j] };
        l[i] = sum(j in 0..12) { (s[i, j] - m[i]).exp() * s[j, i].exp() };",
    ),
    (
        "transposed scores within a weight",
        "let m[i]: f32[16] = max(j in 0..12) { s[i, j] };
        let p[i, j]: f32[16, 16] = (s[i, j] - m[i]).exp() * s[j, i].max(0.0);
        l[i] = sum(j in 0..12) { p[i, j] };",
    ),
    (
        "a range that begins at 1",
        "let m[i]: f32[16] = max(j in 1..i + 1) { s[i, j] };
        l[i] = sum(j in 1..i + 1) { (s[i, j] - m[i]).exp() };",
    ),
];

/// Factors inside the exponential, besides an argument `a`: the factor, and the facts.
const FACTORS: &[(&str, &str)] = &[
    ("a", ""),
    ("-a", ""),
    ("a * 1.4427", "where a > 0.5"),
    ("(C as f32).sqrt()", ""),
    ("1.0 / (C as f32).sqrt()", ""),
    ("a * b", ""),
    ("a * b", "where a > 0.0, b >= 0.0"),
    ("a", "where a < -1.0"),
    ("(a - 3.0)", ""),
    ("a.sin()", ""),
];

#[test]
fn factors_that_can_be_below_0() {
    let of = |(factor, facts): &(&str, &str)| {
        let kernel = format!(
            "fn k<R, C>(x: f32[R, C], a: f32, b: f32) -> l: f32[R] {{
                let m[i]: f32[R] = max(j in 0..C) {{ x[i, j] }};
                l[i] = sum(j in 0..C) {{ ((x[i, j] - m[i]) * ({factor})).exp() }} + a + b;
            }}"
        );
        let result = match compiled(&kernel, &format!("{facts} {{ decompose_online(m, l); }}")) {
            Ok(program) => {
                let checked = program.report.ledger.iter().filter(|o| o.what.contains("exponential"));
                format!("accepted\n{}", checked.map(|o| format!("  {}: {:?}\n", o.what, o.state)).collect::<String>())
            }
            Err(errors) => errors,
        };
        format!("# {factor} {facts}\n{result}\n")
    };
    insta::assert_snapshot!(FACTORS.iter().map(of).collect::<String>());
}

#[test]
fn masks_of_scores_that_count_elsewhere() {
    let refused = |(title, stages): &(&str, &str)| {
        let kernel = format!("fn k(x: f16[16, 16]) -> l: f32[16] {{ let s[i, j]: f32[16, 16] = x[i, j] as f32; {stages} }}");
        let schedule = "where finite(x) { decompose_online(m, l => m_b, l_b, block: 8, mask: s); }";
        let errors = match compiled(&kernel, schedule) {
            Ok(_) => "accepted\n".to_owned(),
            Err(errors) => errors,
        };
        format!("# {title}\n{errors}\n")
    };
    insta::assert_snapshot!(READERS.iter().map(refused).collect::<String>());
}

#[test]
fn masks() {
    let schedule = |facts: &str| format!("where {facts} {{ decompose_online(m, l => m_b, l_b, block: 8, mask: s); }}");
    let right = compiled(MASKED, &schedule(FACTS)).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(print::plan(&right).contains("else { -inf }"));
    let refused = |(title, [old, new], facts): &(&str, [&str; 2], &str)| {
        let kernel = if old.is_empty() { MASKED.to_owned() } else { MASKED.replace(old, new) };
        let errors = match compiled(&kernel, &schedule(facts)) {
            Ok(_) => "accepted\n".to_owned(),
            Err(errors) => errors,
        };
        format!("# {title}\n{errors}\n")
    };
    insta::assert_snapshot!(MASKS.iter().map(refused).collect::<String>());
}

/// Shows the whole messages: each must name the mistake and its place, and say what to write instead.
#[test]
fn refusals() {
    let text = |title: &str, kernel: &str, schedule: &str| match compiled(kernel, schedule) {
        Ok(program) => panic!("{title} is not refused:\n{}", print::plan(&program)),
        Err(errors) => format!("## {title}\n{errors}"),
    };
    let statements = STATEMENTS.iter().map(|(title, schedule)| text(title, SOFTMAX, schedule));
    let rows = ROWS.iter().map(|(title, max, sum)| text(title, &rows(max, sum), RIGHT));
    let kernels = KERNELS.iter().map(|(title, kernel, schedule)| text(title, kernel, schedule));
    insta::assert_snapshot!(statements.chain(rows).chain(kernels).collect::<Vec<_>>().join("\n"));
}
