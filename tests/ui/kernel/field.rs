//! A field.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x.len;
    }
}

fn main() {}
