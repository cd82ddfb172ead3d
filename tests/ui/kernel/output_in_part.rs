//! An output of which one row is defined.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[2, N] {
        y[0, i] = x[i];
    }
}

fn main() {}
