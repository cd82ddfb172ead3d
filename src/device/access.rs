//! Access control for device memory: any number of readers, or one writer, at a time. Both the host and submissions access memory.
//!
//! The host holds an [`Access`] while it reads or writes. [`Work`] holds [`Claims`] from before its submission until it was seen to end. The
//! host waits for conflicting claims. A submission does not wait for other claims: it is placed behind the work that holds them, and only
//! waits while the host accesses the memory, or is about to. Commands that are submitted again and again make their claims once, as a group.

use super::memory::{Memory, fresh_id, lock};
use super::work::Work;
use crate::error::Error;
use smallvec::SmallVec;
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

/// The access of a submission, or of all submissions of the same commands.
struct Claim {
    id: u64,
    holder: Holder,
    writes: bool,
}

enum Holder {
    Work(Arc<Work>),
    Group(Arc<Group>),
}

/// The unfinished submissions of the same commands, each with an id.
#[derive(Default)]
struct Group(Mutex<Vec<(u64, Arc<Work>)>>);

impl Claim {
    /// Returns the unfinished submissions.
    fn works(&self) -> Vec<Arc<Work>> {
        match &self.holder {
            Holder::Work(work) => vec![work.clone()],
            Holder::Group(group) => lock(&group.0).iter().map(|(_, work)| work.clone()).collect(),
        }
    }

    fn is_of(&self, group: &Arc<Group>) -> bool {
        matches!(&self.holder, Holder::Group(own) if Arc::ptr_eq(own, group))
    }
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
            let mut conflicts = state.claims.iter().filter(|claim| claim.writes || writes);
            let Some(work) = conflicts.find_map(|claim| claim.works().pop()) else { break Ok(()) };
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
        let earlier = state.conflicts(claim.writes, |_| true);
        state.claims.push(claim);
        Some(earlier)
    }

    /// Returns the work of other commands that a submission of a group conflicts with, if the host does not access the memory and does not wait
    /// for it.
    fn others(&self, group: &Arc<Group>, writes: bool) -> Option<Vec<(Arc<Work>, bool)>> {
        let state = lock(&self.state);
        state.admits_work(writes).then(|| state.conflicts(writes, |claim| !claim.is_of(group)))
    }

    fn remove(&self, id: u64) {
        let mut state = lock(&self.state);
        let at = state.claims.iter().position(|claim| claim.id == id);
        let claim = at.map(|at| state.claims.swap_remove(at));
        drop(state);
        drop(claim);
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

    /// Returns the work whose claims conflict with an access, and whether it writes.
    fn conflicts(&self, writes: bool, counts: impl Fn(&Claim) -> bool) -> Vec<(Arc<Work>, bool)> {
        let conflicts = self.claims.iter().filter(|other| (other.writes || writes) && counts(other));
        conflicts.flat_map(|other| other.works().into_iter().map(|work| (work, other.writes))).collect()
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
        let claim = Claim { id: fresh_id(), holder: Holder::Work(work.clone()), writes: self.writes };
        let claims = Claims::Own(vec![(self.memory.clone(), claim.id)]);
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

/// The accesses of a submission to its memory. Dropping them releases them.
pub(crate) enum Claims {
    /// Claims of its own, by their ids.
    Own(Vec<(Arc<Memory>, u64)>),
    /// The claims of its group, and its id in the group.
    OfGroup(Arc<GroupClaims>, u64),
}

impl Default for Claims {
    fn default() -> Self {
        Claims::Own(Vec::new())
    }
}

/// The earlier work that a submission must follow.
pub(crate) type Followed = SmallVec<[Earlier; 4]>;

/// Earlier work that a submission must follow.
pub(crate) struct Earlier {
    pub(crate) work: Arc<Work>,
    /// True if it writes memory that the submission reads.
    pub(crate) is_producer: bool,
}

/// A memory that the host accesses, and whether a submission would write it.
pub(crate) type Busy<'a> = (&'a Arc<Memory>, bool);

/// Adds work to a list without repetitions.
fn add(all: &mut Followed, work: Arc<Work>, is_producer: bool) {
    match all.iter_mut().find(|known| Arc::ptr_eq(&known.work, &work)) {
        Some(known) => known.is_producer |= is_producer,
        None => all.push(Earlier { work, is_producer }),
    }
}

impl Claims {
    /// Claims memory for work, in the order of all submissions of the device. Each memory is given once, and whether it is read and written.
    /// Returns the work that the submission must follow.
    ///
    /// # Errors
    /// Returns the memory that the host accesses. Then no claim is held.
    pub(crate) fn new<'a>(work: &Arc<Work>, memory: &'a [(Arc<Memory>, [bool; 2])]) -> Result<(Claims, Followed), Busy<'a>> {
        let (mut claims, mut all) = (Claims::default(), Followed::new());
        for (memory, [reads, writes]) in memory {
            let claim = Claim { id: fresh_id(), holder: Holder::Work(work.clone()), writes: *writes };
            let id = claim.id;
            let Some(earlier) = memory.gate().claim(claim) else { return Err((memory, *writes)) };
            if let Claims::Own(own) = &mut claims {
                own.push((memory.clone(), id));
            }
            earlier.into_iter().for_each(|(work, written)| add(&mut all, work, written && *reads));
        }
        Ok((claims, all))
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        match self {
            Claims::Own(claims) => claims.iter().for_each(|(memory, id)| memory.gate().remove(*id)),
            Claims::OfGroup(claims, id) => {
                let mut works = lock(&claims.group.0);
                let at = works.iter().position(|(own, _)| own == id);
                let work = at.map(|at| works.remove(at));
                drop(works);
                drop(work);
            }
        }
    }
}

/// The claims of all submissions of the same commands. They are made once, so that a submission need not visit each memory.
pub(crate) struct GroupClaims {
    group: Arc<Group>,
    /// Each memory, and the id of the claim.
    claims: Vec<(Arc<Memory>, u64)>,
    /// True if the commands read memory that they write.
    has_updates: bool,
}

impl GroupClaims {
    /// Claims memory for submissions that are yet to come. Each memory is given once, and whether it is read and written.
    pub(crate) fn new(memory: &[(Arc<Memory>, [bool; 2])]) -> GroupClaims {
        let group = Arc::<Group>::default();
        let claim = |(memory, [_, writes]): &(Arc<Memory>, [bool; 2])| {
            let claim = Claim { id: fresh_id(), holder: Holder::Group(group.clone()), writes: *writes };
            let id = claim.id;
            lock(&memory.gate().state).claims.push(claim);
            (memory.clone(), id)
        };
        let claims = memory.iter().map(claim).collect();
        let has_updates = memory.iter().any(|(_, [reads, writes])| *reads && *writes);
        GroupClaims { group, claims, has_updates }
    }

    /// Adds work to the group, in the order of all submissions of the device. Returns the work that the submission must follow. `is_quiet` returns
    /// true if the host does not access memory of the device, and the device has as much unfinished work as is given. Then no work of other
    /// commands conflicts.
    ///
    /// # Errors
    /// Returns the memory that the host accesses. Then the work is not in the group.
    pub(crate) fn join<'a>(
        self: &Arc<GroupClaims>,
        work: &Arc<Work>,
        memory: &'a [(Arc<Memory>, [bool; 2])],
        is_quiet: impl FnOnce(usize) -> bool,
    ) -> Result<(Claims, Followed), Busy<'a>> {
        let id = fresh_id();
        let mut works = lock(&self.group.0);
        // Ended work leaves its group before it leaves the device's list. So the list has the group's work, and only that if it has as much.
        // The host counts its accesses before it looks for claims, for which it locks the group. So a later access finds this work.
        let is_quiet = is_quiet(works.len());
        // The last one follows all others of the group.
        let last = works.last().map(|(_, work)| Earlier { work: work.clone(), is_producer: self.has_updates });
        works.push((id, work.clone()));
        drop(works);
        let mut all: Followed = last.into_iter().collect();
        let claims = Claims::OfGroup(self.clone(), id);
        if !is_quiet {
            for (memory, [reads, writes]) in memory {
                let Some(others) = memory.gate().others(&self.group, *writes) else { return Err((memory, *writes)) };
                others.into_iter().for_each(|(work, written)| add(&mut all, work, written && *reads));
            }
        }
        Ok((claims, all))
    }
}

impl Drop for GroupClaims {
    fn drop(&mut self) {
        self.claims.iter().for_each(|(memory, id)| memory.gate().remove(*id));
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
        let work = Arc::new(Work::new(&Arc::default(), crate::device::backend::Described::Text("w".into()), None));
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
        reader.set_refused(None);
        assert!(now(&m, true).is_some(), "the claim has gone");
        let (writer, _) = claimed(&m, WRITES).expect("free");
        assert!(now(&m, false).is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Access::new(m.clone(), false, None).is_ok());
            std::thread::sleep(Duration::from_millis(20));
            writer.set_refused(None);
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
            work.set_refused(None);
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
                work.set_refused(None);
                true
            }) {
                std::thread::yield_now();
            }
            work.set_refused(None);
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
