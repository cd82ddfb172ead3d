//! Too few indices in a read.

tilewright::kernel! {
    pub fn f<N>(x: f32[N, N]) -> y: f32[N] {
        y[i] = x[i];
    }
}

fn main() {}
