//! A reduction over an axis that is already there.

tilewright::kernel! {
    pub fn f<N>(x: f32[N, N]) -> y: f32[N] {
        y[i] = sum(i in 0..N) { x[i, i] };
    }
}

fn main() {}
