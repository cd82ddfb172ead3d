//! Submissions that no call waits for yet.

use crate::device::Device;
use crate::device::submission::Started;
use crate::device::watch;
use crate::device::work::Work;
use crate::error::Result;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Launches that were submitted to a device, and may still run. [`Batch::submit`](crate::Batch::submit) and
/// [`Loaded::submit`](crate::Loaded::submit) return it.
///
/// Their tensors can be used at once. Later launches that need them run after them on the device, and a call that reads or writes them on the
/// host waits first. So most programs need this handle only to know when the work has ended, and whether it has failed.
///
/// It is a future: `pending.await` returns when the work has ended. A thread of the device, which exists only while futures are polled, wakes
/// the task. [`Options::timeout`](crate::Options::timeout) does not limit a future.
///
/// Dropping the handle neither waits for the work nor cancels it. If the work then fails, the next call of the device returns the error.
///
/// ```
/// # use tilewright::{Device, kernel};
/// # kernel! {
/// #     pub fn twice<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; }
/// # }
/// # fn main() -> tilewright::Result<()> {
/// let device = Device::open()?;
/// let twice = device.load(&[twice::DEFAULT])?;
/// let (y, first) = twice.submit(&device.upload([3], &[1.0f32, 2.0, 3.0])?)?;
/// let (z, _) = twice.submit(&y)?; // runs after `first`, and nothing waits for it here
/// first.wait()?;
/// assert_eq!(z.download()?, [4.0, 8.0, 12.0]);
/// # Ok(())
/// # }
/// ```
pub struct Pending {
    device: Device,
    /// `None` if there is nothing to run.
    work: Option<Arc<Work>>,
}

impl Pending {
    pub(crate) fn new(device: Device, started: Started) -> Pending {
        Pending { device, work: started.work }
    }

    /// Returns true if the work has ended. It does not wait.
    ///
    /// # Errors
    /// Returns the error of work that has failed.
    pub fn is_done(&self) -> Result<bool> {
        self.wait_for(Duration::ZERO)
    }

    /// Waits until the work has ended.
    ///
    /// # Errors
    /// Returns the error of work that has failed, and [`Error::Timeout`](crate::Error::Timeout) if it has not ended after
    /// [`Options::timeout`](crate::Options::timeout). It can be waited for again.
    pub fn wait(&self) -> Result<()> {
        self.work.as_ref().map_or(Ok(()), |work| self.device.finish(work).map(drop))
    }

    /// Waits until the work has ended, at most for a time. Returns true if it has ended.
    ///
    /// # Errors
    /// Returns the error of work that has failed.
    pub fn wait_for(&self, time: Duration) -> Result<bool> {
        self.work.as_ref().map_or(Ok(true), |work| self.device.finish_until(work, Instant::now().checked_add(time)))
    }
}

impl Future for Pending {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.is_done()? {
            return Poll::Ready(Ok(()));
        }
        match &self.work {
            Some(work) if work.wake(context.waker()) => {
                watch::watch(work);
                Poll::Pending
            }
            // It has ended since.
            _ => Poll::Ready(self.is_done().map(drop)),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.forget_wakers();
            work.set_orphan();
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = &self.device.info().name;
        match &self.work {
            Some(work) => write!(f, "Pending({} on {device})", work.what()),
            None => write!(f, "Pending(nothing on {device})"),
        }
    }
}
