//! Two definitions without a semicolon.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        let c = 2.0
        y[i] = x[i] * c;
    }
}

fn main() {}
