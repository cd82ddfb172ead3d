// Calls of functions that are not defined, and of kernels.
tilewright::kernel! { pub fn path<N>(x: f32[N]) -> y: f32[N] { y[i] = f32::max(x[i], 0.0); } }
tilewright::kernel! {
    fn cube(v: f32) -> f32 { v * v * v }
    pub fn helper<N>(x: f32[N]) -> y: f32[N] { y[i] = cub(x[i]) + hypot(x[i], x[i]) + maths::hypot(x[i], x[i]); }
}
tilewright::kernel! { pub fn other<N>(x: f32[N]) -> y: f32[N] { let t[i]: f32[N] = path(x); y[i] = t[i]; } }
tilewright::kernel! { pub fn indexed<N>(x: f32[N]) -> y: f32[N] { y[i] = path(x)[i]; } }
tilewright::kernel! { pub fn value<N>(x: f32[N]) -> y: f32[N] { y[i] = (|v| v * v)(x[i]); } }

fn main() {}
