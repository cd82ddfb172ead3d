//! Fills the gaps of a picture from a pyramid of smaller pictures (Gortler and others 1996, The lumigraph, section 3.4).

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::image::Image;
use crate::made;
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// The colours of a picture of three colours and a weight, from 0 to 1, everywhere. If the weight of a pixel is 0, its colours come
    /// from the smaller pictures, in which a pixel is the weighted mean of its surroundings.
    pub fn interpolate<H, W>(image: f32[4, H, W]) -> filled: f32[3, H, W] where H >= 32, W >= 32 {
        let down[0][c, y, x]: f32[4, H, W] = if c < 3 { image[c, y, x] * image[3, y, x] } else { image[c, y, x] };
        for l in 1..6 {
            let narrow[l][c, y, x]: f32[4, H >> (l - 1), W >> l] = {
                let at = |d| down[l - 1].clamp()[c, y, 2 * x + d];
                0.25 * at(-1) + 0.5 * at(0) + 0.25 * at(1)
            };
            let down[l][c, y, x]: f32[4, H >> l, W >> l] = {
                let at = |d| narrow[l].clamp()[c, 2 * y + d, x];
                0.25 * at(-1) + 0.5 * at(0) + 0.25 * at(1)
            };
        }
        let up[5][c, y, x]: f32[4, H >> 5, W >> 5] = down[5][c, y, x];
        for l in 1..6 {
            let up[5 - l][c, y, x]: f32[4, H >> (5 - l), W >> (5 - l)] = {
                let at = |i, j| up[6 - l].clamp()[c, (y + i) / 2, (x + j) / 2];
                let coarse = 0.25 * (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1));
                down[5 - l][c, y, x] + (1.0 - down[5 - l][3, y, x]) * coarse
            };
        }
        filled[c, y, x] = up[0][c, y, x] / up[0][3, y, x].max(0.000_001);
    }
}

schedule! {
    /// Each level has two dispatches: one makes it smaller, and one fills it from the next. An invocation computes all four planes of a pixel.
    pub LAVAPIPE: interpolate for mesa_lavapipe {
        root(down[1..]);
        root(up[1..5]);
        down[1..] {
            tile(y: 1, x: 64) => workgroup(y, x);
            distribute(x => thread(x));
            unroll(c);
        }
        up[1..5] {
            tile(y: 1, x: 64) => workgroup(y, x);
            distribute(x => thread(x));
            unroll(c);
        }
        tile(y: 1, x: 64) => workgroup(y, x);
        distribute(x => thread(x));
        unroll(c);
        compute_at(up[0], thread, to: register);
    }
}

schedule! {
    pub PLANNED: interpolate for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: interpolate for nvidia_ampere {}
}

/// Fills a picture from scattered squares of it.
pub fn run(on: &Bench<'_>) -> Result<Measured<f32>> {
    let [height, width] = on.size();
    let schedules = Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: interpolate::DEFAULT };
    on.measure(schedules, &[4, height, width], &with_weights(on.picture))
}

/// Shows the filled picture.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    Ok(run(on)?.colours(on.size(), byte))
}

/// Returns the colours, and weights that are 1 in some squares of 2 x 2 pixels and 0 elsewhere.
fn with_weights(picture: &Image) -> Vec<f32> {
    let known = |n: usize| (n / picture.width / 2 * 5 + n % picture.width / 2 * 3).is_multiple_of(7);
    let mut planes = made::planes(picture);
    planes.extend((0..picture.height * picture.width).map(|n| if known(n) { 1.0 } else { 0.0 }));
    planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::check;
    use crate::made::read::{clamped, plane};

    /// One of the four planes of a level.
    type Plane = Vec<f64>;

    fn smaller(from: &Plane, size: [usize; 2]) -> Plane {
        const WEIGHTS: [f64; 3] = [0.25, 0.5, 0.25];
        plane([size[0] / 2, size[1] / 2], |y, x| {
            let tap = |n: isize| {
                let (i, j) = (n / 3, n % 3);
                WEIGHTS[i as usize] * WEIGHTS[j as usize] * clamped(from, size, 2 * y + i - 1, 2 * x + j - 1)
            };
            (0..9).map(tap).sum()
        })
    }

    #[test]
    fn every_pixel_is_right() {
        let expected = |picture: &Image| {
            let (image, area) = (with_weights(picture), picture.height * picture.width);
            let weights = &image[3 * area..];
            let mut levels: Vec<([usize; 2], [Plane; 4])> = vec![(
                [picture.height, picture.width],
                std::array::from_fn(|c| {
                    (0..area).map(|n| f64::from(if c < 3 { image[c * area + n] * weights[n] } else { weights[n] })).collect()
                }),
            )];
            for l in 0..5 {
                let (size, planes) = &levels[l];
                let next = planes.each_ref().map(|plane| smaller(plane, *size));
                levels.push(([size[0] / 2, size[1] / 2], next));
            }
            let (mut coarse_size, mut coarse) = levels.pop().unwrap();
            while let Some((size, planes)) = levels.pop() {
                coarse = std::array::from_fn(|c| {
                    plane(size, |y, x| {
                        let four = (0..4).map(|n| clamped(&coarse[c], coarse_size, (y + n / 2) / 2, (x + n % 2) / 2)).sum::<f64>();
                        clamped(&planes[c], size, y, x) + (1.0 - clamped(&planes[3], size, y, x)) * four / 4.0
                    })
                });
                coarse_size = size;
            }
            (0..3)
                .flat_map(|c| coarse[c].iter().zip(&coarse[3]).map(|(v, w)| (v / w.max(1e-6)) as f32).collect::<Vec<_>>())
                .collect()
        };
        check::pipeline(run, expected, check::close);
    }
}
