//! An intermediate without a type.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        let s[i] = x[i];
        y[i] = s[i];
    }
}

fn main() {}
