//! A variable that changes.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        let mut s = 0.0;
        y[i] = x[i] + s;
    }
}

fn main() {}
