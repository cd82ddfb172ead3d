//! A camera's pipeline: from raw pixels under a filter of colours to a picture of 8 bits.

use crate::bench::{Bench, Measured, Result, Schedules, Shown};
use crate::image::Image;
use tilewright::devices::{mesa_lavapipe, nvidia_ampere, vulkan_1_1};
use tilewright::{kernel, profile, schedule};

kernel! {
    /// The colours of a raw picture of 10 bits, without its outermost 4 pixels. The filter has rows `green red green red …` and
    /// `blue green blue green …` (Bayer). The kernel replaces hot pixels, interpolates green along edges and the other colours by their
    /// difference from green, corrects the colours by a matrix, and applies a curve.
    pub fn camera<H, W>(raw: u16[H, W]) -> colours: u8[3, H - 8, W - 8] where H >= 8, W >= 8 {
        // From the sensor's colours to the screen's, in 1/256. The rows have the sum 256, so that grey stays grey.
        const MATRIX: i32[3, 3] = [[410, -130, -24], [-52, 388, -80], [10, -150, 396]];
        let curve[v]: u8[1024] = ((v as f32 / 1023.0).powf(0.454_545_45) * 255.0).round() as u8;
        let clean[y, x]: i32[-2..H - 6, -2..W - 6] = {
            let at = |i, j| raw[y + 4 + i, x + 4 + j] as i32;
            at(0, 0).min(at(-2, 0).max(at(2, 0)).max(at(0, -2)).max(at(0, 2)))
        };
        let green[y, x]: i32[-1..H - 7, -1..W - 7] = {
            let at = |i, j| clean[y + i, x + j];
            let is_wide = (at(0, -1) - at(0, 1)).abs() < (at(-1, 0) - at(1, 0)).abs();
            if (y + x) % 2 == 0 { at(0, 0) } else if is_wide { (at(0, -1) + at(0, 1)) / 2 } else { (at(-1, 0) + at(1, 0)) / 2 }
        };
        let excess[y, x]: i32[-1..H - 7, -1..W - 7] = clean[y, x] - green[y, x];
        let red[y, x]: i32[H - 8, W - 8] = {
            let at = |i, j| excess[y + i, x + j];
            let in_row = if x % 2 == 1 { at(0, 0) } else { (at(0, -1) + at(0, 1)) / 2 };
            let between = if x % 2 == 1 { (at(-1, 0) + at(1, 0)) / 2 } else { (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)) / 4 };
            green[y, x] + if y % 2 == 0 { in_row } else { between }
        };
        let blue[y, x]: i32[H - 8, W - 8] = {
            let at = |i, j| excess[y + i, x + j];
            let in_row = if x % 2 == 0 { at(0, 0) } else { (at(0, -1) + at(0, 1)) / 2 };
            let between = if x % 2 == 0 { (at(-1, 0) + at(1, 0)) / 2 } else { (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)) / 4 };
            green[y, x] + if y % 2 == 1 { in_row } else { between }
        };
        colours[c, y, x] = {
            let v = MATRIX[c, 0] * red[y, x] + MATRIX[c, 1] * green[y, x] + MATRIX[c, 2] * blue[y, x];
            curve[(v >> 8).clamp(0, 1023)]
        };
    }
}

schedule! {
    /// The clean pixels have a dispatch of their own. In the last one, an invocation computes blocks of 2 x 4 pixels along two rows, so that no
    /// branch depends on the invocation. The block's colours are in its registers.
    pub LAVAPIPE: camera for mesa_lavapipe {
        root(curve, clean);
        curve { tile(v: 64) => workgroup(x); distribute(v => thread(x)); }
        clean {
            tile(y: 4 peel, x: 256 peel) => workgroup(y, x);
            tile(x: 32 => x_o);
            tile(x: 4) => thread(x);
            reorder(x_o, y, x);
            serial(x_o);
            unroll(y);
            vectorize(x, 4, unaligned: scalar);
        }
        tile(c: 3, y: 2 peel, x: 256 peel) => workgroup(z, y, x);
        tile(x: 32 => x_o);
        tile(x: 4) => thread(x);
        reorder(x_o, c, y, x);
        serial(x_o);
        unroll(c, y);
        vectorize(x, 4, unaligned: scalar);
        compute_at(green, x_o, to: register);
        compute_at(excess, x_o, to: register);
        compute_at(red, x_o, to: register);
        compute_at(blue, x_o, to: register);
        green, excess, red, blue { unroll(y, x); }
        specialize(W % 4 == 0);
    }
}

schedule! {
    pub PLANNED: camera for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: camera for nvidia_ampere {}
}

profile! {
    /// Devices that load and store single integers of 8 and 16 bits.
    pub narrow: vulkan_1_1 { features: [storage_8, storage_16] }
}

schedule! {
    /// For all other devices.
    pub ANY: camera for narrow {}
}

/// Computes colours from what a camera would measure of the picture.
pub fn run(on: &Bench<'_>) -> Result<Measured<u8>> {
    on.measure(Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: ANY }, &on.size(), &measured(on.picture))
}

/// Shows the colours.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    let [height, width] = on.size();
    if height <= 8 || width <= 8 {
        return Err("the pipeline `camera` drops 4 pixels at each border, so give it a picture of more than 8 x 8".into());
    }
    Ok(run(on)?.colours([height - 8, width - 8], |v| v))
}

/// Returns the raw pixels of a picture: one colour of each pixel, in 10 bits, before the curve.
fn measured(picture: &Image) -> Vec<u16> {
    let value = |(n, pixel): (usize, &[f32])| {
        let colour = match (n / picture.width % 2, n % picture.width % 2) {
            (0, 1) => pixel[0],
            (1, 0) => pixel[2],
            _ => pixel[1],
        };
        (colour.powf(2.2) * 1023.0).round() as u16
    };
    picture.pixels.chunks_exact(3).enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::check;

    /// The raw picture of the plain loops, with the positions of its pixels.
    struct Raw {
        width: isize,
        pixels: Vec<u16>,
    }

    impl Raw {
        fn clean(&self, y: isize, x: isize) -> i32 {
            let at = |y: isize, x: isize| i32::from(self.pixels[(y * self.width + x) as usize]);
            let around = [at(y - 2, x), at(y + 2, x), at(y, x - 2), at(y, x + 2)];
            at(y, x).min(around.into_iter().max().unwrap())
        }

        fn green(&self, y: isize, x: isize) -> i32 {
            if (y + x) % 2 == 0 {
                return self.clean(y, x);
            }
            let (left, right) = (self.clean(y, x - 1), self.clean(y, x + 1));
            let (above, below) = (self.clean(y - 1, x), self.clean(y + 1, x));
            if (left - right).abs() < (above - below).abs() { (left + right) / 2 } else { (above + below) / 2 }
        }

        /// Returns red or blue: the mean difference from green of the nearest pixels that have the colour, `row` and `column` modulo 2.
        fn other(&self, y: isize, x: isize, row: isize, column: isize) -> i32 {
            let offsets = |at: isize, has: isize| if at % 2 == has { vec![0] } else { vec![-1, 1] };
            let near: Vec<i32> = offsets(y, row)
                .into_iter()
                .flat_map(|i| offsets(x, column).into_iter().map(move |j| (y + i, x + j)))
                .map(|(y, x)| self.clean(y, x) - self.green(y, x))
                .collect();
            self.green(y, x) + near.iter().sum::<i32>() / near.len() as i32
        }
    }

    #[test]
    fn every_pixel_is_right() {
        let expected = |picture: &Image| {
            let raw = Raw { width: picture.width as isize, pixels: measured(picture) };
            let mut planes = [const { Vec::new() }; 3];
            for (y, x) in (4..picture.height as isize - 4).flat_map(|y| (4..picture.width as isize - 4).map(move |x| (y, x))) {
                let (red, green, blue) = (raw.other(y, x, 0, 1), raw.green(y, x), raw.other(y, x, 1, 0));
                let mixed =
                    [410 * red - 130 * green - 24 * blue, -52 * red + 388 * green - 80 * blue, 10 * red - 150 * green + 396 * blue];
                for (plane, v) in planes.iter_mut().zip(mixed) {
                    let linear = f64::from((v >> 8).clamp(0, 1023)) / 1023.0;
                    plane.push((linear.powf(1.0 / 2.2) * 255.0).round() as u8);
                }
            }
            planes.concat()
        };
        // The curve is computed in f32, so its last bit may round the other way.
        check::pipeline(run, expected, |got, wanted: u8| (got.abs_diff(wanted) > 1).then(|| format!("{got} instead of {wanted}")));
    }
}
