//! Keeps a GPU busy before a measurement, so that its clock is fast.
//!
//! The measured kernel cannot do this well. If its launches are short, the device waits for the processor between them.

use crate::message::Failure;
use std::time::{Duration, Instant};
use tilewright::{Device, Loaded, Tensor, kernel, schedule};

kernel! {
    /// Multiplies and adds `n` times in each invocation.
    fn spin<I>(x: f32[I], n: dim) -> y: f32[I] {
        y[i] = sum(k in 0..n) { x[i] * k as f32 };
    }
}

schedule! {
    SPIN: spin for tilewright::devices::vulkan_1_1 where I % 128 == 0 {
        tile(i: 128) => workgroup(x);
        distribute(i => thread(x));
    }
}

/// The invocations of a launch, which fill the cores of large GPUs.
const INVOCATIONS: usize = 1 << 18;
/// The products of an invocation in the first launch.
const FIRST: usize = 256;
/// The most products of an invocation.
const MOST: usize = 1 << 24;
/// The length of a submission. The time to record the next one is short in comparison.
const SUBMISSION: Duration = Duration::from_millis(20);
/// The longest time for which a device is kept busy.
const LONGEST: Duration = Duration::from_secs(10);

/// A kernel that only takes time.
pub(crate) struct Spin {
    kernel: Loaded<spin::Kernel>,
    x: Tensor<f32>,
    y: Tensor<f32>,
    /// The products of an invocation, which take about the time of a submission.
    count: usize,
}

impl Spin {
    pub(crate) fn new(device: &Device) -> Result<Spin, Failure> {
        let kernel = device.load(&[SPIN])?;
        Ok(Spin { kernel, x: device.zeros([INVOCATIONS])?, y: device.zeros([INVOCATIONS])?, count: FIRST })
    }

    /// Keeps the device busy for that long, by its clock. Returns the time for which it was busy.
    pub(crate) fn keep_busy(&mut self, device: &Device, wanted: Duration) -> Result<Duration, Failure> {
        let (start, mut busy) = (Instant::now(), Duration::ZERO);
        while busy < wanted && start.elapsed() < LONGEST {
            let mut batch = device.batch();
            batch.run_into(&self.kernel, (&self.x, self.count), &mut self.y)?;
            let time = batch.submit_timed_together()?;
            busy += time;
            if time < SUBMISSION / 2 {
                self.count = (self.count * 2).min(MOST);
            }
        }
        Ok(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_kept_busy_for_as_long_as_wanted() {
        let device = Device::open().expect("a device");
        let mut spin = Spin::new(&device).expect("loads");
        assert_eq!(spin.keep_busy(&device, Duration::ZERO).expect("nothing to do"), Duration::ZERO);
        let wanted = Duration::from_millis(30);
        assert!(spin.keep_busy(&device, wanted).expect("runs") >= wanted);
    }
}
