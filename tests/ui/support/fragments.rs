//! Kernels for schedules of stages in fragments.

#![allow(dead_code)]

tilewright::kernel! {
    pub(crate) fn chain<M, H, N, K>(x: f16[M, K], u: f16[K, H], v: f16[H, N]) -> y: f32[M, N] {
        let g[i, h]: f16[M, H] = sum(k in 0..K) { x[i, k] * u[k, h] };
        y[i, j] = sum(h in 0..H) { g[i, h] as f32 * v[h, j] as f32 };
    }
}

tilewright::kernel! {
    pub(crate) fn masked<M, N, K>(a: f16[M, K], b: f16[N, K]) -> w: f32[M, N] {
        let s[i, j]: f32[M, N] = sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
        w[i, j] = if j > i { 0.0 } else { s[i, j].exp() };
    }
}

tilewright::kernel! {
    pub(crate) fn product<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
    }
}

tilewright::kernel! {
    pub(crate) fn rows<M, N>(x: f32[M, N]) -> t: f32[M] {
        t[i] = sum(j in 0..N) { x[i, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn softmax<M, N, K>(a: f16[M, K], b: f16[N, K]) -> w: f32[M, N] {
        let s[i, j]: f32[M, N] = sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
        let m[i]: f32[M] = max(j in 0..N) { s[i, j] };
        let e[i, j]: f32[M, N] = (s[i, j] - m[i]).exp();
        let l[i]: f32[M] = sum(j in 0..N) { e[i, j] };
        w[i, j] = e[i, j] / l[i];
    }
}

tilewright::kernel! {
    pub(crate) fn squares<M, N>(x: f32[M, N]) -> y: f32[M, N] {
        y[i, j] = x[i, j] * x[i, j];
    }
}

tilewright::kernel! {
    pub(crate) fn turned<M, N>(x: f32[M, N, 3]) -> y: f32[M, N] {
        y[i, j] = x[i, j, 1] * 2.0;
    }
}

tilewright::kernel! {
    pub(crate) fn weights<M, N, K>(a: f16[M, K], b: f16[N, K], r: f32[M], scale: f32) -> w: f32[M, N] {
        let s[i, j]: f32[M, N] = scale * sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
        w[i, j] = (s[i, j] - r[i] * 2.0).exp();
    }
}
