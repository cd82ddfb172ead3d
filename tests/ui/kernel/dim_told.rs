//! A dim of the caller that a shape determines.

tilewright::kernel! {
    pub fn f(x: f32[n], n: dim) -> y: f32[n] {
        y[i] = x[i];
    }
}

fn main() {}
