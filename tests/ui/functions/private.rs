//! Functions of a kernel, and closures.

use tilewright::kernel;

kernel! {
    pub fn seen(v) { v }
    pub fn attributes<N>(x: f32[N]) -> y: f32[N] { y[i] = seen(x[i]); }
}
kernel! {
    fn relu(v: T) -> f32 { v.max(0.0) }
    pub fn generics<T: f32 | f16, N>(x: T[N]) -> y: f32[N] { y[i] = relu(x[i]); }
}
kernel! {
    fn shift(v) { v + N as f32 }
    pub fn dims<N>(x: f32[N]) -> y: f32[N] {
        let next = |i| x[i + 1];
        let other = |i| x[i + M];
        y[i] = shift(x[i]) + next(i) + other(i);
    }
}
kernel! {
    pub fn shadows<N>(x: f32[N]) -> y: f32[N] {
        let same = |x| x * 2.0;
        y[i] = same(x[i]) + same;
    }
}
kernel! {
    pub fn one<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }
    pub fn two<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; }
}
kernel! { pub fn value<N>(x: f32[N]) -> y: f32[N] { y[i] = apply(|v| v * v, x[i]); } }

fn main() {}
