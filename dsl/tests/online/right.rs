//! Tests that `decompose_online` keeps the values of the algorithm.

use crate::online::{ATTENTION, SOFTMAX, compiled};
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, evaluate, shapes};
use tilewright_dsl::arena::Id;
use tilewright_dsl::compile::decomposed;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::Space;
use tilewright_dsl::schedule::head;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// Decomposed programs: a title, the kernel, and the schedule. If a schedule has blocks, it must also be right without them.
const RIGHT_USES: &[(&str, &str, &str)] = &[
    ("a softmax", SOFTMAX, "{ decompose_online(m, l => m_b, l_b, block: 4); }"),
    ("attention", ATTENTION, "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 4); }"),
    (
        "base 2",
        "fn k<R, C>(x: f32[R, C]) -> l: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            l[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp2() };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "a literal that scores are multiplied by within",
        "fn k<R, C>(x: f32[R, C]) -> l: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            l[i] = sum(j in 0..C) { ((x[i, j] - m[i]) * 1.5).exp() };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "a mask in the scores",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R, C] {
            let s[i, j]: f32[R, C] = if j <= i { x[i, j] } else { -f32::INFINITY };
            let m[i]: f32[R] = max(j in 0..C) { s[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (s[i, j] - m[i]).exp() };
            y[i, j] = (s[i, j] - m[i]).exp() / l[i];
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "a mask in the scores that is finite",
        "fn k<R, C>(x: f32[R, C]) -> l: f32[R] {
            let s[i, j]: f32[R, C] = if j < i { x[i, j] } else { -1.0e9 };
            let m[i]: f32[R] = max(j in 0..C) { s[i, j] };
            l[i] = sum(j in 0..C) { (s[i, j] - m[i]).exp() };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "a mask in the exponentials, too",
        "fn k<R, C>(x: f32[R, C]) -> l: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { if j < i { x[i, j] } else { -f32::INFINITY } };
            l[i] = sum(j in 0..C) { if j < i { (x[i, j] - m[i]).exp() } else { 0.0 } };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "a range up to the row",
        "fn k<N>(x: f32[N, N]) -> l: f32[N] {
            let m[i]: f32[N] = max(j in 0..i + 1) { x[i, j] };
            l[i] = sum(j in 0..i + 1) { (x[i, j] - m[i]).exp() };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "causal attention, by its range",
        "fn k<H, N, D>(q: f32[H, N, D], k: f32[H, N, D], v: f32[H, N, D]) -> o: f32[H, N, D] {
            let s[h, i, j]: f32[H, N, N] = sum(d in 0..D) { q[h, i, d] * k[h, j, d] };
            let m[h, i]: f32[H, N] = max(j in 0..i + 1) { s[h, i, j] };
            let p[h, i, j]: f32[H, N, N] = (s[h, i, j] - m[h, i]).exp();
            let l[h, i]: f32[H, N] = sum(j in 0..i + 1) { p[h, i, j] };
            o[h, i, d] = sum(j in 0..i + 1) { p[h, i, j] * v[h, j, d] } / l[h, i];
        }",
        "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 4); }",
    ),
    (
        "scores of f16, and sums of f32",
        "fn k<R, C>(x: f16[R, C]) -> l: f32[R] {
            let m[i]: f16[R] = max(j in 0..C) { x[i, j] };
            l[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() as f32 };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "items of f16, and scores of f32",
        "fn k<R, C>(x: f16[R, C]) -> l: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] as f32 };
            l[i] = sum(j in 0..C) { (x[i, j] as f32 - m[i]).exp() };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "weights that are divided before the sum",
        "fn k<N, M, E>(s: f32[N, M], v: f32[M, E]) -> o: f32[N, E] {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let l[i]: f32[N] = sum(j in 0..M) { (s[i, j] - m[i]).exp() };
            let p[i, j]: f32[N, M] = (s[i, j] - m[i]).exp() / l[i];
            o[i, e] = sum(j in 0..M) { p[i, j] * v[j, e] };
        }",
        "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 4); }",
    ),
    (
        "weights of f16",
        "fn k<N, M, E>(s: f32[N, M], v: f16[M, E]) -> o: f32[N, E] {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let p[i, j]: f16[N, M] = (s[i, j] - m[i]).exp() as f16;
            let l[i]: f32[N] = sum(j in 0..M) { p[i, j] as f32 };
            o[i, e] = sum(j in 0..M) { p[i, j] as f32 * v[j, e] as f32 } / l[i];
        }",
        "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 4); }",
    ),
    (
        "two of weights, one made of the other",
        "fn k<N, M, E>(s: f32[N, M], v: f16[M, E]) -> o: f32[N, E] {
            let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
            let p[i, j]: f32[N, M] = (s[i, j] - m[i]).exp();
            let h[i, j]: f16[N, M] = p[i, j] as f16;
            let l[i]: f32[N] = sum(j in 0..M) { p[i, j] };
            o[i, e] = sum(j in 0..M) { h[i, j] as f32 * v[j, e] as f32 } / l[i];
        }",
        "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 4); }",
    ),
    (
        "the logarithm of a sum",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() }.ln() + m[i];
        }",
        "{ decompose_online(m, y => m_b, y_b, block: 4); }",
    ),
    (
        "the logarithm of a sum, in a definition of its own",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            y[i] = m[i] + l[i].ln();
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "cross-entropy",
        "fn k<R, C>(x: f32[R, C], t: i32[R]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            y[i] = m[i] + l[i].ln() - x.pad(0.0)[i, t[i]];
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "entropy: a weight that is the score",
        "fn k<R, C>(x: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            let h[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() * x[i, j] };
            y[i] = m[i] + l[i].ln() - h[i] / l[i];
        }",
        "{ decompose_online(m, l, h => m_b, l_b, h_b, block: 4); }",
    ),
    (
        "queries in groups",
        "fn k<H, N, M, D, G = 2>(q: f32[H * G, N, D], k: f32[H, M, D], v: f32[H, M, D]) -> o: f32[H * G, N, D] {
            let s[h, i, j]: f32[H * G, N, M] = sum(d in 0..D) { q[h, i, d] * k[h / G, j, d] };
            let m[h, i]: f32[H * G, N] = max(j in 0..M) { s[h, i, j] };
            let p[h, i, j]: f32[H * G, N, M] = (s[h, i, j] - m[h, i]).exp();
            let l[h, i]: f32[H * G, N] = sum(j in 0..M) { p[h, i, j] };
            o[h, i, d] = sum(j in 0..M) { p[h, i, j] * v[h / G, j, d] } / l[h, i];
        }",
        "{ decompose_online(m, l, o => m_b, l_b, o_b, block: 4); }",
    ),
    (
        "a range of two axes",
        "fn k<R, C, D>(x: f32[R, C, D]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C, k in 0..D) { x[i, j, k] };
            y[i] = sum(j in 0..C, k in 0..D) { (x[i, j, k] - m[i]).exp() };
        }",
        "{ decompose_online(m, y); }",
    ),
    (
        "no axis but the range's",
        "fn k<C>(x: f32[C]) -> y: f32[] {
            let m[]: f32[] = max(j in 0..C) { x[j] };
            y[] = sum(j in 0..C) { (x[j] - m[]).exp() };
        }",
        "{ decompose_online(m, y => m_b, y_b, block: 4); }",
    ),
    (
        "a sum and a difference of exponentials",
        "fn k<R, C>(x: f32[R, C], w: f32[R, C]) -> y: f32[R] {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            y[i] = sum(j in 0..C) { -(x[i, j] - m[i]).exp() * w[i, j] - (x[i, j] - m[i]).exp() / 3.0 };
        }",
        "{ decompose_online(m, y => m_b, y_b, block: 4); }",
    ),
    (
        "the maximum as an output, and another as a pointwise intermediate within what a sum stores",
        "fn k<R, C>(x: f32[R, C], t: f32[R]) -> (m: f32[R], y: f32[R], z: f32[R]) {
            let g[i]: f32[R] = t[i] * 2.0;
            m[i] = max(j in 0..C) { x[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() } * g[i];
            z[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() * x[i, j] } + g[i];
        }",
        "{ decompose_online(m, y, z => m_b, y_b, z_b, block: 4); }",
    ),
    (
        "another order of axes, read by the members alone",
        "fn k<R, Q, C>(x: f32[R, Q, C]) -> l: f32[Q, R] {
            let m[h, i]: f32[R, Q] = max(j in 0..C) { x[h, i, j] };
            l[i, h] = sum(j in 0..C) { (x[h, i, j] - m[h, i]).exp() };
        }",
        "{ decompose_online(m, l => m_b, l_b, block: 4); }",
    ),
    (
        "two statements",
        "fn k<R, C>(x: f32[R, C], w: f32[R, C]) -> (y: f32[R], z: f32[R]) {
            let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
            let n[i]: f32[R] = max(j in 0..C) { w[i, j] };
            y[i] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
            z[i] = sum(j in 0..C) { (w[i, j] - n[i]).exp() };
        }",
        "{ decompose_online(m, y => m_b, y_b, block: 4); decompose_online(n, z => n_b, z_b, block: 2); }",
    ),
    ("a block that is tuned", SOFTMAX, "{ tune BLOCK in [2, 8] = 8; decompose_online(m, l => m_b, l_b, block: BLOCK / 2); }"),
    (
        "a tensor packed that blocks read",
        SOFTMAX,
        "{ decompose_online(m, l => m_b, l_b, block: 4); pack(x[i, j] => [j / 2, i, j % 2], when: dispatch); }",
    ),
];

/// Returns the same schedule without blocks.
fn without_blocks(schedule: &str) -> String {
    let mut parts = schedule.split("decompose_online(");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (arguments, rest) = part.split_once(')').unwrap_or((part, ""));
        let members = arguments.split(" =>").next().unwrap_or_default();
        format!("{text}decompose_online({members}){rest}")
    })
}

/// Masked scores, for sizes that blocks of 4 divide.
const MASKED_USES: &[(&str, &str, &str)] = &[
    (
        "rows that end with the diagonal",
        "fn k<N, D>(q: f16[N, D], k: f16[N, D], a: f32) -> l: f32[N] {
            let s[i, j]: f32[N, N] = sum(d in 0..D) { q[i, d] as f32 * k[j, d] as f32 };
            let m[i]: f32[N] = max(j in 0..i + 1) { s[i, j] };
            l[i] = sum(j in 0..i + 1) { ((s[i, j] - m[i]) * a).exp() } + m[i];
        }",
        "where N % 4 == 0, D <= 64, finite(q), finite(k), a > 0.5 { decompose_online(m, l => m_b, l_b, block: 4, mask: s); }",
    ),
    (
        "rows before the diagonal, with an empty first row",
        "fn k<N>(x: i32[N, N]) -> l: f32[N] {
            let s[i, j]: f32[N, N] = x[i, j] as f32;
            let m[i]: f32[N] = max(j in 0..i) { s[i, j] };
            l[i] = sum(j in 0..i) { (s[i, j] - m[i]).exp() };
        }",
        "where N % 4 == 0 { decompose_online(m, l => m_b, l_b, block: 4, mask: s); }",
    ),
    (
        "weights that two sums share, and values that are shorter",
        "fn k<N, E>(x: f16[N, N], v: f32[N, E]) -> o: f32[N, E] {
            let s[i, j]: f32[N, N] = x[i, j] as f32 * 0.5;
            let m[i]: f32[N] = max(j in 0..i + 1) { s[i, j] };
            let p[i, j]: f32[N, N] = (s[i, j] - m[i]).exp2();
            let l[i]: f32[N] = sum(j in 0..i + 1) { p[i, j] };
            o[i, e] = sum(j in 0..i + 1) { p[i, j] * v[j, e] } / l[i];
        }",
        "where N % 4 == 0, finite(x), finite(v) { decompose_online(m, l, o => m_b, l_b, o_b, block: 4, mask: s); }",
    ),
    (
        "scores in halves",
        "fn k<N>(x: f16[N, N]) -> l: f32[N] {
            let s[i, j]: f16[N, N] = x[i, j] * 0.5;
            let m[i]: f16[N] = max(j in 0..i + 1) { s[i, j] };
            l[i] = sum(j in 0..i + 1) { (s[i, j] - m[i]).exp() as f32 };
        }",
        "where N % 4 == 0, finite(x) { decompose_online(m, l => m_b, l_b, block: 4, mask: s); }",
    ),
    (
        "rows of a length that is known, and the maximum as an output",
        "fn k<N>(x: f16[N, 16]) -> (m: f32[N], l: f32[N]) {
            let s[i, j]: f32[N, 16] = x[i, j] as f32;
            m[i] = max(j in 0..11) { s[i, j] };
            l[i] = sum(j in 0..11) { (s[i, j] - m[i]).exp() };
        }",
        "where finite(x) { decompose_online(m, l => m_b, l_b, block: 4, mask: s); }",
    ),
];

/// Sizes of all kinds.
const SIZES: &[[i64; 5]] = &[[3, 13, 2, 4, 5], [2, 2, 9, 3, 4], [1, 1, 1, 1, 1], [4, 8, 4, 4, 4], [2, 0, 3, 2, 2], [0, 3, 2, 2, 2]];

/// Checks that the outputs of the algorithm and of its decomposition agree within their error bounds, and that these bounds are useful.
fn agree(title: &str, kernel: &str, schedule: &str) {
    agree_at(title, kernel, schedule, SIZES);
}

/// Checks the same at some sizes. A kernel uses the first of them.
fn agree_at(title: &str, kernel: &str, schedule: &str, sizes: &[[i64; 5]]) {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: {} for p {schedule}", kernel.name);
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let bindings = head::bindings(&kernel, &schedule).expect("bindings");
    let algorithm = tilewright_dsl::algorithm::check(&kernel, &bindings).expect("an algorithm");
    let decomposed = decomposed(&kernel, &schedule, &Choice::default())
        .unwrap_or_else(|e| panic!("{title}: {}", crate::online::text(&e, &spans)));
    let decomposed = decomposed.expect("a decomposition");
    for sizes in sizes {
        let mut given = Given::default();
        let symbolic = algorithm.dims.iter().filter(|(_, dim)| dim.derived.is_none());
        given.dims.extend(symbolic.zip(sizes).map(|((id, _), size)| (id, *size)));
        given.scalars.extend(algorithm.scalars.ids().map(|id| (id, Value::float(0.75))));
        for (id, shape) in shapes(&algorithm, &given).expect("shapes") {
            let buffer = &algorithm.buffers[id];
            if buffer.space != Space::Input {
                continue;
            }
            let value = |n: i64| match buffer.dtype {
                DType::I32 => Value::Int(n % 3),
                // The values are far apart, so that a sum that is not rescaled to the new maximum is detected.
                _ => Value::float(((n * 37 + id.index() as i64 * 11) % 29 - 9) as f64 * 0.375),
            };
            let values = (0..shape.iter().product()).map(value).collect();
            given.tensors.insert(id, Tensor { shape, values });
        }
        let [wanted, found] =
            [&algorithm, &decomposed].map(|program| evaluate(program, &given).unwrap_or_else(|e| panic!("{title}: {e}")));
        for output in &algorithm.outputs {
            for (n, (a, b)) in wanted[output].values.iter().zip(&found[output].values).enumerate() {
                let (Value::Float(a), Value::Float(b)) = (a, b) else { panic!("{title}: no floats") };
                let same = a.value == b.value || a.value.is_nan() && b.value.is_nan();
                let bound = a.error + b.error;
                let near = (a.value - b.value).abs() <= bound && bound <= 0.1 * a.magnitude.max(1.0);
                assert!(same || near, "{title}, {sizes:?}, element {n}: {b:?}, not {a:?}");
            }
        }
    }
}

#[test]
fn right_uses() {
    for (title, kernel, schedule) in RIGHT_USES {
        for schedule in [(*schedule).to_owned(), without_blocks(schedule)] {
            agree(title, kernel, &schedule);
            if let Err(errors) = compiled(kernel, &schedule) {
                panic!("{title}: {schedule}\n{errors}");
            }
        }
    }
}

#[test]
fn masked_scores() {
    for (title, kernel, schedule) in MASKED_USES {
        agree_at(title, kernel, schedule, &[[4, 3, 1, 1, 1], [12, 1, 1, 1, 1], [0, 2, 1, 1, 1], [8, 0, 1, 1, 1]]);
        if let Err(errors) = compiled(kernel, schedule) {
            panic!("{title}: {schedule}\n{errors}");
        }
    }
}

#[test]
fn sums_of_blocks_in_another_layout() {
    let schedule = "{ decompose_online(m, l => m_b, l_b, block: 4); pack(l_b[o, i] => [i, o]); }";
    agree("packed", SOFTMAX, schedule);
    assert_eq!(compiled(SOFTMAX, schedule).err(), None);
}
