//! Operations on the rows of a matrix.

use tilewright::kernel;

kernel! {
    /// Softmax of each row. The largest value is subtracted first, so that the exponentials do not overflow.
    pub fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let largest[i]: f32[R] = max(k in 0..C) { x[i, k] };
        let total[i]: f32[R] = sum(k in 0..C) { (x[i, k] - largest[i]).exp() };
        y[i, j] = (x[i, j] - largest[i]).exp() * (1.0 / total[i]);
    }
}

kernel! {
    /// Layer normalization: each row is normalized to mean 0 and variance 1. 1e-5 is added to the variance.
    pub fn layernorm<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let mean[i]: f32[R] = sum(k in 0..C) { x[i, k] } / C as f32;
        let variance[i]: f32[R] = sum(k in 0..C) { let d = x[i, k] - mean[i]; d * d } / C as f32;
        y[i, j] = (x[i, j] - mean[i]) * (variance[i] + 1e-5).rsqrt();
    }
}
