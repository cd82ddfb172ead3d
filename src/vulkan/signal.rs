//! The signal by which the host sees that a submission has ended: a number of its queue's timeline semaphore, or a fence if the device has no
//! timeline semaphores.

use super::context::Context;
use super::failed;
use crate::error::Result;
use ash::vk;

/// The signal of a submission.
#[derive(Clone, Copy)]
pub(super) enum Signal {
    Fence(vk::Fence),
    /// The semaphore of the queue, and the number to which the submission sets it.
    Timeline(vk::Semaphore, u64),
}

impl Context {
    /// Returns true if the submission of a signal has ended. It does not wait.
    pub(super) fn has_ended(&self, signal: Signal) -> Result<bool> {
        // SAFETY (this file): the objects are the device's, and live until the submission was seen to end.
        match signal {
            Signal::Fence(fence) => unsafe { self.device.get_fence_status(fence) }.map_err(failed("vkGetFenceStatus")),
            Signal::Timeline(semaphore, number) => {
                let reached = match &self.timeline_khr {
                    Some(khr) => unsafe { khr.get_semaphore_counter_value(semaphore) },
                    None => unsafe { self.device.get_semaphore_counter_value(semaphore) },
                };
                reached.map(|reached| reached >= number).map_err(failed("vkGetSemaphoreCounterValue"))
            }
        }
    }

    /// Blocks until the submission of a signal has ended, at most for some nanoseconds. Returns true if it has ended.
    pub(super) fn block(&self, signal: Signal, nanos: u64) -> Result<bool> {
        let (waited, call) = match signal {
            Signal::Fence(fence) => (unsafe { self.device.wait_for_fences(&[fence], true, nanos) }, "vkWaitForFences"),
            Signal::Timeline(semaphore, number) => {
                let (semaphores, numbers) = ([semaphore], [number]);
                let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&numbers);
                let waited = match &self.timeline_khr {
                    Some(khr) => unsafe { khr.wait_semaphores(&info, nanos) },
                    None => unsafe { self.device.wait_semaphores(&info, nanos) },
                };
                (waited, "vkWaitSemaphores")
            }
        };
        match waited {
            Ok(()) => Ok(true),
            Err(vk::Result::TIMEOUT) => Ok(false),
            Err(code) => Err(failed(call)(code)),
        }
    }
}
