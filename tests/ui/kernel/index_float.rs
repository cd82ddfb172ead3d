//! An index that is a float.

tilewright::kernel! {
    pub fn f<N>(x: f32[N], at: f32[N]) -> y: f32[N] {
        y[i] = x[at[i]];
    }
}

fn main() {}
