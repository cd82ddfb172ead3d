//! An `if` without a value for the other case.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = if x[i] > 0.0 { x[i] };
    }
}

fn main() {}
