//! An output that nothing defines.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> (y: f32[N], z: f32[N]) {
        y[i] = x[i];
    }
}

fn main() {}
