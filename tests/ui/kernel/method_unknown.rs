//! A method that does not exist, but almost.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x[i].squrt();
    }
}

fn main() {}
