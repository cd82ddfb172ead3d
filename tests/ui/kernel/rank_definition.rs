//! Too few axes in a definition.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N, N] {
        y[i] = x[i];
    }
}

fn main() {}
