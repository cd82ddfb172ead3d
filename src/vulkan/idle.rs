//! Sessions that are not in use. Some keep the commands of their last submission, so that an equal launch submits them again instead of recording
//! them.
//!
//! Kept commands keep nothing alive. An [`Identity`] names pipelines and memory by numbers that are never used twice, so commands whose objects
//! were destroyed are never found again.

use super::queues::Moment;
use super::session::Session;
use super::submit::Own;
use crate::device::backend::{Piece, Use};
use crate::device::memory::lock;
use std::collections::VecDeque;
use std::sync::Mutex;

/// All that the commands of some steps depend on, as words. Steps with the same identity have the same commands.
pub(super) struct Identity(Box<[u64]>);

/// The most steps, and the most pieces of their grids, whose commands are kept. The comparison of more would cost too much for launches that
/// do not repeat.
const MOST_KEPT: usize = 16;

/// Returns true if a later launch can equal these steps, and they are few. The caller makes sure that their commands have neither timestamps nor
/// checks. A launch with new tensors is never equal to another one.
pub(super) fn can_repeat(steps: &[Own<'_>]) -> bool {
    let pieces: usize = steps.iter().map(|own| own.step.pieces.len()).sum();
    steps.len() <= MOST_KEPT && pieces <= MOST_KEPT && steps.iter().all(|own| own.step.completes.is_empty())
}

impl Identity {
    pub(super) fn of(steps: &[Own<'_>]) -> Identity {
        Identity(words(steps).collect())
    }

    /// Returns true if steps have this identity.
    fn is_of(&self, steps: &[Own<'_>]) -> bool {
        words(steps).eq(self.0.iter().copied())
    }
}

fn words<'a>(steps: &'a [Own<'_>]) -> impl Iterator<Item = u64> + 'a {
    steps.iter().flat_map(|Own { step, pipeline, .. }| {
        let Moment(made) = pipeline.made;
        let (uses, pieces) = (step.uses.iter().flat_map(of_use), step.pieces.iter().flat_map(of_piece));
        // The pipeline determines the number of uses, so it is not a word.
        [made].into_iter().chain(uses).chain([step.pieces.len() as u64]).chain(pieces)
    })
}

fn of_use(used: &Use) -> [u64; 4] {
    let accesses = u64::from(used.reads) << 1 | u64::from(used.writes);
    [used.memory.id(), used.region.start, used.region.bytes(), accesses]
}

fn of_piece(piece: &Piece) -> impl Iterator<Item = u64> + '_ {
    let Piece { groups: [x, y, z], params } = piece;
    let (whole, rest) = params.as_chunks();
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let own = [u64::from(*x), u64::from(*y), u64::from(*z), params.len() as u64, rest];
    own.into_iter().chain(whole.iter().map(|bytes| u64::from_le_bytes(*bytes)))
}

/// The idle sessions.
#[derive(Default)]
pub(super) struct Idle(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    /// The sessions that keep commands. The session that ended last is at the end.
    kept: VecDeque<Box<Session>>,
    free: VecDeque<Box<Session>>,
}

impl Idle {
    /// The most idle sessions that keep commands.
    const MOST: usize = 32;

    /// Adds a session. If too many sessions keep commands, the one that was idle longest does not keep them any more.
    pub(super) fn give(&self, session: Box<Session>) {
        let mut lists = lock(&self.0);
        if session.identity.is_none() {
            return lists.free.push_back(session);
        }
        lists.kept.push_back(session);
        if lists.kept.len() > Idle::MOST
            && let Some(mut oldest) = lists.kept.pop_front()
        {
            oldest.identity = None;
            lists.free.push_back(oldest);
        }
    }

    /// Removes and returns the session that keeps the commands of some steps.
    pub(super) fn with(&self, steps: &[Own<'_>]) -> Option<Box<Session>> {
        let kept = &mut lock(&self.0).kept;
        let at = kept.iter().rposition(|session| session.identity.as_ref().is_some_and(|known| known.is_of(steps)))?;
        kept.remove(at)
    }

    /// Removes and returns a session that keeps no commands.
    pub(super) fn take(&self) -> Option<Box<Session>> {
        lock(&self.0).free.pop_back()
    }

    /// Removes and returns any session, whose commands are not changed.
    pub(super) fn take_any(&self) -> Option<Box<Session>> {
        let mut lists = lock(&self.0);
        lists.free.pop_back().or_else(|| lists.kept.pop_front())
    }
}
