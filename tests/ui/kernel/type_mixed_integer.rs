// The help gives the cast that loses least, or both.
tilewright::kernel! { pub fn scaled<N>(x: i32[N], s: f32) -> y: f32[N] { y[i] = x[i] * s; } }
tilewright::kernel! { pub fn signs<N>(x: i32[N], n: u32[N]) -> y: i32[N] { y[i] = x[i] + n[i]; } }
tilewright::kernel! { pub fn whole<N>(x: f32[N]) -> y: i32[N] { y[i] = x[i] * 2.0; } }

fn main() {}
