//! A computed index on the left side.

tilewright::kernel! {
    pub fn f<N>(x: f32[N], at: i32[N]) -> y: f32[N] {
        y[at[i]] = x[i];
    }
}

fn main() {}
