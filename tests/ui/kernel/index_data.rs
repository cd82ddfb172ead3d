//! A data-dependent index without `pad` or `clamp`.

tilewright::kernel! {
    pub fn f<N, M>(x: f32[N], at: i32[M]) -> y: f32[M] {
        y[i] = x[at[i]];
    }
}

fn main() {}
