//! A condition that is no bool.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = if x[i] { 1.0 } else { 0.0 };
    }
}

fn main() {}
