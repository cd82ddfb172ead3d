//! Words of Halide in a kernel, each with the text to write here.

use tilewright::kernel;

kernel! {
    pub fn chosen<N>(x: f32[N], n: i32[N]) -> y: f32[N] {
        y[i] = select(x[i] < 0.0, 0.0, x[i]) + mux(n[i], x[i], 1.0);
    }
}

kernel! {
    pub fn cast<N>(n: i32[N]) -> (y: u8[N], z: f32[N]) {
        y[i] = cast::<u8>(n[i] + 1);
        z[i] = cast<float>(n[i]);
    }
}

kernel! {
    pub fn borders<N>(x: f32[N]) -> (y: f32[N], z: f32[N], u: f32[N]) {
        y[i] = x.repeat_edge()[i + 1];
        z[i] = x.mirror()[i + 1];
        u[i] = x.repeat()[i + 1];
    }
}

kernel! {
    pub fn called<N>(x: f32[N]) -> (y: f32[N], z: f32[N]) {
        y[i] = likely(x[i]) + print(x[i]);
        z[i] = x(i) + undef();
    }
}

kernel! {
    pub fn defined<N>(x: f32[N]) -> y: f32[N] {
        y(i) = x[i];
    }
}

kernel! {
    pub fn scattered<N>(x: i32[N]) -> y: i32[N] {
        y[x[i]] = sum(i in 0..N) { x[i] };
    }
}

fn main() {}
