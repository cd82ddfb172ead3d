//! The nest of a stage between the directives that are applied to it.

use super::{Applied, StageNest};
use crate::nest::path::Path;
use crate::nest::{AxisId, Level, Program, StageId};
use crate::profile::Profile;
use crate::schedule::memory::attach::Placed;
use crate::schedule::memory::promote::Copied;
use std::collections::HashSet;

/// A [`StageNest`] without its program.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    stage: StageId,
    dispatch: usize,
    path: Path,
    placed: Placed,
    copies: Vec<Copied>,
    axes: Vec<AxisId>,
    serial: HashSet<AxisId>,
    levels: Vec<Level>,
    vanished: Vec<(AxisId, Vec<AxisId>)>,
}

impl Opened {
    /// Opens the nest of a stage. Returns `None` if no dispatch computes it.
    pub(super) fn new(program: &mut Program, profile: &Profile, stage: StageId) -> Option<Opened> {
        let StageNest { dispatch, path, placed, copies, axes, serial, levels, vanished, .. } =
            StageNest::open(program, profile, stage)?;
        Some(Opened { stage, dispatch, path, placed, copies, axes, serial, levels, vanished })
    }

    /// Applies a directive.
    pub(super) fn apply(
        &mut self,
        program: &mut Program,
        profile: &Profile,
        directive: &mut dyn FnMut(&mut StageNest<'_>) -> Applied,
    ) -> Applied {
        let Opened { stage, dispatch, path, placed, copies, axes, serial, levels, vanished } = self.clone();
        let mut nest = StageNest { program, profile, stage, dispatch, path, placed, copies, axes, serial, levels, vanished };
        let applied = directive(&mut nest);
        let StageNest { dispatch, path, placed, copies, axes, serial, levels, vanished, .. } = nest;
        *self = Opened { stage, dispatch, path, placed, copies, axes, serial, levels, vanished };
        applied
    }

    /// Puts the nest into the plan.
    pub(super) fn store(&self, program: &mut Program) {
        program.plan[self.dispatch].body = self.placed.assembled(program, &self.path);
    }

    /// Returns the copies that were made.
    pub(super) fn copies(self) -> Vec<Copied> {
        self.copies
    }

    /// Returns a copy of the program whose plan contains the current nest.
    pub(super) fn shown(&self, program: &Program) -> Program {
        let mut shown = program.clone();
        self.store(&mut shown);
        shown
    }

    /// Returns the index of the dispatch.
    pub(super) fn dispatch(&self) -> usize {
        self.dispatch
    }
}
