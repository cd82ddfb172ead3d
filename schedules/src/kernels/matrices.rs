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
    /// `c = a * b` of f16, with accumulation in f32.
    pub fn matmul_f16<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
    }
}

kernel! {
    /// [`matmul_f16`] whose result is rounded to f16.
    pub fn matmul_f16_rounded<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 } as f16;
    }
}

kernel! {
    /// `c = a * b` of f16, with accumulation in f16: fast on some devices, but less precise, especially for long sums.
    pub fn matmul_f16_sums<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

kernel! {
    /// `c = max(a * b + bias, 0) + residual` of f16, with all arithmetic in f32: a layer of a network with its residual connection.
    pub fn matmul_f16_residual<M, N, K>(a: f16[M, K], b: f16[K, N], bias: f16[N], residual: f16[M, N]) -> c: f16[M, N] {
        c[i, j] = ((sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 } + bias[j] as f32).max(0.0) + residual[i, j] as f32) as f16;
    }
}

kernel! {
    /// `c[n] = a[n] * b[n]` of f16, with accumulation in f32.
    pub fn batched_matmul_f16<B, M, N, K>(a: f16[B, M, K], b: f16[B, K, N]) -> c: f32[B, M, N] {
        c[n, i, j] = sum(k in 0..K) { a[n, i, k] as f32 * b[n, k, j] as f32 };
    }
}

kernel! {
    /// `c = a * b` of bf16, with accumulation in f32.
    pub fn matmul_bf16<M, N, K>(a: bf16[M, K], b: bf16[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
    }
}

kernel! {
    /// `c = a * b` of 8-bit integers, with accumulation in 32 bits, which wraps from about 131,000 products on.
    pub fn matmul_i8<M, N, K>(a: i8[M, K], b: i8[K, N]) -> c: i32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[k, j] as i32 };
    }
}

kernel! {
    /// `y = a * x`, with accumulation in f32.
    pub fn matvec<T: f32 | f16, M, K>(a: T[M, K], x: T[K]) -> y: f32[M] {
        y[i] = sum(k in 0..K) { a[i, k] as f32 * x[k] as f32 };
    }
}
