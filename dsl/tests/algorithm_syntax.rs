//! The parsers: what they read, and what they say about what they cannot.

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
            y[i] += x[i];
            for i in 0..N { y[i] = 0.0; }
            let q = mean(k in 0..N) { x[k] };
            y[i] = if a < b < c { 1.0 } else { x[i] };
        }",
    )
    .unwrap_err();
    println!("{errors}");
    assert_eq!(errors.matches("error:").count(), 5, "{errors}");
}
