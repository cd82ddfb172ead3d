//! An axis of one dim as the index of another.

tilewright::kernel! {
    pub fn f<M, N>(x: f32[M, N]) -> y: f32[N, M] {
        y[i, j] = x[i, j];
    }
}

fn main() {}
