//! The algorithms: a filter bank of f32, and of bytes.

use tilewright::kernel;

kernel! {
    /// Filters of 3x3 pixels. The pixels at the borders are repeated outside.
    pub fn filtered<H, W, C, O>(image: f32[H, W, C], filter: f32[3, 3, C, O]) -> maps: f32[H, W, O] where H >= 1, W >= 1 {
        maps[y, x, o] = sum(i in 0..3, j in 0..3, c in 0..C) { image.clamp()[y + i - 1, x + j - 1, c] * filter[i, j, c, o] };
    }
}

kernel! {
    /// The same of quantized tensors without zero points. `scale` is the product of the scales of the image and of a filter, divided by the
    /// scale of its map.
    pub fn filtered_q<H, W, C, O>(image: u8[H, W, C], filter: i8[3, 3, C, O], scale: f32[O]) -> maps: i8[H, W, O] where H >= 1, W >= 1 {
        maps[y, x, o] = (sum(i in 0..3, j in 0..3, c in 0..C) {
            image.clamp()[y + i - 1, x + j - 1, c] as i32 * filter[i, j, c, o] as i32
        } as f32
            * scale[o])
            .round_ties_even() as i8;
    }
}
