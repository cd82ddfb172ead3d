//! A constant with a row too few.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        const W: f32[2, 2] = [[1.0, 2.0]];
        y[i] = x[i] * W[0, 1];
    }
}

fn main() {}
