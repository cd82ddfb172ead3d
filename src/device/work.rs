//! Work: submissions that have not been seen to end, with the objects that they use.
//!
//! A [`Work`] holds the memory and the pipelines of a submission, and its claims to memory ([`super::access`]). A call that sees that the
//! submission has ended *settles* the work: it frees these, and the new tensors that the submission completes get contents. Every call
//! that needs the memory waits for the work first. [`Works`] lists the work of a device, so that launches and allocations settle work that has
//! ended. Work that has not ended when the device is dropped is leaked, together with the device, because waiting for it might never end,
//! and freeing objects that a device still uses is undefined behaviour.

use super::access::Claims;
use super::backend::Described;
use super::memory::{Memory, Pool, lock};
use super::submission::Part;
use super::timing::Span;
use super::watch::Watch;
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

/// A submission of a backend, with the backend's objects that it uses.
pub(crate) trait Flight: Send + Sync {
    /// Runs the submission in this thread, if the backend does not run it elsewhere. It is called once, without locks.
    fn run(&self) {}

    /// Waits until the submission has ended, at most until the deadline (`None`: for ever). Returns true if it has ended.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], if the device is lost: the submission has ended, and perhaps not all its commands were executed. After any
    /// other error it may still be running.
    fn wait(&self, deadline: Option<Instant>) -> Result<bool>;

    /// Returns the spans of a submission that has ended, or its fault. It is called once.
    fn finish(&self) -> Result<Vec<Span>>;

    /// Returns the queue of the submission, whose submissions end in order. `None` if there is no such queue.
    fn queue(&self) -> Option<usize> {
        None
    }

    /// Notes that a call has waited for the submission until the device's timeout, so that others are not placed behind it.
    fn set_late(&self) {}

    /// Returns the flight as its own type.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// The limit of a call's waits, and the submissions that it left behind when it stopped waiting.
pub(crate) struct Wait {
    timeout: Option<Duration>,
    left: Left,
}

/// Submissions that a call stopped waiting for.
#[derive(Default)]
pub(crate) struct Left {
    /// Submissions of the call's own commands, which use memory of the caller.
    pub(crate) own: Vec<Arc<dyn Flight>>,
    /// Empty submissions for which the call waited before it could submit its own commands.
    pub(crate) before: Vec<Arc<dyn Flight>>,
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
    pub(crate) fn over(&self, what: impl fmt::Display) -> Error {
        Error::Timeout { what: what.to_string(), after: self.timeout.unwrap_or(Duration::MAX) }
    }

    /// Leaves a submission of the call's own commands, which may not have ended when the call returns.
    pub(crate) fn leave(&mut self, flight: Arc<dyn Flight>) {
        self.left.own.push(flight);
    }

    /// Leaves an empty submission. The call's own commands were not submitted.
    pub(crate) fn leave_before(&mut self, flight: Arc<dyn Flight>) {
        self.left.before.push(flight);
    }

    /// Returns the submissions that were left.
    pub(crate) fn left(self) -> Left {
        self.left
    }
}

/// The state of a device that its work changes when it ends.
#[derive(Default)]
pub(crate) struct Common {
    /// Memory for temporaries.
    pub(crate) temporaries: Mutex<Pool>,
    /// The call during which the device was lost.
    pub(crate) lost: OnceLock<&'static str>,
    /// True if work has failed, so that memory may have an error instead of contents.
    pub(crate) has_failed: AtomicBool,
    /// True if a batch was recorded into a command buffer of the caller, so that memory may be in use by it.
    pub(crate) has_recorded: AtomicBool,
    /// The work that tasks await.
    watch: Arc<Watch>,
    /// The errors of work whose handle was dropped. The next call returns one.
    unseen: Mutex<Vec<Error>>,
}

impl Common {
    /// Waits until no thread watches work. No work is awaited.
    pub(crate) fn finish_watching(&self) {
        self.watch.finish();
    }

    /// Returns the error of work whose handle was dropped.
    pub(crate) fn unseen(&self) -> Result<()> {
        lock(&self.unseen).pop().map_or(Ok(()), Err)
    }
}

/// A submission, from the first claim to its memory on.
pub(crate) struct Work {
    /// The submission in errors.
    what: Described,
    common: Arc<Common>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    stage: Stage,
    /// Its claims, which keep other accesses from its memory.
    claims: Claims,
    /// Its steps, which keep their pipelines.
    part: Option<Part>,
    /// Memory that later launches can use for temporaries once it has ended.
    temporaries: Vec<Arc<Memory>>,
    /// The work that writes memory which this work reads.
    producers: Producers,
    wakers: Vec<Waker>,
    /// True if no caller will ask for its result.
    orphan: bool,
    /// True if a caller has its error.
    seen: bool,
}

type Producers = SmallVec<[Arc<Work>; 2]>;

enum Stage {
    /// It claims its memory, and is not submitted.
    Begun,
    /// It was submitted.
    Submitted(Arc<dyn Flight>),
    /// It was seen to end, or could not be submitted.
    Ended(Result<Vec<Span>>),
}

impl Work {
    /// Begins the work of a part.
    pub(crate) fn new(common: &Arc<Common>, what: Described, part: Option<Part>) -> Work {
        let (claims, temporaries, producers, wakers) = (Claims::default(), Vec::new(), Producers::new(), Vec::new());
        let state = State { stage: Stage::Begun, claims, part, temporaries, producers, wakers, orphan: false, seen: false };
        Work { what, common: common.clone(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Begins work that was already submitted.
    pub(crate) fn submitted(common: &Arc<Common>, flight: Arc<dyn Flight>) -> Arc<Work> {
        let work = Arc::new(Work::new(common, Described::Text("earlier work".into()), None));
        work.set_orphan();
        work.set_submitted(flight, Producers::new());
        work
    }

    /// Returns the submission's description in errors.
    pub(crate) fn what(&self) -> &Described {
        &self.what
    }

    /// Gives the work its claims. They are released when it ends.
    pub(crate) fn hold(&self, claims: Claims) {
        let mut state = lock(&self.state);
        if matches!(state.stage, Stage::Ended(_)) {
            drop(state);
            drop(claims);
        } else {
            state.claims = claims;
        }
    }

    /// Notes that it was submitted, after work which writes memory that it reads.
    pub(crate) fn set_submitted(&self, flight: Arc<dyn Flight>, producers: Producers) {
        let mut state = lock(&self.state);
        state.part.iter().for_each(Part::set_in_flight);
        (state.stage, state.producers) = (Stage::Submitted(flight), producers);
        self.changed.notify_all();
    }

    /// Notes that it is not submitted, because of an error that the caller has, or because its claims were withdrawn. Calls that wait for it look
    /// for other conflicts.
    pub(crate) fn set_refused(&self, error: Option<Error>) {
        let mut state = lock(&self.state);
        let part = state.part.take();
        state.seen = true;
        self.end(state, error.map_or_else(|| Ok(Vec::new()), Err));
        drop(part);
    }

    /// Gives memory that is free for temporaries once the work has ended.
    pub(crate) fn give_temporaries(&self, memory: impl IntoIterator<Item = Arc<Memory>>) {
        let mut state = lock(&self.state);
        if !matches!(state.stage, Stage::Ended(_)) {
            state.temporaries.extend(memory);
            return;
        }
        drop(state);
        let excess = lock(&self.common.temporaries).give(memory);
        // Dropped without the lock, because a driver's message may call a listener that drops a batch.
        drop(excess);
    }

    /// Notes that no caller will ask for its result. If it fails, the next call of the device returns the error.
    pub(crate) fn set_orphan(&self) {
        let mut state = lock(&self.state);
        state.orphan = true;
        if let (Stage::Ended(Err(error)), false) = (&state.stage, state.seen) {
            lock(&self.common.unseen).push(error.clone());
        }
    }

    /// Notes that later work of the same caller has its error.
    pub(crate) fn set_seen(&self) {
        lock(&self.state).seen = true;
    }

    /// Returns the submission, if it was submitted and has not been seen to end.
    pub(crate) fn flight(&self) -> Option<Arc<dyn Flight>> {
        match &lock(&self.state).stage {
            Stage::Submitted(flight) => Some(flight.clone()),
            Stage::Begun | Stage::Ended(_) => None,
        }
    }

    /// Returns true if it was seen to end.
    pub(crate) fn has_settled(&self) -> bool {
        matches!(lock(&self.state).stage, Stage::Ended(_))
    }

    /// Returns the queue whose submissions end in order. `None` if there is no such queue, or the work was seen to end.
    fn queue(&self) -> Option<usize> {
        if let Stage::Submitted(flight) = &lock(&self.state).stage { flight.queue() } else { None }
    }

    /// Returns its spans or its error. They are empty if it was not seen to end.
    pub(crate) fn result(&self) -> Result<Vec<Span>> {
        let mut state = lock(&self.state);
        state.seen = true;
        if let Stage::Ended(result) = &state.stage { result.clone() } else { Ok(Vec::new()) }
    }

    /// Keeps a waker until the work ends. Returns false if it was seen to end.
    pub(crate) fn wake(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.state);
        if matches!(state.stage, Stage::Ended(_)) {
            return false;
        }
        // A handle is polled by one task at a time.
        let replaced = std::mem::replace(&mut state.wakers, vec![waker.clone()]);
        drop(state);
        drop(replaced);
        true
    }

    /// Drops the wakers.
    pub(crate) fn forget_wakers(&self) {
        let wakers = std::mem::take(&mut lock(&self.state).wakers);
        drop(wakers);
    }

    /// Wakes the tasks that await it, although it was not seen to end.
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut lock(&self.state).wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the awaited work of its device.
    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.common.watch
    }

    /// Returns true if a waker is kept.
    pub(crate) fn is_awaited(&self) -> bool {
        !lock(&self.state).wakers.is_empty()
    }

    /// Waits until it has ended, at most until the deadline (`None`: for ever), and settles it. Returns true if it has ended.
    ///
    /// # Errors
    /// Returns the driver's errors of the wait. If the work fails, [`Work::result`] returns the error.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<bool> {
        let mut state = lock(&self.state);
        let flight = loop {
            match &state.stage {
                Stage::Ended(_) => return Ok(true),
                Stage::Submitted(flight) => break flight.clone(),
                Stage::Begun => {}
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return Ok(false),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        };
        drop(state);
        let ended = flight.wait(deadline);
        // Settling wakes tasks, which may close the device.
        drop(flight);
        match ended {
            Ok(true) => self.settle(None),
            Ok(false) => return Ok(false),
            Err(error @ Error::DeviceLost { .. }) => self.settle(Some(error)),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Ends the work after its submission has ended, or after the device was lost.
    fn settle(&self, lost: Option<Error>) {
        let producers = lock(&self.state).producers.clone();
        let mut failed = None;
        for producer in &producers {
            // It precedes this submission, so it has ended. Its fence may be signalled a moment later, in another queue.
            let _ = producer.wait(Instant::now().checked_add(Duration::from_secs(1)));
            if let Stage::Ended(Err(error)) = &lock(&producer.state).stage {
                failed = Some(error.clone());
            }
        }
        let mut state = lock(&self.state);
        let Stage::Submitted(flight) = &state.stage else { return };
        let result = match lost {
            Some(error) => Err(error),
            None => flight.finish(),
        };
        // The producer's error was reported for the producer.
        state.seen |= failed.is_some();
        self.end(state, failed.map_or(result, Err));
    }

    fn end(&self, mut state: MutexGuard<'_, State>, result: Result<Vec<Span>>) {
        match (&result, &state.part) {
            (Ok(_), Some(part)) => part.set_written(),
            (Err(error), Some(part)) => {
                part.set_failed(error);
                self.common.has_failed.store(true, Ordering::Release);
            }
            (_, None) => {}
        }
        match &result {
            Err(Error::DeviceLost { during }) => _ = self.common.lost.set(during),
            Err(error) if state.orphan && !state.seen => lock(&self.common.unseen).push(error.clone()),
            _ => {}
        }
        let ended = std::mem::replace(&mut state.stage, Stage::Ended(result));
        let (claims, part, producers) =
            (std::mem::take(&mut state.claims), state.part.take(), std::mem::take(&mut state.producers));
        let (temporaries, wakers) = (std::mem::take(&mut state.temporaries), std::mem::take(&mut state.wakers));
        self.changed.notify_all();
        // Dropped without the lock, because it may take a while, and because a driver's message may call a listener that drops a handle.
        drop(state);
        drop((ended, claims));
        let excess = lock(&self.common.temporaries).give(temporaries);
        drop((part, producers, excess));
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The work of a device that was not seen to end, in the order of submission.
#[derive(Default)]
pub(crate) struct Works(Mutex<Listed>);

#[derive(Default)]
struct Listed {
    /// Each with the number of its steps.
    works: Vec<(Arc<Work>, usize)>,
    /// The steps of all.
    steps: usize,
}

impl Listed {
    fn remove(&mut self, at: usize) -> Arc<Work> {
        let (work, steps) = self.works.remove(at);
        self.steps -= steps;
        work
    }

    /// Returns the next work from an index on, and its index. Work of some queues is left out.
    fn next(&self, from: usize, without: &[usize]) -> Option<(usize, Arc<Work>)> {
        let works = self.works.iter().enumerate().skip(from);
        let mut others = works.filter(|(_, (work, _))| work.queue().is_none_or(|queue| !without.contains(&queue)));
        others.next().map(|(at, (work, _))| (at, work.clone()))
    }
}

impl Works {
    pub(crate) fn push(&self, work: Arc<Work>, steps: usize) {
        let mut listed = lock(&self.0);
        listed.works.push((work, steps));
        listed.steps += steps;
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).works.len()
    }

    pub(crate) fn remove(&self, work: &Arc<Work>) {
        let mut listed = lock(&self.0);
        let at = listed.works.iter().position(|(known, _)| Arc::ptr_eq(known, work));
        let removed = at.map(|at| listed.remove(at));
        drop(listed);
        drop(removed);
    }

    /// Settles the work that has ended.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], if a submission says so.
    pub(crate) fn reap(&self) -> Result<()> {
        let (mut from, mut unfinished, mut lost) = (0, SmallVec::<[usize; 8]>::new(), Ok(()));
        loop {
            let next = lock(&self.0).next(from, &unfinished);
            let Some((at, work)) = next else { return lost };
            // After another error than a lost device the submission may still be running.
            let _ = work.wait(Some(Instant::now()));
            if !work.has_settled() {
                // The later submissions of a queue end later.
                unfinished.extend(work.queue());
                from = at + 1;
                continue;
            }
            if let Stage::Ended(Err(error @ Error::DeviceLost { .. })) = &lock(&work.state).stage {
                lost = lost.and(Err(error.clone()));
            }
            self.remove(&work);
            from = at;
        }
    }

    /// Returns the oldest work if there are `most` submissions or more, or more than `most_steps` steps in them.
    pub(crate) fn excess(&self, most: usize, most_steps: usize) -> Option<Arc<Work>> {
        let listed = lock(&self.0);
        let oldest = listed.works.first().map(|(work, _)| work.clone());
        oldest.filter(|_| listed.works.len() >= most || listed.steps > most_steps)
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        let _ = self.reap();
        let left = std::mem::take(&mut lock(&self.0).works);
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
    use std::sync::atomic::AtomicUsize;

    struct Fake {
        ended: Arc<AtomicBool>,
        drops: Arc<AtomicUsize>,
    }

    impl Flight for Fake {
        fn wait(&self, _: Option<Instant>) -> Result<bool> {
            Ok(self.ended.load(Ordering::SeqCst))
        }

        fn finish(&self) -> Result<Vec<Span>> {
            Ok(Vec::new())
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            self.drops.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn work_that_has_ended_is_freed_and_other_work_never_is() {
        let (drops, ends) = (Arc::new(AtomicUsize::new(0)), [false; 2].map(|b| Arc::new(AtomicBool::new(b))));
        let (works, common) = (Works::default(), Arc::default());
        for ended in &ends {
            works.push(Work::submitted(&common, Arc::new(Fake { ended: ended.clone(), drops: drops.clone() })), 1);
        }
        works.reap().expect("not lost");
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        ends[1].store(true, Ordering::SeqCst);
        works.reap().expect("not lost");
        assert_eq!(drops.load(Ordering::SeqCst), 1);
        drop(works);
        assert_eq!(drops.load(Ordering::SeqCst), 1, "the other one has not ended");
    }

    #[test]
    fn a_timeout_beyond_what_clocks_hold_is_none() {
        assert!(Wait::new(Some(Duration::MAX)).deadline().is_none());
        assert!(Wait::new(None).deadline().is_none());
        assert!(Wait::new(Some(Duration::from_secs(60))).deadline().is_some());
    }
}
