//! Two independent mistakes, both reported.

tilewright::kernel! {
    pub fn f<N>(x: f32[N], n: i32[N]) -> (y: f32[N], z: f32[N]) {
        y[i] = x[i + 1];
        z[i] = x[i] + n[i];
    }
}

fn main() {}
