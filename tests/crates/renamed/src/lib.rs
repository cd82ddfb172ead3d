//! Kernels of a crate whose only dependency is Tilewright, under the name `tw`.
//!
//! The macros' expansions name `::tilewright`, so the crate declares that name at its root.

extern crate tw as tilewright;

use tw::devices::vulkan_1_1;
use tw::{functions, kernel, profile, schedule};

functions! {
    /// `v`, twice.
    pub fn twice(v: f32) -> f32 { v + v }
}

kernel! {
    use crate::twice;
    /// Sums and differences, with a scalar, an update and several results.
    pub fn mixed<M, N>(scale: f32, a: f32[M, N], b: &mut f32[M, N]) -> (rows: f32[M], best: i32[M]) {
        rows[i] = scale * sum(j in 0..N) { twice(a[i, j]) };
        best[i] = argmax(j in 0..N) { a[i, j] };
        b[i, j] = b[i, j] + a[i, j];
    }
}

profile! {
    /// A board with a small workgroup.
    pub board: vulkan_1_1 { invocations: 64, local: [64, 64, 64] }
}

schedule! {
    /// Packs the matrix, so that the expansion names layouts.
    pub PACKED: product for board {
        pack(b[k, j] => [j / 4, k, j % 4], when: caller);
    }
}

kernel! {
    /// A matrix product.
    pub fn product<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}
