//! Facts in a kernel.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] where N > 0 {
        y[i] = x[i];
    }
}

fn main() {}
