//! An output without a name.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> f32[N] {
        y[i] = x[i];
    }
}

fn main() {}
