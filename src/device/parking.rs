//! Keeps submissions that calls stopped waiting for, because they had not ended at the timeout, with the objects that they use.
//!
//! Their objects are not freed or accessed until they have ended, which is polled at the next launch or allocation. Submissions
//! that have not ended when the device is dropped are leaked, together with the device, because waiting for them might never end,
//! and freeing objects that a device still uses is undefined behaviour.

use super::access::Access;
use super::memory::lock;
use super::submission::Part;
use crate::error::{Error, Result};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A submission of a backend that no call waits for, with the backend's objects that it uses.
pub(crate) trait Flight: Send {
    /// True if it has ended, and all its commands were executed. The call does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], if the device is lost: the submission has ended, and perhaps not all its commands were executed.
    fn has_ended(&self) -> Result<bool>;
}

/// The limit of a call's waits, and the submissions that it left behind when it stopped waiting.
pub(crate) struct Wait {
    timeout: Option<Duration>,
    left: Left,
}

/// Submissions that a call stopped waiting for.
#[derive(Default)]
pub(crate) struct Left {
    /// Submissions of the call's own commands. They use the caller's memory and pipelines.
    pub(crate) own: Vec<Box<dyn Flight>>,
    /// Empty submissions for which the call waited before it could submit its own commands. They use neither memory nor pipelines.
    pub(crate) before: Vec<Box<dyn Flight>>,
}

impl Wait {
    pub(crate) fn new(timeout: Option<Duration>) -> Wait {
        Wait { timeout, left: Left::default() }
    }

    /// Returns the longest time that a wait takes; `None` is for ever.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the time at which a wait that begins now is over; `None` is never.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|t| Instant::now().checked_add(t))
    }

    /// Returns the error of a wait for `what` that is over.
    pub(crate) fn over(&self, what: impl Into<String>) -> Error {
        Error::Timeout { what: what.into(), after: self.timeout.unwrap_or(Duration::MAX) }
    }

    /// Leaves a submission of the call's own commands, which may not have ended when the call returns.
    pub(crate) fn leave(&mut self, flight: impl Flight + 'static) {
        self.left.own.push(Box::new(flight));
    }

    /// Leaves an empty submission. The call's own commands were not submitted.
    pub(crate) fn leave_before(&mut self, flight: impl Flight + 'static) {
        self.left.before.push(Box::new(flight));
    }

    /// Returns the submissions that were left, so that they are parked.
    pub(crate) fn left(self) -> Left {
        self.left
    }
}

/// A submission that may not have ended.
struct Parked {
    flights: Vec<Box<dyn Flight>>,
    /// Held so that conflicting accesses are refused until the submission has ended.
    _accesses: Vec<Access>,
    /// The steps, which keep their pipelines.
    part: Option<Part>,
}

impl Parked {
    fn has_ended(&self) -> Result<bool> {
        self.flights.iter().try_fold(true, |all, flight| Ok(all && flight.has_ended()?))
    }
}

/// The submissions of a device that no call waits for.
#[derive(Default)]
pub(crate) struct Parking(Mutex<Vec<Parked>>);

impl Parking {
    /// Keeps the submissions that a call left behind. If the call's own commands were submitted, keeps `accesses` and `part` until
    /// they have ended.
    pub(crate) fn park(&self, left: Left, mut accesses: Vec<Access>, part: Option<Part>) {
        let mut parked = lock(&self.0);
        if !left.before.is_empty() {
            parked.push(Parked { flights: left.before, _accesses: Vec::new(), part: None });
        }
        if !left.own.is_empty() {
            accesses.iter_mut().for_each(Access::park);
            part.iter().for_each(Part::set_in_flight);
            parked.push(Parked { flights: left.own, _accesses: accesses, part });
        }
    }

    /// Frees the submissions that have ended. The new tensors that they complete have contents from then on.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], if a submission says so. The new tensors that it completes get no contents.
    pub(crate) fn reap(&self) -> Result<()> {
        let mut parked = lock(&self.0);
        if parked.is_empty() {
            return Ok(());
        }
        let mut result = Ok(());
        let has_ended = |p: &mut Parked| match p.has_ended() {
            Ok(false) => false,
            Ok(true) => {
                p.part.iter().for_each(Part::set_written);
                true
            }
            Err(error @ Error::DeviceLost { .. }) => {
                result = Err(error);
                true
            }
            // The driver returned an error, so the submission may still be running.
            Err(_) => false,
        };
        let ended: Vec<Parked> = parked.extract_if(.., has_ended).collect();
        // Freed without the lock, because it may take a while.
        drop(parked);
        drop(ended);
        result
    }
}

impl Drop for Parking {
    fn drop(&mut self) {
        let _ = self.reap();
        let left = std::mem::take(&mut *lock(&self.0));
        if !left.is_empty() {
            log::warn!(
                "{} submissions have not ended: the memory that they use is leaked, and their device stays open",
                left.len()
            );
            std::mem::forget(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    struct Fake {
        ended: Arc<AtomicBool>,
        drops: Arc<AtomicUsize>,
    }

    impl Flight for Fake {
        fn has_ended(&self) -> Result<bool> {
            Ok(self.ended.load(Ordering::SeqCst))
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            self.drops.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn what_has_ended_is_freed_and_nothing_else_ever_is() {
        let (drops, ends) = (Arc::new(AtomicUsize::new(0)), [false; 2].map(|b| Arc::new(AtomicBool::new(b))));
        let parking = Parking::default();
        for ended in &ends {
            let mut wait = Wait::new(Some(Duration::ZERO));
            wait.leave(Fake { ended: ended.clone(), drops: drops.clone() });
            parking.park(wait.left(), Vec::new(), None);
        }
        parking.reap().expect("not lost");
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        ends[1].store(true, Ordering::SeqCst);
        parking.reap().expect("not lost");
        assert_eq!(drops.load(Ordering::SeqCst), 1);
        drop(parking);
        assert_eq!(drops.load(Ordering::SeqCst), 1, "the other one has not ended");
    }

    #[test]
    fn a_timeout_beyond_what_clocks_hold_is_none() {
        assert!(Wait::new(Some(Duration::MAX)).deadline().is_none());
        assert!(Wait::new(None).deadline().is_none());
        assert!(Wait::new(Some(Duration::from_secs(60))).deadline().is_some());
    }
}
