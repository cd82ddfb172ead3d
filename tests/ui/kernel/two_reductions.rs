tilewright::kernel! {
    pub fn ratio<N>(x: f32[N, 8]) -> y: f32[N] {
        y[i] = sum(k in 0..8) { x[i, k] * x[i, k] } / sum(k in 0..8) { x[i, k] };
    }
}

fn main() {}
