//! The lint of unused variables can be denied.

#![deny(unused)]

tilewright::kernel! {
    pub fn copy<N>(x: f32[N]) -> y: f32[N] {
        let twice[i]: f32[N] = 2.0 * x[i];
        y[i] = x[i];
    }
}

fn main() {}
