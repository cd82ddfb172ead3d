//! Operations on vectors, which are bound by memory bandwidth.

use tilewright::kernel;

kernel! {
    /// `z = x + y`.
    pub fn add<N>(x: f32[N], y: f32[N]) -> z: f32[N] {
        z[i] = x[i] + y[i];
    }
}

kernel! {
    /// `y = a * x + y`, in place.
    pub fn saxpy<N>(a: f32, x: f32[N], y: &mut f32[N]) {
        y[i] = a * x[i] + y[i];
    }
}

kernel! {
    /// The sum of a vector.
    pub fn total<K>(x: f32[K]) -> y: f32[] {
        y[] = sum(k in 0..K) { x[k] };
    }
}

kernel! {
    /// The index of the largest element of a vector; the first of several equal ones.
    pub fn argmax<K>(x: f32[K]) -> y: i32[] {
        y[] = argmax(k in 0..K) { x[k] };
    }
}

kernel! {
    /// The Gaussian error linear unit (Hendrycks and Gimpel, *Gaussian Error Linear Units*, 2016), by the error function and not by an
    /// approximation: `y = x * (1 + erf(x / sqrt(2))) / 2`, in f32.
    pub fn gelu<T: f32 | f16, N>(x: T[N]) -> y: T[N] {
        y[i] = {
            let v = x[i] as f32;
            (0.5 * v * (1.0 + (v * f32::consts::FRAC_1_SQRT_2).erf())) as T
        };
    }
}
