//! A scan: a definition that reads itself.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i] + y[i];
    }
}

fn main() {}
