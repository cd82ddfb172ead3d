//! Attention (Vaswani and others, *Attention Is All You Need*, 2017, section 3.2.1).

use tilewright::kernel;

kernel! {
    /// Each row of the output is the mean of all values, weighted by the softmax of the row's scores, which are products of its query with
    /// all keys, times `scale`. Batches and heads are one dimension.
    pub fn attention<T: f32 | f16, B, N, M, D, E>(query: T[B, N, D], key: T[B, M, D], value: T[B, M, E], scale: f32) -> output: f32[B, N, E] {
        let score[b, i, j]: f32[B, N, M] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..M) { score[b, i, j] };
        let weight[b, i, j]: f32[B, N, M] = (score[b, i, j] - largest[b, i]).exp();
        let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
        output[b, i, e] = sum(j in 0..M) { weight[b, i, j] * value[b, j, e] as f32 } / total[b, i];
    }
}

kernel! {
    /// [`attention`] of which each row sees the keys up to its own.
    pub fn causal_attention<T: f32 | f16, B, N, D, E>(query: T[B, N, D], key: T[B, N, D], value: T[B, N, E], scale: f32) -> output: f32[B, N, E] {
        let score[b, i, j]: f32[B, N, N] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..i + 1) { score[b, i, j] };
        let weight[b, i, j]: f32[B, N, N] = (score[b, i, j] - largest[b, i]).exp();
        let total[b, i]: f32[B, N] = sum(j in 0..i + 1) { weight[b, i, j] };
        output[b, i, e] = sum(j in 0..i + 1) { weight[b, i, j] * value[b, j, e] as f32 } / total[b, i];
    }
}
