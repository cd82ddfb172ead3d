//! One axis twice on the left side.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N, N] {
        y[i, i] = x[i];
    }
}

fn main() {}
