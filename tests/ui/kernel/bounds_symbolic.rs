//! A read past the end of a symbolic dimension.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i + 1];
    }
}

fn main() {}
