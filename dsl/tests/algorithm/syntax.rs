//! Tests the parsers: the syntax that they accept, and their errors.

#![allow(clippy::unwrap_used)]

use tilewright_dsl::diag::Spans;
use tilewright_dsl::syntax::kernel::{self, Kernel};

fn read(text: &str) -> Result<Kernel, String> {
    let mut spans = Spans::new();
    let tokens = text.parse().unwrap();
    kernel::parse(tokens, &mut spans).into_result().map_err(|e| e.texts(&spans))
}

#[test]
fn attention_is_read() {
    let kernel = read(
        "/// Causal.
        pub(crate) fn attention<T: f32 | f16, B, N, D = 64>(
            query: T[B, N, D], key: T[B, N, D], value: T[B, N, D], scale: f32,
        ) -> o: f32[B, N, D] {
            let s[b, i, j]: f32[B, N, N] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
            let m[b, i]: f32[B, N] = max(j in 0..i + 1) { s[b, i, j] };
            let p[b, i, j]: T[B, N, N] = (s[b, i, j] - m[b, i]).exp() as T;
            let l[b, i]: f32[B, N] = sum(j in 0..i + 1) { p[b, i, j] as f32 };
            o[b, i, e] = sum(j in 0..i + 1) { p[b, i, j] as f32 * value[b, j, e] as f32 } / l[b, i];
        }",
    )
    .unwrap();
    assert_eq!((kernel.generics.len(), kernel.params.len(), kernel.statements.len()), (4, 4, 5));
    assert_eq!((kernel.prefix.docs.as_slice(), kernel.prefix.visibility.as_str()), (&[" Causal.".to_string()][..], "pub (crate)"));
}

#[test]
fn several_errors_at_once() {
    let errors = read(
        "fn k<N>(x: f32[N], 3: f32) -> y: f32[N] {
            stage!(x);
            for i in 0..N { y[i] = 0.0; }
            let q = mean(k in 0..N) { x[k] };
            y[i] = if a < b < c { 1.0 } else { x[i] };
        }",
    )
    .unwrap_err();
    assert_eq!(errors.matches("error:").count(), 5, "{errors}");
}

#[test]
fn depth_has_a_limit() {
    let deep = |n: usize| {
        vec![
            format!("{}x[i]{}", "(".repeat(n), ")".repeat(n)),
            format!("{}x[i]", "- ".repeat(n)),
            format!("x[i]{}", " + 1.0".repeat(n)),
            format!("x[i]{}", " as f32".repeat(n)),
            format!("x[i]{}", ".abs()".repeat(n)),
            format!("{}{{ x[i] }}", "if true { 1.0 } else ".repeat(n)),
            format!("{}x[i]{}", "{ ".repeat(n), "}".repeat(n)),
            (0..n / 10).fold("x[i]".to_string(), |inner, _| format!("({inner}{})", " + 1.0".repeat(12))),
        ]
    };
    for value in deep(40) {
        let kernel = read(&format!("fn k<N>(x: f32[N]) -> y: f32[N] {{ y[i] = {value}; }}")).unwrap();
        assert!(tilewright_dsl::algorithm::check_generic(&kernel).is_ok(), "{value}");
    }
    for value in deep(300) {
        let errors = read(&format!("fn k<N>(x: f32[N]) -> y: f32[N] {{ y[i] = {value}; }}")).unwrap_err();
        assert!(errors.contains("nests more than"), "{errors}");
    }
    // A left-associative chain gives a high tree, which is accepted.
    let high = read(&format!("fn k<N>(x: f32[N]) -> y: f32[N] {{ y[i] = x[i]{}; }}", " + 1.0".repeat(250))).unwrap();
    assert!(tilewright_dsl::algorithm::check_generic(&high).is_ok());
}

#[test]
fn any_tokens_are_read_without_a_panic() {
    let words = [
        "fn", "k", "<", ">", "(", ")", "[", "]", "{", "}", "x", "y", ":", "f32", "N", "->", ",", ";", "=", "let", "const", "sum",
        "in", "0", "..", "if", "else", "as", ".", "pad", "clamp", "+", "-", "&", "mut", "1.5", "true", "::", "|", "#", "'a",
        "\"s\"", "for",
    ];
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize
    };
    let right = "fn k < N > ( x : f32 [ N ] ) -> y : f32 [ N ] { let t [ i ] : f32 [ N ] = x . pad ( 0.0 ) [ i + 1 ] ; \
                 y [ i ] = sum ( k in 0 .. N ) { if k < i { t [ k ] } else { 1.5 } } ; }";
    let mut wrong = 0;
    for _ in 0..3000 {
        let mut tokens: Vec<&str> = right.split(' ').collect();
        for _ in 0..1 + next() % 3 {
            let at = next() % tokens.len();
            match next() % 3 {
                0 => tokens[at] = words[next() % words.len()],
                1 => tokens.insert(at, words[next() % words.len()]),
                _ => drop(tokens.remove(at)),
            }
        }
        let text = tokens.join(" ");
        let mut spans = Spans::new();
        // rustc refuses unbalanced delimiters.
        let Ok(tokens) = text.parse::<proc_macro2::TokenStream>() else { continue };
        let parsed = kernel::parse(tokens, &mut spans);
        if let Some(kernel) = &parsed.tree {
            let checked = tilewright_dsl::algorithm::check_generic(kernel);
            assert!(kernel.whole || !parsed.errors.is_empty(), "{text}");
            wrong += usize::from(checked.is_err() || !parsed.errors.is_empty());
            tilewright_dsl::algorithm::signature(kernel);
        }
    }
    assert!(wrong > 500, "{wrong}");
}
