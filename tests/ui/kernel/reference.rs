//! An input as a reference.

tilewright::kernel! {
    pub fn f<N>(x: &f32[N]) -> y: f32[N] {
        y[i] = x[i];
    }
}

fn main() {}
