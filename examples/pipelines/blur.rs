//! A 3x3 blur of 16-bit pixels, by rows and then by columns.

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::made::{self, WHITE, words};
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// The mean of 3x3 pixels, rounded down after each pass. The pixels at the borders are repeated outside.
    pub fn blur<H, W>(image: u16[H, W]) -> blurred: u16[H, W] where H >= 1, W >= 1 {
        let rows[y, x]: u16[H, W] = {
            let at = |d| image.clamp()[y, x + d] as u32;
            ((at(-1) + at(0) + at(1)) / 3) as u16
        };
        blurred[y, x] = {
            let at = |d| rows.clamp()[y + d, x] as u32;
            ((at(-1) + at(0) + at(1)) / 3) as u16
        };
    }
}

schedule! {
    /// An invocation computes blocks of 8 x 4 pixels along eight rows. The pixels of a block and its blurred rows are in registers.
    pub LAVAPIPE: blur for mesa_lavapipe {
        tile(y: 8 peel, x: 256 peel) => workgroup(y, x);
        tile(x: 32 => x_o);
        tile(x: 4) => thread(x);
        reorder(x_o, y, x);
        serial(x_o);
        border(y, x);
        unroll(y);
        vectorize(x, 4, unaligned: scalar);
        compute_at(rows, x_o, to: register);
        promote(image => pixels, at: x_o, to: register);
        rows { unroll(y, x); }
        specialize(W % 4 == 0);
    }
}

schedule! {
    pub PLANNED: blur for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: blur for nvidia_ampere {}
}

schedule! {
    /// For all other devices.
    pub ANY: blur for words {}
}

/// Blurs the brightness of the picture in 16 bits.
pub fn run(on: &Bench<'_>) -> Result<Measured<u16>> {
    on.measure(Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: ANY }, &on.size(), &made::integers(on.picture))
}

/// Shows the blurred picture.
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
            let image = made::integers(picture);
            let rows = plane(size, |y, x| ((-1..2).map(|d| u32::from(clamped(&image, size, y, x + d))).sum::<u32>() / 3) as u16);
            plane(size, |y, x| ((-1..2).map(|d| u32::from(clamped(&rows, size, y + d, x))).sum::<u32>() / 3) as u16)
        };
        check::pipeline(run, expected, check::same);
    }
}
