//! An unsharp mask: the picture, with the difference from its blurred brightness added to it.

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::made;
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// Brightens or darkens each pixel, so that the contrast to its surroundings doubles. The colours keep their ratio.
    pub fn unsharp<H, W>(image: f32[3, H, W]) -> sharp: f32[3, H, W] where H >= 1, W >= 1 {
        // A Gaussian with a standard deviation of 1.5 pixels.
        const GAUSS: f32[7] = [0.036_633, 0.111_281, 0.216_745, 0.270_682, 0.216_745, 0.111_281, 0.036_633];
        let grey[y, x]: f32[H, W] = 0.299 * image[0, y, x] + 0.587 * image[1, y, x] + 0.114 * image[2, y, x];
        let columns[y, x]: f32[H, W] = sum(k in 0..7) { GAUSS[k] * grey.clamp()[y + k - 3, x] };
        let blurred[y, x]: f32[H, W] = sum(k in 0..7) { GAUSS[k] * columns.clamp()[y, x + k - 3] };
        let ratio[y, x]: f32[H, W] = (2.0 * grey[y, x] - blurred[y, x]) / grey[y, x].max(0.001);
        sharp[c, y, x] = ratio[y, x] * image[c, y, x];
    }
}

schedule! {
    /// The brightness and the first pass of the blur have dispatches of their own. In the last one, an invocation computes blocks of 4 x 4 pixels
    /// along four rows, in all colours, with the second pass in registers.
    pub LAVAPIPE: unsharp for mesa_lavapipe {
        root(grey, columns);
        grey {
            tile(y: 1, x: 256 peel) => workgroup(y, x);
            tile(x: 32 => x_o);
            tile(x: 4) => thread(x);
            serial(x_o);
            vectorize(x, 4, unaligned: scalar);
        }
        columns {
            tile(y: 64 peel, x: 8 peel) => workgroup(y, x);
            distribute(x => thread(x));
            tile(y: 8 => y_o);
            reorder(y_o, k, y);
            serial(y_o);
            unroll(k, y);
        }
        tile(c: 3, y: 4 peel, x: 256 peel) => workgroup(z, y, x);
        tile(x: 32 => x_o);
        tile(x: 4) => thread(x);
        reorder(x_o, c, y, x);
        serial(x_o);
        unroll(c, y);
        vectorize(x, 4, unaligned: scalar);
        compute_at(blurred, x_o, to: register);
        compute_at(ratio, x_o, to: register);
        blurred { unroll(y, x, k); }
        ratio { unroll(y, x); }
        specialize(W % 4 == 0);
    }
}

schedule! {
    pub PLANNED: unsharp for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: unsharp for nvidia_ampere {}
}

/// Sharpens the picture.
pub fn run(on: &Bench<'_>) -> Result<Measured<f32>> {
    let [height, width] = on.size();
    let schedules = Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: unsharp::DEFAULT };
    on.measure(schedules, &[3, height, width], &made::planes(on.picture))
}

/// Shows the sharpened picture.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    Ok(run(on)?.colours(on.size(), byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::check;
    use crate::made::read::{clamped, plane};

    #[test]
    fn every_pixel_is_right() {
        let expected = |picture: &crate::image::Image| {
            let size = [picture.height, picture.width];
            let (image, area) = (made::planes(picture), picture.height * picture.width);
            // The weights by their definition, and the two passes as one.
            let weight =
                |d: isize| (-(d * d) as f64 / 4.5).exp() / (-3..4).map(|d: isize| (-(d * d) as f64 / 4.5).exp()).sum::<f64>();
            let grey = plane(size, |y, x| {
                let n = y as usize * picture.width + x as usize;
                0.299 * f64::from(image[n]) + 0.587 * f64::from(image[area + n]) + 0.114 * f64::from(image[2 * area + n])
            });
            let ratio = plane(size, |y, x| {
                let row = |i| (-3..4).map(|j| weight(i) * weight(j) * clamped(&grey, size, y + i, x + j)).sum::<f64>();
                let centre = clamped(&grey, size, y, x);
                (2.0 * centre - (-3..4).map(row).sum::<f64>()) / centre.max(0.001)
            });
            image.iter().enumerate().map(|(n, v)| (ratio[n % area] * f64::from(*v)) as f32).collect()
        };
        check::pipeline(run, expected, check::close);
    }
}
