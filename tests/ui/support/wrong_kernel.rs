//! A kernel with a mistake.

tilewright::kernel! {
    pub(crate) fn shift<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i + 1];
    }
}
