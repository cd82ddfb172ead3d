//! Combiners that are not associative, that are not commutative, and whose identity is not neutral; and results without names.

use tilewright::kernel;

kernel! {
    pub fn mean<N, K>(x: f32[N, K]) -> y: f32[N] {
        y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| (a + b) / 2.0;
    }
}

kernel! {
    pub fn most<N, K>(x: f32[N, K]) -> (y: f32[N], at: i32[N]) {
        (y[i], at[i]) = reduce(k in 0..K) { (x[i, k], k) } from (f32::NEG_INFINITY, 0) by |(v, p), (w, q)| {
            if w > v { (w, q) } else { (v, p) }
        };
    }
}

kernel! {
    pub fn moments<N, K>(x: f32[N, K]) -> y: f32[N] {
        y[i] = {
            let (count, m) = reduce(k in 0..K) { (1.0, x[i, k]) } from (0.0, 0.0) by |(n, a), (o, b)| {
                let all = n + o;
                (all, (n * a + o * b) / all)
            };
            m + count
        };
    }
}

kernel! {
    pub fn unnamed<N, K>(x: f32[N, K]) -> y: f32[N] {
        y[i] = 2.0 * reduce(k in 0..K) { (x[i, k], 1) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m);
    }
}

fn main() {}
