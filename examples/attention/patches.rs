//! The patches of an image, and the queries and keys that are made from them.

use crate::image::Image;

/// Rows and columns of a patch.
const SIDE: usize = 3;
/// Values of a patch: three of each pixel.
pub const VALUES: usize = SIDE * SIDE * 3;
/// Elements of a query and of a key.
pub const ELEMENTS: usize = VALUES + 1;

/// Returns the patch around each pixel: the values of the pixels less mid-grey, because only differences matter, and small numbers
/// round less. Beyond an edge, the pixels of the edge are repeated.
pub fn patches(image: &Image) -> Vec<[f32; VALUES]> {
    let near = |at: usize, offset: usize, end: usize| (at + offset).saturating_sub(SIDE / 2).min(end - 1);
    let patch = |y: usize, x: usize| {
        std::array::from_fn(|n| {
            let (row, column) = (near(y, n / 3 / SIDE, image.height), near(x, n / 3 % SIDE, image.width));
            image.pixels[(row * image.width + column) * 3 + n % 3] - 0.5
        })
    };
    (0..image.height * image.width).map(|i| patch(i / image.width, i % image.width)).collect()
}

/// Returns the query of a patch. With the key of `b`, the query of `a` gives `(2 a b - |b|^2) / h^2`. This is `-|a - b|^2 / h^2`
/// without `|a|^2`, which a softmax ignores because it is the same for all keys.
pub fn query(patch: &[f32; VALUES], h2: f32) -> [f32; ELEMENTS] {
    std::array::from_fn(|n| patch.get(n).map_or(1.0, |p| 2.0 * p / h2))
}

/// Returns the key of a patch.
pub fn key(patch: &[f32; VALUES], h2: f32) -> [f32; ELEMENTS] {
    let square: f32 = patch.iter().map(|p| p * p).sum();
    std::array::from_fn(|n| patch.get(n).copied().unwrap_or(-square / h2))
}
