//! Syntax of Rust that kernels do not have. Each error gives a line to write, and the test checks that the line compiles.

#![allow(clippy::unwrap_used)]

use tilewright_dsl::algorithm::check_generic;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::syntax::kernel;

/// Returns the first message about a body and its help, or `None` if the body is right.
fn judged(body: &str) -> Option<(String, String)> {
    let text = format!(
        "fn k<N, M>(x: f32[N], w: f32[N, M], at: i32[N], n: i32[N], u: u32[N], h: f16[N], on: bool[N], acc: &mut f32[N], s: f32)
            -> (y: f32[N], z: i32[M]) where N >= 1 {{ {body} }}"
    );
    let mut spans = Spans::new();
    let parsed = kernel::parse(text.parse().unwrap(), &mut spans);
    let mut errors = parsed.errors;
    if let Some(kernel) = parsed.tree {
        errors.keep(check_generic(&kernel));
    }
    let first = errors.0.first()?;
    let notes = first.notes.iter().map(|(note, _)| format!("\n{note}"));
    Some((first.message.clone() + &notes.collect::<String>(), first.help.clone().unwrap_or_default()))
}

/// Adds the definitions that a line lacks.
fn whole(line: &str) -> String {
    let mut text = line.to_owned();
    for (name, rest) in [("y", "y[i] = x[i];"), ("z", "z[j] = 0;"), ("acc", "acc[i] = acc[i] + s;")] {
        let defines = [format!("{name}["), format!("({name}[")];
        let is_defined = text.split([';', '{']).any(|part| defines.iter().any(|start| part.trim().starts_with(start)));
        if !is_defined {
            text = format!("{text} {rest}");
        }
    }
    text
}

/// Wrong lines, a part of the message of each, and the text to write instead. `None` if the help is not one line.
const LINES: &[(&str, &str, Option<&str>)] = &[
    // Updates.
    ("z[at[i]] += 1;", "depends on data", Some("z[b] = sum(i in 0..N) where at[i] == b { 1 };")),
    ("z[at[i]] += n[i];", "`z` cannot be updated at `at[i]`", Some("z[b] = sum(i in 0..N) where at[i] == b { n[i] };")),
    ("z[at[i]] -= n[i] + 1;", "depends on data", Some("z[b] = sum(i in 0..N) where at[i] == b { -(n[i] + 1) };")),
    ("y[i] += w[i, k];", "an element is defined once", Some("y[i] = sum(k in 0..M) { w[i, k] };")),
    ("y[i] *= w[i, k] + 1.0;", "`y` cannot be updated by `*=`", Some("y[i] = prod(k in 0..M) { w[i, k] + 1.0 };")),
    ("acc[i] += s;", "`acc` cannot be updated by `+=`", Some("acc[i] = acc[i] + s;")),
    ("y[at[i]] = sum(i in 0..N) { x[i] };", "depends on data", None),
    ("acc[i] *= s - 1.0;", "`acc` cannot be updated by `*=`", Some("acc[i] = acc[i] * (s - 1.0);")),
    // Loops.
    ("for i in 0..N { y[i] = x[i] * 2.0; }", "`for` is not supported in kernels", Some("y[i] = x[i] * 2.0;")),
    (
        "for i in 0..N { for k in 0..M { y[i] += w[i, k]; } }",
        "`for` is not supported in kernels",
        Some("y[i] = sum(k in 0..M) { w[i, k] };"),
    ),
    (
        "for q in 0..4 { let t[i]: f32[N] = x.clamp()[i + q]; } y[i] = t[0, i];",
        "`for` is not supported in kernels",
        Some("let t[q, i]: f32[4, N] = x.clamp()[i + q];"),
    ),
    (
        "for q in 1..=4 { let t[i]: f32[N] = x.clamp()[i + q]; } y[i] = t[0, i];",
        "`for` is not supported in kernels",
        Some("let t[q, i]: f32[4 + 1 - 1, N] = x.clamp()[i + q];"),
    ),
    ("if s > 0.0 { y[i] = x[i]; } else { y[i] = 0.0; }", "cannot be inside an `if`", None),
    ("while s > 0.0 { y[i] = x[i]; }", "`while` is not supported in kernels", None),
    // Functions and macros.
    ("y[i] = (|a| a * 2.0)(x[i]);", "a closure is not a value", None),
    ("y[i] = super::cube(x[i]);", "`super::…` is an item of Rust", None),
    ("fn total(n: i32) -> f32 { sum(k in 0..n) { 1.0 } } y[i] = total(4);", "`sum` is inside the function `total`", None),
    ("let Some(v) = s;", "names one value", None),
    ("y[i] = f32::consts::PI();", "cannot call `f32::consts::PI`", Some("f32::consts::PI")),
    ("stage!(t, x);", "`stage!` cannot be called", None),
    ("assert!(N > 1);", "`assert!` cannot be called", None),
    ("y[i] = max!(x[i], 0.0);", "`max!` cannot be called", None),
    ("struct P { a: f32 }", "`struct` is not allowed in a kernel", None),
    ("use std::f32;", "`use` is not allowed in a kernel", None),
    // Calls: only the help's value is inserted.
    ("y[i] = f32::max(x[i], 0.0);", "cannot call `f32::max`", Some("x[i].max(0.0)")),
    ("y[i] = f32::max(x[i] + 1.0, -s);", "cannot call `f32::max`", Some("(x[i] + 1.0).max(-s)")),
    ("y[i] = std::cmp::min(n[i], 0) as f32;", "cannot call `std::cmp::min`", Some("n[i].min(0)")),
    ("y[i] = max(x[i], 0.0);", "cannot call `max`", Some("x[i].max(0.0)")),
    ("y[i] = exp(-x[i]);", "cannot call `exp`", Some("(-x[i]).exp()")),
    ("y[i] = f32::from(n[i]);", "cannot call `f32::from`", Some("n[i] as f32")),
    ("y[i] = f32(n[i] + 1);", "cannot call `f32`", Some("(n[i] + 1) as f32")),
    ("y[i] = relu(x)[i];", "a call of `relu` is one value", None),
    ("let t[i]: f32[N] = relu(x); y[i] = t[i];", "a kernel cannot call another kernel", None),
    ("y[i] = cube(x[i]);", "cannot call `cube`", None),
    // Words of Halide, of its relatives and of C++.
    ("y[i] = select(x[i] < s, x[i], 0.0);", "cannot call `select`", Some("if x[i] < s { x[i] } else { 0.0 }")),
    ("y[i] = mux(n[i], x[i], s);", "cannot call `mux`", None),
    ("y[i] = likely(x[i] * s);", "cannot call `likely`", Some("x[i] * s")),
    ("y[i] = undef();", "cannot call `undef`", Some("0.0")),
    ("y[i] = cast::<f32>(n[i] + 1);", "the call of `cast` cannot name a type", Some("(n[i] + 1) as f32")),
    ("y[i] = cast<float>(n[i]);", "the call of `cast` cannot name a type", Some("n[i] as f32")),
    ("y[i] = foo<float>(n[i]);", "comparisons do not chain", None),
    ("y[i] = relu::<f32>(x[i]);", "the call of `relu` cannot name a type", None),
    ("y[i] = lerp(x[i], s, 0.5);", "cannot call `lerp`", Some("x[i] + (s - x[i]) * 0.5")),
    ("y[i] = x[i] + print(x[i]);", "cannot call `print`", None),
    ("y[i] = x(i);", "`x` is a tensor, and its indices are in brackets", Some("x[i]")),
    ("y[i] = x.repeat_edge()[i + 1];", "unknown method `repeat_edge` of a tensor", None),
    ("y[i] = x.constant_exterior(0.0)[i + 1];", "unknown method `constant_exterior` of a tensor", None),
    ("y[i] = x.mirror()[i + 1];", "unknown method `mirror` of a tensor", None),
    ("y[i] = x.mirror();", "unknown method `mirror`", None),
    ("y[i] = x.repeat()[i + 1];", "unknown method `repeat` of a tensor", Some("x[(i + 1) % N]")),
    ("y[i] = repeat_edge(x);", "cannot call `repeat_edge`", None),
    ("y[i] = maximum(k in 0..N) { x[k] };", "unknown reduction `maximum`", None),
    ("y(i) = x[i]; z[j] = 0; acc[i] = s;", "expected `[`, found `(`", None),
    // Patterns and tuples.
    ("let (a, c) = (s, s * 2.0);", "names one value", Some("let a = s; let c = s * 2.0;")),
    ("let [a, c] = [s, 2.0];", "names one value", Some("let a = s; let c = 2.0;")),
    ("y[i] = { let (a, c) = (x[i], s); a * c };", "names one value", None),
    ("(y, acc) = (x, s);", "a definition names tensors with their axes", None),
    ("y[i] = (x[i], s);", "a tuple is not a value", None),
    // Ranges.
    ("y[i] = sum(k in (0..N).rev()) { x[k] };", "cannot be reversed", Some("k in 0..N")),
    ("z[j] = argmax(k in (0..N).rev()) { x[k] };", "the lowest position of equal items", None),
    ("y[i] = x[-1 - i];", "cannot prove `-1 - i >= 0`", None),
    ("y[i] = x[-1];", "cannot prove `-1 >= 0`", None),
    ("y[i] = sum(k in (0..N)) { x[k] };", "cannot be in parentheses", Some("k in 0..N")),
    ("y[i] = sum(k in (0..N).step_by(2)) { x[k] };", "cannot have steps", Some("k in 0..(N + 2 - 1) / 2")),
    ("y[i] = max(k in 0..N where k < 4) { x[k] };", "cannot have a condition", None),
    ("y[i] = sum(k in 0..N if k < 4) { x[k] };", "cannot have a condition", None),
    ("y[i] = x[0..N].sum();", "reads one element", None),
    ("y[i] = (0..N).sum();", "is not a value", None),
    ("y[i] = w[i][0];", "`w` has one list of indices", None),
    // Casts: the safe one, or both.
    ("y[i] = n[i] * s;", "`*` of an `i32` and an `f32`", Some("n[i] as f32")),
    ("y[i] = s * n[i];", "`*` of an `f32` and an `i32`", Some("n[i] as f32")),
    ("y[i] = x[i] + h[i];", "`+` of an `f32` and an `f16`", Some("h[i] as f32")),
    ("y[i] = s.max(n[i]);", "`max` of an `f32` and an `i32`", Some("n[i] as f32")),
    ("y[i] = if n[i] < s { 1.0 } else { 2.0 };", "`<` of an `i32` and an `f32`", Some("n[i] as f32")),
    ("y[i] = if on[i] { s } else { n[i] };", "the branches have different dtypes, `f32` and `i32`", Some("n[i] as f32")),
    ("y[i] = x[i] + on[i];", "`+` of an `f32` and a `bool`", Some("if on[i] { 1.0 } else { 0.0 }")),
    ("y[i] = n[i];", "expected an `f32`, found an `i32`", Some("n[i] as f32")),
    ("y[i] = on[i];", "expected an `f32`, found a `bool`", Some("if on[i] { 1.0 } else { 0.0 }")),
    ("y[i] = if x[i] { 1.0 } else { 0.0 };", "expected a `bool`, found an `f32`", Some("x[i] != 0.0")),
    ("y[i] = n[i].sqrt();", "there is no `sqrt` of an `i32`", Some("(n[i] as f32).sqrt()")),
    ("y[i] = x[i].pow(2);", "there is no `pow` of an `f32`", Some("x[i].powi(2)")),
    ("y[i] = x[i].pow(s);", "there is no `pow` of an `f32`", Some("x[i].powf(s)")),
];

/// The functions that helps name before a kernel, each with a read.
#[test]
fn functions_of_helps_are_right() {
    for method in ["mirror", "mirror_interior"] {
        let (_, help) = judged(&whole(&format!("y[i] = x.{method}()[i];"))).unwrap();
        let code: Vec<&str> = help.split('`').skip(1).step_by(2).collect();
        let text = format!("{} fn k<N>(x: f32[N]) -> y: f32[N] where N >= 2 {{ y[i] = {}; }}", code[0], code[1]);
        let mut spans = Spans::new();
        let kernel = kernel::parse(text.parse().unwrap(), &mut spans).into_result().unwrap();
        let checked = check_generic(&kernel);
        assert!(checked.is_ok(), "{text}\n{}", checked.unwrap_err().texts(&spans));
    }
}

#[test]
fn each_line_says_what_is_right_in_its_place() {
    let mut failures = Vec::new();
    for (wrong, said, right) in LINES {
        let Some((message, help)) = judged(&whole(wrong)) else {
            failures.push(format!("{wrong}: an error is missing"));
            continue;
        };
        if !message.contains(said) || help.is_empty() {
            failures.push(format!("{wrong}: {message}\n  help: {help}"));
        }
        let Some(right) = right else { continue };
        if !help.contains(&format!("`{right}`")) {
            failures.push(format!("{wrong}: {message}\n  help: {help}\n  wanted: {right}"));
            continue;
        }
        if let Some((message, help)) = judged(&whole(&followed(wrong, right))) {
            failures.push(format!("{wrong}: followed as {right}: {message}\n  help: {help}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns a line with the part replaced that its help names.
fn followed(wrong: &str, right: &str) -> String {
    // Whole statements replace the first one.
    if right.ends_with(';') {
        let end = match wrong.starts_with("for") {
            true => wrong.rfind('}').map_or(wrong.len(), |at| at + 1),
            false => wrong.find(';').map_or(wrong.len(), |at| at + 1),
        };
        return format!("{right}{}", &wrong[end..]);
    }
    if let Some(range) = right.strip_prefix("k in ") {
        let (start, end) = (wrong.find("k in ").unwrap(), wrong.find(") {").unwrap());
        return format!("{}k in {range}{}", &wrong[..start], &wrong[end..]);
    }
    // A cast or a choice replaces the operand, and a method replaces the call.
    let operand = match right {
        _ if right.contains(" as f32).sqrt()") => "n[i].sqrt()".into(),
        _ if right.contains(".pow") => wrong.trim_start_matches("y[i] = ").trim_end_matches(';').to_owned(),
        _ if right.starts_with("if on[i]") => "on[i]".into(),
        _ if wrong.contains("f32::from(") => "f32::from(n[i])".into(),
        _ if wrong.contains("f32(n") => "f32(n[i] + 1)".into(),
        _ if wrong.contains("cast") => wrong.trim_start_matches("y[i] = ").trim_end_matches(';').to_owned(),
        _ if right.contains(" != ") => right.split(" != ").next().unwrap().to_owned(),
        _ if right.ends_with(" as f32") => right.trim_end_matches(" as f32").to_owned(),
        _ => wrong.trim_start_matches("y[i] = ").trim_end_matches(" as f32;").trim_end_matches(';').to_owned(),
    };
    let right = if right.starts_with("if") { format!("({right})") } else { right.to_owned() };
    let at = wrong.rfind(&operand).unwrap_or_else(|| panic!("{operand} in {wrong}"));
    // The first operand of the comparison is converted.
    let at = if wrong.contains('<') { wrong.find(&operand).unwrap() } else { at };
    format!("{}({right}){}", &wrong[..at], &wrong[at + operand.len()..])
}
