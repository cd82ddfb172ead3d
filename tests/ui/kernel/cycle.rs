//! Two stages that read each other.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        let a[i]: f32[N] = b[i] + 1.0;
        let b[i]: f32[N] = a[i] + x[i];
        y[i] = b[i];
    }
}

fn main() {}
