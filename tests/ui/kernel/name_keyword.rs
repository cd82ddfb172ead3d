tilewright::kernel! { pub fn box<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
tilewright::kernel! { pub fn plain<N>(for: f32[N]) -> y: f32[N] { y[i] = 0.0; } }
tilewright::kernel! { pub fn both<N>(x: f32[N]) -> x: f32[N] { x[i] = 0.0; } }

fn main() {}
