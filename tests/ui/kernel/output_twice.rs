//! An output defined twice.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i];
        y[i] = x[i] + 1.0;
    }
}

fn main() {}
