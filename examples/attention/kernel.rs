//! The algorithm. Schedules cannot change its results.

use tilewright::kernel;

kernel! {
    /// Each row of the output is the mean of all values, weighted by the softmax of the products of its query with all keys.
    pub fn attention<B, N, M, D, E>(query: f32[B, N, D], key: f32[B, M, D], value: f32[B, M, E]) -> output: f32[B, N, E] {
        let score[b, i, j]: f32[B, N, M] = sum(d in 0..D) { query[b, i, d] * key[b, j, d] };
        let largest[b, i]: f32[B, N] = max(j in 0..M) { score[b, i, j] };
        let weight[b, i, j]: f32[B, N, M] = (score[b, i, j] - largest[b, i]).exp();
        let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
        output[b, i, e] = sum(j in 0..M) { weight[b, i, j] * value[b, j, e] } / total[b, i];
    }
}
