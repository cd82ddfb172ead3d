//! Vectors: memory and little else.

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
    /// Where a vector is largest; of equals, the first.
    pub fn argmax<K>(x: f32[K]) -> y: i32[] {
        y[] = argmax(k in 0..K) { x[k] };
    }
}
