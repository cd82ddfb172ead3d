//! Kernels that schedules of other files are for.

#![allow(dead_code)]

tilewright::kernel! {
    pub(crate) fn copy<N, M>(x: f32[N, M]) -> y: f32[N, M] {
        y[i, j] = x[i, j];
    }
}

tilewright::kernel! {
    pub(crate) fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn conv<IW, S = 1, FW = 3, OW = (IW - FW) / S + 1>(x: f32[IW], w: f32[FW]) -> y: f32[OW] {
        y[o] = sum(f in 0..FW) { x[o * S + f] * w[f] };
    }
}

tilewright::kernel! {
    pub(crate) fn softmax<B, N>(x: f32[B, N]) -> y: f32[B, N] {
        let m[b]: f32[B] = max(j in 0..N) { x[b, j] };
        let e[b, j]: f32[B, N] = (x[b, j] - m[b]).exp();
        let s[b]: f32[B] = sum(j in 0..N) { e[b, j] };
        y[b, j] = e[b, j] / s[b];
    }
}

tilewright::kernel! {
    pub(crate) fn scaled<N, K>(x: f32[N, K], scale: f32[N]) -> y: f32[N] {
        y[i] = sum(k in 0..K) { x[i, k] * scale[i] };
    }
}

tilewright::kernel! {
    pub(crate) fn two<N>(x: f32[N]) -> (y: f32[N], z: f32[N]) {
        y[i] = x[i] + 1.0;
        z[i] = x[i] + 2.0;
    }
}

tilewright::kernel! {
    pub(crate) fn transpose<N, M>(x: f32[N, M]) -> y: f32[M, N] {
        y[j, i] = x[i, j];
    }
}

tilewright::kernel! {
    pub(crate) fn codes<N>(x: i32[N]) -> y: i32[N] {
        y[i] = x[i] + 1;
    }
}

tilewright::kernel! {
    pub(crate) fn gather<N, M>(x: f32[N], at: i32[M]) -> y: f32[M] {
        y[i] = x.clamp()[at[i]];
    }
}

tilewright::kernel! {
    pub(crate) fn bump<N>(x: f32[N], y: &mut f32[N]) {
        y[i] = x[i] + y[i];
    }
}

tilewright::kernel! {
    pub(crate) fn triangle<N>(x: f32[N, N]) -> y: f32[N] {
        y[i] = sum(j in 0..i + 1) { x[i, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn padded<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x.pad(0.0)[i - 1] + x.pad(0.0)[i + 1];
    }
}

tilewright::kernel! {
    pub(crate) fn sgemm<M, N, K>(a: f32[M, K], b: f32[K, N], c: &mut f32[M, N]) {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] } + c[i, j];
    }
}

tilewright::kernel! {
    pub(crate) fn gram<N, K>(a: f32[N, K]) -> c: f32[N, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * a[j, k] };
    }
}

tilewright::kernel! {
    pub(crate) fn weighted<N, M>(x: f32[N], w: f32[M], scale: f32) -> y: f32[M] {
        let p[j]: f32[M] = sum(i in 0..N) { x[i] * w[j] };
        let q[j]: f32[M] = w[j] * scale;
        let r[j]: f32[M] = sum(i in 0..N) { w[j] };
        y[j] = p[j] + q[j] + r[j];
    }
}
