//! A dtype that does not exist.

tilewright::kernel! {
    pub fn f<N>(x: f64[N]) -> y: f32[N] {
        y[i] = x[i] as f32;
    }
}

fn main() {}
