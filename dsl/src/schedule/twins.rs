//! The twins of a stage's nest: `peel` makes a copy of the nest that it is in, and every directive after it applies to all.
//!
//! A twin is a stage of its own, on axes of its own, with the names of the first: so directives find in each what they
//! name, and rewrite it alone. A directive that peels runs once for every choice of pieces: first with all full tiles;
//! then, for each axis that it peeled, on a copy of what was before, which takes the rest of that axis
//! ([`super::peel::Piece`]). At the end, [`super::merge`] puts the twins together in one nest.

use super::attach::Placed;
use super::peel::Piece;
use super::promote::Copied;
use super::renamed::Renamed;
use super::{Applied, StageNest, merge, reroot};
use crate::diag::{Error, SpanId};
use crate::nest::path::{Head, Path};
use crate::nest::{Access, AxisId, AxisKind, Fate, Peel, Pred, Program, StageId};
use crate::profile::Profile;
use std::collections::{HashMap, HashSet};

/// The literal extents of axes, by their names: of the twin with full tiles alone, for those with rests.
#[derive(Clone, Debug, Default)]
pub struct Model {
    before: HashMap<String, i64>,
    after: HashMap<String, i64>,
}

impl Model {
    /// The extent of an axis before the directive that is at work, or after it, if it made the axis.
    pub fn extent(&self, name: &str) -> Option<i64> {
        self.before.get(name).or_else(|| self.after.get(name)).copied()
    }
}

/// One twin.
#[derive(Clone, Debug)]
pub(super) struct Twin {
    pub(super) stage: StageId,
    pub(super) path: Path,
    pub(super) axes: Vec<AxisId>,
    serial: HashSet<AxisId>,
    /// Copies, which only a nest without twins has.
    placed: Placed,
    copies: Vec<Copied>,
    /// The twin that it was taken from, and what was peeled; but see [`reroot`].
    pub(super) from: Option<From>,
}

/// Where a twin comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    /// The twin that has the full tiles, among all.
    pub(super) twin: usize,
    /// What kind of axis was peeled.
    pub(super) kind: AxisKind,
    /// By this directive.
    pub(super) span: SpanId,
}

/// All twins.
#[derive(Clone, Debug)]
pub(super) struct Twins {
    dispatch: usize,
    pub(super) all: Vec<Twin>,
}

/// A directive at work on all twins.
struct Work<'w> {
    profile: &'w Profile,
    directive: &'w mut dyn FnMut(&mut StageNest<'_>) -> Applied,
    /// Whether it may make twins.
    peels: bool,
    /// Literal extents as they were before, for each twin.
    before: Vec<HashMap<String, i64>>,
    span: SpanId,
}

impl Twins {
    /// The nest of a stage; `None` if no dispatch computes it.
    pub(super) fn open(program: &mut Program, profile: &Profile, stage: StageId) -> Option<Twins> {
        let nest = StageNest::open(program, profile, stage)?;
        let (path, axes, serial, placed) = (nest.path, nest.axes, nest.serial, nest.placed);
        Some(Twins {
            dispatch: nest.dispatch,
            all: vec![Twin { stage, path, axes, serial, placed, copies: nest.copies, from: None }],
        })
    }

    /// Applies a directive to every twin; `peels`: it may make more.
    pub(super) fn apply(
        &mut self,
        program: &mut Program,
        profile: &Profile,
        span: SpanId,
        peels: bool,
        directive: &mut dyn FnMut(&mut StageNest<'_>) -> Applied,
    ) -> Applied {
        let before = self.all.iter().map(|twin| literals(program, &twin.axes)).collect();
        let mut work = Work { profile, directive, peels, before, span };
        let twins = self.all.len();
        (0..twins).try_for_each(|at| self.run(program, at, Vec::new(), None, &mut work))?;
        if self.all.len() > twins {
            reroot::rearrange(program, &mut self.all, twins);
        }
        Ok(())
    }

    /// Applies a directive to one twin, with these pieces first; then to the twins that it makes. `record`: what to note
    /// of the peel that made this one, but for its own axis, which is that of the last piece.
    fn run(&mut self, program: &mut Program, at: usize, pieces: Vec<Piece>, record: Option<Peel>, work: &mut Work<'_>) -> Applied {
        let twin = self.all[at].clone();
        // Of the twin without any rest: others may themselves be longer for its sake.
        let model = twin.from.map(|_| Model {
            before: work.before.first().cloned().unwrap_or_default(),
            after: self.all.first().map(|full| literals(program, &full.axes)).unwrap_or_default(),
        });
        let (given, twins, profile, dispatch) = (pieces.len(), self.all.len(), work.profile, self.dispatch);
        let (stage, path, axes, serial) = (twin.stage, twin.path.clone(), twin.axes.clone(), twin.serial.clone());
        let (peeled, was) = (Vec::new(), work.peels.then(|| program.clone()));
        let (placed, copies) = (twin.placed.clone(), twin.copies.clone());
        let mut nest =
            StageNest { program, profile, stage, dispatch, path, placed, copies, axes, serial, twins, model, pieces, peeled };
        let applied = (work.directive)(&mut nest);
        let StageNest { path, placed, copies, axes, serial, peeled, dispatch, .. } = nest;
        self.dispatch = dispatch;
        self.all[at] = Twin { path, placed, copies, axes, serial, ..twin };
        applied?;
        if let (Some(record), Some((_, twin))) = (record, given.checked_sub(1).and_then(|last| peeled.get(last))) {
            program.peels.push(Peel { twin: *twin, ..record });
        }
        let Some(was) = was else { return Ok(()) };
        for (n, (_, axis)) in peeled.iter().enumerate().skip(given) {
            let kind = program.axes[*axis].kind;
            let from = Some(From { twin: at, kind, span: work.span });
            let made = Twin { from, ..clone(program, &was, &twin) };
            work.before.push(literals(&was, &twin.axes));
            let pieces = peeled[..n].iter().map(|(piece, _)| *piece).chain([Piece::Rest]).collect();
            let record = Peel { main: stage, rest: made.stage, axis: *axis, twin: *axis, span: work.span };
            self.all.push(made);
            self.run(program, self.all.len() - 1, pieces, Some(record), work)?;
        }
        Ok(())
    }

    /// Puts the twins into the plan.
    pub(super) fn store(&self, program: &mut Program) -> Result<(), Error> {
        program.plan[self.dispatch].body = match self.all.as_slice() {
            [one] => one.placed.assembled(program, &one.path),
            _ => merge::merged(self, program)?,
        };
        Ok(())
    }

    /// The copies that were made.
    pub(super) fn copies(self) -> Vec<Copied> {
        self.all.into_iter().flat_map(|twin| twin.copies).collect()
    }

    /// The program with the nest as it stands. The twins stay apart.
    pub(super) fn shown(&self, program: &Program) -> Program {
        let mut shown = program.clone();
        // What cannot be merged is an error at the end; until then, the full tiles are what there is to see.
        if self.store(&mut shown).is_err() {
            shown = program.clone();
            shown.plan[self.dispatch].body = self.all[0].path.clone().close();
        }
        shown
    }

    /// Which dispatch it is.
    pub(super) fn dispatch(&self) -> usize {
        self.dispatch
    }
}

/// The literal extents of the axes that stand, by their names.
fn literals(program: &Program, axes: &[AxisId]) -> HashMap<String, i64> {
    let live = axes.iter().map(|axis| &program.axes[*axis]).filter(|axis| axis.fate == Fate::Live);
    live.filter_map(|axis| Some((axis.name.clone(), program.exprs.as_int(axis.extent)?))).collect()
}

/// A twin of a nest as it was before the directive at work, on axes of its own.
fn clone(program: &mut Program, was: &Program, twin: &Twin) -> Twin {
    let stage = program.stages.push(was.stages[twin.stage].clone());
    let axes: Vec<AxisId> = twin.axes.iter().map(|axis| program.axes.push(was.axes[*axis].clone())).collect();
    let renamed = Renamed { axes: twin.axes.iter().copied().zip(axes.iter().copied()).collect() };
    for (old, axis) in twin.axes.iter().zip(&axes) {
        if let Some(how) = was.strategies.get(old) {
            program.strategies.insert(*axis, *how);
        }
        let old = program.axes[*axis].clone();
        program.axes[*axis] = renamed.remade(program, old, [twin.stage, stage]);
    }
    let (body, roots) = (program.stages[stage].body.clone(), program.stages[stage].axes.clone());
    program.stages[stage].body = renamed.body(program, body);
    program.stages[stage].axes = roots.into_iter().map(|axis| renamed.axis(axis)).collect();
    let mut path = twin.path.clone();
    for frame in &mut path.frames {
        if let Head::Loop { axis, .. } = &mut frame.head {
            *axis = renamed.axis(*axis);
        }
    }
    let compute = &mut path.compute;
    compute.stage = stage;
    compute.value.iter_mut().for_each(|value| *value = renamed.expr(program, *value));
    compute.dst.iter_mut().for_each(|Access { index, .. }| index.iter_mut().for_each(|i| *i = renamed.expr(program, *i)));
    compute.preds.iter_mut().for_each(|Pred { axis, .. }| *axis = renamed.axis(*axis));
    let serial = twin.serial.iter().map(|axis| renamed.axis(*axis)).collect();
    Twin { stage, path, axes, serial, placed: Placed::default(), copies: Vec::new(), from: None }
}
