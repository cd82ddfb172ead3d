//! A shape from which two dims cannot be told.

tilewright::kernel! {
    pub fn f<N, M>(x: f32[N * M]) -> y: f32[N, M] {
        y[i, j] = x[i * M + j];
    }
}

fn main() {}
