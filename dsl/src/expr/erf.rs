//! The error function in f64: a power series for small arguments, and a continued fraction of `1 - erf(x)` for large ones.
//!
//! Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.6 and 7.1.14. The method differs from a device's, so that
//! errors are not shared.

use std::f64::consts::FRAC_2_SQRT_PI;

/// The least argument for which the continued fraction is used.
const LARGE: f64 = 3.0;

/// Returns `erf(x)`, with a relative error of a few units of 2^-53.
pub(super) fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size < LARGE {
        return x.signum() * series(size);
    }
    if x.is_nan() { x } else { x.signum() * (1.0 - complement(size)) }
}

/// Returns `2 / sqrt(pi) exp(-x x)` times the sum of `2^n x^(2n + 1) / (1 * 3 * … * (2n + 1))`, whose terms are all positive.
fn series(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term > sum * f64::EPSILON / 8.0 {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// Returns `1 - erf(x)`: `exp(-x x) / sqrt(pi)` over `x + (1/2) / (x + 1 / (x + (3/2) / (x + …)))`.
fn complement(x: f64) -> f64 {
    let below = (1..=60).rev().fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    FRAC_2_SQRT_PI / 2.0 * (-x * x).exp() / below
}
