//! An update that reads another element than it writes.

tilewright::kernel! {
    pub fn f<N>(x: &mut f32[N]) {
        x[i] = x[N - 1 - i];
    }
}

fn main() {}
