//! Reductions across invocations and dispatches, at sizes that leave tails: every operator by every strategy.

use crate::harness::{Fill, Variant, variant};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// Every operator: its name, operand and result.
const OPERATORS: [(&str, &str, &str); 8] = [
    ("sum", "x[i, k]", "f32"),
    ("prod", "x[i, k]", "f32"),
    ("min", "x[i, k]", "f32"),
    ("max", "x[i, k]", "f32"),
    ("any", "x[i, k] > 0.9", "bool"),
    ("all", "x[i, k] < 0.9", "bool"),
    ("argmin", "x[i, k]", "i32"),
    ("argmax", "x[i, k]", "i32"),
];

const SIZES: [(i64, i64); 3] = [(1, 1), (7, 130), (3, 301)];

/// Returns lavapipe's profile, and the same without addresses.
pub fn profiles() -> [Profile; 2] {
    let full = Profile::mesa_lavapipe();
    let mut descriptors = full.clone();
    descriptors.features.remove(&Feature::Address);
    [full, descriptors]
}

fn rows(op: (&str, &str, &str)) -> String {
    let (op, body, out) = op;
    format!("fn rows<N, K>(x: f32[N, K]) -> y: {out}[N] {{ y[i] = {op}(k in 0..K) {{ {body} }}; }}")
}

fn check_rows(variant: &Variant) {
    for (n, k) in SIZES {
        variant.check(&[("N", n), ("K", k)], &[]);
    }
}

/// One row of `x` for each workgroup, or several, with its columns distributed across invocations.
pub const WITHIN: [&str; 9] = [
    "distribute(i => workgroup(x)); tile(k: 16 => k_o); distribute(k => thread(x), by: tree);",
    "distribute(i => workgroup(x)); tile(k: 13 => k_o); distribute(k => thread(x), by: tree);",
    "distribute(i => workgroup(x)); tile(k: 8 => k_o); distribute(k => thread(x), by: subgroup);",
    "distribute(i => workgroup(x)); tile(k: 72 => k_o); distribute(k => thread(x), by: subgroup);",
    "tile(i: 3) => workgroup(x); distribute(i => thread(y)); tile(k: 5 => k_o); distribute(k => thread(x), by: tree);",
    "tile(i: 4) => workgroup(x); distribute(i => thread(y)); tile(k: 16 => k_o); distribute(k => thread(x), by: subgroup);",
    "tile(i: 3) => workgroup(x); distribute(i => subgroup(x)); tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup);",
    "tile(i: 2) => workgroup(x); distribute(i => subgroup(y)); split(k, [_, 3, 5] => k_o, k_s, k_l); distribute(k_s => subgroup(x), by: subgroup); distribute(k_l => lane(x), by: subgroup);",
    "tile(i: 2) => workgroup(x); distribute(i => subgroup(y)); split(k, [_, 3, 5] => k_o, k_s, k_l); distribute(k_s => subgroup(x), by: tree); distribute(k_l => lane(x), by: tree);",
];

#[test]
fn every_operator_within_a_workgroup() {
    for (m, op) in OPERATORS.into_iter().enumerate() {
        for (n, directives) in WITHIN.iter().enumerate().filter(|(n, _)| (m + n) % 3 == 0) {
            let schedule = format!("V: rows for p {{ {directives} }}");
            check_rows(&variant(&rows(op), &schedule, &profiles()[n % 2]));
        }
    }
}

/// Partial results of a row in a separate dispatch. 1024 columns in steps of 64, and in steps that leave a tail.
pub const RFACTOR: [&str; 4] = [
    "tile(k: 32 => k_o); rfactor(k_o => part);",
    "tile(k: 5 => k_o); reorder(k, k_o); rfactor(k_o => part); part { tile(k_o: 4, i: 2) => workgroup(y, x); distribute(k_o, i => thread(y, x)); unroll(k); } tile(i: 4) => workgroup(x); distribute(i => thread(x));",
    "tile(k: 48 => k_o); rfactor(k => part); part { distribute(i, k => workgroup(y, x)); tile(k_o: 3 => k_oo); distribute(k_o => thread(x), by: tree); } distribute(i => workgroup(x)); tile(k: 8 => k_r); distribute(k => thread(x), by: subgroup);",
    "tile(k: 8 => k_o); rfactor(k_o => part); part { tile(i: 8) => workgroup(x); distribute(i => thread(x)); serial(k_o); } tile(k_o: 4 => k_oo); rfactor(k_oo => again); again { serial(k_oo, i); }",
];

#[test]
fn every_operator_by_partial_results() {
    for (m, op) in OPERATORS.into_iter().enumerate() {
        for (n, directives) in RFACTOR.iter().enumerate().filter(|(n, _)| (m + n) % 2 == 0) {
            let schedule = format!("V: rows for p {{ {directives} }}");
            check_rows(&variant(&rows(op), &schedule, &profiles()[n % 2]));
        }
    }
}

/// Partial results that are computed where they are reduced: one after another, of several rows, all of them by a workgroup, and a
/// few by each of its invocations.
pub const BLOCKED: [&str; 4] = [
    "tile(k: 32 => k_o); rfactor(k_o => part); tile(i: 4) => workgroup(x); distribute(i => thread(x)); compute_at(part, k_o, to: register);",
    "tile(k: 5 => k_o); rfactor(k_o => part); tile(i: 4) => workgroup(x); unroll(i); reorder(k_o, i); compute_at(part, k_o, to: register); part { reorder(k, i); unroll(i); }",
    "tile(k: 48 => k_o); rfactor(k => part); distribute(i => workgroup(x)); compute_at(part, workgroup, to: shared); distribute(k => thread(x), by: tree);",
    "tile(k: 4 => k_o); rfactor(k_o => part); distribute(i => workgroup(x)); tile(k_o: 8 => k_oo); distribute(k_o => thread(x), by: tree); compute_at(part, k_oo, to: register); part { unroll(k); }",
];

#[test]
fn every_operator_in_blocks() {
    for (m, op) in OPERATORS.into_iter().enumerate() {
        for (n, directives) in BLOCKED.iter().enumerate().filter(|(n, _)| (m + n) % 2 == 0) {
            let schedule = format!("V: rows for p {{ {directives} }}");
            check_rows(&variant(&rows(op), &schedule, &profiles()[n % 2]));
        }
    }
}

/// Reductions by atomics, of every operator and type that has them.
#[test]
fn atomics() {
    let directives = [
        "tile(k: 32 => k_o); distribute(k_o => workgroup(x), by: atomic); tile(i: 4) => workgroup(y); distribute(i => thread(x));",
        "tile(i: 3) => workgroup(y); distribute(i => thread(y)); tile(k: 16) => workgroup(x), by: atomic; distribute(k => thread(x), by: tree);",
        "distribute(i => workgroup(y)); tile(k: 64) => workgroup(x), by: atomic; tile(k: 16 => k_o); distribute(k => thread(x), by: subgroup);",
        "serial(i); tile(k: 7 => k_o); distribute(k => thread(x), by: atomic);",
    ];
    let operators = [
        ("sum", "i32", "x[i, k]", "i32"),
        ("sum", "u32", "x[i, k] * 3", "u32"),
        ("min", "i32", "x[i, k]", "i32"),
        ("max", "i32", "x[i, k] * 3", "i32"),
        ("min", "u32", "x[i, k]", "u32"),
        ("max", "u32", "x[i, k]", "u32"),
        ("any", "f32", "x[i, k] > 0.9", "bool"),
        ("all", "f32", "x[i, k] < 0.9", "bool"),
        ("sum", "f32", "x[i, k]", "f32"),
    ];
    for (m, (op, dtype, body, out)) in operators.into_iter().enumerate() {
        let kernel = format!("fn rows<N, K>(x: {dtype}[N, K]) -> y: {out}[N] {{ y[i] = {op}(k in 0..K) {{ {body} }}; }}");
        for (n, directives) in directives.iter().enumerate().filter(|(n, _)| (m + n) % 2 == 0) {
            let schedule = format!("V: rows for p {{ {directives} }}");
            check_rows(&variant(&kernel, &schedule, &profiles()[n % 2]));
        }
    }
}

/// Checks a kernel under several schedules, at several sizes.
fn check(kernel: &str, schedules: &[&str], sizes: &[&[(&str, i64)]]) {
    let name = kernel.trim_start_matches("fn ").split(['<', '(']).next().unwrap_or_default();
    for (n, directives) in schedules.iter().enumerate() {
        let variant = variant(kernel, &format!("V: {name} for p {{ {directives} }}"), &profiles()[n % 2]);
        sizes.iter().for_each(|dims| variant.check(dims, &[]));
    }
}

/// Several elements of an accumulator, also in lanes, and an epilogue that reads.
#[test]
fn tiles_of_results() {
    let kernel = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N], bias: f32[N]) -> c: f32[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] * b[k, j] } + bias[j]).max(0.0);
    }";
    check(
        kernel,
        &[
            "tile(i: 2, j: 3) => workgroup(y, x); tile(k: 12 => k_o); distribute(k => thread(x), by: tree); reorder(k_o, i, j); unroll(i, j);",
            "tile(i: 2, j: 8) => workgroup(y, x); tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup); reorder(k_o, i, j); vectorize(j, 4, unaligned: scalar); unroll(i, j);",
            "tile(i: 2, j: 4) => workgroup(y, x); distribute(j => thread(x)); split(k, [_, 3, 2] => k_o, k_t, k_i); distribute(k_t => thread(y), by: tree); reorder(k_o, k_i, i); unroll(i, k_i);",
            "tile(i: 4, j: 4) => workgroup(y, x); tile(k: 16) => workgroup(z), by: atomic; distribute(j => thread(x)); tile(k: 4 => k_o); distribute(k => thread(y), by: tree); reorder(k_o, i); unroll(i);",
            "tile(k: 24 => k_o); rfactor(k_o => part); part { tile(i: 4, j: 4) => workgroup(y, x); distribute(k_o => workgroup(z)); tile(i: 2) => thread(y); distribute(j => thread(x)); reorder(k, i); unroll(i); }",
        ],
        &[&[("M", 5), ("N", 7), ("K", 61)], &[("M", 1), ("N", 4), ("K", 1)], &[("M", 3), ("N", 9), ("K", 0)]],
    );
}

/// Several ranges, fused or not, and one whose end is another axis.
#[test]
fn ranges() {
    let boxes = "fn peak<N, H, W>(x: i32[N, H, W]) -> y: i32[N] { y[n] = argmax(i in 0..H, j in 0..W) { x[n, i, j] }; }";
    let name = "V: peak for p";
    for (n, directives) in [
        "distribute(n => workgroup(x)); fuse(i, j => p); tile(p: 24 => p_o); distribute(p => thread(x), by: tree);",
        "distribute(n => workgroup(x)); tile(i: 2 => i_o); tile(j: 8 => j_o); distribute(i, j => thread(y, x), by: subgroup);",
        "distribute(n => workgroup(x)); tile(i: 3 => i_o); distribute(i => subgroup(x), by: subgroup); tile(j: 4 => j_o); distribute(j => lane(x), by: subgroup);",
        "fuse(i, j => p); tile(p: 10 => p_o); rfactor(p_o => part);",
        "tile(i: 2 => i_o); tile(j: 3 => j_o); rfactor(j => part);",
    ]
    .into_iter()
    .enumerate()
    {
        let variant = variant(boxes, &format!("{name} {{ {directives} }}"), &profiles()[n % 2]);
        for (n, h, w) in [(1, 1, 1), (5, 3, 7), (3, 13, 11)] {
            variant.check_filled(&[("N", n), ("H", h), ("W", w)], &[], &|_| Fill::Below(4));
        }
    }
    let long = "fn best<K>(x: i32[K]) -> y: i32[] { y[] = argmin(k in 0..K) { x[k] }; }";
    let directives = "tile(k: 256 => k_o); rfactor(k_o => part); part { distribute(k_o => workgroup(x)); tile(k: 64 => k_r); \
        distribute(k => thread(x), by: subgroup); } tile(k_o: 8 => k_r); distribute(k_o => thread(x), by: tree);";
    let variant = variant(long, &format!("V: best for p {{ {directives} }}"), &profiles()[0]);
    for k in [1, 255, 256, 3001] {
        variant.check_filled(&[("K", k)], &[], &|_| Fill::Below(40));
    }
    check(
        "fn tri<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] * x[j, i] }; }",
        &[
            "distribute(i => workgroup(x)); tile(j: 16 => j_o); distribute(j => thread(x), by: tree);",
            "tile(i: 2) => workgroup(x); distribute(i => subgroup(x)); tile(j: 8 => j_o); distribute(j => lane(x), by: subgroup);",
            "tile(j: 8 => j_o); rfactor(j_o => part);",
            "tile(j: 8 => j_o); rfactor(j_o => part); part { distribute(j_o, i => workgroup(y, x)); distribute(j => thread(x), by: tree); } serial(i);",
        ],
        &[&[("N", 1)], &[("N", 7)], &[("N", 31)], &[("N", 130)]],
    );
}

/// A tensor that is updated, one that reads itself, a conversion, a stage between others, a scalar.
#[test]
fn what_is_written() {
    let sizes: &[&[(&str, i64)]] = &[&[("N", 1), ("K", 3)], &[("N", 7), ("K", 130)]];
    let schedules = [
        "distribute(i => workgroup(y)); tile(k: 32) => workgroup(x), by: atomic; distribute(k => thread(x), by: tree);",
        "tile(k: 32 => k_o); rfactor(k_o => part);",
        "distribute(i => workgroup(x)); tile(k: 16 => k_o); distribute(k => thread(x), by: subgroup);",
    ];
    check("fn add<N, K>(y: &mut f32[N], x: f32[N, K]) { y[i] = y[i] * 0.5 + sum(k in 0..K) { x[i, k] }; }", &schedules, sizes);
    check("fn own<N, K>(y: &mut i32[N], x: i32[N, K]) { y[i] = sum(k in 0..K) { x[i, k] + y[i] }; }", &schedules, sizes);
    check("fn mean<N, K>(x: i32[N, K]) -> y: f32[N] { y[i] = sum(k in 0..K) { x[i, k] } as f32 / K as f32; }", &schedules, sizes);
    check(
        "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
            let m[r]: f32[R] = max(c in 0..C) { x[r, c] };
            let s[r]: f32[R] = sum(c in 0..C) { (x[r, c] - m[r]).exp() };
            y[r, c] = (x[r, c] - m[r]).exp() / s[r];
        }",
        &[
            "m, s { distribute(r => workgroup(x)); tile(c: 16 => c_o); distribute(c => thread(x), by: tree); } tile(r: 2, c: 8) => workgroup(y, x); distribute(r, c => thread(y, x));",
            "s { tile(c: 32) => workgroup(y), by: atomic; distribute(r => workgroup(x)); distribute(c => thread(x), by: subgroup); } m { tile(c: 8 => c_o); rfactor(c_o => part); } part { serial(c_o, r); }",
        ],
        &[&[("R", 1), ("C", 1)], &[("R", 3), ("C", 7)], &[("R", 7), ("C", 130)]],
    );
    check(
        "fn total<K>(x: f32[K]) -> y: f32[] { y[] = sum(k in 0..K) { x[k] }; }",
        &[
            "tile(k: 64) => workgroup(x), by: atomic; distribute(k => thread(x), by: subgroup);",
            "tile(k: 256 => k_o); rfactor(k_o => part); part { distribute(k_o => workgroup(x)); tile(k: 32 => k_i); distribute(k => thread(x), by: subgroup); } tile(k_o: 8 => k_r); distribute(k_o => thread(x), by: tree);",
            "tile(k: 24 => k_o); distribute(k => thread(x), by: tree);",
        ],
        &[&[("K", 0)], &[("K", 1)], &[("K", 130)], &[("K", 2311)]],
    );
}

/// f16, for which subgroup arithmetic is optional.
#[test]
fn halves() {
    for (op, out) in [("sum", "f16"), ("max", "f16"), ("prod", "f16"), ("argmin", "i32")] {
        let kernel = format!("fn rows<N, K>(x: f16[N, K]) -> y: {out}[N] {{ y[i] = {op}(k in 0..K) {{ x[i, k] }}; }}");
        for (n, directives) in [
            "distribute(i => workgroup(x)); tile(k: 16 => k_o); distribute(k => thread(x), by: subgroup);",
            "distribute(i => workgroup(x)); tile(k: 10 => k_o); distribute(k => thread(x), by: tree);",
            "tile(k: 8 => k_o); rfactor(k_o => part);",
        ]
        .into_iter()
        .enumerate()
        {
            check_rows(&variant(&kernel, &format!("V: rows for p {{ {directives} }}"), &profiles()[n % 2]));
        }
    }
}

/// One row for each workgroup, in one dispatch: the row's maximum and sum are in shared memory.
#[test]
fn softmax_in_one_dispatch() {
    let kernel = "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let m[r]: f32[R] = max(c in 0..C) { x[r, c] };
        let s[r]: f32[R] = sum(c in 0..C) { (x[r, c] - m[r]).exp() };
        y[r, c] = (x[r, c] - m[r]).exp() / s[r];
    }";
    let directives = |by: &str| {
        format!(
            "tile(r: 1) => workgroup(x); tile(c: 24 => c_o); distribute(c => thread(x)); serial(c_o); \
             compute_at(s, workgroup, to: shared); compute_at(m, workgroup, to: shared); \
             m, s {{ tile(c: 24 => c_o); distribute(c => thread(x), by: {by}); }}"
        )
    };
    let schedules = ["tree", "subgroup"].map(directives);
    check(
        kernel,
        &schedules.each_ref().map(String::as_str),
        &[&[("R", 1), ("C", 1)], &[("R", 3), ("C", 7)], &[("R", 7), ("C", 130)]],
    );
}

/// Peeled tiles of reduced axes, and of parallel ones.
#[test]
fn peeled() {
    let directives = [
        "tile(i: 4 peel) => workgroup(x); distribute(i => thread(y)); tile(k: 16 => k_o); distribute(k => thread(x), by: tree);",
        "distribute(i => workgroup(x)); tile(k: 24 peel => k_o); distribute(k => thread(x), by: tree);",
        "tile(i: 2) => workgroup(x); distribute(i => subgroup(x)); tile(k: 8 peel => k_o); distribute(k => lane(x), by: subgroup);",
        "tile(k: 64) => workgroup(x), by: atomic; tile(i: 4 peel) => workgroup(y); distribute(i => thread(x));",
        "tile(k: 9 => k_o); rfactor(k_o => part); part { serial(i, k_o); tile(k: 4 peel => k_p); unroll(k); } tile(i: 4 peel) => workgroup(x); serial(i);",
    ];
    for op in [OPERATORS[0], OPERATORS[7]] {
        for (n, directives) in directives.iter().enumerate().filter(|(n, _)| op.0 == "sum" || *n != 3) {
            check_rows(&variant(&rows(op), &format!("V: rows for p {{ {directives} }}"), &profiles()[n % 2]));
        }
    }
}

/// Each invocation keeps the result of its workgroup's reduction in registers, without memory or barriers.
#[test]
fn reductions_into_registers_of_all() {
    let softmax = "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let largest[i]: f32[R] = max(k in 0..C) { x[i, k] };
        let total[i]: f32[R] = sum(k in 0..C) { (x[i, k] - largest[i]).exp() };
        y[i, j] = (x[i, j] - largest[i]).exp() / total[i];
    }";
    let schedule = |how: &str, level: &str| {
        format!(
            "V: softmax for p {{
        tile(i: 1) => workgroup(x);
        tile(j: 8 => j_o);
        distribute(j => {level}(x));
        serial(j_o);
        compute_at(total, workgroup, to: register);
        compute_at(largest, workgroup, to: register);
        largest, total {{ tile(k: 8 => k_o); distribute(k => {level}(x), by: {how}); }}
    }}"
        )
    };
    let profile = Profile::mesa_lavapipe();
    for schedule in [schedule("subgroup", "thread"), schedule("subgroup", "lane"), schedule("tree", "thread")] {
        let variant = variant(softmax, &schedule, &profile);
        for (r, c) in [(1, 1), (3, 7), (2, 8), (5, 37), (0, 4)] {
            variant.check(&[("R", r), ("C", c)], &[]);
        }
    }
}

/// Each operator in two dispatches, over a domain that is out of the tensor's bounds on both sides.
#[test]
fn every_operator_by_partial_results_of_a_padded_domain() {
    let padded = |n: usize, item: &str| {
        let read = ["x.pad(0.5)[i, k * 2 - 3]", "x.clamp()[i, k * 2 - 3]"][n % 2];
        item.replace("x[i, k]", read)
    };
    for (n, (name, item, out)) in OPERATORS.into_iter().enumerate() {
        let item = padded(n, item);
        let kernel =
            format!("fn rows<N, K, P = K / 2 + 5>(x: f32[N, K]) -> y: {out}[N] {{ y[i] = {name}(k in 0..P) {{ {item} }}; }}");
        let schedule = "V: rows for p { tile(k: 7 => k_o); rfactor(k_o => part); part { tile(i: 3) => workgroup(x); distribute(i => thread(y)); \
                        distribute(k => thread(x), by: tree); serial(k_o); } tile(i: 4) => workgroup(x); distribute(i => thread(x)); }";
        check_rows(&variant(&kernel, schedule, &profiles()[n % 2]));
    }
}
