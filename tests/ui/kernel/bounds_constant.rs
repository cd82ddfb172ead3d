//! A read past the end of a dimension of literal extent.

tilewright::kernel! {
    pub fn f(x: f32[4]) -> y: f32[4] {
        y[i] = x[i + 1];
    }
}

fn main() {}
