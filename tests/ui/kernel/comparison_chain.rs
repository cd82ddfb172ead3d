//! Comparisons that chain.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = if 0.0 < x[i] < 1.0 { x[i] } else { 0.0 };
    }
}

fn main() {}
