//! Corners of a picture (Harris and Stephens 1988, A combined corner and edge detector).

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::made;
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// The response of each pixel: far above 0 at corners, below 0 at edges, and near 0 elsewhere.
    pub fn harris<H, W>(image: f32[3, H, W]) -> corners: f32[H, W] where H >= 1, W >= 1 {
        let grey[y, x]: f32[H, W] = 0.299 * image[0, y, x] + 0.587 * image[1, y, x] + 0.114 * image[2, y, x];
        let dx[y, x]: f32[H, W] = {
            let change = |d| grey.clamp()[y + d, x + 1] - grey.clamp()[y + d, x - 1];
            (change(-1) + 2.0 * change(0) + change(1)) / 8.0
        };
        let dy[y, x]: f32[H, W] = {
            let change = |d| grey.clamp()[y + 1, x + d] - grey.clamp()[y - 1, x + d];
            (change(-1) + 2.0 * change(0) + change(1)) / 8.0
        };
        let xx[y, x]: f32[H, W] = sum(i in 0..3, j in 0..3) { dx.clamp()[y + i - 1, x + j - 1] * dx.clamp()[y + i - 1, x + j - 1] };
        let xy[y, x]: f32[H, W] = sum(i in 0..3, j in 0..3) { dx.clamp()[y + i - 1, x + j - 1] * dy.clamp()[y + i - 1, x + j - 1] };
        let yy[y, x]: f32[H, W] = sum(i in 0..3, j in 0..3) { dy.clamp()[y + i - 1, x + j - 1] * dy.clamp()[y + i - 1, x + j - 1] };
        corners[y, x] = {
            let trace = xx[y, x] + yy[y, x];
            xx[y, x] * yy[y, x] - xy[y, x] * xy[y, x] - 0.04 * trace * trace
        };
    }
}

schedule! {
    /// The brightness has a dispatch of its own. In the other one, an invocation computes blocks of 2 x 4 pixels along two rows. The
    /// derivatives of a block and of its border are in its registers.
    pub LAVAPIPE: harris for mesa_lavapipe {
        root(grey);
        grey {
            tile(y: 1, x: 256 peel) => workgroup(y, x);
            tile(x: 32 => x_o);
            tile(x: 4) => thread(x);
            serial(x_o);
            vectorize(x, 4, unaligned: scalar);
        }
        tile(y: 2 peel, x: 256 peel) => workgroup(y, x);
        tile(x: 32 => x_o);
        tile(x: 4) => thread(x);
        reorder(x_o, y, x);
        serial(x_o);
        unroll(y);
        vectorize(x, 4, unaligned: scalar);
        compute_at(dx, x_o, to: register);
        compute_at(dy, x_o, to: register);
        compute_at(xx, x_o, to: register);
        compute_at(xy, x_o, to: register);
        compute_at(yy, x_o, to: register);
        dx, dy { unroll(y, x); }
        xx, xy, yy { unroll(y, x, i, j); }
        specialize(W % 4 == 0);
    }
}

schedule! {
    pub PLANNED: harris for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: harris for nvidia_ampere {}
}

/// Computes the responses of the picture's pixels.
pub fn run(on: &Bench<'_>) -> Result<Measured<f32>> {
    let [height, width] = on.size();
    let schedules = Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: harris::DEFAULT };
    on.measure(schedules, &[3, height, width], &made::planes(on.picture))
}

/// Shows corners as white, edges as black, and all else as grey.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    Ok(run(on)?.grey(on.size(), |v| byte(0.5 + 100.0 * v)))
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
            let grey: Vec<f64> = picture
                .pixels
                .chunks_exact(3)
                .map(|p| 0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2]))
                .collect();
            const SOBEL: [f64; 3] = [1.0, 2.0, 1.0];
            let derivative = |along_x: bool| {
                plane(size, |y, x| {
                    let pair = |d: isize| {
                        let ([y1, x1], [y0, x0]) = if along_x { ([d, 1], [d, -1]) } else { ([1, d], [-1, d]) };
                        clamped(&grey, size, y + y1, x + x1) - clamped(&grey, size, y + y0, x + x0)
                    };
                    (-1..2).map(|d| SOBEL[(d + 1) as usize] * pair(d)).sum::<f64>() / 8.0
                })
            };
            let (dx, dy) = (derivative(true), derivative(false));
            plane(size, |y, x| {
                let total = |a: &[f64], b: &[f64]| {
                    (0..9)
                        .map(|n| (y + n / 3 - 1, x + n % 3 - 1))
                        .map(|(y, x)| clamped(a, size, y, x) * clamped(b, size, y, x))
                        .sum::<f64>()
                };
                let (xx, xy, yy) = (total(&dx, &dx), total(&dx, &dy), total(&dy, &dy));
                (xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)) as f32
            })
        };
        check::pipeline(run, expected, |got, wanted| check::close(got * 100.0, wanted * 100.0));
    }
}
