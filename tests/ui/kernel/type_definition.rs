//! A definition of another type than the output.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: i32[N] {
        y[i] = x[i];
    }
}

fn main() {}
