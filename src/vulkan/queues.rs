//! The queues of a device, and the choice of a queue for each submission.
//!
//! All queues are of one family. A submission that follows others is placed in a queue that has one of them, where it runs after it. It waits
//! for submissions of other queues by timeline semaphores. Any other submission is placed in the queue with the fewest running submissions, so
//! that it waits for a submission of another thread only if there are more submissions than queues. A queue with a late submission takes no further ones
//! unless all are late, because a submission for which a call has waited until the timeout might never end.

use super::foreign::SharedQueue;
use super::signal::Signal;
use crate::device::memory::lock;
use ash::vk;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The most queues that are requested if the options do not say.
const MOST: u32 = 8;

/// The queues of a device.
pub(super) struct Queues {
    /// A queue takes one submission at a time.
    queues: Vec<Mutex<Queue>>,
    loads: Arc<Mutex<Vec<Load>>>,
    clock: AtomicU64,
}

struct Queue {
    raw: Arc<dyn SharedQueue>,
    /// The semaphore that each submission sets to its number. Null if there is only one queue.
    timeline: vk::Semaphore,
    /// The number of the last submission.
    last: u64,
}

/// The place of a submission: its queue, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    queue: usize,
    number: u64,
}

impl Point {
    pub(super) fn queue(self) -> usize {
        self.queue
    }
}

/// A logical time of a device. Later moments compare greater.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) u64);

/// The submissions of a queue.
#[derive(Clone, Copy, Default)]
struct Load {
    /// The number of submissions that have not ended.
    running: usize,
    /// The number of these for which a call has waited until the timeout.
    late: usize,
    /// The latest moment at which an ended submission was begun.
    ended: Moment,
}

/// A reserved place in a queue, from before a submission until it has ended.
pub(super) struct Ticket {
    queue: usize,
    late: bool,
    begun: Moment,
    loads: Arc<Mutex<Vec<Load>>>,
}

impl Queues {
    /// Returns the number of a family's queues to request.
    pub(super) fn count(available: u32, most: Option<NonZeroU32>) -> usize {
        available.clamp(1, most.map_or(MOST, NonZeroU32::get)) as usize
    }

    /// Creates the queues. Each has a timeline semaphore, which is null if there is only one queue.
    pub(super) fn new(queues: impl IntoIterator<Item = (vk::Queue, vk::Semaphore)>) -> Queues {
        let own = |raw| Arc::new(Mutex::new(raw)) as Arc<dyn SharedQueue>;
        Queues::shared(queues.into_iter().map(|(raw, timeline)| (own(raw), timeline)))
    }

    /// Uses queues that the caller may use, too.
    pub(super) fn shared(queues: impl IntoIterator<Item = (Arc<dyn SharedQueue>, vk::Semaphore)>) -> Queues {
        let queues: Vec<_> = queues.into_iter().map(|(raw, timeline)| Mutex::new(Queue { raw, timeline, last: 0 })).collect();
        let loads = Arc::new(Mutex::new(vec![Load::default(); queues.len()]));
        Queues { queues, loads, clock: AtomicU64::new(1) }
    }

    /// True if each queue has a timeline semaphore.
    pub(super) fn has_timelines(&self) -> bool {
        self.timelines().all(|timeline| timeline != vk::Semaphore::null())
    }

    /// Returns the timeline semaphores.
    pub(super) fn timelines(&self) -> impl Iterator<Item = vk::Semaphore> + '_ {
        self.queues.iter().map(|queue| lock(queue).timeline)
    }

    /// Returns a new moment, which no other call returns.
    pub(super) fn now(&self) -> Moment {
        Moment(self.clock.fetch_add(1, Ordering::AcqRel))
    }

    /// Reserves a place for a submission that follows others.
    pub(super) fn place(&self, after: &[Point]) -> Ticket {
        let mut loads = lock(&self.loads);
        let count = |queue: usize| after.iter().filter(|point| point.queue == queue).count();
        let followed =
            (0..loads.len()).filter(|queue| count(*queue) > 0 && loads[*queue].late == 0).max_by_key(|queue| count(*queue));
        let queue = followed.unwrap_or_else(|| best(&loads));
        self.ticket(&mut loads, queue)
    }

    /// Reserves a place in a queue that has not ended a submission which was begun after a moment. `None` if there is no such queue. Late queues
    /// do not count, unless all are late.
    pub(super) fn behind(&self, since: Moment) -> Option<Ticket> {
        let mut loads = lock(&self.loads);
        let all_late = loads.iter().all(|load| load.late > 0);
        let queue = loads.iter().position(|load| (load.late == 0 || all_late) && load.ended <= since)?;
        Some(self.ticket(&mut loads, queue))
    }

    /// Calls a function if no submission is at work. The function holds up new submissions.
    pub(super) fn while_idle(&self, call: impl FnOnce()) {
        let loads = lock(&self.loads);
        if loads.iter().all(|load| load.running == 0) {
            call();
        }
    }

    /// True if a call has waited for a submission until the timeout, and it has not ended.
    pub(super) fn has_late(&self) -> bool {
        lock(&self.loads).iter().any(|load| load.late > 0)
    }

    /// True if a submission has not been seen to end.
    pub(super) fn is_running(&self) -> bool {
        lock(&self.loads).iter().any(|load| load.running > 0)
    }

    fn ticket(&self, loads: &mut [Load], queue: usize) -> Ticket {
        if let Some(load) = loads.get_mut(queue) {
            load.running += 1;
        }
        Ticket { queue, late: false, begun: self.now(), loads: self.loads.clone() }
    }

    /// Submits to the queue of a ticket, behind the submissions at some points. Returns the signal of the submission's end, and its own point.
    /// Queues without timeline semaphores signal the fence. A fence in addition to a semaphore would cost 0.7 microseconds of a short launch on an NVIDIA
    /// H200.
    ///
    /// # Safety
    /// The commands must be recorded and the fence not signalled. Both must be the device's, and used by the caller only.
    pub(super) unsafe fn submit(
        &self,
        device: &ash::Device,
        ticket: &Ticket,
        after: &[Point],
        (commands, fence): (&[vk::CommandBuffer], vk::Fence),
    ) -> (Signal, Result<Point, vk::Result>) {
        let others = after.iter().filter(|point| point.queue != ticket.queue);
        let (waits, values): (Vec<_>, Vec<_>) =
            others.filter_map(|point| Some((lock(self.queues.get(point.queue)?).timeline, point.number))).unzip();
        let stages = vec![vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER; waits.len()];
        let Some(queue) = self.queues.get(ticket.queue) else {
            return (Signal::Fence(fence), Err(vk::Result::ERROR_UNKNOWN));
        };
        let mut queue = lock(queue);
        let number = queue.last + 1;
        let (signals, numbers) = ([queue.timeline], [number]);
        let mut timeline =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values).signal_semaphore_values(&numbers);
        let mut submit = vk::SubmitInfo::default().command_buffers(commands);
        let (mut signal, mut own_fence) = (Signal::Fence(fence), fence);
        if queue.timeline != vk::Semaphore::null() {
            submit =
                submit.wait_semaphores(&waits).wait_dst_stage_mask(&stages).signal_semaphores(&signals).push_next(&mut timeline);
            (signal, own_fence) = (Signal::Timeline(queue.timeline, number), vk::Fence::null());
        }
        let mut submitted = None;
        queue.raw.with(&mut |raw| {
            // Only once, because the end is signalled once.
            // SAFETY: by this function's contract; the queue is locked, and the semaphores are the device's.
            submitted.get_or_insert_with(|| unsafe { device.queue_submit(raw, &[submit], own_fence) });
        });
        let submitted = submitted.unwrap_or(Err(vk::Result::ERROR_UNKNOWN));
        if submitted.is_ok() {
            queue.last = number;
        }
        (signal, submitted.map(|()| Point { queue: ticket.queue, number }))
    }
}

/// Returns the queue that takes the next submission.
fn best(loads: &[Load]) -> usize {
    (0..loads.len()).min_by_key(|n| loads.get(*n).map(|load| (load.late > 0, load.running))).unwrap_or(0)
}

impl Ticket {
    /// Records that the submission has ended.
    pub(super) fn ended(self) {
        if let Some(load) = lock(&self.loads).get_mut(self.queue) {
            load.ended = load.ended.max(self.begun);
        }
    }

    /// Records that a call has waited for the submission until the timeout.
    pub(super) fn set_late(&mut self) {
        if !std::mem::replace(&mut self.late, true)
            && let Some(load) = lock(&self.loads).get_mut(self.queue)
        {
            load.late += 1;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(load) = lock(&self.loads).get_mut(self.queue) {
            load.running -= 1;
            load.late -= usize::from(self.late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(count: usize) -> Queues {
        Queues::new(vec![(vk::Queue::null(), vk::Semaphore::null()); count])
    }

    fn own(queues: &Queues) -> Ticket {
        queues.place(&[])
    }

    #[test]
    fn there_is_a_queue_and_no_more_than_are_asked_for() {
        let count = |available, most| Queues::count(available, NonZeroU32::new(most));
        assert_eq!([count(0, 0), count(1, 0), count(5, 0), count(16, 0)], [1, 1, 5, 8]);
        assert_eq!([count(0, 3), count(16, 3), count(16, 1), count(16, 100)], [1, 3, 1, 16]);
    }

    #[test]
    fn a_submission_goes_where_the_least_is_to_do() {
        let queues = queues(3);
        let mut tickets: Vec<Ticket> = (0..4).map(|_| own(&queues)).collect();
        assert_eq!(tickets.iter().map(|t| t.queue).collect::<Vec<_>>(), [0, 1, 2, 0]);
        tickets.remove(1);
        assert_eq!(own(&queues).queue, 1);
    }

    #[test]
    fn a_submission_follows_others_in_their_queue() {
        let queues = queues(3);
        let point = |queue| Point { queue, number: 1 };
        assert_eq!(queues.place(&[point(2)]).queue, 2);
        assert_eq!(queues.place(&[point(0), point(1), point(1)]).queue, 1);
        let mut late = queues.place(&[point(2)]);
        late.set_late();
        assert_eq!(queues.place(&[point(2)]).queue, 0, "the queue may never go on");
    }

    #[test]
    fn a_queue_is_behind_until_it_has_ended_what_was_begun_later() {
        let queues = queues(2);
        let early = own(&queues);
        let moment = queues.now();
        early.ended();
        let behind = || queues.behind(moment).map(|ticket| ticket.queue);
        assert_eq!(behind(), Some(0), "an ended launch was begun before");
        own(&queues).ended();
        assert_eq!(behind(), Some(1));
        let mut late = queues.behind(moment).expect("the second");
        late.set_late();
        assert_eq!(behind(), None, "a late queue does not count");
        drop(late);
        queues.behind(moment).expect("it has not ended anything").ended();
        assert_eq!(behind(), None);
    }

    #[test]
    fn queues_are_idle_when_nothing_is_at_work() {
        let queues = queues(2);
        let is_idle = || {
            let mut idle = false;
            queues.while_idle(|| idle = true);
            idle
        };
        assert!(is_idle() && !queues.is_running() && !queues.has_late());
        let mut ticket = own(&queues);
        assert!(!is_idle() && queues.is_running() && !queues.has_late());
        ticket.set_late();
        assert!(queues.has_late());
        drop(ticket);
        assert!(is_idle() && !queues.is_running() && !queues.has_late());
    }

    #[test]
    fn a_late_queue_takes_submissions_only_if_all_are_late() {
        let queues = queues(2);
        let mut hung = own(&queues);
        hung.set_late();
        hung.set_late();
        let others: Vec<Ticket> = (0..3).map(|_| own(&queues)).collect();
        assert!(others.iter().all(|t| t.queue == 1));
        let mut also = own(&queues);
        also.set_late();
        assert_eq!(own(&queues).queue, 0, "it has fewer submissions");
        drop(hung);
        assert_eq!(own(&queues).queue, 0);
    }
}
