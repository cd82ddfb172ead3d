//! A sum as a loop would write it.

tilewright::kernel! {
    pub fn f<N, K>(x: f32[N, K]) -> y: f32[N] {
        y[i] += x[i, k];
    }
}

fn main() {}
