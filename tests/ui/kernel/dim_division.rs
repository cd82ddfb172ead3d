//! A shape divided by a symbolic dim.

tilewright::kernel! {
    pub fn f<N, M, Q = N / M>(x: f32[N], z: f32[M]) -> y: f32[Q] {
        y[i] = x[i];
    }
}

fn main() {}
