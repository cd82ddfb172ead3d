//! A product of two axes as an index.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N, N] {
        y[i, j] = x[i * j];
    }
}

fn main() {}
