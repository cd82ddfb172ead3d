//! Correct kernels: they check, and their programs compute the values of plain loops.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, evaluate};
use tilewright_dsl::algorithm::{Bindings, check, check_generic, inline};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Expr, Outside};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Body, Program};
use tilewright_dsl::syntax::{Name, kernel};

const CONV: &str = "pub fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1,
        OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
        input: T[N, IH, IW, IC], filter: T[FH, FW, IC, OC],
    ) -> output: T[N, OH, OW, OC] {
        output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
            input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
        };
    }";

const ATTENTION: &str = "pub fn attention<T: f32 | f16, B, N, D = 64>(
        query: T[B, N, D], key: T[B, N, D], value: T[B, N, D], scale: f32,
    ) -> o: f32[B, N, D] {
        let s[b, i, j]: f32[B, N, N] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let m[b, i]: f32[B, N] = max(j in 0..i + 1) { s[b, i, j] };
        let p[b, i, j]: T[B, N, N] = (s[b, i, j] - m[b, i]).exp() as T;
        let l[b, i]: f32[B, N] = sum(j in 0..i + 1) { p[b, i, j] as f32 };
        o[b, i, e] = sum(j in 0..i + 1) { p[b, i, j] as f32 * value[b, j, e] as f32 } / l[b, i];
    }";

/// Returns the program of a kernel. The bindings are `T = f32`, `S = 2`, and `IC == 3`.
fn program(text: &str, pins: &[&str]) -> Program {
    let mut spans = Spans::new();
    let kernel = kernel::parse(text.parse().unwrap(), &mut spans).into_result().map_err(|e| e.texts(&spans)).unwrap();
    check_generic(&kernel).map_err(|e| e.texts(&spans)).unwrap();
    let mut bindings = Bindings::default();
    for pin in pins {
        let parts: Vec<&str> = pin.split_whitespace().collect();
        let name = Name { text: parts[0].into(), span: kernel.name.span };
        match (parts[1], DType::from_name(parts[2])) {
            ("=", Some(dtype)) => bindings.dtypes.push((name, dtype)),
            ("=", None) => bindings.parameters.push((name, parts[2].parse().unwrap())),
            _ => bindings.dims.push((name, parts[2].parse().unwrap())),
        }
    }
    check(&kernel, &bindings).map_err(|e| e.texts(&spans)).unwrap()
}

/// Returns pseudorandom numbers in -1..1, which are exact in f16.
fn numbers(count: i64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f64::from((state >> 32) as u32 % 129) / 64.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn tensor(shape: &[i64], values: &[f64], dtype: DType) -> Tensor {
    let value = |v: &f64| match dtype {
        d if d.is_float() => Value::float(*v),
        DType::Bool => Value::Bool(*v != 0.0),
        _ => Value::Int(*v as i64),
    };
    assert_eq!(shape.iter().product::<i64>(), values.len() as i64);
    Tensor { shape: shape.to_vec(), values: values.iter().map(value).collect() }
}

/// Returns the outputs (and updates) of a program, by name.
fn run(
    program: &Program,
    dims: &[(&str, i64)],
    tensors: &[(&str, &[i64], &[f64])],
    scalars: &[(&str, f64)],
) -> HashMap<String, Vec<f64>> {
    let mut given = Given::default();
    for (id, dim) in program.dims.iter().filter(|(_, d)| d.derived.is_none()) {
        let value = dims.iter().find(|(n, _)| *n == dim.name).unwrap_or_else(|| panic!("{} is not given", dim.name)).1;
        given.dims.insert(id, value);
    }
    for (id, buffer) in program.buffers.iter() {
        if let Some((_, shape, values)) = tensors.iter().find(|(n, ..)| *n == buffer.name) {
            given.tensors.insert(id, tensor(shape, values, buffer.dtype));
        }
    }
    for (id, scalar) in program.scalars.iter() {
        let value = scalars.iter().find(|(n, _)| *n == scalar.name).unwrap().1;
        let value = if scalar.dtype.is_float() { Value::float(value) } else { Value::Int(value as i64) };
        given.scalars.insert(id, value);
    }
    let all = evaluate(program, &given).unwrap();
    let name = |id| program.buffers[id].name.clone();
    all.into_iter().map(|(id, t)| (name(id), t.values.iter().map(|v| v.number()).collect())).collect()
}

fn close(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (n, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0) || (a.is_nan() && b.is_nan()) || a == b, "element {n}: {a}, not {b}");
    }
}

#[test]
fn conv2d_with_every_stride() {
    for stride in [1i64, 2, 3] {
        let program = program(CONV, &["T = f32", &format!("S = {stride}"), "IC == 3"]);
        let (n, ih, iw, ic, oc) = (2, 7, 8, 3, 2);
        let (oh, ow) = ((ih - 3) / stride + 1, (iw - 3) / stride + 1);
        let (x, w) = (numbers(n * ih * iw * ic, 1), numbers(9 * ic * oc, 2));
        let got = run(
            &program,
            &[("N", n), ("IH", ih), ("IW", iw), ("OC", oc)],
            &[("input", &[n, ih, iw, ic], &x), ("filter", &[3, 3, ic, oc], &w)],
            &[],
        );
        let mut wanted = Vec::new();
        for (b, y, z, c) in
            (0..n).flat_map(|b| (0..oh).flat_map(move |y| (0..ow).flat_map(move |z| (0..oc).map(move |c| (b, y, z, c)))))
        {
            let mut sum = 0.0;
            for (fh, fw, i) in (0..3).flat_map(|fh| (0..3).flat_map(move |fw| (0..ic).map(move |i| (fh, fw, i)))) {
                let at = ((b * ih + y * stride + fh) * iw + z * stride + fw) * ic + i;
                sum += x[at as usize] * w[(((fh * 3 + fw) * ic + i) * oc + c) as usize];
            }
            wanted.push(sum);
        }
        close(&got["output"], &wanted);
    }
}

#[test]
fn pinned_dims_are_literals() {
    let program = program(CONV, &["T = f16", "IC == 3"]);
    let input = program.buffers.values().find(|b| b.name == "input").unwrap();
    assert_eq!((program.exprs.as_int(input.shape[3]), program.exprs.as_int(input.shape[2])), (Some(3), None));
    assert_eq!(program.parameters, [("FH".into(), 3), ("FW".into(), 3), ("S".into(), 1)]);
    assert!(program.checks.conditions.is_empty() && program.plan.is_empty());
    let ledger: Vec<String> = program.report.ledger.iter().map(|o| format!("{}: {:?}", o.what, o.state)).collect();
    let wanted = [
        "`input[n, oh * 1 + fh, ow * 1 + fw, ic]` is in bounds of `input`: Proved",
        "`filter[fh, fw, ic, oc]` is in bounds of `filter`: Proved",
    ];
    assert_eq!(ledger, wanted.map(|w| w.replace(" * 1", "")));
}

#[test]
fn causal_attention() {
    let program = program(ATTENTION, &["T = f32", "D = 4"]);
    let (b, n, d) = (1, 5, 4);
    let (q, k, v) = (numbers(b * n * d, 1), numbers(b * n * d, 2), numbers(b * n * d, 3));
    let shape = [b, n, d];
    let got = run(
        &program,
        &[("B", b), ("N", n)],
        &[("query", &shape, &q), ("key", &shape, &k), ("value", &shape, &v)],
        &[("scale", 0.5)],
    );
    let mut wanted = Vec::new();
    for i in 0..n as usize {
        let score = |j: usize| 0.5 * (0..4).map(|e| q[i * 4 + e] * k[j * 4 + e]).sum::<f64>();
        let weights: Vec<f64> = (0..=i).map(|j| score(j).exp()).collect();
        let total: f64 = weights.iter().sum();
        (0..4).for_each(|e| wanted.push((0..=i).map(|j| weights[j] * v[j * 4 + e]).sum::<f64>() / total));
    }
    close(&got["o"], &wanted);
    // After inlining, the weights are part of their reader.
    let mut inlined = program.clone();
    let stages = inline(&mut inlined);
    assert_eq!(stages.iter().map(|s| inlined.stages[*s].name.as_str()).collect::<Vec<_>>(), ["p"]);
    let p = inlined.buffers.iter().find(|(_, b)| b.name == "p").unwrap().0;
    let reads_p = |e: &Expr| matches!(e, Expr::Read(r) if r.buffer == p);
    for stage in inlined.stages.values() {
        if let Body::Reduce { lift, .. } = &stage.body {
            assert!(!lift.iter().any(|e| inlined.exprs.any(*e, &mut |e| reads_p(e))));
        }
    }
    let again = run(
        &inlined,
        &[("B", b), ("N", n)],
        &[("query", &shape, &q), ("key", &shape, &k), ("value", &shape, &v)],
        &[("scale", 0.5)],
    );
    close(&again["o"], &wanted);
}

#[test]
fn matmul_with_an_epilogue() {
    let text = "fn gemm<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N], bias: T[N], alpha: f32) -> c: T[M, N] {
        c[i, j] = (alpha * sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 } + bias[j] as f32).max(0.0) as T;
    }";
    let program = program(text, &["T = f16"]);
    let (a, b, bias) = (numbers(6, 1), numbers(12, 2), numbers(4, 3));
    let got = run(
        &program,
        &[("M", 2), ("N", 4), ("K", 3)],
        &[("a", &[2, 3], &a), ("b", &[3, 4], &b), ("bias", &[4], &bias)],
        &[("alpha", 2.0)],
    );
    let dot = |i: usize, j: usize| (0..3).map(|k| a[i * 3 + k] * b[k * 4 + j]).sum::<f64>();
    let wanted: Vec<f64> = (0..8).map(|n| (2.0 * dot(n / 4, n % 4) + bias[n % 4]).max(0.0)).collect();
    close(&got["c"], &wanted);
    // An empty sum is 0.
    let empty = run(
        &program,
        &[("M", 1), ("N", 1), ("K", 0)],
        &[("a", &[1, 0], &[]), ("b", &[0, 1], &[]), ("bias", &[1], &[3.0])],
        &[("alpha", 2.0)],
    );
    close(&empty["c"], &[3.0]);
}

#[test]
fn softmax_layernorm_and_argmax() {
    let text = "fn rows<N, C>(x: f32[N, C]) -> (y: f32[N, C], z: f32[N, C], best: i32[N], worst: i32[N]) {
        const EPS: f32 = 1e-5;
        let m[n]: f32[N] = max(c in 0..C) { x[n, c] };
        let e[n, c]: f32[N, C] = (x[n, c] - m[n]).exp();
        let t[n]: f32[N] = sum(c in 0..C) { e[n, c] };
        y[n, c] = e[n, c] / t[n];
        let mean[n]: f32[N] = sum(c in 0..C) { x[n, c] } / C as f32;
        let var[n]: f32[N] = sum(c in 0..C) { let d = x[n, c] - mean[n]; d * d } / C as f32;
        z[n, c] = (x[n, c] - mean[n]) * (var[n] + EPS).rsqrt();
        best[n] = argmax(c in 0..C) { x[n, c] };
        worst[n] = argmin(c in 0..C) { x[n, c] };
    }";
    let program = program(text, &[]);
    assert_eq!(program.checks.conditions.iter().map(|c| c.text.as_str()).collect::<Vec<_>>(), ["C >= 1"]);
    let mut x = numbers(10, 7);
    (x[2], x[3], x[4]) = (1.5, 1.5, f64::NAN);
    let got = run(&program, &[("N", 2), ("C", 5)], &[("x", &[2, 5], &x)], &[]);
    assert_eq!(got["best"][0], 2.0, "the lowest among equals, and NaN never");
    for n in 0..2 {
        let row = &x[n * 5..n * 5 + 5];
        if n == 0 {
            continue;
        }
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = row.iter().map(|v| (v - max).exp()).sum();
        close(&got["y"][n * 5..n * 5 + 5], &row.iter().map(|v| (v - max).exp() / total).collect::<Vec<_>>());
        let mean = row.iter().sum::<f64>() / 5.0;
        let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 5.0;
        let eps = f64::from(1e-5f32);
        close(&got["z"][n * 5..n * 5 + 5], &row.iter().map(|v| (v - mean) / (var + eps).sqrt()).collect::<Vec<_>>());
        assert_eq!(got["best"][n] as usize, (0..5).rev().max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap());
        assert_eq!(got["worst"][n] as usize, (0..5).min_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap());
    }
    let nans = run(&program, &[("N", 1), ("C", 2)], &[("x", &[1, 2], &[f64::NAN; 2])], &[]);
    assert_eq!((nans["best"][0], nans["worst"][0]), (0.0, 0.0), "of nothing but NaN, the first");
}

#[test]
fn argmax_over_several_ranges_and_from_elsewhere() {
    let text = "fn k<H, W>(x: f32[H, W], y: i32[W]) -> (flat: i32[], late: i32[]) {
        flat[] = argmax(i in 0..H, j in 0..W) { x[i, j] };
        late[] = argmin(j in 1..W) { y[j] };
    }";
    let program = program(text, &[]);
    let got = run(
        &program,
        &[("H", 2), ("W", 3)],
        &[("x", &[2, 3], &[0.0, 1.0, 2.0, 5.0, 9.0, 9.0]), ("y", &[3], &[-9.0, 4.0, 2.0])],
        &[],
    );
    assert_eq!((got["flat"][0], got["late"][0]), (4.0, 2.0));
}

#[test]
fn box_filter_with_padding_and_its_inlined_form() {
    let text = "fn blur<H, W, R = 1>(x: f32[H, W], edge: f32) -> y: f32[H, W] {
        let d[i, j]: f32[H, W] = x[i, j] * 2.0;
        let v[i, j]: f32[H, W] = sum(di in 0..2 * R + 1) { d.pad(edge)[i + di - R, j] };
        y[i, j] = sum(dj in 0..2 * R + 1) { v.clamp()[i, j + dj - R] };
    }";
    let program = program(text, &["R = 2"]);
    let (h, w) = (4i64, 5i64);
    let x = numbers(h * w, 3);
    let given: &[(&str, &[i64], &[f64])] = &[("x", &[4, 5], &x)];
    let got = run(&program, &[("H", h), ("W", w)], given, &[("edge", 0.25)]);
    let v = |i: i64, j: i64| -> f64 {
        (-2..=2).map(|d| if (0..h).contains(&(i + d)) { 2.0 * x[((i + d) * w + j) as usize] } else { 0.25 }).sum()
    };
    let y = |i: i64, j: i64| -> f64 { (-2..=2).map(|d| v(i, (j + d).clamp(0, w - 1))).sum() };
    let wanted: Vec<f64> = (0..h * w).map(|n| y(n / w, n % w)).collect();
    close(&got["y"], &wanted);
    // Only the first dimension of the padded read can be out of bounds.
    let sides = program.stages.values().find(|s| s.name == "v").map(|s| match &s.body {
        Body::Reduce { lift, .. } => program.exprs.reads(lift[0])[0].outside.clone(),
        Body::Map(_) => Outside::Never,
    });
    assert!(matches!(sides, Some(Outside::Fill(_, s)) if s.as_slice() == [(true, true), (false, false)]));
    let mut inlined = program.clone();
    assert_eq!(inline(&mut inlined).len(), 1);
    close(&run(&inlined, &[("H", h), ("W", w)], given, &[("edge", 0.25)])["y"], &wanted);
}

#[test]
fn bilinear_resize() {
    let text = "fn resize<H, W, OH, OW>(x: f32[H, W], grid: f32[OH, OW]) -> y: f32[OH, OW] {
        y[i, j] = {
            let sy = (i as f32 + 0.5) * (H as f32 / OH as f32) - 0.5;
            let sx = (j as f32 + 0.5) * (W as f32 / OW as f32) - 0.5;
            let (a, b) = 0;
            0.0
        };
    }";
    // `let` does not accept patterns.
    let mut spans = Spans::new();
    assert!(kernel::parse(text.parse().unwrap(), &mut spans).into_result().is_err());
    let text = "fn resize<H, W, OH, OW>(x: f32[H, W], like: f32[OH, OW]) -> y: f32[OH, OW] {
        y[i, j] = {
            let sy = (i as f32 + 0.5) * (H as f32 / OH as f32) - 0.5;
            let sx = (j as f32 + 0.5) * (W as f32 / OW as f32) - 0.5;
            let iy = sy.floor() as i32;
            let ix = sx.floor() as i32;
            let fy = sy.fract();
            let fx = sx.fract();
            let top = x.clamp()[iy, ix] * (1.0 - fx) + x.clamp()[iy, ix + 1] * fx;
            let low = x.clamp()[iy + 1, ix] * (1.0 - fx) + x.clamp()[iy + 1, ix + 1] * fx;
            top * (1.0 - fy) + low * fy
        };
    }";
    let program = program(text, &[]);
    let x = numbers(12, 5);
    let got =
        run(&program, &[("H", 3), ("W", 4), ("OH", 5), ("OW", 2)], &[("x", &[3, 4], &x), ("like", &[5, 2], &numbers(10, 1))], &[]);
    let at = |i: f64, j: f64| x[(i.clamp(0.0, 2.0) * 4.0 + j.clamp(0.0, 3.0)) as usize];
    let wanted: Vec<f64> = (0..10)
        .map(|n| {
            let (sy, sx) = ((f64::from(n / 2) + 0.5) * 0.6 - 0.5, (f64::from(n % 2) + 0.5) * 2.0 - 0.5);
            let (iy, ix) = (sy.floor(), sx.floor());
            let (fy, fx) = (sy - iy, sx - ix);
            let top = at(iy, ix) * (1.0 - fx) + at(iy, ix + 1.0) * fx;
            let low = at(iy + 1.0, ix) * (1.0 - fx) + at(iy + 1.0, ix + 1.0) * fx;
            top * (1.0 - fy) + low * fy
        })
        .collect();
    close(&got["y"], &wanted);
}

#[test]
fn embedding_lookup_and_causal_convolution() {
    let text = "fn model<V, D, N, K = 3>(ids: i32[N], table: f32[V, D], w: f32[D, K]) -> y: f32[N, D] {
        let x[n, d]: f32[N, D] = table.clamp()[ids[n], d];
        y[n, d] = sum(k in 0..K) { if n - k >= 0 { x[n - k, d] * w[d, k] } else { 0.0 } };
    }";
    let program = program(text, &[]);
    let (ids, table, w) = ([1.0, 0.0, 9.0, 2.0], numbers(6, 1), numbers(6, 2));
    let given: &[(&str, &[i64], &[f64])] = &[("ids", &[4], &ids), ("table", &[3, 2], &table), ("w", &[2, 3], &w)];
    let got = run(&program, &[("V", 3), ("D", 2), ("N", 4)], given, &[]);
    let x = |n: i64, d: i64| table[(ids[n as usize].min(2.0) as i64 * 2 + d) as usize];
    let y = |n: i64, d: i64| (0..3).filter(|k| n - k >= 0).map(|k| x(n - k, d) * w[(d * 3 + k) as usize]).sum::<f64>();
    close(&got["y"], &(0..8).map(|n| y(n / 2, n % 2)).collect::<Vec<_>>());
    // The condition proves the lower side, which is clamped. The upper side is proved without it.
    let y = program.stages.values().find(|s| s.name == "y").unwrap();
    let Body::Reduce { lift, .. } = &y.body else { panic!("no reduction") };
    let read = program.exprs.reads(lift[0]).into_iter().find(|r| program.buffers[r.buffer].name == "x").unwrap();
    assert!(matches!(read.outside, Outside::Clamp(s) if s.as_slice() == [(true, false), (false, false)]));
    let mut inlined = program.clone();
    inline(&mut inlined);
    close(&run(&inlined, &[("V", 3), ("D", 2), ("N", 4)], given, &[])["y"], &got["y"]);
}

#[test]
fn updates_constants_integers_and_truth() {
    let text = "fn step<N>(x: &mut f32[N], g: f32[N], mask: bool[N], bits: u32[N], rate: f32) -> (count: i32[], any_on: bool[], mixed: u32[N], odd: i32[N]) {
        const W: f32[2, 2] = [[1.0, -2.0], [0.5, 1.0 / 4.0]];
        let half = 0.5;
        x[i] = x[i] - rate * g[i] * W[i % 2, 1] * half;
        count[] = sum(i in 0..N) { mask[i] as i32 };
        any_on[] = any(i in 0..N) { mask[i] && g[i] > half };
        mixed[i] = (bits[i] ^ 0xff) << 1 | bits[i] >> 3;
        odd[i] = (i - 5) / 2 * 10 + (bits[i] as i32 - 5) / 2;
    }";
    let program = program(text, &[]);
    let got = run(
        &program,
        &[("N", 3)],
        &[
            ("x", &[3], &[1.0, 2.0, 3.0]),
            ("g", &[3], &[0.25, 0.75, 0.5]),
            ("mask", &[3], &[1.0, 1.0, 0.0]),
            ("bits", &[3], &[0.0, 8.0, 4294967295.0]),
        ],
        &[("rate", 2.0)],
    );
    close(&got["x"], &[1.0 - 2.0 * 0.25 * -2.0 * 0.5, 2.0 - 2.0 * 0.75 * 0.25 * 0.5, 3.0 - 2.0 * 0.5 * -2.0 * 0.5]);
    assert_eq!((got["count"][0], got["any_on"][0]), (2.0, 1.0));
    let mixed = |b: u32| f64::from((b ^ 0xff) << 1 | b >> 3);
    close(&got["mixed"], &[mixed(0), mixed(8), mixed(u32::MAX)]);
    // `/` floors on axes and truncates on values.
    close(&got["odd"], &[-30.0 - 2.0, -20.0 + 1.0, -20.0 - 3.0]);
}

#[test]
fn triangular_ranges_and_flattened_axes() {
    let text = "fn tri<N, H, W>(x: f32[N], img: f32[H, W]) -> (y: f32[N], flat: f32[H * W], pool: f32[H / 2, W / 2]) {
        y[i] = sum(j in i..N, k in 0..j + 1) { x[j] * x[k] };
        flat[p] = img[p / W, p % W];
        pool[i, j] = max(a in 0..2, b in 0..2) { img[2 * i + a, 2 * j + b] };
    }";
    let program = program(text, &[]);
    let (x, img) = (numbers(5, 4), numbers(12, 9));
    let got = run(&program, &[("N", 5), ("H", 3), ("W", 4)], &[("x", &[5], &x), ("img", &[3, 4], &img)], &[]);
    let y = |i: usize| (i..5).flat_map(|j| (0..=j).map(move |k| (j, k))).map(|(j, k)| x[j] * x[k]).sum::<f64>();
    close(&got["y"], &(0..5).map(y).collect::<Vec<_>>());
    close(&got["flat"], &img);
    let pool = |j: usize| [0, 1, 4, 5].iter().map(|d| img[2 * j + d]).fold(f64::NEG_INFINITY, f64::max);
    close(&got["pool"], &[pool(0), pool(1)]);
}
