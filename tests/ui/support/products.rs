//! Kernels and profiles for schedules of matrix units.

#![allow(dead_code)]

tilewright::kernel! {
    pub(crate) fn product<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
    }
}

tilewright::kernel! {
    pub(crate) fn elements<M, N>(a: f16[M, N], b: f16[M, N]) -> c: f16[M, N] {
        c[i, j] = a[i, j] * b[i, j];
    }
}

tilewright::kernel! {
    pub(crate) fn largest<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = max(k in 0..K) { a[i, k] * b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn sums<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] + b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn doubled<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { (a[i, k] + a[i, k]) * b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn of_both<M, N, K>(a: f16[M, N, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, j, k] * b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn of_neither<M, N, K>(a: f16[K], b: f16[K, N], e: f16[M]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[k] * b[k, j] } + e[i];
    }
}

tilewright::kernel! {
    pub(crate) fn wide<M, N, K, L = K + 1>(a: f16[M, L], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn pairs<M, N, K>(a: f16[M, K, 2], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k, 0] * b[k, j] };
    }
}

tilewright::kernel! {
    pub(crate) fn placed<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 } + j as f32;
    }
}

tilewright::kernel! {
    pub(crate) fn biased<M, N, K>(a: f16[M, K], b: f16[K, N], bias: f32[N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 } + bias[j];
    }
}

tilewright::profile! {
    pub(crate) unsized_subgroups: tilewright::devices::nvidia_ampere {
        features: [f16, storage_16, memory_model, cooperative_matrix]
    }
}

tilewright::profile! { pub(crate) without_subgroups: tilewright::devices::nvidia_ampere { subgroup: none } }
tilewright::profile! { pub(crate) small: tilewright::devices::nvidia_ampere { shared_bytes: 4096 } }

tilewright::kernel! {
    pub(crate) fn rounded<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 }) as f16;
    }
}
