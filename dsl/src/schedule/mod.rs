//! Schedules: directives that rewrite the nest.
//!
//! [`mod@resolve`] assigns the directives of a schedule to stages and copies. [`apply`] applies them to a program with naive nests: each
//! stage's directives in order (or the plain schedule, [`plain`]). Then it checks that no parallel axis is left over. Every directive
//! has a file with its rule, its errors and its rewrite of a [`StageNest`].

pub mod algebra;
mod block_of;
pub(crate) mod default;
pub mod invocations;
mod items;
mod left_over;
pub mod loops;
pub mod matrices;
pub mod memory;
mod names;
mod number;
pub(crate) mod placement;
mod plain;
pub(crate) mod resolve;
pub mod show;
mod stage_names;
pub mod statements;

pub(crate) use items::apply;
pub use items::{At, Outcome, Watch};
use memory::promote::place_varying;
pub use statements::{head, tune};

use crate::diag::{Error, SpanId};
use crate::facts::Prover;
use crate::nest::path::{Frame, Path};
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Fate, Level, Phase, Program, StageId};
use crate::profile::Profile;
use memory::attach::Placed;
use std::collections::HashSet;

/// The nest of one stage while directives rewrite it.
pub struct StageNest<'a> {
    /// The program. Its plan holds this nest as it was last stored.
    pub program: &'a mut Program,
    /// The guarantees of the device.
    pub profile: &'a Profile,
    /// The stage.
    pub stage: StageId,
    /// The index of the dispatch that computes the stage.
    pub dispatch: usize,
    /// The path to the stage's compute node: its own loops.
    pub path: Path,
    /// The nodes around the stage's own loops, beside them and within them.
    pub placed: Placed,
    /// The copies that `promote` made.
    pub copies: Vec<memory::promote::Copied>,
    /// Every axis that the stage has or had, oldest first.
    pub axes: Vec<AxisId>,
    /// Parallel axes that `serial` named.
    pub serial: HashSet<AxisId>,
    /// Levels to which directives bound axes. An axis of extent 1 is not a loop, but its level can still be named as a place.
    pub levels: Vec<Level>,
    /// Parts of extent 1, which are not loops, each with the axes that its loop would enclose. They can still be named as places.
    pub vanished: Vec<(AxisId, Vec<AxisId>)>,
}

impl<'a> StageNest<'a> {
    /// Opens the nest of a stage. Returns `None` if no dispatch computes it.
    pub fn open(program: &'a mut Program, profile: &'a Profile, stage: StageId) -> Option<StageNest<'a>> {
        let open = |(i, d): (usize, &crate::nest::Dispatch)| Some((i, Path::open(&d.body, stage, Phase::Whole)?));
        let (dispatch, mut path) = program.plan.iter().enumerate().find_map(open)?;
        let mut axes = program.family(stage);
        let placed = Placed::open(program, stage, &axes, &mut path);
        // A stage that writes a copy back begins with parts, because its axes are split like the axes of the stage that wrote the
        // copy.
        let parts: Vec<AxisId> = path.axes().filter(|axis| !axes.contains(axis)).collect();
        axes.extend(parts);
        let (serial, copies, levels, vanished) = (HashSet::new(), Vec::new(), Vec::new(), Vec::new());
        Some(StageNest { program, profile, stage, dispatch, path, placed, copies, axes, serial, levels, vanished })
    }

    /// Puts the nest back into the plan.
    pub fn store(&mut self) {
        self.program.plan[self.dispatch].body = self.placed.assembled(self.program, &self.path);
    }

    /// Returns a copy of the program whose plan contains the current nest.
    fn shown(&self) -> Program {
        let mut shown = self.program.clone();
        shown.plan[self.dispatch].body = self.placed.assembled(&shown, &self.path);
        shown
    }

    /// Recomputes the predicates of the compute node, after axes have changed.
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

    /// Adds an axis that is not in the algorithm.
    fn made(&mut self, name: String, extent: crate::expr::ExprId, span: SpanId) -> AxisId {
        let kind = AxisKind::Parallel;
        self.add_axis(Axis { name, extent, kind, def: AxisDef::Made, fate: Fate::Live, span })
    }

    /// Returns a name that no axis of the stage has or had.
    fn unused(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.axes.iter().any(|a| self.name(*a) == name) {
            name.push('_');
        }
        name
    }

    /// Adds a part of `of`: a live axis of the same kind.
    fn add_part(&mut self, name: String, of: AxisId, part: usize, extent: crate::expr::ExprId, span: SpanId) -> AxisId {
        let kind = self.program.axes[of].kind;
        self.add_axis(Axis { name, extent, kind, def: AxisDef::Part { of, part }, fate: Fate::Live, span })
    }

    /// Records which loops the loop of a part of extent 1 would enclose: the loops from `place` on, except those in `but`.
    fn vanish(&mut self, axis: AxisId, place: usize, but: &[AxisId]) {
        if !self.program.is_single(axis) {
            return;
        }
        let inside = self.path.frames.iter().skip(place).filter_map(Frame::as_loop).map(|(axis, _)| axis);
        let inside = inside.filter(|axis| !but.contains(axis)).collect();
        self.vanished.retain(|(other, _)| *other != axis);
        self.vanished.push((axis, inside));
    }

    /// Returns the name of an axis.
    pub fn name(&self, axis: AxisId) -> &str {
        &self.program.axes[axis].name
    }

    /// True if an axis belongs to a reduction.
    pub fn is_reduction(&self, axis: AxisId) -> bool {
        self.program.axes[axis].kind == AxisKind::Reduction
    }

    /// True if a loop of the path binds the axis.
    pub fn is_bound(&self, axis: AxisId) -> bool {
        self.path.position(axis).is_some()
    }

    /// Returns a prover with the facts about the axes that loops bind here.
    pub fn prover(&self) -> Prover<'_> {
        Prover::on_leaves(self.program)
    }

    /// Prints an expression.
    pub fn text(&self, expr: crate::expr::ExprId) -> String {
        crate::nest::print::expr(self.program, expr)
    }
}

/// The result of a directive: the nest is rewritten, or one error stopped the directive.
pub type Applied = Result<(), Error>;
