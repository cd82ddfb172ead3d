//! A convolution whose output is one element too long.

tilewright::kernel! {
    pub fn f<IH, FH, OH = IH - FH + 2>(x: f32[IH], w: f32[FH]) -> y: f32[OH] {
        y[o] = sum(h in 0..FH) { x[o + h] * w[h] };
    }
}

fn main() {}
