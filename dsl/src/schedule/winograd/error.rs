//! The error of a decomposed convolution, known before anything runs: the root mean square of the errors, divided by that of the results, as
//! expected for inputs and weights that are independent and have the mean 0.
//!
//! With `P` the growth of the transforms ([`Matrices::growth`], one for each dimension) and `e` the unit roundoff:
//! - what is stored with roundoff `e` contributes `0.58 e sqrt(P P')`: `v` and `u` are each rounded once;
//! - a sum of `C` products one after another contributes `e sqrt(P P') sqrt(1.5 + 0.085 C)`, the transforms' own rounding among it.
//!
//! The constants were fitted to measured errors of F(2, 3), F(4, 3) and F(6, 3).

use super::matrices::Matrices;
use crate::launch::DType;

/// What a decomposition's error depends on.
pub(super) struct Model<'m> {
    /// One for each dimension.
    pub(super) dimensions: Vec<&'m Matrices>,
    /// The type of transformed inputs and filters.
    pub(super) store: DType,
    /// The type of the sum.
    pub(super) sum: DType,
    /// How many products a sum has at most.
    pub(super) channels: i64,
}

impl Model<'_> {
    /// The expected error, relative to the results.
    pub(super) fn expected(&self) -> f64 {
        let growth = self.dimensions.iter().map(|m| m.growth()).product::<f64>().sqrt();
        let summed = growth * roundoff(self.sum) * (1.5 + 0.085 * self.channels as f64).sqrt();
        let stored = if self.store == self.sum { 0.0 } else { 0.58 * growth * roundoff(self.store) };
        summed.hypot(stored)
    }

    /// The largest error that is possible, relative to the product of the largest input, the largest weight and the number of products.
    pub(super) fn worst(&self) -> f64 {
        let growth = self.dimensions.iter().map(|m| m.worst()).product::<f64>();
        // A transform rounds once a term and dimension, and its coefficients; the sum once a product, a store once.
        let transforms: usize = self.dimensions.iter().map(|m| 2 * m.input.len() + m.filter[0].len() + 3).sum();
        let rounded = (transforms as f64 + self.channels as f64) * roundoff(self.sum) + 2.0 * roundoff(self.store);
        growth * rounded / self.dimensions.iter().map(|m| m.filter[0].len() as f64).product::<f64>()
    }
}

/// The unit roundoff: half the distance from 1 to the next larger number.
fn roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    }
}
