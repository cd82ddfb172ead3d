//! A dim with a type, as Rust writes it.

tilewright::kernel! {
    pub fn f<const N: usize>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i];
    }
}

fn main() {}
