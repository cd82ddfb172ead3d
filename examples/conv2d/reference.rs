//! The same convolution as plain loops in f64, and error bounds for a correct result in f32.

/// The sizes of the convolution of one image.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Rows of the input.
    pub height: usize,
    /// Columns of the input.
    pub width: usize,
    /// Channels of the input.
    pub channels: usize,
    /// Rows and columns of a filter.
    pub filter: usize,
    /// Filters.
    pub filters: usize,
    /// Pixels from one output to the next.
    pub stride: usize,
}

impl Sizes {
    /// Rows of the output.
    pub fn out_height(&self) -> usize {
        (self.height - self.filter) / self.stride + 1
    }

    /// Columns of the output.
    pub fn out_width(&self) -> usize {
        (self.width - self.filter) / self.stride + 1
    }

    /// The number of products in an output.
    pub fn terms(&self) -> usize {
        self.filter * self.filter * self.channels
    }

    /// The number of additions and multiplications in all.
    pub fn operations(&self) -> f64 {
        2.0 * (self.out_height() * self.out_width() * self.filters * self.terms()) as f64
    }
}

/// How a result compares with the reference.
pub struct Comparison {
    /// The largest difference.
    pub error: f64,
    /// The bound at the element where the difference is the largest part of its bound.
    pub bound: f64,
    /// The difference at that element relative to its bound. If it is above 1, the result is not a sum of the products.
    pub part: f64,
    /// The root mean square of the differences, relative to the root mean square of the reference.
    pub relative: f64,
}

/// Compares `output` with the convolution of `input` and `filter`.
///
/// A sum of `n` products in f32, in any order, fused or not, differs from the exact one by at most
/// `n u / (1 - n u)` times the sum of the products' magnitudes, where `u = 2^-24` (Higham, Accuracy and Stability of
/// Numerical Algorithms, section 3.1).
pub fn compare(sizes: Sizes, input: &[f32], filter: &[f32], output: &[f32]) -> Comparison {
    let nu = sizes.terms() as f64 * 2f64.powi(-24);
    let gamma = nu / (1.0 - nu);
    let mut worst = Comparison { error: 0.0, bound: 0.0, part: 0.0, relative: 0.0 };
    let (mut errors, mut squares) = (0.0, 0.0);
    let mut sums = vec![(0.0, 0.0); sizes.filters];
    for (pixel, outputs) in output.chunks_exact(sizes.filters).enumerate() {
        pixel_sums(sizes, input, filter, (pixel / sizes.out_width(), pixel % sizes.out_width()), &mut sums);
        for (value, (sum, magnitude)) in outputs.iter().zip(&sums) {
            let (error, bound) = ((f64::from(*value) - sum).abs(), gamma * magnitude);
            errors += error * error;
            squares += sum * sum;
            // A NaN is beyond every bound.
            let part = if error <= bound { error / bound.max(f64::MIN_POSITIVE) } else { (error / bound).max(1.0 + f64::EPSILON) };
            worst.error = if error.is_nan() { f64::INFINITY } else { worst.error.max(error) };
            if part > worst.part {
                (worst.bound, worst.part) = (bound, part);
            }
        }
    }
    worst.relative = (errors / squares.max(f64::MIN_POSITIVE)).sqrt();
    worst
}

/// Returns the largest magnitude among values.
pub fn largest(values: &[f32]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(f64::from(value.abs())))
}

/// Computes the sums of all filters at an output pixel, and the sums of the products' magnitudes.
fn pixel_sums(sizes: Sizes, input: &[f32], filter: &[f32], (row, column): (usize, usize), sums: &mut [(f64, f64)]) {
    sums.fill((0.0, 0.0));
    for fh in 0..sizes.filter {
        for fw in 0..sizes.filter {
            for channel in 0..sizes.channels {
                let (y, x) = (row * sizes.stride + fh, column * sizes.stride + fw);
                let value = f64::from(input[(y * sizes.width + x) * sizes.channels + channel]);
                let weights = &filter[((fh * sizes.filter + fw) * sizes.channels + channel) * sizes.filters..][..sizes.filters];
                for ((sum, magnitude), weight) in sums.iter_mut().zip(weights) {
                    let product = value * f64::from(*weight);
                    *sum += product;
                    *magnitude += product.abs();
                }
            }
        }
    }
}
