// Functions of Rust in a kernel, and calls of functions.
tilewright::kernel! {
    pub fn own<N>(x: f32[N]) -> y: f32[N] {
        fn cube(v: f32) -> f32 { v * v * v }
        y[i] = cube(x[i]);
    }
}
tilewright::kernel! {
    pub fn closure<N>(x: i32[N]) -> y: i32[N] where N >= 1 {
        let avg = |a, b| (a + b + 1) / 2;
        y[i] = avg(x[i], x.clamp()[i + 1]);
    }
}
tilewright::kernel! { pub fn path<N>(x: f32[N]) -> y: f32[N] { y[i] = f32::max(x[i], 0.0); } }
tilewright::kernel! { pub fn helper<N>(x: f32[N]) -> y: f32[N] { y[i] = cube(x[i]); } }
tilewright::kernel! { pub fn other<N>(x: f32[N]) -> y: f32[N] { let t[i]: f32[N] = path(x); y[i] = t[i]; } }
tilewright::kernel! { pub fn indexed<N>(x: f32[N]) -> y: f32[N] { y[i] = path(x)[i]; } }

fn main() {}
