//! A path that leads nowhere.

use tilewright::kernel;

mod maths {}

kernel! { use maths::cube; pub fn missing<N>(x: f32[N]) -> y: f32[N] { y[i] = cube(x[i]); } }

fn main() {}
