//! A kernel as the base of a profile.

tilewright::kernel! { pub fn f<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }
tilewright::profile! { pub board: f { invocations: 256 } }

fn main() {}
