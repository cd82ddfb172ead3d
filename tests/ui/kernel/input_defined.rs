//! A definition of an input.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        x[i] = 1.0;
        y[i] = x[i];
    }
}

fn main() {}
