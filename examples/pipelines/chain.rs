//! A chain of stencils: each stage reads 3x3 pixels of the stage before.

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::made::{self, WHITE, words};
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// The picture after eight blurs with binomial weights.
    pub fn chain<H, W>(image: u16[H, W]) -> last: u16[H, W] where H >= 1, W >= 1 {
        let stage[0][y, x]: u16[H, W] = image[y, x];
        for l in 1..9 {
            let stage[l][y, x]: u16[H, W] = {
                let at = |i, j| stage[l - 1].clamp()[y + i, x + j] as u32;
                let row = |i| at(i, -1) + 2 * at(i, 0) + at(i, 1);
                ((row(-1) + 2 * row(0) + row(1)) >> 4) as u16
            };
        }
        last[y, x] = stage[8][y, x];
    }
}

schedule! {
    /// Directives of a stage: an invocation computes blocks of 4 x 4 pixels along four rows.
    pub ROWS {
        tile(y: 4 peel, x: 256 peel) => workgroup(y, x);
        tile(x: 32 => x_o);
        tile(x: 4) => thread(x);
        reorder(x_o, y, x);
        serial(x_o);
        unroll(y);
        vectorize(x, 4, unaligned: scalar);
    }
}

schedule! {
    /// Each stage has a dispatch.
    pub LAVAPIPE: chain for mesa_lavapipe {
        root(stage[1..8]);
        stage[1..8] { apply ROWS; }
        apply ROWS;
        specialize(W % 4 == 0);
    }
}

schedule! {
    pub PLANNED: chain for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: chain for nvidia_ampere {}
}

schedule! {
    /// For all other devices.
    pub ANY: chain for words {}
}

/// Runs the chain on the brightness of the picture in 16 bits.
pub fn run(on: &Bench<'_>) -> Result<Measured<u16>> {
    on.measure(Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: ANY }, &on.size(), &made::integers(on.picture))
}

/// Shows the last stage.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    Ok(run(on)?.grey(on.size(), |v| byte(f32::from(v) / f32::from(WHITE))))
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
            const WEIGHTS: [u32; 3] = [1, 2, 1];
            let stencil = |before: Vec<u16>, _: usize| {
                plane(size, |y, x| {
                    let tap = |n: isize| {
                        WEIGHTS[n as usize / 3]
                            * WEIGHTS[n as usize % 3]
                            * u32::from(clamped(&before, size, y + n / 3 - 1, x + n % 3 - 1))
                    };
                    ((0..9).map(tap).sum::<u32>() / 16) as u16
                })
            };
            (0..8).fold(made::integers(picture), stencil)
        };
        check::pipeline(run, expected, check::same);
    }
}
