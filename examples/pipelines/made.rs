//! Makes a picture, and turns pictures into the tensors that pipelines take.

use crate::image::Image;

/// Returns a picture of a sky, discs, a board of squares and some noise. Its values are bytes divided by 255.
pub fn picture(width: usize, height: usize) -> Image {
    let pixels = (0..height * width).flat_map(|n| pixel(n / width, n % width, height, width)).collect();
    Image { height, width, pixels }
}

fn pixel(y: usize, x: usize, height: usize, width: usize) -> [f32; 3] {
    let (v, u) = (y as f32 / height as f32, x as f32 / width as f32);
    let disc = |cv: f32, cu: f32, radius: f32| (v - cv).powi(2) + (u - cu).powi(2) < radius * radius;
    let colour = if disc(0.3, 0.25, 0.15) {
        [0.95, 0.75, 0.2]
    } else if disc(0.45, 0.7, 0.2) {
        [0.7, 0.15, 0.1 + 0.3 * v]
    } else if v > 0.7 {
        if (y / 8 + x / 8).is_multiple_of(2) { [0.08, 0.1, 0.08] } else { [0.5, 0.6, 0.4] }
    } else {
        [0.2 + 0.3 * v, 0.4 + 0.2 * v, 0.9 - 0.4 * u]
    };
    let noise = (hash(y as u32, x as u32) % 9) as f32 - 4.0;
    colour.map(|c| (c * 255.0 + noise).round().clamp(0.0, 255.0) / 255.0)
}

/// Returns a number without a visible pattern (Fibonacci hashing, twice).
fn hash(y: u32, x: u32) -> u32 {
    let mixed = y.wrapping_mul(2_654_435_769) ^ x.wrapping_mul(0x85eb_ca6b);
    (mixed ^ mixed >> 15).wrapping_mul(2_654_435_769) >> 8
}

/// Returns the three colours of a picture, one plane after another.
pub fn planes(picture: &Image) -> Vec<f32> {
    (0..3).flat_map(|c| picture.pixels.iter().skip(c).step_by(3).copied()).collect()
}

/// Returns the brightness of each pixel, from 0 to 1, in steps of 1/255.
pub fn grey(picture: &Image) -> Vec<f32> {
    let brightness = |p: &[f32]| ((0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]) * 255.0).round() / 255.0;
    picture.pixels.chunks_exact(3).map(brightness).collect()
}

/// The brightness of white in 16 bits.
pub const WHITE: u16 = 65535;

tilewright::profile! {
    /// Devices that load and store single 16-bit integers.
    pub words: tilewright::devices::vulkan_1_1 { features: [storage_16] }
}

/// Returns the brightness of each pixel in 16 bits.
pub fn integers(picture: &Image) -> Vec<u16> {
    grey(picture).into_iter().map(|v| (v * f32::from(WHITE)).round() as u16).collect()
}

#[cfg(test)]
pub mod read {
    //! Reads of planes for plain loops.

    /// Returns the element at a position, or the nearest one.
    pub fn clamped<T: Copy>(plane: &[T], [height, width]: [usize; 2], y: isize, x: isize) -> T {
        let at = |n: isize, length: usize| n.clamp(0, length as isize - 1) as usize;
        plane[at(y, height) * width + at(x, width)]
    }

    /// Returns a plane whose elements are `value` of their row and column.
    pub fn plane<T>([height, width]: [usize; 2], value: impl Fn(isize, isize) -> T) -> Vec<T> {
        (0..height * width).map(|n| value((n / width) as isize, (n % width) as isize)).collect()
    }
}
