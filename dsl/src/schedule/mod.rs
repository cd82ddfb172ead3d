//! Schedules: directives that rewrite the nest.
//!
//! [`apply`] takes a program with naive nests and the items of a schedule, gives each stage its directives in order
//! (or the heuristic schedule, [`default`]), and checks at the end that nothing is left over. Every directive has a file:
//! its rule, its errors and its rewrite of a [`StageNest`].

mod atomics;
pub mod attach;
mod block_of;
mod blocked;
mod compute_at;
mod convolution;
mod copies;
pub(crate) mod decompose;
pub mod default;
pub mod distribute;
pub(crate) mod emit;
pub mod fragment;
pub mod fuse;
pub mod head;
pub(crate) mod hull;
mod im2col;
mod items;
pub mod lanes;
mod left_over;
mod merged;
pub mod mma;
mod names;
mod number;
pub(crate) mod online;
mod opened;
pub(crate) mod pack;
pub mod peel;
pub mod pin;
mod pipeline;
pub mod placement;
pub(crate) mod precompute;
pub mod promote;
pub(crate) mod quotients;
mod renamed;
pub mod reorder;
pub mod rfactor;
pub mod round_up;
pub mod serial;
pub mod shift;
pub mod show;
pub mod specialize;
pub mod split;
pub mod strategy;
pub(crate) mod strided;
pub mod subgroups;
pub mod tile;
pub mod tune;
pub mod unroll;
pub mod vectorize;
mod winograd;

pub use items::{At, Outcome, Watch, apply};
use promote::place_varying;

use crate::diag::{Error, SpanId};
use crate::facts::Prover;
use crate::nest::path::{Frame, Path};
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Fate, Level, Phase, Program, StageId};
use crate::profile::Profile;
use attach::Placed;
use std::collections::HashSet;

/// One stage's nest while directives rewrite it.
pub struct StageNest<'a> {
    /// The program; its plan holds the nest as it was before the directive that is at work.
    pub program: &'a mut Program,
    /// What the device guarantees.
    pub profile: &'a Profile,
    /// The stage.
    pub stage: StageId,
    /// Which dispatch computes it.
    pub dispatch: usize,
    /// The way to its compute: its own loops.
    pub path: Path,
    /// What stands around its own loops, beside them and within them.
    pub placed: Placed,
    /// The copies that `promote` made.
    pub copies: Vec<promote::Copied>,
    /// Every axis of the stage that ever was, oldest first.
    pub axes: Vec<AxisId>,
    /// Parallel axes that `serial` named.
    pub serial: HashSet<AxisId>,
    /// Levels to which directives gave axes. An axis of one value has no loop there, and the level is a place all the same.
    pub levels: Vec<Level>,
    /// Parts of one value, which have no loop, each with the axes that its loop would stand around: it is a place all the same.
    pub vanished: Vec<(AxisId, Vec<AxisId>)>,
}

impl<'a> StageNest<'a> {
    /// The nest of a stage; `None` if no dispatch computes it.
    pub fn open(program: &'a mut Program, profile: &'a Profile, stage: StageId) -> Option<StageNest<'a>> {
        let open = |(i, d): (usize, &crate::nest::Dispatch)| Some((i, Path::open(&d.body, stage, Phase::Whole)?));
        let (dispatch, mut path) = program.plan.iter().enumerate().find_map(open)?;
        let mut axes = program.family(stage);
        let placed = Placed::open(program, stage, &axes, &mut path);
        // A stage that writes a copy back begins with parts: its axes are split as those are that wrote the copy.
        let parts: Vec<AxisId> = path.axes().filter(|axis| !axes.contains(axis)).collect();
        axes.extend(parts);
        let (serial, copies, levels, vanished) = (HashSet::new(), Vec::new(), Vec::new(), Vec::new());
        Some(StageNest { program, profile, stage, dispatch, path, placed, copies, axes, serial, levels, vanished })
    }

    /// Puts the nest back into the plan.
    pub fn store(&mut self) {
        self.program.plan[self.dispatch].body = self.placed.assembled(self.program, &self.path);
    }

    /// Sets the compute's predicates anew, after axes have changed.
    pub fn refresh(&mut self) {
        self.path.compute.preds = self.program.stage_predicates(self.stage);
        let guards = self.against_inactive();
        self.path.compute.preds.extend(guards);
    }

    /// Adds an axis to the stage.
    fn add_axis(&mut self, axis: Axis) -> AxisId {
        let id = self.program.axes.push(axis);
        self.axes.push(id);
        id
    }

    /// Adds an axis that the algorithm does not know.
    fn made(&mut self, name: String, extent: crate::expr::ExprId, span: SpanId) -> AxisId {
        let kind = AxisKind::Parallel;
        self.add_axis(Axis { name, extent, kind, def: AxisDef::Made, fate: Fate::Live, span })
    }

    /// A name that no axis of the stage ever had.
    fn unused(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.axes.iter().any(|a| self.name(*a) == name) {
            name.push('_');
        }
        name
    }

    /// A part of `of`: live, of the same kind.
    fn add_part(&mut self, name: String, of: AxisId, part: usize, extent: crate::expr::ExprId, span: SpanId) -> AxisId {
        let kind = self.program.axes[of].kind;
        self.add_axis(Axis { name, extent, kind, def: AxisDef::Part { of, part }, fate: Fate::Live, span })
    }

    /// Notes which loops that of a part of one value would stand around: those from `place` on, but for some.
    fn vanish(&mut self, axis: AxisId, place: usize, but: &[AxisId]) {
        if !self.program.is_single(axis) {
            return;
        }
        let inside = self.path.frames.iter().skip(place).filter_map(Frame::as_loop).map(|(axis, _)| axis);
        let inside = inside.filter(|axis| !but.contains(axis)).collect();
        self.vanished.retain(|(other, _)| *other != axis);
        self.vanished.push((axis, inside));
    }

    /// An axis's name.
    pub fn name(&self, axis: AxisId) -> &str {
        &self.program.axes[axis].name
    }

    /// Whether an axis is a reduction's.
    pub fn is_reduction(&self, axis: AxisId) -> bool {
        self.program.axes[axis].kind == AxisKind::Reduction
    }

    /// Whether an axis is bound by a loop of the path.
    pub fn is_bound(&self, axis: AxisId) -> bool {
        self.path.position(axis).is_some()
    }

    /// What the prover knows here, about axes that loops bind.
    pub fn prover(&self) -> Prover<'_> {
        Prover::on_leaves(self.program)
    }

    /// An expression as text.
    pub fn text(&self, expr: crate::expr::ExprId) -> String {
        crate::nest::print::expr(self.program, expr)
    }
}

/// What a directive gives: nothing but the rewritten nest, or the one error that stopped it.
pub type Applied = Result<(), Error>;
