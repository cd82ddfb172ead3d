//! Images of one channel.

use tilewright::kernel;

kernel! {
    /// Five weights along rows, then along columns; past the border stands the nearest pixel.
    pub fn blur<H, W>(image: f32[H, W], weights: f32[5]) -> blurred: f32[H, W] {
        let rows[y, x]: f32[H, W] = sum(k in 0..5) { image.clamp()[y, x + k - 2] * weights[k] };
        blurred[y, x] = sum(k in 0..5) { rows.clamp()[y + k - 2, x] * weights[k] };
    }
}
