//! `by: atomic`: which atomics combine a reduction, and the dispatches around it.
//!
//! A preceding dispatch fills the result with the identity. If the result is not the reduced value itself (because of an epilogue,
//! an update in place, or another dtype), the reduction writes a separate temporary, and a following dispatch finishes it.

use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::{Expr, ExprId};
use crate::nest::{
    Access, Axis, AxisDef, AxisId, AxisKind, Body, Buffer, BufferId, Fate, How, Monoid, Program, Space, Stage, StageId, State,
};
use crate::schedule::{Applied, StageNest};
use crate::syntax::schedule::By;

/// Checks that atomics can combine the states of a monoid.
pub(in crate::schedule) fn check(nest: &StageNest<'_>, monoid: &Monoid, by: By) -> Applied {
    let help = "within a workgroup write `by: tree`; across workgroups let another dispatch reduce the partial results: `rfactor`";
    if !nest.is_scattered() {
        nest.check_plain(by.span, "`by: atomic`")?;
    }
    crate::schedule::loops::shift::check_atomic(nest, by.span)?;
    let dtypes: Vec<String> = monoid.identity.iter().map(|e| nest.program.exprs.dtype(*e).to_string()).collect();
    let what = format!("`{}` of {}", monoid.name, dtypes.join(" and "));
    match monoid.atomic(&nest.program.exprs) {
        Some(feature) => match feature.filter(|f| !nest.profile.has(*f)) {
            Some(feature) => {
                let lacks = format!("which `{}` does not have", nest.profile.name);
                Err(Error::new(by.span, format!("{what} by atomics needs `{}`, {lacks}", feature.name())).help(help))
            }
            None => Ok(()),
        },
        None => {
            let error = Error::new(by.span, format!("cannot use atomics for {what}"));
            let known = "atomics exist for `sum`, `min` and `max` of i32 and u32, for `any` and `all`, and, if the profile has it, for `sum` of f32";
            Err(error.note(known).help(help))
        }
    }
}

/// Prepares a reduction for atomics, once per stage.
pub(in crate::schedule) fn prepare(nest: &mut StageNest<'_>, span: SpanId) {
    let begun = |axis: AxisId| nest.program.notes.strategies.get(&axis) == Some(&How::Atomic);
    if nest.path.axes().any(begun) {
        return;
    }
    if !nest.is_scattered() {
        fill(nest, span);
    }
    let stage = &nest.program.stages[nest.stage];
    if nest.program.exprs.dtype(nest.path.compute.value[0]).is_float() {
        let what = format!("atomics sum `{}` in an order that differs from run to run, and so does its rounding", stage.name);
        nest.program.owe(what, State::Assumed, span);
    }
}

/// Fills the result of a reduction with the identity in a dispatch before it, and finishes it in a dispatch after it if necessary.
pub(in crate::schedule) fn fill(nest: &mut StageNest<'_>, span: SpanId) {
    if !is_plain(nest) {
        finish_apart(nest, span);
    }
    if let Some(fill) = fill_stage(nest, span) {
        let dispatch = nest.program.naive_dispatch(fill);
        nest.program.plan.insert(nest.dispatch, dispatch);
        nest.dispatch += 1;
    }
}

/// Adds the stage that fills the result of a reduction with the identity.
pub(in crate::schedule) fn fill_stage(nest: &mut StageNest<'_>, span: SpanId) -> Option<StageId> {
    let stage = nest.program.stages[nest.stage].clone();
    let Body::Reduce { monoid, .. } = &stage.body else { return None };
    let identity = monoid.identity[0];
    let map = Map { name: unused(nest.program, &format!("{}_fill", stage.name)), buffer: stage.buffer, span };
    let fill = map.add(nest, |_, _| identity);
    let what = format!("`{}` is filled with the identity of `{}` before", nest.program.buffers[stage.buffer].name, monoid.name);
    nest.program.owe(what, State::Proved, span);
    Some(fill)
}

/// True if the reduced value is the result itself, in memory that only this stage writes.
fn is_plain(nest: &StageNest<'_>) -> bool {
    let buffer = &nest.program.buffers[nest.program.stages[nest.stage].buffer];
    is_reduced_value(nest) && matches!(buffer.space, Space::Output | Space::Temporary)
}

/// True if the reduced value is the result itself.
pub(in crate::schedule) fn is_reduced_value(nest: &StageNest<'_>) -> bool {
    let stage = &nest.program.stages[nest.stage];
    let Body::Reduce { monoid, finish, .. } = &stage.body else { return true };
    let same = nest.program.buffers[stage.buffer].dtype == nest.program.exprs.dtype(monoid.identity[0]);
    same && *nest.program.exprs.get(*finish) == Expr::State(0) && stage.also.is_empty()
}

/// Makes the reduction write a temporary, and adds a stage that computes the result from it.
fn finish_apart(nest: &mut StageNest<'_>, span: SpanId) {
    let stage = nest.program.stages[nest.stage].clone();
    let Body::Reduce { monoid, over, lift, finish } = stage.body else { return };
    let dtype = nest.program.exprs.dtype(monoid.identity[0]);
    let shape = nest.program.buffers[stage.buffer].shape.clone();
    let name = unused(nest.program, &format!("{}_state", stage.name));
    let state = Buffer { name, dtype, shape, space: Space::Temporary, row_pad: 0, swizzle: 0, versions: 1, span };
    let state = nest.program.buffers.push(state);
    let map = Map { name: unused(nest.program, &format!("{}_finish", stage.name)), buffer: stage.buffer, span };
    let result = map.add(nest, |program, axes| {
        let index: Vec<ExprId> = axes.iter().map(|a| program.exprs.axis(*a)).collect();
        let read = program.exprs.read(state, dtype, index.iter().copied());
        program.exprs.replace(finish, &mut |exprs, id| match exprs.get(id) {
            Expr::State(0) => Some(read),
            Expr::Axis(a) => stage.axes.iter().position(|b| a == b).map(|n| index[n]),
            _ => None,
        })
    });
    let dispatch = nest.program.naive_dispatch(result);
    nest.program.plan.insert(nest.dispatch + 1, dispatch);
    let identity = nest.program.exprs.add(Expr::State(0), dtype);
    let of = &mut nest.program.stages[nest.stage];
    (of.buffer, of.body) = (state, Body::Reduce { monoid, over, lift, finish: identity });
    nest.path.compute.finish = Some(identity);
    nest.path.compute.dst.iter_mut().for_each(|place: &mut Access| place.buffer = state);
}

/// A pointwise stage that a directive adds.
struct Map {
    name: String,
    buffer: BufferId,
    span: SpanId,
}

impl Map {
    /// Adds the stage, on its own axes with the extents of the current stage's axes. `value` computes its value from these axes.
    fn add(self, nest: &mut StageNest<'_>, value: impl FnOnce(&mut Program, &[AxisId]) -> ExprId) -> StageId {
        let Map { name, buffer, span } = self;
        let id = StageId::new(nest.program.stages.len());
        let program = &mut *nest.program;
        let axes: Vec<AxisId> = program.stages[nest.stage].axes.clone();
        let axes: Vec<AxisId> = axes.into_iter().map(|axis| program.axes.push(axis_like(program, axis, id, span))).collect();
        let body = Body::Map(value(program, &axes));
        program.stages.push(Stage { name, buffer, axes, body, also: Vec::new(), span })
    }
}

/// Returns a parallel axis for another stage, with the name and extent of this one.
fn axis_like(program: &Program, axis: AxisId, stage: StageId, span: SpanId) -> Axis {
    let Axis { name, extent, .. } = program.axes[axis].clone();
    Axis { name, extent, kind: AxisKind::Parallel, def: AxisDef::Root(stage), fate: Fate::Live, span }
}

impl StageNest<'_> {
    /// Checks that the nest is a dispatch of this stage alone.
    pub(in crate::schedule) fn check_plain(&self, blame: SpanId, what: &str) -> Applied {
        let stage = &self.program.stages[self.stage].name;
        if !self.placed.attached.is_empty() {
            let error = Error::new(blame, format!("copies or stages were placed in the nest of `{stage}` before {what}"));
            return Err(error.help("put `promote` and `compute_at` after it"));
        }
        if self.program.notes.hosts.contains_key(&self.stage) {
            return Err(Error::new(
                blame,
                format!("`{stage}` is computed within another nest: {what} needs a dispatch of its own"),
            ));
        }
        Ok(())
    }
}

/// Returns a name that nothing in the program has.
pub(in crate::schedule) fn unused(program: &Program, name: &str) -> String {
    let mut name = name.to_owned();
    while program.is_taken(&name) {
        name.push('_');
    }
    name
}
