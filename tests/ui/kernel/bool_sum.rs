//! A sum of truth values.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[1] {
        y[i] = sum(k in 0..N) { x[k] > 0.0 };
    }
}

fn main() {}
