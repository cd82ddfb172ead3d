//! Facts of a kernel that no sizes satisfy.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] where N > 4, N < 2 {
        y[i] = x[i];
    }
}

fn main() {}
