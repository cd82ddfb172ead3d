//! A dim that no shape determines.

tilewright::kernel! {
    pub fn f<N>(value: f32) -> y: f32[N] {
        y[i] = value;
    }
}

fn main() {}
