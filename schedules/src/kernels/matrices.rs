//! Products of matrices.

use tilewright::kernel;

kernel! {
    /// `c = a * b`.
    pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

kernel! {
    /// `c = alpha * a * b + beta * c`, in place.
    pub fn sgemm<M, N, K>(alpha: f32, a: f32[M, K], b: f32[K, N], beta: f32, c: &mut f32[M, N]) {
        c[i, j] = alpha * sum(k in 0..K) { a[i, k] * b[k, j] } + beta * c[i, j];
    }
}

kernel! {
    /// `c = a * b` of halves, with sums in f32.
    pub fn matmul_f16<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
    }
}
