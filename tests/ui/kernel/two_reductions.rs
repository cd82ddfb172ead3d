//! Several reductions are intermediates, which are computed under no condition and do not nest.

tilewright::kernel! {
    pub fn guarded<N>(x: f32[N]) -> y: f32[N] {
        y[i] = if N > 2 { sum(k in 0..2) { x[k] } } else { max(k in 0..N) { x[k] } };
    }
}
tilewright::kernel! {
    pub fn nested<N>(x: f32[N, 8]) -> y: f32[N] {
        y[i] = sum(k in 0..8) { x[i, k] / sum(m in 0..8) { x[i, m] } };
    }
}

fn main() {}
