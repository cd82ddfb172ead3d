//! A value that reads a tensor which is updated.

tilewright::kernel! {
    pub fn f<N>(x: &mut f32[N]) where N >= 1 {
        let first = x[0];
        x[i] = x[i] + first;
    }
}

fn main() {}
