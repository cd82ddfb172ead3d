//! Sessions that are not in use. Some keep the commands of their last submission, so that an equal launch submits them again instead of recording
//! them.
//!
//! Kept commands keep nothing alive. An [`Identity`] names pipelines and memory by numbers that are never used twice, so commands whose objects
//! were destroyed are never found again.

use super::queues::Moment;
use super::session::Session;
use super::submit::Own;
use crate::device::memory::lock;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Mutex;

/// All that the commands of some steps depend on. Steps with the same identity have the same commands.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Identity(SmallVec<[u64; 32]>);

impl Identity {
    /// The most steps with an identity. The comparison of more would cost too much for launches that do not repeat.
    const MOST_STEPS: usize = 16;

    /// Returns the identity of steps, unless there are too many of them. Their commands must have neither timestamps nor checks.
    pub(super) fn of(steps: &[Own<'_>]) -> Option<Identity> {
        if steps.len() > Identity::MOST_STEPS {
            return None;
        }
        let mut words = SmallVec::new();
        for Own { step, pipeline, .. } in steps {
            let Moment(made) = pipeline.made;
            words.extend([made, step.uses.len() as u64, step.pieces.len() as u64]);
            for used in &*step.uses {
                let accesses = u64::from(used.reads) << 1 | u64::from(used.writes);
                words.extend([used.memory.id(), used.region.start, used.region.bytes(), accesses]);
            }
            for piece in &*step.pieces {
                words.push(piece.params.len() as u64);
                words.extend(piece.groups.map(u64::from));
                words.extend(piece.params.chunks(8).map(|bytes| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))));
            }
        }
        Some(Identity(words))
    }
}

/// A list of idle sessions, with the one that ended last at its end.
#[derive(Default)]
pub(super) struct Idle(Mutex<VecDeque<Session>>);

impl Idle {
    /// If at least this many sessions are idle, new commands replace kept ones.
    const KEPT: usize = 32;

    /// Adds a session.
    pub(super) fn give(&self, session: Session) {
        lock(&self.0).push_back(session);
    }

    /// Removes and returns the session that keeps some commands.
    pub(super) fn with(&self, commands: &Identity) -> Option<Session> {
        let mut idle = lock(&self.0);
        let at = idle.iter().position(|session| session.identity.as_ref() == Some(commands))?;
        idle.remove(at)
    }

    /// Removes and returns a session for other commands: one that keeps none or, if there are many sessions, the one that was idle longest.
    pub(super) fn take(&self) -> Option<Session> {
        let mut idle = lock(&self.0);
        match idle.iter().rposition(|session| session.identity.is_none()) {
            Some(at) => idle.remove(at),
            None if idle.len() >= Idle::KEPT => idle.pop_front(),
            None => None,
        }
    }

    /// Removes and returns the session that ended last.
    pub(super) fn take_any(&self) -> Option<Session> {
        lock(&self.0).pop_back()
    }
}
