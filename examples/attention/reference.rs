//! Non-local means as plain loops in f64, for a sample of the pixels, and error bounds for a correct result in f32.

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
    /// The difference at that pixel relative to its bound. If it is above 1, the result is not a mean with these weights.
    pub part: f64,
}

/// Compares pixels of `output` with the mean of all colours, weighted by `exp(-|a - b|^2 / h2)` of the patches.
///
/// The weights are computed from the patches and not from queries and keys, so that these are checked, too.
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

/// Returns the mean colour at a pixel, and a bound for the error of f32, to first order in `u = 2^-24`.
///
/// The absolute error of a score is the relative error of its weight. Since all colours are from 0 to 1, a relative error of the
/// weights causes at most the same error of the mean. The terms of a score have a magnitude of at most `s`. Its sum rounds `D`
/// times, and so does the computation of its key: the error is at most `2 (D + 4) s u`. The largest score is the same for all, but
/// subtracting it rounds. An exponential of `x` has an error of at most `3 + 2 |x|` steps of `2 u`, by Vulkan's bound. The two sums
/// of `n` terms round once for each term. Sums in blocks round once more for each block, and by an exponential of 3 steps: `6 n u`
/// in all.
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
