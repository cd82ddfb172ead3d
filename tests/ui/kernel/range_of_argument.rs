//! Arguments and results begin at 0, and a range does not end before it begins.

use tilewright::kernel;

kernel! {
    pub fn shifted<N>(x: f32[-1..N]) -> y: f32[N] {
        y[i] = x[i];
    }
}

kernel! {
    pub fn result<N>(x: f32[N]) -> y: f32[1..=N] {
        y[i] = x[i - 1];
    }
}

kernel! {
    pub fn reversed<N>(x: f32[N]) -> y: f32[N] {
        let s[i]: f32[4..2] = 1.0;
        y[i] = x[i] + s[3];
    }
}

fn main() {}
