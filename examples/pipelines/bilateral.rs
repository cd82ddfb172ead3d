//! A bilateral filter by a grid of positions and brightness (Chen, Paris and Durand 2007, Real-time edge-aware image processing with the
//! bilateral grid).

use crate::bench::{Bench, Measured, Result, Schedules, Shown, byte};
use crate::made;
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// Smooths a picture of values from 0 to 1, and keeps its edges. A cell of the grid has 8 x 8 pixels and a tenth of the brightness.
    pub fn bilateral<H, W>(image: f32[H, W]) -> smooth: f32[H, W] where H >= 1, W >= 1 {
        // The sum of the values in each cell, and their number.
        let grid[p, z, y, x]: f32[2, 12, (H - 1) / 8 + 2, (W - 1) / 8 + 2] = sum(i in 0..8, j in 0..8) {
            let v = image.clamp()[y * 8 + i - 4, x * 8 + j - 4];
            if (v * 10.0 + 0.5).floor() == z as f32 { if p == 0 { v } else { 1.0 } } else { 0.0 }
        };
        let deep[p, z, y, x]: f32[2, 12, (H - 1) / 8 + 2, (W - 1) / 8 + 2] = {
            let at = |d| grid.pad(0.0)[p, z + d, y, x];
            at(-2) + 4.0 * at(-1) + 6.0 * at(0) + 4.0 * at(1) + at(2)
        };
        let wide[p, z, y, x]: f32[2, 12, (H - 1) / 8 + 2, (W - 1) / 8 + 2] = {
            let at = |d| deep.pad(0.0)[p, z, y, x + d];
            at(-2) + 4.0 * at(-1) + 6.0 * at(0) + 4.0 * at(1) + at(2)
        };
        let high[p, z, y, x]: f32[2, 12, (H - 1) / 8 + 2, (W - 1) / 8 + 2] = {
            let at = |d| wide.pad(0.0)[p, z, y + d, x];
            at(-2) + 4.0 * at(-1) + 6.0 * at(0) + 4.0 * at(1) + at(2)
        };
        smooth[y, x] = {
            let z = (image[y, x] * 10.0).clamp(0.0, 10.0);
            let k = z.floor() as i32;
            let a = z - z.floor();
            let b = (y % 8) as f32 / 8.0;
            let c = (x % 8) as f32 / 8.0;
            let mix = |low, above, t| low + (above - low) * t;
            let line = |p, d, i| mix(high.clamp()[p, k + d, y / 8 + i, x / 8], high.clamp()[p, k + d, y / 8 + i, x / 8 + 1], c);
            let plane = |p, d| mix(line(p, d, 0), line(p, d, 1), b);
            mix(plane(0, 0), plane(0, 1), a) / mix(plane(1, 0), plane(1, 1), a).max(0.000_001)
        };
    }
}

schedule! {
    /// An invocation compares a pixel with all values of `z` after it is read.
    pub LAVAPIPE: bilateral for mesa_lavapipe {
        root(grid, deep, wide, high);
        grid {
            tile(y: 1, x: 32) => workgroup(y, x);
            distribute(x => thread(x));
            reorder(i, j, p, z);
            unroll(p, z);
        }
        deep, wide, high {
            tile(p: 1, z: 1, y: 16, x: 8) => workgroup(z, z, y, x);
            distribute(x => thread(x));
            serial(y);
        }
        tile(y: 64, x: 8) => workgroup(y, x);
        distribute(x => thread(x));
        serial(y);
    }
}

schedule! {
    pub PLANNED: bilateral for mesa_lavapipe {}
}

schedule! {
    pub NVIDIA: bilateral for nvidia_ampere {}
}

/// Filters the brightness of the picture.
pub fn run(on: &Bench<'_>) -> Result<Measured<f32>> {
    let schedules = Schedules { by_hand: LAVAPIPE, planned: PLANNED, nvidia: NVIDIA, any: bilateral::DEFAULT };
    on.measure(schedules, &on.size(), &made::grey(on.picture))
}

/// Shows the filtered picture.
pub fn show(on: &Bench<'_>) -> Result<Shown> {
    Ok(run(on)?.grey(on.size(), byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::check;

    /// The grid of the plain loops: the sum of the values in a cell, and their number.
    struct Grid {
        size: [isize; 3],
        cells: Vec<[f64; 2]>,
    }

    impl Grid {
        fn at(&self, z: isize, y: isize, x: isize) -> [f64; 2] {
            let [depth, height, width] = self.size;
            let is_inside = (0..depth).contains(&z) && (0..height).contains(&y) && (0..width).contains(&x);
            if is_inside { self.cells[((z * height + y) * width + x) as usize] } else { [0.0; 2] }
        }

        /// Returns the weighted sum of five cells in each direction.
        fn blurred(&self, z: isize, y: isize, x: isize) -> [f64; 2] {
            const WEIGHTS: [f64; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];
            let mut total = [0.0; 2];
            for (i, j, k) in (0..125).map(|n| (n / 25, n / 5 % 5, n % 5)) {
                let weight = WEIGHTS[i] * WEIGHTS[j] * WEIGHTS[k];
                let cell = self.at(z + i as isize - 2, y + j as isize - 2, x + k as isize - 2);
                (0..2).for_each(|p| total[p] += weight * cell[p]);
            }
            total
        }
    }

    /// Adds each pixel to the cells that contain it. Pixels outside of the picture repeat its border.
    fn filled(image: &[f32], [height, width]: [isize; 2]) -> Grid {
        let size = [12, (height - 1) / 8 + 2, (width - 1) / 8 + 2];
        let mut grid = Grid { size, cells: vec![[0.0; 2]; (size[0] * size[1] * size[2]) as usize] };
        for (y, x) in (-4..size[1] * 8 - 4).flat_map(|y| (-4..size[2] * 8 - 4).map(move |x| (y, x))) {
            let v = image[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize];
            let z = (v * 10.0).round() as isize;
            let cell = &mut grid.cells[((z * size[1] + (y + 4) / 8) * size[2] + (x + 4) / 8) as usize];
            *cell = [cell[0] + f64::from(v), cell[1] + 1.0];
        }
        grid
    }

    #[test]
    fn every_pixel_is_right() {
        let expected = |picture: &crate::image::Image| {
            let (image, size) = (made::grey(picture), [picture.height as isize, picture.width as isize]);
            let grid = filled(&image, size);
            let smooth = |(n, v): (usize, &f32)| {
                let (y, x, z) = (n as isize / size[1], n as isize % size[1], f64::from(*v * 10.0));
                let mut total = [0.0; 2];
                for corner in 0..8isize {
                    let [i, j, k] = [corner / 4, corner / 2 % 2, corner % 2];
                    let part = |t: f64, upper: isize| if upper == 1 { t } else { 1.0 - t };
                    let weight = part(z.fract(), i) * part((y % 8) as f64 / 8.0, j) * part((x % 8) as f64 / 8.0, k);
                    let cell = grid.blurred(z.floor() as isize + i, y / 8 + j, x / 8 + k);
                    (0..2).for_each(|p| total[p] += weight * cell[p]);
                }
                (total[0] / total[1].max(1e-6)) as f32
            };
            image.iter().enumerate().map(smooth).collect()
        };
        check::pipeline(run, expected, check::close);
    }
}
