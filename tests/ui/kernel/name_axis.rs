//! An axis that does not exist.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[j];
    }
}

fn main() {}
