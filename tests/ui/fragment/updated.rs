//! A tensor that is updated in place.

use tilewright::devices::nvidia_hopper;

tilewright::kernel! {
    pub fn add<N>(x: f16[N, N], y: &mut f16[N, N]) {
        y[i, j] = y[i, j] + x[i, j];
    }
}

tilewright::schedule! {
    pub FRAGMENTS: add for nvidia_hopper where N == 16 {
        fragment(i, j, 16 x 16);
    }
}

tilewright::kernel! {
    pub fn multiply<N>(a: f16[N, N], b: f16[N, N], c: &mut f16[N, N]) {
        c[i, j] = sum(k in 0..N) { a[i, k] * b[k, j] } + c[i, j];
    }
}

tilewright::schedule! {
    pub PRODUCT: multiply for nvidia_hopper where N == 16 {
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
