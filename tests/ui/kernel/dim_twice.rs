//! A dim of the caller that is a generic, too.

tilewright::kernel! {
    pub fn f<N>(x: f32[N], N: dim) -> y: f32[N] {
        y[i] = x[i];
    }
}

fn main() {}
