//! Non-local means as plain loops in f64, of a sample of the pixels, and how far a correct result can be from them.

use crate::patches::{ELEMENTS, VALUES};

/// Pixels of the sample.
const SAMPLE: usize = 64;

/// How a result compares with the reference.
pub struct Comparison {
    /// Pixels that were compared.
    pub pixels: usize,
    /// The largest difference.
    pub error: f64,
    /// The bound at the pixel where the difference is the largest part of its bound.
    pub bound: f64,
    /// That part: above 1, the result is not a mean by these weights.
    pub part: f64,
}

/// Compares pixels of `output` with the mean of all colours, weighted by `exp(-|a - b|^2 / h2)` of the patches.
///
/// That is computed from the patches, not from queries and keys: it shows that these are right, too.
pub fn compare(patches: &[[f32; VALUES]], colours: &[f32], h2: f32, output: &[f32]) -> Comparison {
    let mut worst = Comparison { pixels: 0, error: 0.0, bound: 0.0, part: 0.0 };
    for pixel in (0..patches.len()).step_by(patches.len().div_ceil(SAMPLE)) {
        let (mean, bound) = mean(patches, colours, f64::from(h2), pixel);
        for (value, expected) in output[pixel * 3..][..3].iter().zip(mean) {
            let error = (f64::from(*value) - expected).abs();
            // A NaN is beyond every bound, and `max` would drop it.
            let error = if error.is_nan() { f64::INFINITY } else { error };
            worst.error = worst.error.max(error);
            if error / bound >= worst.part {
                (worst.bound, worst.part) = (bound, error / bound);
            }
        }
        worst.pixels += 1;
    }
    worst
}

/// The mean colour at a pixel, and how far that of f32 can be from it, to first order in `u = 2^-24`.
///
/// An error of a score is a relative one of its weight, and as all colours are from 0 to 1, a relative error of the weights is at most
/// the same of the mean. The terms of a score have the magnitude `s` at most; its sum rounds `D` times, and what makes its key does: it
/// is within `2 (D + 4) s u`. The largest is the same for all, but subtracting it rounds. An exponential of `x` is within `3 + 2 |x|` steps
/// of `2 u`: Vulkan's bound. The two sums of `n` terms round once for each; those in blocks, for each block once more, and by an
/// exponential of 3 steps: `6 n u` in all.
fn mean(patches: &[[f32; VALUES]], colours: &[f32], h2: f64, pixel: usize) -> ([f64; 3], f64) {
    let (mut sums, mut total, mut exponents, mut magnitude) = ([0.0; 3], 0.0, 0.0, 0f64);
    for (patch, colour) in patches.iter().zip(colours.chunks_exact(3)) {
        let (mut distance, mut terms) = (0.0, 0.0);
        for (a, b) in patches[pixel].iter().zip(patch) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            distance += (a - b) * (a - b) / h2;
            terms += ((2.0 * a * b).abs() + b * b) / h2;
        }
        let weight = (-distance).exp();
        magnitude = magnitude.max(terms);
        exponents += weight * distance;
        total += weight;
        sums.iter_mut().zip(colour).for_each(|(sum, value)| *sum += weight * f64::from(*value));
    }
    let u = 2f64.powi(-24);
    let scores = 2.0 * (ELEMENTS + 4) as f64 * magnitude;
    let exponentials = 2.0 * (3.0 + 2.5 * exponents / total);
    (sums.map(|sum| sum / total), (scores + exponentials + 6.0 * patches.len() as f64) * u)
}
