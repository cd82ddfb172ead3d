//! Tests extreme items: too deep, too long, too large. Each is accepted, or refused with an error about its problem.

use crate::tokens::support::{board, expanded, watched};
use proc_macro2::TokenStream;

const ADD: &str = "fn add<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = x[i, j] + 1.0; }";
const PLAIN: &str = "pub V: add for p {}";

fn tokens(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|e| panic!("{e}: {}", beginning(text)))
}

fn beginning(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Expands all three items. `wanted` is a part of the expected error; `None` if they are accepted.
#[track_caller]
fn check(kernel: &str, schedule: &str, wanted: Option<&str>) {
    let said = beginning(&format!("{kernel}\n{schedule}"));
    let (kernel, schedule) = (kernel.to_owned(), schedule.to_owned());
    let text = watched(&said, move || expanded(tokens(&kernel), tokens(&schedule), board()));
    let refused = text.contains("compile_error");
    assert_eq!(refused, wanted.is_some(), "{said}\n{}", text.find("compile_error").map_or("", |at| &text[at..]));
    assert!(wanted.is_none_or(|wanted| text.contains(wanted)), "{said}\n{wanted:?}\n{text}");
}

#[track_caller]
fn of_body(body: &str, wanted: Option<&str>) {
    check(&format!("fn add<N, M>(x: f32[N, M]) -> y: f32[N, M] {{ y[i, j] = {body}; }}"), PLAIN, wanted);
}

#[track_caller]
fn of_schedule(directives: &str, wanted: Option<&str>) {
    check(ADD, &format!("pub V: add for p {{ {directives} }}"), wanted);
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Joins `f(0)`, `f(1)`, ….
fn row(count: usize, f: impl Fn(usize) -> String) -> String {
    (0..count).map(f).collect()
}

#[test]
fn expressions_that_nest() {
    let levels = Some("this expression nests more than 64 levels deep");
    let groups = Some("groups are nested more than 128 deep");
    for (open, inner, close) in [
        ("(", "x[i, j]", ")"),
        ("{ ", "x[i, j]", " }"),
        ("if i > 1 { ", "x[i, j]", " } else { 1.0 }"),
        ("if i > 1 { 1.0 } else { ", "x[i, j]", " }"),
        ("sum(k in 0..M) { ", "x[i, k]", " }"),
        ("x[i, j].max(", "1.0", ")"),
        ("x.pad(0.0)[", "i", ", j] as i32"),
    ] {
        of_body(&nested(open, inner, close, 100), levels);
        of_body(&nested(open, inner, close, 20_000), groups);
    }
    for (open, inner) in [("-", "x[i, j]"), ("if i > 1 { 1.0 } else ", "{ x[i, j] }")] {
        of_body(&nested(open, inner, "", 20_000), levels);
    }
    let high = Some("this expression nests more than 256 levels deep");
    for link in [" + x[i, j]", " * 1.5", ".max(0.0)", " as f32"] {
        of_body(&format!("x[i, j]{}", link.repeat(100)), None);
        of_body(&format!("x[i, j]{}", link.repeat(20_000)), high);
    }
    of_body(&format!("x[i{}, j]", " / 1".repeat(20_000)), high);
    check(
        "fn add<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }",
        &format!("pub V: add for p {{ {} }}", nested("y { ", "", " }", 20_000)),
        groups,
    );
    of_schedule(&format!("tile(i: 1{}) => workgroup(x);", " + 1".repeat(20_000)), high);
}

/// Values that double each time. Shared values are computed once, and are never printed in full.
#[test]
fn values_that_double() {
    let doubling = |from: usize, to: usize| row(to - from, |n| format!("let a{} = a{} + a{1};", from + n + 1, from + n));
    of_body(&format!("{{ let a0 = x[i, j]; {} a200 }}", doubling(0, 200)), None);
    of_body(&format!("{{ let a0 = x[i, j]; {} a2000 }}", doubling(0, 2000)), Some("more than 256 values with names in one block"));
    let blocks =
        format!("{{ let a0 = x[i, j]; {} {{ {} {{ {} a600 }} }} }}", doubling(0, 200), doubling(200, 400), doubling(400, 600));
    of_body(&blocks, Some("`a511` is computed in more than 512 steps"));
    let stages = row(120, |n| format!("let s{}[i]: f32[N] = s{n}[i] + s{n}[i];", n + 1));
    check(&format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ let s0[i]: f32[N] = x[i]; {stages} y[i] = s120[i]; }}"), PLAIN, None);
}

/// Pointwise stages are stored if they would nest too deeply.
#[test]
fn chains_of_stages() {
    let link = |n: usize| format!("let s{}[i]: f32[N] = s{n}[i]{};", n + 1, " * 0.5 + 1.0".repeat(30));
    let kernel = format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ let s0[i]: f32[N] = x[i]; {} y[i] = s100[i]; }}", row(100, link));
    check(&kernel, PLAIN, None);
    let sums = row(60, |n| format!("let s{}[i]: f32[N] = sum(k in 0..N) {{ s{n}[k] }};", n + 1));
    check(&format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ let s0[i]: f32[N] = x[i]; {sums} y[i] = s60[i]; }}"), PLAIN, None);
}

#[test]
fn lists_that_are_long() {
    let many = 5000;
    let definitions = row(many, |n| format!("let s{n}[i]: f32[N] = x[i];"));
    check(
        &format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ {definitions} y[i] = s1[i]; }}"),
        PLAIN,
        Some("more than 128 definitions"),
    );
    let arguments = row(many, |n| format!("a{n}: f32[N],"));
    check(&format!("fn add<N>({arguments}) -> y: f32[N] {{ y[i] = a0[i]; }}"), PLAIN, Some("more than 128 arguments"));
    let generics = row(many, |n| format!("N{n},"));
    check(&format!("fn add<{generics}>(x: f32[N0]) -> y: f32[N0] {{ y[i] = x[i]; }}"), PLAIN, Some("more than 128 generics"));
    of_schedule(&"show;".repeat(many), Some("more than 512 directives"));
    of_schedule(&row(many, |n| format!("tile(i: 2 => i{n});")), Some("more than 512 directives"));
    of_schedule(&row(many, |n| format!("tune B{n} in [1, 2] = 1;")), Some("more than 128 `tune` and `specialize`"));
    of_schedule(&"specialize(N % 4 == 0);".repeat(many), Some("more than 128 `tune` and `specialize`"));
    let parts = row(61, |n| format!("i{n},"));
    of_schedule(&format!("split(i, [{} _] => {parts});", "1, ".repeat(60)), Some("more than 48 loops or guards"));
    check(ADD, &format!("pub V: add for p where {} N > 0 {{}}", "N > 1, ".repeat(many)), Some("more than 64 facts"));
    // Many facts about one dim do not cause many replacements.
    check(ADD, &format!("pub V: add for p where {} N > 0 {{}}", row(60, |n| format!("N % {} == 0,", n + 1))), None);
    let name = "n".repeat(200_000);
    check(
        &format!("fn {name}<N>(x: f32[N]) -> {name}y: f32[N] {{ {name}y[i] = x[i]; }}"),
        &format!("pub V: {name} for p {{}}"),
        None,
    );
}

/// A constant is one instruction, whose length is limited.
#[test]
fn constants_that_are_long() {
    let kernel = |count: usize| {
        let values = "1.0,".repeat(count);
        format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ const C: f32[{count}] = [{values}]; y[i] = x[i] + C[i % 3]; }}")
    };
    check(&kernel(16_384), PLAIN, None);
    check(&kernel(70_000), PLAIN, Some("`C` has more than 16384 elements"));
    let claimed = "fn add<N>(x: f32[N]) -> y: f32[N] { const C: f32[2000000000, 2000000000] = [[1.0]]; y[i] = x[i]; }";
    check(claimed, PLAIN, Some("`C` has more than 16384 elements"));
}

/// Numbers at and beyond every limit, in every place of a number, are accepted or refused quickly.
#[test]
fn numbers_that_are_large() {
    for n in [
        "0",
        "2147483647",
        "2147483648",
        "4000000000",
        "9223372036854775807",
        "18446744073709551616",
        "1e9",
        "0xffff_ffff_ffff_ffff",
    ] {
        let ends = |kernel: String, schedule: String| {
            watched(&format!("{kernel}\n{schedule}"), move || expanded(tokens(&kernel), tokens(&schedule), board()));
        };
        for directives in [
            format!("tile(i: {n}) => workgroup(x); distribute(i => thread(x)); serial(j);"),
            format!("tile(i: {n} round_up) => workgroup(x); unroll(i); serial(j);"),
            format!("split(i, [{n}, _, {n}] => a, b, c); serial(a, b, c, j);"),
            format!("vectorize(j, {n}); serial(i);"),
            format!("tune B in [{n}] = {n}; tile(i: B * B) => workgroup(x); serial(i, j);"),
            format!("unroll(i, j); specialize(N == {n}, M <= {n});"),
        ] {
            ends(ADD.into(), format!("pub V: add for p {{ {directives} }}"));
            ends(ADD.into(), format!("pub V: add for p where N == {n}, M % {n} == 0 {{ {directives} }}"));
        }
        for kernel in [
            format!("fn add<N = {n}, M = {n}>(x: f32[N, M, N]) -> y: f32[N, M, N] {{ y[i, j, k] = x[i, j, k]; }}"),
            format!("fn add<N = {n}, M = {n}>(x: f32[N * M * N]) -> y: f32[N] {{ y[i] = x[i]; }}"),
            format!("fn add<N>(x: f32[N / {n}]) -> y: f32[N * {n} * {n}] {{ y[i] = 1.0; }}"),
            format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ y[i] = x.pad(0.0)[i * {n} + {n}]; }}"),
            format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ y[i] = sum(k in 0..{n}) {{ x.pad(0.0)[i + k] }}; }}"),
            format!("fn add<N>(x: i32[N]) -> y: i32[N] {{ y[i] = x[i] / {n} % {n} + {n}; }}"),
            format!("fn add<N>(x: f32[N]) -> y: f32[N] {{ y[i] = x[i].powi({n}) + {n}.0; }}"),
        ] {
            ends(kernel.clone(), PLAIN.into());
            ends(kernel, "pub V: add for p { unroll(i); }".into());
        }
    }
}
