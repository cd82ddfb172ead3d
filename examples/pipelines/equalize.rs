//! Histogram equalization: spreads the brightness of a picture evenly.

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::image::Image;
use crate::made;
use tilewright::devices::{mesa_lavapipe, nvidia_ampere, vulkan_1_1};
use tilewright::{kernel, profile, schedule};

kernel! {
    /// Each pixel's rank among all pixels, from 0 to 255.
    pub fn equalize<H, W>(image: u8[H, W]) -> equal: u8[H, W] where H >= 1, W >= 1, H * W <= 8388608 {
        let count[b]: i32[256] = sum(y in 0..H, x in 0..W) where image[y, x] as i32 == b { 1 };
        let below[b]: i32[256] = sum(k in 0..b + 1) { count[k] };
        equal[y, x] = (below[image[y, x] as i32] * 255 / (H * W)) as u8;
    }
}

schedule! {
    /// Each invocation counts in 8 rows, with bins of its own. A second dispatch adds the bins.
    pub LAVAPIPE: equalize for mesa_lavapipe {
        count {
            tile(y: 8 => y_o);
            rfactor(y_o => part);
            tile(b: 64) => workgroup(x);
            distribute(b => thread(x));
        }
        part {
            scatter(b);
            tile(y_o: 8) => workgroup(x);
            distribute(y_o => thread(x));
            tile(x: 8 => x_o);
            unroll(x);
        }
        below { tile(b: 64) => workgroup(x); distribute(b => thread(x)); }
        tile(y: 1, x: 256) => workgroup(y, x);
        tile(x: 4) => thread(x);
        vectorize(x, 4, unaligned: scalar);
        specialize(W % 4 == 0);
    }
}

schedule! {
    pub PLANNED: equalize for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: equalize for nvidia_ampere {}
}

profile! {
    /// Devices that load and store single bytes.
    pub bytes: vulkan_1_1 { features: [storage_8] }
}

schedule! {
    /// For all other devices.
    pub ANY: equalize for bytes {}
}

/// Equalizes the brightness of the picture.
pub fn run(on: &Bench<'_>) -> Result<Measured<u8>> {
    on.measure(Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: ANY }, &on.size(), &bytes_of(on.picture))
}

/// Shows the equalized picture.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    Ok(run(on)?.grey(on.size(), |v| v))
}

fn bytes_of(picture: &Image) -> Vec<u8> {
    made::grey(picture).into_iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::check;

    #[test]
    fn every_pixel_is_right() {
        let expected = |picture: &Image| {
            let image = bytes_of(picture);
            let rank = |v: u8| image.iter().filter(|other| **other <= v).count();
            image.iter().map(|v| (rank(*v) * 255 / image.len()) as u8).collect()
        };
        check::pipeline(run, expected, check::same);
    }
}
