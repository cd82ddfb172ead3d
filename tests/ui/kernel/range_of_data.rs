//! A range whose bound is data.

tilewright::kernel! {
    pub fn f<N>(x: f32[N], n: i32[1]) -> y: f32[1] {
        y[i] = sum(k in 0..n[0]) { x[k] };
    }
}

fn main() {}
