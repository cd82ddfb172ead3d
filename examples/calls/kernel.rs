//! Kernels that take less time than their launches.

tilewright::kernel! {
    /// Adds `x` to `y`. Its sizes are constant, so a launch does not have parameters.
    pub fn add(x: f32[1024], y: &mut f32[1024]) {
        y[i] = y[i] + x[i];
    }
}

tilewright::kernel! {
    /// Adds `x` times a number to `y`.
    pub fn scaled(factor: f32, x: f32[1024], y: &mut f32[1024]) {
        y[i] = y[i] + factor * x[i];
    }
}
