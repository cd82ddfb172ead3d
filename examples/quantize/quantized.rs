//! Quantization on the host, and the same arithmetic as the kernel's.

use crate::filters::COUNT;

/// The scale of a pixel: its byte is 255 for 1.
const PIXEL: f32 = 1.0 / 255.0;

/// The image and the filters as bytes.
pub struct Quantized {
    /// The pixels, with the scale 1/255.
    pub pixels: Vec<u8>,
    /// The weights, with a scale for each filter.
    pub weights: Vec<i8>,
    /// The scale of each filter.
    pub filter_scales: Vec<f32>,
    /// The scale of each map.
    pub map_scales: Vec<f32>,
}

/// Returns the scale of each filter or map with which its greatest element is 127.
fn scales(elements: &[f32]) -> Vec<f32> {
    let greatest = |n: usize| elements.iter().skip(n).step_by(COUNT).fold(0f32, |most, x| most.max(x.abs()));
    (0..COUNT).map(|n| greatest(n).max(f32::MIN_POSITIVE) / 127.0).collect()
}

impl Quantized {
    /// Quantizes an image and filters. The maps of the floats give the ranges of the results.
    pub fn of(pixels: &[f32], weights: &[f32], maps: &[f32]) -> Quantized {
        let (filter_scales, map_scales) = (scales(weights), scales(maps));
        Quantized {
            pixels: pixels.iter().map(|x| (x / PIXEL).round_ties_even() as u8).collect(),
            weights: weights.iter().enumerate().map(|(n, x)| (x / filter_scales[n % COUNT]).round_ties_even() as i8).collect(),
            filter_scales,
            map_scales,
        }
    }

    /// Returns the factor from a sum of products to an element of each map.
    pub fn multipliers(&self) -> Vec<f32> {
        self.filter_scales.iter().zip(&self.map_scales).map(|(filter, map)| PIXEL * filter / map).collect()
    }

    /// Returns the numbers that maps of bytes represent.
    pub fn restored(&self, maps: &[i8]) -> Vec<f32> {
        maps.iter().enumerate().map(|(n, q)| f32::from(*q) * self.map_scales[n % COUNT]).collect()
    }

    /// Computes the maps on the host, and returns the position of the first byte that differs.
    pub fn first_wrong(&self, [height, width]: [usize; 2], maps: &[i8]) -> Option<usize> {
        let multipliers = self.multipliers();
        maps.iter().enumerate().position(|(at, got)| {
            let (y, x, o) = (at / COUNT / width, at / COUNT % width, at % COUNT);
            let sum: i32 = (0..27)
                .map(|t| {
                    let (i, j, c) = (t / 9, t / 3 % 3, t % 3);
                    let (row, column) = ((y + i).saturating_sub(1).min(height - 1), (x + j).saturating_sub(1).min(width - 1));
                    i32::from(self.pixels[(row * width + column) * 3 + c]) * i32::from(self.weights[t * COUNT + o])
                })
                .sum();
            (sum as f32 * multipliers[o]).round_ties_even() as i8 != *got
        })
    }
}

/// Returns the greatest and the mean error of maps in steps of their scales.
pub fn errors(maps: &[f32], restored: &[f32], scales: &[f32]) -> (f32, f32) {
    let steps: Vec<f32> = maps.iter().zip(restored).enumerate().map(|(n, (a, b))| (a - b).abs() / scales[n % COUNT]).collect();
    (steps.iter().fold(0.0, |most, x| most.max(*x)), steps.iter().sum::<f32>() / steps.len().max(1) as f32)
}
