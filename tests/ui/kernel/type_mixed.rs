//! A float plus an integer.

tilewright::kernel! {
    pub fn f<N>(x: f32[N], n: i32[N]) -> y: f32[N] {
        y[i] = x[i] + n[i];
    }
}

fn main() {}
