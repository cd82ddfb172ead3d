//! Attention (Vaswani and others, *Attention Is All You Need*, 2017, section 3.2.1).

use tilewright::kernel;

kernel! {
    /// Each row of the output is the mean of all values, weighted by the softmax of the row's scores. The scores are the products
    /// of its query with all keys, times `scale`. Batches and heads are one dimension.
    pub fn attention<T: f32 | f16, B, N, M, D, E>(query: T[B, N, D], key: T[B, M, D], value: T[B, M, E], scale: f32) -> output: f32[B, N, E] {
        let score[b, i, j]: f32[B, N, M] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..M) { score[b, i, j] };
        let weight[b, i, j]: f32[B, N, M] = (score[b, i, j] - largest[b, i]).exp();
        let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
        output[b, i, e] = sum(j in 0..M) { weight[b, i, j] * value[b, j, e] as f32 } / total[b, i];
    }
}

kernel! {
    /// Causal [`attention`]: each row sees the keys up to its own.
    pub fn causal_attention<T: f32 | f16, B, N, D, E>(query: T[B, N, D], key: T[B, N, D], value: T[B, N, E], scale: f32) -> output: f32[B, N, E] {
        let score[b, i, j]: f32[B, N, N] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..i + 1) { score[b, i, j] };
        let weight[b, i, j]: f32[B, N, N] = (score[b, i, j] - largest[b, i]).exp();
        let total[b, i]: f32[B, N] = sum(j in 0..i + 1) { weight[b, i, j] };
        output[b, i, e] = sum(j in 0..i + 1) { weight[b, i, j] * value[b, j, e] as f32 } / total[b, i];
    }
}

kernel! {
    /// [`attention`](fn@attention) of f16 as matrix units compute it: products are accumulated in f32, and the weights are rounded
    /// to f16 before they are multiplied by the values. Exponentials have base 2. `scale` must be above 0, so that the largest
    /// product has the largest weight.
    pub fn attention_mixed<B, N, M, D, E>(query: f16[B, N, D], key: f16[B, M, D], value: f16[B, M, E], scale: f32) -> output: f16[B, N, E] {
        let product[b, i, j]: f32[B, N, M] = sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..M) { product[b, i, j] };
        let weight[b, i, j]: f32[B, N, M] = {
            let factor = scale * 1.442_695_040_888_963_4;
            product[b, i, j].mul_add(factor, -largest[b, i] * factor).exp2()
        };
        let rounded[b, i, j]: f16[B, N, M] = weight[b, i, j] as f16;
        let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
        output[b, i, e] = (sum(j in 0..M) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i]) as f16;
    }
}

kernel! {
    /// Causal [`attention_mixed`](fn@attention_mixed): each row sees the keys up to its own.
    pub fn causal_attention_mixed<B, N, D, E>(query: f16[B, N, D], key: f16[B, N, D], value: f16[B, N, E], scale: f32) -> output: f16[B, N, E] {
        let product[b, i, j]: f32[B, N, N] = sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..i + 1) { product[b, i, j] };
        let weight[b, i, j]: f32[B, N, N] = {
            let factor = scale * 1.442_695_040_888_963_4;
            product[b, i, j].mul_add(factor, -largest[b, i] * factor).exp2()
        };
        let rounded[b, i, j]: f16[B, N, N] = weight[b, i, j] as f16;
        let total[b, i]: f32[B, N] = sum(j in 0..i + 1) { weight[b, i, j] };
        output[b, i, e] = (sum(j in 0..i + 1) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i]) as f16;
    }
}

kernel! {
    /// [`attention_mixed`](fn@attention_mixed) of grouped queries: each group shares one head of keys and values (Ainslie and
    /// others, *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints*, 2023).
    pub fn attention_grouped<B, H, G, N, M, D, E>(
        query: f16[B, H, G, N, D],
        key: f16[B, H, M, D],
        value: f16[B, H, M, E],
        scale: f32,
    ) -> output: f16[B, H, G, N, E] {
        let product[b, h, g, i, j]: f32[B, H, G, N, M] = sum(d in 0..D) { query[b, h, g, i, d] as f32 * key[b, h, j, d] as f32 };
        let largest[b, h, g, i]: f32[B, H, G, N] = max(j in 0..M) { product[b, h, g, i, j] };
        let weight[b, h, g, i, j]: f32[B, H, G, N, M] = {
            let factor = scale * 1.442_695_040_888_963_4;
            product[b, h, g, i, j].mul_add(factor, -largest[b, h, g, i] * factor).exp2()
        };
        let rounded[b, h, g, i, j]: f16[B, H, G, N, M] = weight[b, h, g, i, j] as f16;
        let total[b, h, g, i]: f32[B, H, G, N] = sum(j in 0..M) { weight[b, h, g, i, j] };
        output[b, h, g, i, e] =
            (sum(j in 0..M) { rounded[b, h, g, i, j] as f32 * value[b, h, j, e] as f32 } / total[b, h, g, i]) as f16;
    }
}
