//! Two kernels in one macro.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }
    pub fn g<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }
}

fn main() {}
