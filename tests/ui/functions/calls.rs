//! Wrong arguments of functions of another file, and errors in their bodies.

#[path = "../support/functions.rs"]
mod maths;

use tilewright::kernel;

kernel! {
    use maths::{blend, cube};
    pub fn arguments<N>(x: f32[N], n: i32[N]) -> (y: f32[N], z: f32[N], w: f32[N]) {
        y[i] = cube(x[i], 2.0);
        z[i] = cube(n[i]);
        w[i] = blend(x[i], 1.0);
    }
}
kernel! {
    use maths::{part, root as square_root};
    pub fn bodies<N>(n: i32[N], x: f32[N]) -> (y: i32[N], z: f32[N]) {
        y[i] = square_root(n[i]);
        z[i] = x[part(i, N - 5)];
    }
}
kernel! {
    use maths::cube;
    pub fn names<N>(x: f32[N]) -> (y: f32[N], z: f32[N], w: f32[N]) {
        y[i] = cueb(x[i]);
        z[i] = maths::blend(x[i], 1.0, 0.5);
        w[i] = hypot(x[i], 1.0);
    }
}

fn main() {}
