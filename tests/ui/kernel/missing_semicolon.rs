//! Definitions without a semicolon.

tilewright::kernel! {
    pub fn f<N>(x: f32[N]) -> y: f32[N] {
        let c = 2.0
        y[i] = x[i] * c;
    }
}

// The next token is a group of several lines. Only its opening brace is marked.
tilewright::kernel! {
    pub fn g<N>(x: f32[N], y: &mut f32[N], z: &mut f32[N]) {
        y[i] = x[i]
        {
            z[i] = x[i];
        }
    }
}

fn main() {}
