//! A read of a tensor after its update.

tilewright::kernel! {
    pub fn f<N>(x: &mut f32[N]) -> y: f32[N] {
        x[i] = 2.0 * x[i];
        y[i] = x[i];
    }
}

fn main() {}
