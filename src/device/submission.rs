//! Submits steps in parts. Each part is one submission. When a part is seen to end, the new tensors that it completes get contents.
//!
//! [`Device::start`] submits steps without waiting for the last part, and [`Device::run`] waits for all of them. A lock orders the submissions
//! of a device: under it, a submission claims its memory and is placed behind the work that holds conflicting claims. So the order of the
//! claims to each memory is the order of the submissions, and no two submissions wait for each other.

use super::Device;
use super::access::{Claims, Earlier, Followed, GroupClaims};
use super::backend::{Changed, Described, LaunchStep, NotSubmitted, Recorded, Repeatable};
use super::memory::{Memory, lock};
use super::region::Region;
use super::slots::Slots;
use super::timing::{Span, Timed};
use super::work::{Flight, Wait, Work};
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The most submissions of a device that were not seen to end, because each has objects of its own.
const MOST_PENDING: usize = 256;

/// The most steps of these submissions, because lavapipe maps memory for each descriptor set, and a process can have 65,530 mappings.
const MOST_PENDING_STEPS: usize = 1 << 15;

/// A part that is submitted again and again.
pub(crate) struct Repeated {
    part: Part,
    claims: Arc<GroupClaims>,
    /// `None` if the part is recorded anew for each submission.
    commands: Option<Arc<dyn Repeatable>>,
    works: Slots<Work>,
}

/// The commands of a submission.
enum Commands<'a> {
    Once(Box<dyn Recorded>),
    /// The commands of a repeated part, and the part before it.
    Again(&'a Repeated, &'a Arc<dyn Repeatable>, Option<&'a Arc<Work>>),
}

impl Commands<'_> {
    fn submit(self, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted> {
        match self {
            Commands::Once(recorded) => recorded.submit(after),
            Commands::Again(_, commands, _) => commands.clone().submit(after),
        }
    }
}

/// Steps that were submitted.
#[derive(Default)]
pub(crate) struct Started {
    /// The spans of all parts but the last, which have ended.
    spans: Vec<Span>,
    /// The last part. `None` without steps.
    pub(crate) work: Option<Arc<Work>>,
}

impl Started {
    fn add(&mut self, spans: Vec<Span>) {
        // Each part begins where the previous part ended, because clocks of different queues cannot be compared.
        let start = self.spans.last().map_or(0, |s| s.end);
        let shifted = |s: Span| Span { begin: start.saturating_add(s.begin), end: start.saturating_add(s.end) };
        self.spans.extend(spans.into_iter().map(shifted));
    }
}

impl Device {
    /// Runs steps and waits for them, and returns their spans. `temporaries` are given back when the steps have ended.
    pub(crate) fn run(&self, steps: &Arc<[LaunchStep]>, timed: Timed, temporaries: Vec<Arc<Memory>>) -> Result<Vec<Span>> {
        let mut started = self.start(steps, timed, temporaries)?;
        if let Some(work) = started.work.take() {
            let spans = self.finish(&work).inspect_err(|_| work.set_orphan())?;
            started.add(spans);
        }
        Ok(started.spans)
    }

    /// Submits steps, part by part, and waits for all parts but the last. If a part fails, the later parts are not submitted. `temporaries` are
    /// given back when the steps have ended.
    pub(crate) fn start(&self, steps: &Arc<[LaunchStep]>, timed: Timed, temporaries: Vec<Arc<Memory>>) -> Result<Started> {
        if timed != Timed::Nothing && !self.info().limits.timestamps {
            return Err(Error::NoTimestamps { device: self.info().name.clone() });
        }
        let mut started = Started::default();
        let all = self.start_parts(steps, timed, &mut started);
        match &started.work {
            Some(work) => {
                work.give_temporaries(temporaries);
                all.inspect_err(|_| work.set_orphan())?;
            }
            None => {
                self.give_temporaries(temporaries);
                all?;
            }
        }
        Ok(started)
    }

    fn start_parts(&self, steps: &Arc<[LaunchStep]>, timed: Timed, started: &mut Started) -> Result<()> {
        for part in Part::all(steps, self.0.backend.most_steps()) {
            if let Some(work) = &started.work {
                let spans = self.finish(work)?;
                started.add(spans);
                started.work = None;
            }
            started.work = Some(self.begin(&part, timed)?);
        }
        Ok(())
    }

    /// Waits for work, as long as the options allow, and returns its spans.
    pub(crate) fn finish(&self, work: &Arc<Work>) -> Result<Vec<Span>> {
        let wait = Wait::new(self.0.timeout);
        if !self.finish_until(work, wait.deadline())? {
            work.flight().iter().for_each(|flight| flight.set_late());
            return Err(wait.over(work.what()));
        }
        work.result()
    }

    /// Waits for work until a deadline. Returns true if it has ended.
    pub(crate) fn finish_until(&self, work: &Arc<Work>, deadline: Option<Instant>) -> Result<bool> {
        if !self.call(|_| work.wait(deadline))? {
            return Ok(false);
        }
        self.0.works.remove(work);
        self.call(|_| work.result()).map(|_| true)
    }

    /// Submits a part.
    fn begin(&self, part: &Part, timed: Timed) -> Result<Arc<Work>> {
        let mut wait = Wait::new(self.0.timeout);
        self.make_room(part.steps().len(), &wait)?;
        let recorded = self.call(|backend| backend.record(part, timed, &mut wait));
        self.leave(wait, None);
        self.submit(part, Commands::Once(recorded?))
    }

    /// Records steps for any number of submissions. `earlier` is the parts of as many steps, and the ranges of the steps that have changed since.
    /// The ranges are in order, and do not overlap.
    pub(crate) fn repeat(
        &self,
        steps: &Arc<[LaunchStep]>,
        earlier: Option<(&[Repeated], &[Range<usize>])>,
    ) -> Result<Vec<Repeated>> {
        let ranges = Part::ranges(steps.len(), self.0.backend.most_steps());
        let repeat = |(n, range): (usize, Range<usize>)| match earlier.and_then(|(parts, changed)| Some((parts.get(n)?, changed))) {
            Some((before, changed)) => self.repeat_changed(before, steps, &within(changed, &range)),
            None => self.repeat_part(Part::new(steps.clone(), range), None, None),
        };
        ranges.enumerate().map(repeat).collect()
    }

    /// Records a part in which some ranges of steps have changed.
    fn repeat_changed(&self, before: &Repeated, steps: &Arc<[LaunchStep]>, changed: &[Range<usize>]) -> Result<Repeated> {
        let part = before.part.with_steps(steps.clone());
        let same_accesses = changed.iter().cloned().flatten().all(|n| match (before.part.steps().get(n), part.steps().get(n)) {
            (Some(before), Some(now)) => now.accesses_as(before),
            _ => false,
        });
        let commands = before.commands.as_deref();
        let changed = commands.map(|before| Changed { before, ranges: changed, same_accesses });
        if same_accesses {
            return self.repeat_part(part, changed, Some(before.claims.clone()));
        }
        self.repeat_part(Part::new(steps.clone(), part.0.range.clone()), changed, None)
    }

    fn repeat_part(&self, part: Part, changed: Option<Changed<'_>>, claims: Option<Arc<GroupClaims>>) -> Result<Repeated> {
        let mut wait = Wait::new(self.0.timeout);
        let commands = self.call(|backend| backend.repeat(&part, changed, &mut wait));
        self.leave(wait, None);
        let claims = claims.unwrap_or_else(|| Arc::new(GroupClaims::new(&part.0.accessed)));
        Ok(Repeated { claims, commands: commands?, part, works: Slots::default() })
    }

    /// Submits repeated steps, part by part.
    pub(crate) fn start_again(&self, parts: &[Repeated]) -> Result<Started> {
        let mut started = Started::default();
        for part in parts {
            let before = started.work.take();
            match self.submit_again(part, before.as_ref()) {
                Ok(work) => {
                    // Its error becomes an error of the later part.
                    before.iter().for_each(|before| before.set_seen());
                    started.work = Some(work);
                }
                Err(error) => {
                    before.iter().for_each(|before| before.set_orphan());
                    return Err(error);
                }
            }
        }
        Ok(started)
    }

    /// Submits a repeated part behind the part before it.
    fn submit_again(&self, repeated: &Repeated, before: Option<&Arc<Work>>) -> Result<Arc<Work>> {
        let Some(commands) = &repeated.commands else {
            // These parts are short, because their accesses are checked, or are not on a device.
            before.map_or(Ok(()), |before| self.finish(before).map(drop))?;
            return self.begin(&repeated.part, Timed::Nothing);
        };
        self.make_room(0, &Wait::new(self.0.timeout))?;
        self.submit(&repeated.part, Commands::Again(repeated, commands, before))
    }

    /// Submits a copy between two pieces of memory. If `keeps` is true, it fails with unfinished work that writes the target.
    pub(crate) fn copy(
        &self,
        what: String,
        from: (&Arc<Memory>, &Region),
        to: (&Arc<Memory>, &Region),
        keeps: bool,
    ) -> Result<Started> {
        let part = Part::copy(what, from.0, (to.0, keeps));
        self.make_room(0, &Wait::new(self.0.timeout))?;
        let ends = [(from.0.buffer(), from.1), (to.0.buffer(), to.1)];
        let recorded = self.call(|backend| backend.copy(ends))?;
        Ok(Started { spans: Vec::new(), work: Some(self.submit(&part, Commands::Once(recorded))?) })
    }

    /// Settles work that has ended, and waits for the oldest work if there is too much of it to add `steps` steps.
    fn make_room(&self, steps: usize, wait: &Wait) -> Result<()> {
        self.reap()?;
        let mut deadline = None;
        while let Some(oldest) = self.0.works.excess(MOST_PENDING, MOST_PENDING_STEPS.saturating_sub(steps)) {
            let deadline = *deadline.get_or_insert_with(|| wait.deadline());
            if !self.call(|_| oldest.wait(deadline))? {
                return Err(wait.over(oldest.what()));
            }
            self.0.works.remove(&oldest);
        }
        Ok(())
    }

    /// Submits recorded commands behind the work that they conflict with.
    fn submit(&self, part: &Part, commands: Commands<'_>) -> Result<Arc<Work>> {
        let wait = Wait::new(self.0.timeout);
        let mut deadline = None;
        let (order, work, earlier) = loop {
            let work = Work::new(&self.0.common, part.0.what.clone(), Some(part.clone()));
            let work = if let Commands::Again(repeated, ..) = commands { repeated.works.share(work) } else { Arc::new(work) };
            let order = lock(&self.0.order);
            let claimed = match &commands {
                Commands::Once(_) => Claims::new(&work, &part.0.accessed),
                Commands::Again(repeated, ..) => repeated.claims.join(&work, &part.0.accessed, |own| self.is_quiet(own)),
            };
            match claimed {
                Ok((claims, mut earlier)) => {
                    if let Commands::Again(_, _, Some(before)) = &commands {
                        earlier.push(Earlier { work: Arc::clone(before), is_producer: true });
                    }
                    work.hold(claims);
                    break (order, work, earlier);
                }
                Err((memory, writes)) => {
                    drop(order);
                    // The host may have seen the claims, and wait for this work.
                    work.set_refused(None);
                    if !memory.gate().wait_for_host(writes, *deadline.get_or_insert_with(|| wait.deadline())) {
                        return Err(wait.over(format!("the host's access to {}", part.name_of(memory))));
                    }
                }
            }
        };
        let submitted = self.submit_after(&work, part, commands, earlier).inspect_err(|error| {
            // Before later submissions find the claims.
            if work.flight().is_none() {
                work.set_refused(Some(error.clone()));
            }
        });
        drop(order);
        submitted?.run();
        Ok(work)
    }

    /// Returns true if the host does not access memory, and the unfinished work is as many submissions as are given.
    fn is_quiet(&self, own: usize) -> bool {
        self.0.accesses.load(Ordering::SeqCst) == 0 && self.0.works.len() == own
    }

    /// Submits recorded commands behind other work.
    fn submit_after(&self, work: &Arc<Work>, part: &Part, commands: Commands<'_>, earlier: Followed) -> Result<Arc<dyn Flight>> {
        if self.0.common.has_failed.load(Ordering::Acquire) {
            part.check_contents()?;
        }
        if self.0.common.has_recorded.load(Ordering::Acquire) {
            part.check_recorded()?;
        }
        let after: SmallVec<[_; 4]> = earlier.iter().filter_map(|earlier| earlier.work.flight()).collect();
        let submitted = self.call(|_| Ok(commands.submit(&after)))?;
        // If the device was lost, the commands may have been submitted.
        if let Ok(flight) | Err(NotSubmitted { flight: Some(flight), .. }) = &submitted {
            let producers = earlier.into_iter().filter(|earlier| earlier.is_producer);
            work.set_submitted(flight.clone(), producers.map(|earlier| earlier.work).collect());
            self.0.works.push(work.clone(), part.steps().len());
        }
        self.call(|_| submitted.map_err(|refused| refused.error))
    }
}

/// Returns the pieces of ranges that are in a part, relative to it.
fn within(ranges: &[Range<usize>], part: &Range<usize>) -> Vec<Range<usize>> {
    let piece = |range: &Range<usize>| range.start.max(part.start)..range.end.min(part.end);
    let pieces = ranges.iter().map(piece).filter(|piece| !piece.is_empty());
    pieces.map(|piece| piece.start - part.start..piece.end - part.start).collect()
}

/// A part of some steps, which is submitted at once.
#[derive(Clone)]
pub(crate) struct Part(Arc<Inner>);

struct Inner {
    steps: Arc<[LaunchStep]>,
    range: Range<usize>,
    /// Its description in errors.
    what: Described,
    /// Each memory that it accesses, and whether it is read and written.
    accessed: Arc<[(Arc<Memory>, [bool; 2])]>,
    /// The new tensors that get contents when it has ended.
    completes: Arc<[Arc<Memory>]>,
    /// True if they have contents, because a submission of the part was seen to end.
    is_complete: AtomicBool,
}

impl Part {
    /// Splits steps into parts of at most `most` steps.
    pub(crate) fn all(steps: &Arc<[LaunchStep]>, most: usize) -> impl Iterator<Item = Part> {
        Part::ranges(steps.len(), most).map(|range| Part::new(steps.clone(), range))
    }

    fn ranges(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
        (0..count).step_by(most.max(1)).map(move |first| first..count.min(first.saturating_add(most)))
    }

    fn new(steps: Arc<[LaunchStep]>, range: Range<usize>) -> Part {
        let own = steps.get(range.clone()).unwrap_or_default();
        let uses = own.iter().flat_map(|step| &*step.uses);
        let mut accessed: SmallVec<[(Arc<Memory>, [bool; 2]); 8]> =
            uses.map(|used| (used.memory.clone(), [used.reads, used.writes])).collect();
        accessed.sort_unstable_by_key(|(memory, _)| memory.id());
        accessed.dedup_by(|(memory, [reads, writes]), (kept, [all_read, all_written])| {
            let same = Arc::ptr_eq(memory, kept);
            *all_read |= same && *reads;
            *all_written |= same && *writes;
            same
        });
        let (what, accessed) = (Described::steps(own), Arc::from(&*accessed));
        let completes = match own {
            [step] => step.completes.clone(),
            steps => steps.iter().flat_map(|step| &*step.completes).cloned().collect(),
        };
        Part(Arc::new(Inner { steps, range, what, accessed, completes, is_complete: AtomicBool::new(false) }))
    }

    /// Returns the part with other steps that access the same memory, in the same way, and complete the same tensors.
    fn with_steps(&self, steps: Arc<[LaunchStep]>) -> Part {
        let Inner { range, what, accessed, completes, .. } = &*self.0;
        let (range, what, accessed, completes) = (range.clone(), what.clone(), accessed.clone(), completes.clone());
        Part(Arc::new(Inner { steps, range, what, accessed, completes, is_complete: AtomicBool::new(false) }))
    }

    /// Returns a part that is a copy instead of steps. The target has contents, or work that gives it contents. If `keeps` is true, the copy
    /// may keep a part of these, and fails with that work.
    fn copy(what: String, from: &Arc<Memory>, (to, keeps): (&Arc<Memory>, bool)) -> Part {
        let mut accessed = vec![(from.clone(), [true, false]), (to.clone(), [keeps, true])];
        accessed.sort_by_key(|(memory, _)| memory.id());
        let (steps, completes, is_complete) = (Arc::default(), Arc::default(), AtomicBool::new(false));
        Part(Arc::new(Inner {
            steps,
            range: 0..0,
            what: Described::Text(what.into()),
            accessed: accessed.into(),
            completes,
            is_complete,
        }))
    }

    pub(crate) fn steps(&self) -> &[LaunchStep] {
        self.0.steps.get(self.0.range.clone()).unwrap_or_default()
    }

    /// Returns the error of the work that was to write memory which the part reads.
    fn check_contents(&self) -> Result<()> {
        let mut read = self.0.accessed.iter().filter(|(_, [reads, _])| *reads);
        read.try_for_each(|(memory, _)| memory.check_contents())
    }

    /// Checks that no batch in a command buffer of the caller conflicts with the part.
    fn check_recorded(&self) -> Result<()> {
        let recorded = self.0.accessed.iter().find(|(memory, [_, writes])| memory.is_recorded(*writes));
        recorded.map_or(Ok(()), |(memory, _)| Err(Error::InCommands { what: self.name_of(memory) }))
    }

    /// Returns each memory that it accesses, and whether it is written.
    pub(crate) fn accessed(&self) -> impl Iterator<Item = (&Arc<Memory>, bool)> {
        self.0.accessed.iter().map(|(memory, [_, writes])| (memory, *writes))
    }

    /// Describes a memory in errors.
    pub(crate) fn name_of(&self, memory: &Arc<Memory>) -> String {
        let uses = |step: &&LaunchStep| step.uses.iter().any(|used| Arc::ptr_eq(&used.memory, memory));
        let step = self.steps().iter().find(uses);
        step.map_or_else(|| format!("a tensor of {}", self.0.what), |step| format!("a tensor of `{}`", step.name))
    }

    /// Returns the new tensors, until a submission of the part was seen to end.
    fn incomplete(&self) -> impl Iterator<Item = &Arc<Memory>> {
        let is_complete = self.0.is_complete.load(Ordering::Acquire);
        self.0.completes.iter().filter(move |_| !is_complete)
    }

    /// Notes that the part was submitted.
    pub(crate) fn set_in_flight(&self) {
        self.incomplete().for_each(|memory| memory.set_in_flight());
    }

    /// Notes that the part was seen to end.
    pub(crate) fn set_written(&self) {
        self.incomplete().for_each(|memory| memory.set_written());
        self.0.is_complete.store(true, Ordering::Release);
    }

    /// Notes that the part has failed after it was submitted.
    pub(crate) fn set_failed(&self, error: &Error) {
        let error = Arc::new(error.clone());
        self.incomplete().for_each(|memory| memory.set_failed(&error));
    }
}
