//! The queues of a device, and the choice of a queue for each submission.
//!
//! All queues are of one family. A submission is placed in the queue with the fewest running submissions, so that it waits for
//! another thread's only if there are more submissions than queues. A queue with a submission that no call waits for takes no
//! further submissions, because that submission might never end. Submissions on different queues share only memory that all of them
//! read: memory that a submission writes is not accessed by another before the host has seen its fence ([`crate::device::access`]).

use crate::device::memory::lock;
use crate::error::{Error, Result};
use ash::vk;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The most queues that are requested if the options do not say.
const MOST: u32 = 8;

/// The queues of a device.
pub(super) struct Queues {
    /// A queue takes one submission at a time.
    queues: Vec<Mutex<vk::Queue>>,
    loads: Arc<Mutex<Vec<Load>>>,
    clock: AtomicU64,
}

/// A logical time of a device. Later moments compare greater.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

/// The submissions of a queue.
#[derive(Clone, Copy, Default)]
struct Load {
    /// The number of submissions that have not ended.
    running: usize,
    /// The number of these that no call waits for.
    left: usize,
    /// The latest moment at which an ended submission was begun.
    ended: Moment,
}

/// A reserved place in a queue, from before a submission until it has ended.
pub(super) struct Ticket {
    queue: usize,
    left: bool,
    begun: Moment,
    loads: Arc<Mutex<Vec<Load>>>,
}

/// The next submission of a caller, and its queue.
pub(super) enum NextSubmission {
    /// An empty submission, so that the queue ends one that was begun now.
    Empty(Ticket),
    /// The caller's own commands.
    Own(Ticket),
}

impl Queues {
    /// Returns the number of a family's queues to request.
    pub(super) fn count(available: u32, most: Option<NonZeroU32>) -> usize {
        available.clamp(1, most.map_or(MOST, NonZeroU32::get)) as usize
    }

    pub(super) fn new(queues: impl IntoIterator<Item = vk::Queue>) -> Queues {
        let queues: Vec<_> = queues.into_iter().map(Mutex::new).collect();
        let loads = Arc::new(Mutex::new(vec![Load::default(); queues.len()]));
        Queues { queues, loads, clock: AtomicU64::new(1) }
    }

    /// Returns a new moment.
    pub(super) fn now(&self) -> Moment {
        Moment(self.clock.fetch_add(1, Ordering::AcqRel))
    }

    /// Reserves a place in the queue with the fewest running submissions. With `since`, every queue that takes submissions must
    /// first end one that was begun after that moment. If a queue has not, the place is in that queue, for an empty submission.
    pub(super) fn place(&self, since: Option<Moment>) -> Result<NextSubmission> {
        let mut loads = lock(&self.loads);
        let behind = |moment| loads.iter().position(|load| load.left == 0 && load.ended <= moment);
        if let Some(queue) = since.and_then(behind) {
            return Ok(NextSubmission::Empty(self.ticket(&mut loads, queue)));
        }
        let Some(queue) = best(&loads) else { return Err(Error::InFlight { what: "every queue of the device".to_owned() }) };
        Ok(NextSubmission::Own(self.ticket(&mut loads, queue)))
    }

    /// Calls a function if no submission is at work. The function holds up new submissions.
    pub(super) fn while_idle(&self, call: impl FnOnce()) {
        let loads = lock(&self.loads);
        if loads.iter().all(|load| load.running == 0) {
            call();
        }
    }

    /// True if there is a submission that no call waits for and that has not ended.
    pub(super) fn has_left(&self) -> bool {
        lock(&self.loads).iter().any(|load| load.left > 0)
    }

    fn ticket(&self, loads: &mut [Load], queue: usize) -> Ticket {
        if let Some(load) = loads.get_mut(queue) {
            load.running += 1;
        }
        Ticket { queue, left: false, begun: self.now(), loads: self.loads.clone() }
    }

    /// Submits to the queue of a ticket.
    ///
    /// # Safety
    /// The commands must be recorded and the fence not signalled. Both must be the device's, and used by the caller only.
    pub(super) unsafe fn submit(
        &self,
        device: &ash::Device,
        ticket: &Ticket,
        commands: vk::CommandBuffer,
        fence: vk::Fence,
    ) -> Result<(), vk::Result> {
        let buffers = [commands];
        let submits = [vk::SubmitInfo::default().command_buffers(&buffers)];
        let Some(queue) = self.queues.get(ticket.queue) else { return Err(vk::Result::ERROR_UNKNOWN) };
        let queue = lock(queue);
        // SAFETY: by this function's contract; the queue is locked.
        unsafe { device.queue_submit(*queue, &submits, fence) }
    }
}

/// Returns the queue that takes the next submission; `None` if all have submissions that no call waits for.
fn best(loads: &[Load]) -> Option<usize> {
    let open = loads.iter().enumerate().filter(|(_, load)| load.left == 0);
    open.min_by_key(|(_, load)| load.running).map(|(n, _)| n)
}

impl Ticket {
    /// Records that the submission has ended.
    pub(super) fn ended(self) {
        if let Some(load) = lock(&self.loads).get_mut(self.queue) {
            load.ended = load.ended.max(self.begun);
        }
    }

    /// Records that no call waits for the submission any more.
    pub(super) fn leave(&mut self) {
        if !std::mem::replace(&mut self.left, true)
            && let Some(load) = lock(&self.loads).get_mut(self.queue)
        {
            load.left += 1;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(load) = lock(&self.loads).get_mut(self.queue) {
            load.running -= 1;
            load.left -= usize::from(self.left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(count: usize) -> Queues {
        Queues::new(vec![vk::Queue::null(); count])
    }

    fn own(queues: &Queues) -> Ticket {
        match queues.place(None).expect("one is open") {
            NextSubmission::Own(ticket) | NextSubmission::Empty(ticket) => ticket,
        }
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
    fn a_queue_is_behind_until_it_has_ended_what_was_begun_later() {
        let queues = queues(2);
        let early = own(&queues);
        let moment = queues.now();
        early.ended();
        let next = || match queues.place(Some(moment)).expect("one is open") {
            NextSubmission::Empty(ticket) => Some(ticket),
            NextSubmission::Own(_) => None,
        };
        let behind = || next().map(|ticket| ticket.queue);
        assert_eq!(behind(), Some(0), "an ended launch was begun before");
        own(&queues).ended();
        assert_eq!(behind(), Some(1));
        let mut hung = next().expect("the second");
        hung.leave();
        assert_eq!(behind(), None, "a queue that takes no work is not waited for");
        drop(hung);
        next().expect("it has not ended anything").ended();
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
        assert!(is_idle() && !queues.has_left());
        let mut ticket = own(&queues);
        assert!(!is_idle() && !queues.has_left());
        ticket.leave();
        assert!(!is_idle() && queues.has_left());
        drop(ticket);
        assert!(is_idle() && !queues.has_left());
    }

    #[test]
    fn a_queue_that_may_never_end_takes_nothing_more() {
        let queues = queues(2);
        let mut hung = own(&queues);
        hung.leave();
        hung.leave();
        let others: Vec<Ticket> = (0..3).map(|_| own(&queues)).collect();
        assert!(others.iter().all(|t| t.queue == 1));
        let mut also = own(&queues);
        also.leave();
        assert!(matches!(queues.place(None), Err(Error::InFlight { .. })));
        drop(hung);
        assert_eq!(own(&queues).queue, 0);
    }
}
