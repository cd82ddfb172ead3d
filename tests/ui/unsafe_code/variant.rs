//! A variant of any bytes is not to be had in safe code.
tilewright::kernel! { pub fn copy<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }

const MINE: tilewright::Variant<copy::Kernel> = tilewright::Variant::__new("MINE", b"any bytes");

fn main() {}
