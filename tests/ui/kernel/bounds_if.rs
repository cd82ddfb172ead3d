//! A condition that does not keep the read inside.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = if i > 1 { x[i - 2] } else { x[i + 1] };
    }
}

fn main() {}
