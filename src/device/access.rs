//! Access control for device memory: any number of readers, or one writer, at a time. Both the host and submissions take accesses.
//!
//! An [`Access`] is held until the operation that uses the memory has ended. When a call stops waiting for a submission, the
//! accesses of that submission are *parked* ([`super::parking`]): they stay held, and a conflicting request is refused at once.
//! Therefore a call never waits for a submission that may never end, and the memory is not accessed in the meantime.

use super::memory::{Memory, lock};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// The accesses to one piece of memory.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    readers: usize,
    writer: bool,
    /// The number of waiting writers. New readers let them pass, so that a stream of readers does not keep them out.
    waiting: usize,
    /// The number of held accesses that are parked.
    parked: usize,
}

/// The reason for which an access is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A conflicting access is parked.
    Parked,
    /// The deadline has passed.
    Late,
}

/// An access that is held.
pub(crate) struct Access {
    memory: Arc<Memory>,
    writes: bool,
    parked: bool,
}

impl Gate {
    /// True if a parked access is held.
    pub(crate) fn is_parked(&self) -> bool {
        lock(&self.state).parked > 0
    }

    fn enter(&self, writes: bool, deadline: Option<Instant>) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        state.waiting += usize::from(writes);
        let entered = loop {
            let conflict = state.writer || (writes && state.readers > 0);
            if !conflict && (writes || state.waiting == 0) {
                break Ok(());
            }
            // A conflict with a parked access cannot be waited for: a parked writer is the only holder, and any parked holder keeps
            // a writer out.
            if conflict && state.parked > 0 {
                break Err(Refusal::Parked);
            }
            state = match deadline.map(|d| d.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => break Err(Refusal::Late),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        };
        state.waiting -= usize::from(writes);
        match entered {
            Ok(()) if writes => state.writer = true,
            Ok(()) => state.readers += 1,
            // Readers may wait only because this writer was waiting.
            Err(_) if writes => self.changed.notify_all(),
            Err(_) => {}
        }
        entered
    }
}

impl Access {
    /// Waits until an access to some memory conflicts with no other, or until the deadline.
    pub(crate) fn new(memory: Arc<Memory>, writes: bool, deadline: Option<Instant>) -> Result<Access, Refusal> {
        memory.gate().enter(writes, deadline)?;
        Ok(Access { memory, writes, parked: false })
    }

    /// Returns the accessed memory.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Marks this access as one that no call waits for: conflicting accesses are refused until it is dropped.
    pub(crate) fn park(&mut self) {
        if !std::mem::replace(&mut self.parked, true) {
            let gate = self.memory.gate();
            lock(&gate.state).parked += 1;
            gate.changed.notify_all();
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        let gate = self.memory.gate();
        let mut state = lock(&gate.state);
        if self.writes {
            state.writer = false;
        } else {
            state.readers -= 1;
        }
        state.parked -= usize::from(self.parked);
        gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::memory::Quota;
    use std::time::Duration;

    struct Nowhere;

    impl crate::device::backend::Buffer for Nowhere {
        fn address(&self) -> u64 {
            0
        }
    }

    fn memory() -> Arc<Memory> {
        let share = Quota::new(None).take(16).expect("no limit");
        Arc::new(Memory::new(Box::new(Nowhere), share))
    }

    /// Requests an access without waiting.
    fn now(memory: &Arc<Memory>, writes: bool) -> Result<Access, Refusal> {
        Access::new(memory.clone(), writes, Some(Instant::now()))
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let m = memory();
        let (a, b) = (now(&m, false).expect("free"), now(&m, false).expect("readers share"));
        assert_eq!(now(&m, true).err(), Some(Refusal::Late));
        drop((a, b));
        let writer = now(&m, true).expect("free");
        assert_eq!(now(&m, false).err(), Some(Refusal::Late));
        assert_eq!(now(&m, true).err(), Some(Refusal::Late));
        drop(writer);
        assert!(now(&m, true).is_ok());
    }

    #[test]
    fn what_is_parked_refuses_at_once_and_only_what_conflicts() {
        let m = memory();
        let mut reader = now(&m, false).expect("free");
        reader.park();
        reader.park();
        assert!(now(&m, false).is_ok(), "reads do not conflict");
        // Without a deadline this would wait for ever.
        assert_eq!(Access::new(m.clone(), true, None).err(), Some(Refusal::Parked));
        drop(reader);
        let mut writer = now(&m, true).expect("free again");
        writer.park();
        assert_eq!(Access::new(m.clone(), false, None).err(), Some(Refusal::Parked));
        drop(writer);
        assert!(now(&m, false).is_ok());
    }

    #[test]
    fn who_waits_hears_that_it_is_parked() {
        let m = memory();
        let mut writer = now(&m, true).expect("free");
        std::thread::scope(|scope| {
            let m = &m;
            let others = [true, false].map(|writes| scope.spawn(move || Access::new(m.clone(), writes, None).err()));
            std::thread::sleep(Duration::from_millis(20));
            writer.park();
            for other in others {
                assert_eq!(other.join().expect("no panic"), Some(Refusal::Parked));
            }
        });
    }

    #[test]
    fn a_writer_that_gives_up_lets_readers_in() {
        let m = memory();
        let reader = now(&m, false).expect("free");
        std::thread::scope(|scope| {
            let soon = Instant::now() + Duration::from_millis(50);
            let writer = scope.spawn({
                let m = m.clone();
                move || Access::new(m, true, Some(soon)).err()
            });
            std::thread::sleep(Duration::from_millis(10));
            let other = scope.spawn({
                let m = m.clone();
                move || Access::new(m, false, None).is_ok()
            });
            assert_eq!(writer.join().expect("no panic"), Some(Refusal::Late));
            assert!(other.join().expect("no panic"));
        });
        drop(reader);
    }
}
