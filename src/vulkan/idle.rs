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

/// The most steps whose commands are kept. The comparison of more would cost too much for launches that do not repeat.
const MOST_STEPS: usize = 16;

/// Returns true if the commands of steps are kept. They must have neither timestamps nor checks.
pub(super) fn are_kept(steps: &[Own<'_>]) -> bool {
    steps.len() <= MOST_STEPS
}

impl Identity {
    pub(super) fn of(steps: &[Own<'_>]) -> Identity {
        let mut words = Vec::new();
        words_of(steps, &mut |word| {
            words.push(word);
            true
        });
        Identity(words.into())
    }

    /// Returns true if steps have this identity.
    fn is_of(&self, steps: &[Own<'_>]) -> bool {
        let mut known = self.0.iter();
        words_of(steps, &mut |word| known.next() == Some(&word)) && known.next().is_none()
    }
}

/// Calls a function with the words of an identity as long as it returns true. Returns false if it has returned false.
fn words_of(steps: &[Own<'_>], each: &mut impl FnMut(u64) -> bool) -> bool {
    steps.iter().all(|Own { step, pipeline, .. }| {
        let Moment(made) = pipeline.made;
        // Steps of one pipeline have as many uses.
        each(made)
            && step.uses.iter().all(|used| of_use(used).into_iter().all(&mut *each))
            && each(step.pieces.len() as u64)
            && step.pieces.iter().all(|piece| of_piece(piece, each))
    })
}

fn of_use(used: &Use) -> [u64; 4] {
    let accesses = u64::from(used.reads) << 1 | u64::from(used.writes);
    [used.memory.id(), used.region.start, used.region.bytes(), accesses]
}

fn of_piece(piece: &Piece, each: &mut impl FnMut(u64) -> bool) -> bool {
    let Piece { groups, params } = piece;
    let (whole, rest) = params.as_chunks();
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    groups.iter().all(|n| each(u64::from(*n)))
        && each(params.len() as u64)
        && whole.iter().all(|bytes| each(u64::from_le_bytes(*bytes)))
        && each(rest)
}

/// A list of idle sessions, with the one that ended last at its end.
#[derive(Default)]
pub(super) struct Idle(Mutex<VecDeque<Box<Session>>>);

impl Idle {
    /// If at least this many sessions are idle, new commands replace kept ones.
    const KEPT: usize = 32;

    /// Adds a session.
    pub(super) fn give(&self, session: Box<Session>) {
        lock(&self.0).push_back(session);
    }

    /// Removes and returns the session that keeps the commands of some steps.
    pub(super) fn with(&self, steps: &[Own<'_>]) -> Option<Box<Session>> {
        let mut idle = lock(&self.0);
        let at = idle.iter().rposition(|session| session.identity.as_ref().is_some_and(|known| known.is_of(steps)))?;
        idle.remove(at)
    }

    /// Removes and returns a session for other commands: one that keeps none or, if there are many sessions, the one that was idle longest.
    pub(super) fn take(&self) -> Option<Box<Session>> {
        let mut idle = lock(&self.0);
        match idle.iter().rposition(|session| session.identity.is_none()) {
            Some(at) => idle.remove(at),
            None if idle.len() >= Idle::KEPT => idle.pop_front(),
            None => None,
        }
    }

    /// Removes and returns the session that ended last.
    pub(super) fn take_any(&self) -> Option<Box<Session>> {
        lock(&self.0).pop_back()
    }
}
