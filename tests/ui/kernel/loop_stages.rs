// Loops over stages, over the axes of a definition, and over what a reduction sums.
tilewright::kernel! {
    pub fn family<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        for s in 0..4 { let t[i]: f32[N] = x.clamp()[i + s]; }
        y[i] = x[i];
    }
}
tilewright::kernel! {
    pub fn total<N, K>(x: f32[N, K]) -> y: f32[N] {
        for i in 0..N { for k in 0..K { y[i] += x[i, k]; } }
    }
}

fn main() {}
