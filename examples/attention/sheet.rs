//! The sheet: images of one size side by side, magnified.

/// The magnification: pixels of the sheet for one pixel of an image, in each direction.
const SCALE: usize = 4;
/// Pixels between images, and around them.
const GAP: usize = 4;

/// An image of three bytes a pixel.
pub struct Sheet {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row.
    pub bytes: Vec<u8>,
}

/// Returns the sheet of square images of `side` rows.
pub fn sheet(side: usize, images: &[&[f32]]) -> Sheet {
    let tile = side * SCALE;
    let (width, height) = (images.len() * (tile + GAP) + GAP, tile + 2 * GAP);
    let mut bytes = vec![0; width * height * 3];
    for (n, image) in images.iter().enumerate() {
        for (y, x) in (0..tile * tile).map(|i| (i / tile, i % tile)) {
            let from = &image[(y / SCALE * side + x / SCALE) * 3..][..3];
            let to = &mut bytes[((GAP + y) * width + GAP + n * (tile + GAP) + x) * 3..][..3];
            to.iter_mut().zip(from).for_each(|(byte, value)| *byte = (value.clamp(0.0, 1.0) * 255.0).round() as u8);
        }
    }
    Sheet { width, height, bytes }
}
