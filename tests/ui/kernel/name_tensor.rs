//! A tensor that does not exist, but almost.

tilewright::kernel! {
    pub fn f<N>(pixels: f32[N]) -> y: f32[N] {
        y[i] = pixel[i];
    }
}

fn main() {}
