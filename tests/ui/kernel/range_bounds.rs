//! A range of indices is too short for a read, and an axis of the range is outside of an argument.

use tilewright::kernel;

kernel! {
    pub fn differences<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let gray[i, j]: f32[-1..=H, W] = x[i, j];
        y[i, j] = gray[i + 2, j] - gray[i - 1, j];
    }
}

fn main() {}
