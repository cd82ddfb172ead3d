//! An expression that breaks off.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i] + ;
    }
}

fn main() {}
