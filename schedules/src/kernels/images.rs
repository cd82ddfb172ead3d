//! Images.

use tilewright::kernel;

kernel! {
    /// Filters an image by five weights along rows, then along columns. Pixels beyond the border have the value of the nearest
    /// pixel.
    pub fn blur<H, W>(image: f32[H, W], weights: f32[5]) -> blurred: f32[H, W] {
        let rows[y, x]: f32[H, W] = sum(k in 0..5) { image.clamp()[y, x + k - 2] * weights[k] };
        blurred[y, x] = sum(k in 0..5) { rows.clamp()[y + k - 2, x] * weights[k] };
    }
}

kernel! {
    /// The value at a fraction `t` of the way from `a` to `b`.
    fn blend(a, b, t) { a * (1.0 - t) + b * t }

    /// Resizes an image to the given numbers of rows and columns by bilinear interpolation. Pixels beyond the border have the value
    /// of the nearest pixel.
    ///
    /// Both images cover the same area, and the position of a pixel is its centre: result `y` is at `(y + 1/2) * IH / rows - 1/2`.
    /// The position is computed exactly, in integers, so `2 * rows * IH` and `2 * columns * IW` must be below 2^31.
    pub fn resize_bilinear<N, IH, IW, C>(image: f32[N, IH, IW, C], rows: dim, columns: dim) -> resized: f32[N, rows, columns, C]
    where IH >= 1, IW >= 1 {
        resized[n, y, x, c] = {
            let down = (2 * y + 1) * IH - rows;
            let right = (2 * x + 1) * IW - columns;
            let i = down / (2 * rows);
            let j = right / (2 * columns);
            let v = (down % (2 * rows)) as f32 / (2 * rows) as f32;
            let u = (right % (2 * columns)) as f32 / (2 * columns) as f32;
            let at = |di, dj| image.clamp()[n, i + di, j + dj, c];
            blend(blend(at(0, 0), at(0, 1), u), blend(at(1, 0), at(1, 1), u), v)
        };
    }
}
