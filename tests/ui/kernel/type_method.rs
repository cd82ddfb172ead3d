//! A method that integers do not have.

tilewright::kernel! {
    pub fn f<N>(x: i32[N]) -> y: i32[N] {
        y[i] = x[i].sqrt();
    }
}

fn main() {}
