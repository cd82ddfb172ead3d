//! A loop.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        for i in 0..N { y[i] = x[i]; }
    }
}

fn main() {}
