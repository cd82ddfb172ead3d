//! A reduction that does not exist, but almost.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[1] {
        y[i] = summ(k in 0..N) { x[k] };
    }
}

fn main() {}
