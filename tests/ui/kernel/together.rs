//! Tensors that cannot be defined together.

tilewright::kernel! {
    pub fn shapes<N, M>(x: f32[N], z: f32[M]) -> (a: f32[N], b: f32[M]) {
        (a[i], b[i]) = (x[i], z[i]);
    }
}

tilewright::kernel! {
    pub fn axes<N>(x: f32[N, N]) -> (a: f32[N, N], b: f32[N, N]) {
        (a[i, j], b[j, i]) = (x[i, j], x[i, j]);
    }
}

tilewright::kernel! {
    pub fn elsewhere<N>(x: f32[N], m: &mut f32[N], v: &mut f32[N]) {
        (m[i], v[i]) = (x[i], m[N - 1 - i]);
    }
}

fn main() {}
