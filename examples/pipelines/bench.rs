//! Runs a kernel of one picture and one result, and times it.

use crate::image::Image;
use std::error::Error;
use std::time::{Duration, Instant};
use tilewright::{Device, DeviceKind, Element, Kernel, Tensor, Variant};

/// A result, or an error to print.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The options that all pipelines share.
pub struct Bench<'d> {
    /// The device that runs the kernels.
    pub device: &'d Device,
    /// The picture that the pipelines change.
    pub picture: &'d Image,
    /// True if the planner's schedule runs.
    pub planned: bool,
    /// The number of launches that are timed.
    pub runs: u32,
}

/// The schedules of a kernel.
pub struct Schedules<K> {
    /// The schedule by hand for lavapipe.
    pub by_hand: Variant<K>,
    /// The planner's schedule for lavapipe.
    pub planned: Variant<K>,
    /// The planner's schedule for NVIDIA's devices.
    pub nvidia: Variant<K>,
    /// The planner's schedule for all other devices.
    pub any: Variant<K>,
}

/// The elements of a result.
pub struct Measured<T> {
    /// The elements, in row-major order.
    pub values: Vec<T>,
    /// The name of the variant that ran.
    pub variant: String,
    /// Its times.
    pub times: Times,
}

/// The median times of a launch.
#[derive(Clone, Copy)]
pub struct Times {
    /// With its wait, on the host's clock.
    pub launch: Duration,
    /// On the device's clock. Zero if it has none.
    pub device: Duration,
}

/// A result as a picture.
pub struct Shown {
    /// Grey or colours.
    pub colours: png::ColorType,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The bytes of the pixels, row by row.
    pub bytes: Vec<u8>,
    /// The name of the variant that ran.
    pub variant: String,
    /// Its times.
    pub times: Times,
}

impl Bench<'_> {
    /// Returns the rows and columns of the picture.
    pub fn size(&self) -> [usize; 2] {
        [self.picture.height, self.picture.width]
    }

    /// Runs the chosen schedule once, and then `runs` times for its time.
    pub fn measure<K, I, T>(&self, schedules: Schedules<K>, shape: &[usize], elements: &[I]) -> Result<Measured<T>>
    where
        K: Kernel<Outputs = Tensor<T>>,
        I: Element,
        T: Element,
        for<'a> &'a Tensor<I>: Into<K::Args<'a>>,
    {
        let first = if self.planned { schedules.planned } else { schedules.by_hand };
        // A GPU often meets the limits of lavapipe's profile, and lavapipe the limits of a GPU's.
        let best = if self.device.info().kind == DeviceKind::Cpu { first } else { schedules.nvidia };
        let kernel = self.device.load(&[best, schedules.any])?;
        let input = self.device.upload(shape, elements)?;
        let variant = kernel.variant_for(&input)?.to_owned();
        let mut output = kernel.run(&input)?;
        let mut times = Vec::new();
        for _ in 0..self.runs {
            let begin = Instant::now();
            kernel.run_into(&input, &mut output)?;
            times.push(begin.elapsed());
        }
        let mut device_times = Vec::new();
        if self.device.info().limits.timestamps {
            for _ in 0..self.runs {
                device_times.push(kernel.run_timed(&input)?.1.total);
            }
        }
        let times = Times { launch: median(times), device: median(device_times) };
        Ok(Measured { values: output.download()?, variant, times })
    }
}

/// Returns the median of times, or zero if there are none.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

impl<T: Copy> Measured<T> {
    /// Returns a grey picture, with `shade` of each element.
    pub fn grey(self, [height, width]: [usize; 2], shade: impl Fn(T) -> u8) -> Shown {
        let bytes = self.values.iter().map(|value| shade(*value)).collect();
        Shown { colours: png::ColorType::Grayscale, width, height, bytes, variant: self.variant, times: self.times }
    }

    /// Returns a picture of three planes, with `shade` of each element.
    pub fn colours(self, [height, width]: [usize; 2], shade: impl Fn(T) -> u8) -> Shown {
        let area = height * width;
        let bytes = (0..area * 3).map(|n| shade(self.values[n % 3 * area + n / 3])).collect();
        Shown { colours: png::ColorType::Rgb, width, height, bytes, variant: self.variant, times: self.times }
    }
}

/// Returns the byte of a number from 0 to 1.
pub fn byte(value: f32) -> u8 {
    (value * 255.0).round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
pub mod check {
    //! Compares the schedules of a pipeline with plain loops.

    use super::{Bench, Measured, Result};
    use crate::image::Image;
    use crate::made;
    use tilewright::Device;

    /// Runs a pipeline by hand and as planned, at an odd size and at the size of one tile, and compares every element.
    pub fn pipeline<T: Copy>(
        run: impl Fn(&Bench<'_>) -> Result<Measured<T>>,
        expected: impl Fn(&Image) -> Vec<T>,
        equal: impl Fn(T, T) -> Option<String>,
    ) {
        let device = Device::open().unwrap();
        for picture in [made::picture(61, 47), made::picture(128, 32)] {
            let wanted = expected(&picture);
            for planned in [false, true] {
                let got = run(&Bench { device: &device, picture: &picture, planned, runs: 0 }).unwrap();
                assert!(
                    got.variant.starts_with(if planned { "PLANNED" } else { "LAVAPIPE" })
                        || !device.info().name.contains("llvmpipe"),
                    "{}",
                    got.variant
                );
                assert_eq!(got.values.len(), wanted.len(), "{}", got.variant);
                for (n, (got_value, wanted)) in got.values.iter().zip(&wanted).enumerate() {
                    let wrong = equal(*got_value, *wanted);
                    assert!(
                        wrong.is_none(),
                        "{}, {} columns, element {n}: {}",
                        got.variant,
                        picture.width,
                        wrong.unwrap_or_default()
                    );
                }
            }
        }
    }

    /// Compares whole numbers.
    pub fn same<T: PartialEq + std::fmt::Display>(got: T, wanted: T) -> Option<String> {
        (got != wanted).then(|| format!("{got} instead of {wanted}"))
    }

    /// Compares floats of about 1 in size.
    pub fn close(got: f32, wanted: f32) -> Option<String> {
        ((got - wanted).abs() > 2e-5 * wanted.abs().max(1.0) || got.is_nan()).then(|| format!("{got} instead of {wanted}"))
    }
}
