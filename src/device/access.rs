//! Access control for device memory: any number of readers, or one writer, at a time. Both the host and submissions access memory.
//!
//! The host holds an [`Access`] while it reads or writes. [`Work`] holds [`Claims`] from before its submission until it was seen to end. The
//! host waits for conflicting claims. A submission does not wait for other claims: it is placed behind the work that holds them, and only
//! waits while the host accesses the memory, or is about to.

use super::memory::{Memory, fresh_id, lock};
use super::work::Work;
use crate::error::Error;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    /// The number of readers and writers of the host that wait. Later accesses that conflict let them pass, so that a stream of accesses does
    /// not keep them out.
    waiting_readers: usize,
    waiting_writers: usize,
    claims: Vec<Claim>,
}

/// The access of a submission.
struct Claim {
    id: u64,
    work: Arc<Work>,
    writes: bool,
}

/// The reason for which the host does not get an access.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The deadline has passed.
    Late,
    /// A driver failed while the call waited for a submission.
    Failed(Error),
}

/// An access of the host.
pub(crate) struct Access {
    memory: Arc<Memory>,
    writes: bool,
}

impl Gate {
    /// Waits until `is_free` holds, or until the deadline. Returns false in the latter case.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        deadline: Option<Instant>,
        is_free: impl Fn(&State) -> bool,
    ) -> (MutexGuard<'a, State>, bool) {
        loop {
            if is_free(&state) {
                return (state, true);
            }
            state = match deadline.map(|d| d.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return (state, false),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    fn enter(&self, writes: bool, deadline: Option<Instant>) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        *state.waiting(writes) += 1;
        let entered = loop {
            let (held, free) = self.wait(state, deadline, |state| state.admits(writes));
            state = held;
            if !free {
                break Err(Refusal::Late);
            }
            let Some(work) = state.claims.iter().find(|claim| claim.writes || writes).map(|claim| claim.work.clone()) else {
                break Ok(());
            };
            drop(state);
            let ended = work.wait(deadline);
            state = lock(&self.state);
            match ended {
                Ok(true) => {}
                Ok(false) => break Err(Refusal::Late),
                Err(error) => break Err(Refusal::Failed(error)),
            }
        };
        *state.waiting(writes) -= 1;
        match entered {
            Ok(()) if writes => state.writer = true,
            Ok(()) => state.readers += 1,
            // Others may wait only because this one was waiting.
            Err(_) => self.changed.notify_all(),
        }
        entered
    }

    /// Claims the memory for work, if the host does not access it and does not wait for it. Returns the work that it conflicts with, and
    /// whether that writes.
    fn claim(&self, claim: Claim) -> Option<Vec<(Arc<Work>, bool)>> {
        let mut state = lock(&self.state);
        if !state.admits_work(claim.writes) {
            return None;
        }
        let conflicts = state.claims.iter().filter(|other| other.writes || claim.writes);
        let earlier = conflicts.map(|other| (other.work.clone(), other.writes)).collect();
        state.claims.push(claim);
        Some(earlier)
    }

    /// Waits until the host does not access the memory, and does not wait for it, or until the deadline. Returns false in the latter case.
    pub(crate) fn wait_for_host(&self, writes: bool, deadline: Option<Instant>) -> bool {
        self.wait(lock(&self.state), deadline, |state| state.admits_work(writes)).1
    }
}

impl State {
    /// Returns the number of waiting readers or writers of the host.
    fn waiting(&mut self, writes: bool) -> &mut usize {
        if writes { &mut self.waiting_writers } else { &mut self.waiting_readers }
    }

    /// True if an access of the host conflicts with no other of the host.
    fn admits(&self, writes: bool) -> bool {
        if writes { !self.writer && self.readers == 0 } else { !self.writer && self.waiting_writers == 0 }
    }

    /// True if an access of a submission conflicts with none of the host.
    fn admits_work(&self, writes: bool) -> bool {
        let (reading, writing) = (self.readers + self.waiting_readers, usize::from(self.writer) + self.waiting_writers);
        writing == 0 && (!writes || reading == 0)
    }
}

impl Access {
    /// Waits until an access of the host conflicts with no other access, or until the deadline.
    pub(crate) fn new(memory: Arc<Memory>, writes: bool, deadline: Option<Instant>) -> Result<Access, Refusal> {
        memory.gate().enter(writes, deadline)?;
        Ok(Access { memory, writes })
    }

    /// Claims the memory for work of the host that continues after the call.
    pub(crate) fn leave_to(&self, work: &Arc<Work>) {
        let claim = Claim { id: fresh_id(), work: work.clone(), writes: self.writes };
        let claims = Claims(vec![(self.memory.clone(), claim.id)]);
        lock(&self.memory.gate().state).claims.push(claim);
        work.hold(claims);
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
        gate.changed.notify_all();
    }
}

/// The accesses of a submission to its memory.
#[derive(Default)]
pub(crate) struct Claims(Vec<(Arc<Memory>, u64)>);

/// Earlier work that a submission must follow.
pub(crate) struct Earlier {
    pub(crate) work: Arc<Work>,
    /// True if it writes memory that the submission reads.
    pub(crate) is_producer: bool,
}

impl Claims {
    /// Claims memory for work, in the order of all submissions of the device. Each memory is given once, and whether it is read and written.
    /// Returns the work that the submission must follow.
    ///
    /// # Errors
    /// Returns the memory that the host accesses. Then no claim is held.
    pub(crate) fn new<'a>(
        work: &Arc<Work>,
        memory: &'a [(Arc<Memory>, [bool; 2])],
    ) -> Result<(Claims, Vec<Earlier>), (&'a Arc<Memory>, bool)> {
        let (mut claims, mut all): (Claims, Vec<Earlier>) = Default::default();
        for (memory, [reads, writes]) in memory {
            let (reads, writes) = (*reads, *writes);
            let claim = Claim { id: fresh_id(), work: work.clone(), writes };
            let id = claim.id;
            let Some(earlier) = memory.gate().claim(claim) else { return Err((memory, writes)) };
            claims.0.push((memory.clone(), id));
            for (work, written) in earlier {
                match all.iter_mut().find(|known| Arc::ptr_eq(&known.work, &work)) {
                    Some(known) => known.is_producer |= written && reads,
                    None => all.push(Earlier { work, is_producer: written && reads }),
                }
            }
        }
        Ok((claims, all))
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        for (memory, id) in &self.0 {
            let gate = memory.gate();
            let mut state = lock(&gate.state);
            let at = state.claims.iter().position(|claim| claim.id == *id);
            let claim = at.map(|at| state.claims.swap_remove(at));
            gate.changed.notify_all();
            drop(state);
            drop(claim);
        }
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

    /// Requests an access without waiting. Returns `None` if it is late.
    fn now(memory: &Arc<Memory>, writes: bool) -> Option<Access> {
        Access::new(memory.clone(), writes, Some(Instant::now())).ok()
    }

    /// Returns work that is not submitted, with a claim, and the number of works that it follows.
    fn claimed(memory: &Arc<Memory>, uses: [bool; 2]) -> Option<(Arc<Work>, Vec<bool>)> {
        let work = Work::new(&Arc::default(), "w".into(), None);
        let (claims, earlier) = Claims::new(&work, &[(memory.clone(), uses)]).ok()?;
        work.hold(claims);
        Some((work, earlier.iter().map(|earlier| earlier.is_producer).collect()))
    }

    const READS: [bool; 2] = [true, false];
    const WRITES: [bool; 2] = [false, true];
    const UPDATES: [bool; 2] = [true, true];

    #[test]
    fn readers_share_and_writers_do_not() {
        let m = memory();
        let (a, b) = (now(&m, false).expect("free"), now(&m, false).expect("readers share"));
        assert!(now(&m, true).is_none());
        drop((a, b));
        let writer = now(&m, true).expect("free");
        assert!(now(&m, false).is_none() && now(&m, true).is_none());
        drop(writer);
        assert!(now(&m, true).is_some());
    }

    #[test]
    fn the_host_waits_for_claims_that_conflict() {
        let m = memory();
        let (reader, _) = claimed(&m, READS).expect("free");
        assert!(now(&m, false).is_some(), "reads do not conflict");
        assert!(now(&m, true).is_none());
        reader.set_refused(Error::NothingToLoad);
        assert!(now(&m, true).is_some(), "the claim has gone");
        let (writer, _) = claimed(&m, WRITES).expect("free");
        assert!(now(&m, false).is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Access::new(m.clone(), false, None).is_ok());
            std::thread::sleep(Duration::from_millis(20));
            writer.set_refused(Error::NothingToLoad);
            assert!(waits.join().expect("no panic"));
        });
    }

    #[test]
    fn work_follows_the_work_that_it_conflicts_with() {
        let m = memory();
        assert_eq!(claimed(&m, READS).expect("free").1, []);
        assert_eq!(claimed(&m, READS).expect("reads do not conflict").1, []);
        assert_eq!(claimed(&m, WRITES).expect("free").1, [false, false], "it overwrites what the others read");
        assert_eq!(claimed(&m, UPDATES).expect("free").1, [false, false, true]);
        assert_eq!(claimed(&m, READS).expect("free").1, [true, true]);
    }

    #[test]
    fn work_waits_for_the_host() {
        let m = memory();
        let reader = now(&m, false).expect("free");
        assert!(claimed(&m, READS).is_some_and(|(work, _)| {
            work.set_refused(Error::NothingToLoad);
            true
        }));
        assert!(claimed(&m, WRITES).is_none());
        assert!(!m.gate().wait_for_host(true, Some(Instant::now())));
        drop(reader);
        assert!(m.gate().wait_for_host(true, Some(Instant::now())));
        let (work, _) = claimed(&m, WRITES).expect("free");
        // While the host waits, later work lets it pass.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Access::new(m.clone(), true, None).is_ok());
            while claimed(&m, READS).is_some_and(|(work, _)| {
                work.set_refused(Error::NothingToLoad);
                true
            }) {
                std::thread::yield_now();
            }
            work.set_refused(Error::NothingToLoad);
            assert!(waits.join().expect("no panic"));
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
                move || Access::new(m, true, Some(soon)).is_err()
            });
            std::thread::sleep(Duration::from_millis(10));
            let other = scope.spawn({
                let m = m.clone();
                move || Access::new(m, false, None).is_ok()
            });
            assert!(writer.join().expect("no panic"));
            assert!(other.join().expect("no panic"));
        });
        drop(reader);
    }
}
