//! What calls stopped waiting for: submissions that had not ended at the timeout, with all that they use.
//!
//! Nothing of them is freed or touched until they have ended, which is found out by asking, at the next launch or
//! allocation. What has not ended when the device is dropped is leaked, with the device itself: waiting for it might never
//! end, and freeing what a device still uses is undefined.

use crate::access::Access;
use crate::backend::Step;
use crate::error::Error;
use crate::memory::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A submission of a backend that nobody waits for, with what the backend needs for it.
pub(crate) trait Flight: Send {
    /// Whether it has ended. Asking does not wait.
    fn has_ended(&self) -> bool;
}

/// How long a call waits; and what it left behind when it stopped waiting.
pub(crate) struct Wait {
    timeout: Option<Duration>,
    left: Vec<Box<dyn Flight>>,
}

impl Wait {
    pub(crate) fn new(timeout: Option<Duration>) -> Wait {
        Wait { timeout, left: Vec::new() }
    }

    /// How long a wait takes at most; `None`: for ever.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// When a wait that begins now is over; `None`: never.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|t| Instant::now().checked_add(t))
    }

    /// The error of a wait for `what` that is over.
    pub(crate) fn over(&self, what: impl Into<String>) -> Error {
        Error::Timeout { what: what.into(), after: self.timeout.unwrap_or(Duration::MAX) }
    }

    /// Leaves a submission to its device: the call is about to return, and it may not have ended.
    pub(crate) fn leave(&mut self, flight: impl Flight + 'static) {
        self.left.push(Box::new(flight));
    }

    /// What was left, to be parked.
    pub(crate) fn left(self) -> Vec<Box<dyn Flight>> {
        self.left
    }
}

/// A submission that may not have ended.
struct Parked {
    flights: Vec<Box<dyn Flight>>,
    /// Refuse others until it has.
    _accesses: Vec<Access>,
    /// Their pipelines.
    _steps: Option<Arc<[Step]>>,
}

impl Parked {
    fn has_ended(&self) -> bool {
        self.flights.iter().all(|f| f.has_ended())
    }
}

/// The submissions of a device that nobody waits for.
#[derive(Default)]
pub(crate) struct Parking(Mutex<Vec<Parked>>);

impl Parking {
    /// Keeps what submissions use until they have ended.
    pub(crate) fn park(&self, flights: Vec<Box<dyn Flight>>, mut accesses: Vec<Access>, steps: Option<Arc<[Step]>>) {
        accesses.iter_mut().for_each(Access::park);
        lock(&self.0).push(Parked { flights, _accesses: accesses, _steps: steps });
    }

    /// Frees what has ended.
    pub(crate) fn reap(&self) {
        let mut parked = lock(&self.0);
        if parked.is_empty() {
            return;
        }
        let ended: Vec<Parked> = parked.extract_if(.., |p| p.has_ended()).collect();
        // Freed without the lock: it may take a while.
        drop(parked);
        drop(ended);
    }
}

impl Drop for Parking {
    fn drop(&mut self) {
        self.reap();
        let left = std::mem::take(&mut *lock(&self.0));
        if !left.is_empty() {
            log::warn!("{} submissions have not ended: what they use is leaked, and their device stays open", left.len());
            std::mem::forget(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    struct Fake {
        ended: Arc<AtomicBool>,
        drops: Arc<AtomicUsize>,
    }

    impl Flight for Fake {
        fn has_ended(&self) -> bool {
            self.ended.load(Ordering::SeqCst)
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
        parking.reap();
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        ends[1].store(true, Ordering::SeqCst);
        parking.reap();
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
