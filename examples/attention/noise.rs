//! Adds noise to an image, and measures it.

/// A generator of pseudo-random numbers that are the same in every run: SplitMix64 (Steele, Lea, Flood, 2014).
struct Generator(u64);

impl Generator {
    /// Returns a uniformly distributed number above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        ((bits >> 11) + 1) as f64 * 2f64.powi(-53)
    }

    /// Returns a normally distributed number, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Adds normal noise with this deviation to values, and clamps them to 0 and 1 as in a file.
pub fn add(values: &[f32], deviation: f32, seed: u64) -> Vec<f32> {
    let mut generator = Generator(seed);
    values.iter().map(|v| (v + deviation * generator.normal() as f32).clamp(0.0, 1.0)).collect()
}

/// Returns the peak signal-to-noise ratio of `values`, whose peak is 1, in decibels.
pub fn psnr(clean: &[f32], values: &[f32]) -> f64 {
    let squares: f64 = clean.iter().zip(values).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
    -10.0 * (squares / clean.len() as f64).log10()
}
