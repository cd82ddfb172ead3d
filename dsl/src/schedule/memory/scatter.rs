//! `scatter(b)`: updates one element of a reduction's result for each item, at an index that the data choose, instead of comparing each
//! item with every element.
//!
//! The item of `count[b] = sum(i in 0..N) where x[i] == b { 1 }` is the identity except where `b` is `x[i]`. So the loop over `b` is not
//! needed: item `i` updates `count[x[i]]`. The index is clamped to the axis, because the item at the nearest element is the identity if
//! `x[i]` is outside, and the comparison stays in the item. Another stage fills the result with the identity before.
//!
//! An invocation updates memory by plain reads and writes, if no other invocation updates the same elements. If axes of the reduction are
//! distributed, `by: atomic`, the updates are atomic operations.
//!
//! Refused: a stage without a reduction; an axis of the reduction; an item that does not compare the axis for equality with a value that
//! the axis does not determine; axes that are compared with one another; a value that is the same for all items; an axis that may be empty; a state of several components, or
//! of other than 32 bits; a stage that is distributed, vectorized or promoted already.

use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Exprs};
use crate::launch::DType;
use crate::nest::{AxisId, AxisKind, Body, Exec, Monoid, Program, Space, State};
use crate::schedule::invocations::atomics;
use crate::schedule::loops::split;
use crate::schedule::memory::promote::Copied;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind};

/// Applies the directive.
pub(in crate::schedule) fn apply(nest: &mut StageNest<'_>, names: &[Name], span: SpanId) -> Applied {
    let axes = nest.axes(names)?;
    check_stage(nest, span)?;
    let mut chosen = Vec::new();
    for (axis, name) in axes.iter().zip(names) {
        chosen.push((*axis, check_axis(nest, *axis, name)?));
    }
    check_apart(nest, &chosen, span)?;
    if !nest.is_scattered() {
        fill(nest, span)?;
    }
    for (axis, at) in chosen {
        replace_loop(nest, axis, at);
        nest.program.notes.scattered.entry(nest.stage).or_default().push((axis, span));
        let (stage, name) = (&nest.program.stages[nest.stage].name, nest.name(axis));
        let what = format!("each item of `{stage}` is the identity except at one `{name}`, whose element it updates");
        nest.program.owe(what, State::Proved, span);
    }
    nest.refresh();
    Ok(())
}

/// Fills the result with the identity before: in a dispatch, or, for a stage within another nest, beside it.
fn fill(nest: &mut StageNest<'_>, span: SpanId) -> Applied {
    let Some(host) = nest.program.notes.hosts.get(&nest.stage).copied() else {
        atomics::fill(nest, span);
        return Ok(());
    };
    let buffer = nest.program.stages[nest.stage].buffer;
    if !atomics::is_reduced_value(nest) || nest.program.buffers[buffer].space != Space::Shared {
        let name = &nest.program.stages[nest.stage].name;
        let what = format!("`{name}` is updated in memory, so its result must be the reduced value, in shared memory");
        return Err(Error::new(span, what).help("compute it with `to: shared`, and apply other operations where it is read"));
    }
    if let Some(fill) = atomics::fill_stage(nest, span) {
        nest.program.notes.hosts.insert(fill, host);
        let body = nest.program.naive_dispatch(fill).body;
        nest.placed.beside.0.extend(body);
        nest.copies.push(Copied::computed(fill, buffer, span));
    }
    Ok(())
}

/// Checks that the stage is a reduction whose state is one number in memory, and that no directive has changed its loops in a way that
/// needs registers.
fn check_stage(nest: &StageNest<'_>, span: SpanId) -> Applied {
    let name = &nest.program.stages[nest.stage].name;
    let Body::Reduce { monoid, .. } = &nest.program.stages[nest.stage].body else {
        let error = Error::new(span, format!("`{name}` is not a reduction, so it has no items to scatter"));
        return Err(error.help("scatter the elements of a reduction: `count[b] = sum(i in 0..N) where x[i] == b { 1 }`"));
    };
    let exprs = &nest.program.exprs;
    let Some((_, dtype)) = monoid.operation(exprs) else {
        let error = Error::new(span, format!("`{}` has a state of several numbers, which one update cannot change", monoid.name));
        return Err(error.help("scatter a `sum`, `prod`, `min`, `max`, `any` or `all`"));
    };
    if dtype.bytes() != 4 {
        let error = Error::new(span, format!("`{}` of {dtype} cannot be scattered: a state in memory has 32 bits", monoid.name));
        return Err(error.help("convert the item in the kernel, `as i32` or `as f32`, and the result back"));
    }
    let done = |exec: Exec| match exec {
        Exec::Lanes => Some("vectorized"),
        Exec::Dot => Some("in a dot product"),
        Exec::Matrix(_) => Some("in matrices"),
        _ => None,
    };
    let reduced = |axis| nest.is_reduction(axis) && !nest.is_scattered();
    for frame in &nest.path.frames {
        let Some((axis, exec)) = frame.as_loop() else { continue };
        let bound = || (matches!(exec, Exec::Bind(..)) && reduced(axis)).then_some("distributed");
        if let Some(done) = done(exec).or_else(bound) {
            let error = Error::new(span, format!("`{}` of `{name}` is already {done}", nest.name(axis)));
            return Err(error.note_at(frame.span, "here").help("put `scatter` before that directive"));
        }
    }
    if let Some(attached) = nest.placed.attached.first() {
        let error = Error::new(span, format!("copies or stages were placed in the nest of `{name}` before `scatter`"));
        return Err(error.note_at(attached.span, "here").help("put `promote` and `compute_at` after it"));
    }
    Ok(())
}

/// Checks that the data choose the value of an axis. Returns that value.
fn check_axis(nest: &mut StageNest<'_>, axis: AxisId, name: &Name) -> Result<ExprId, Error> {
    split::plain(nest, axis, name.span)?;
    let program = &*nest.program;
    let stage = &program.stages[nest.stage];
    let Body::Reduce { monoid, over, lift, .. } = &stage.body else { return Ok(lift_of_map(nest)) };
    if program.axes[axis].kind == AxisKind::Reduction {
        let error = Error::new(name.span, format!("`{name}` is an axis of the reduction: all of its items are visited"));
        return Err(error.help(format!(
            "scatter an axis of `{}`: {}",
            stage.name,
            crate::diag::list(names_of(program, &stage.axes))
        )));
    }
    let whole = program.exprs.axis(axis);
    if !nest.path.compute.dst.iter().all(|to| to.index.contains(&whole)) {
        let error = Error::new(name.span, format!("`{name}` is a part of an axis, and data choose whole axes"));
        return Err(error.help("put `scatter` before the directives that split or fuse it"));
    }
    if let Some(inner) = over.iter().find(|inner| program.exprs.uses_axis(program.axes[**inner].extent, &mut |a| a == axis)) {
        let error = Error::new(name.span, format!("the range of `{}` depends on `{name}`", program.axes[*inner].name));
        return Err(error.help("run over the whole range, and leave items out by `where`"));
    }
    let Some(at) = chosen(&program.exprs, monoid, lift, axis) else {
        let error = Error::new(name.span, format!("the items of `{}` do not choose one `{name}` by a comparison", stage.name));
        let error =
            error.note("an item must be the identity except where the axis equals a value that depends on the other axes only");
        return Err(error.help(format!("compare with the axis in the kernel: `{}(…) where x[i] == {name} {{ … }}`", monoid.name)));
    };
    let extent = program.axes[axis].extent;
    if !nest.prover().positive(extent) {
        let error = Error::new(name.span, format!("`{name}` may have no values, and an item needs an element to update"));
        let text = nest.text(extent);
        return Err(error.help(format!("state it in the kernel or in the schedule's header: `where {text} >= 1`")));
    }
    if let Some(only) = nest.program.exprs.as_int(clamped(&nest.program.exprs, at, extent)) {
        let error = Error::new(name.span, format!("all items update the same element, at `{name} == {only}`"));
        return Err(error.help("leave the directive out: the items of one element are reduced in registers"));
    }
    Ok(at)
}

/// Returns the value of an axis, clamped to its extent.
fn clamped(exprs: &Exprs, at: ExprId, extent: ExprId) -> ExprId {
    let last = exprs.difference(extent, exprs.int(1));
    exprs.binary(Binary::Max, exprs.binary(Binary::Min, at, last), exprs.int(0))
}

/// Checks that no value of a scattered axis depends on another scattered axis, which has no loop.
fn check_apart(nest: &StageNest<'_>, chosen: &[(AxisId, ExprId)], span: SpanId) -> Applied {
    let exprs = &nest.program.exprs;
    let before = nest.program.notes.scattered.get(&nest.stage).into_iter().flatten().map(|(axis, _)| *axis);
    let mut axes = before.chain(chosen.iter().map(|(axis, _)| *axis));
    let places = nest.path.compute.dst.iter().flat_map(|to| &to.index).copied();
    let values = places.filter(|place| !matches!(exprs.get(*place), Expr::Axis(_))).chain(chosen.iter().map(|(_, at)| *at));
    let values: Vec<ExprId> = values.collect();
    let names = |axis: AxisId| values.iter().any(|value| exprs.uses_axis(*value, &mut |named| named == axis));
    let Some(axis) = axes.find(|axis| names(*axis)) else { return Ok(()) };
    let error = Error::new(span, format!("another scattered axis is compared with `{0}`, but `{0}` has no loop", nest.name(axis)));
    Err(error.help("compare both axes with values in the kernel, or scatter one of them only"))
}

/// Returns the value of a map, which `check_stage` has refused.
fn lift_of_map(nest: &StageNest<'_>) -> ExprId {
    nest.path.compute.value[0]
}

fn names_of(program: &Program, axes: &[AxisId]) -> Vec<String> {
    axes.iter().map(|axis| program.axes[*axis].name.clone()).collect()
}

/// Returns the value that an axis must equal for an item to count, if all other items are the identity. The value does not depend on the
/// axis.
pub(crate) fn chosen(exprs: &Exprs, monoid: &Monoid, lift: &[ExprId], axis: AxisId) -> Option<ExprId> {
    let ([item], [identity]) = (lift, monoid.identity.as_slice()) else { return None };
    let mut item = *item;
    loop {
        match *exprs.get(item) {
            Expr::Select(cond, yes, no) if no == *identity => match equals(exprs, cond, axis) {
                Some(at) => return Some(at),
                None => item = yes,
            },
            // A condition as a number is 0 where it is false.
            Expr::Cast(_, cond) if exprs.dtype(cond) == DType::Bool && is_zero(exprs, *identity) => {
                return equals(exprs, cond, axis);
            }
            _ => return None,
        }
    }
}

fn is_zero(exprs: &Exprs, identity: ExprId) -> bool {
    matches!(exprs.get(identity), Expr::Const(Const { bits: 0, .. }))
}

/// Returns the value that an axis has wherever a condition is true.
fn equals(exprs: &Exprs, cond: ExprId, axis: AxisId) -> Option<ExprId> {
    match *exprs.get(cond) {
        Expr::Binary(Binary::And, a, b) => equals(exprs, a, axis).or_else(|| equals(exprs, b, axis)),
        Expr::Compare(Compare::Eq, a, b) if exprs.dtype(a) == DType::I32 => {
            solved(exprs, a, b, axis).or_else(|| solved(exprs, b, a, axis))
        }
        _ => None,
    }
}

/// Solves `of == other` for an axis, if `of` is the axis plus terms that do not depend on it.
fn solved(exprs: &Exprs, of: ExprId, other: ExprId, axis: AxisId) -> Option<ExprId> {
    let is_free = |e: ExprId| !exprs.uses_axis(e, &mut |a| a == axis);
    let mut rest = exprs.linear(of);
    if !is_free(other) || rest.axes.remove(&axis) != Some(1) || !rest.rest.iter().all(|(e, _)| is_free(*e)) {
        return None;
    }
    let order: Vec<AxisId> = rest.axes.keys().copied().collect();
    let rest = exprs.of_linear(&rest, &order);
    Some(if exprs.as_int(rest) == Some(0) { other } else { exprs.difference(other, rest) })
}

/// Removes the loop over an axis, and gives the axis the value that the data choose, clamped to its extent.
fn replace_loop(nest: &mut StageNest<'_>, axis: AxisId, at: ExprId) {
    if let Some(place) = nest.path.position(axis) {
        nest.path.remove(place);
    }
    let exprs = &nest.program.exprs;
    let at = clamped(exprs, at, nest.program.axes[axis].extent);
    let here = |e: ExprId| exprs.with_axes(e, &mut |a| (a == axis).then_some(at));
    for value in &mut nest.path.compute.value {
        *value = here(*value);
    }
    for index in nest.path.compute.dst.iter_mut().flat_map(|to| &mut to.index) {
        *index = here(*index);
    }
    nest.axes.retain(|other| *other != axis);
}

impl StageNest<'_> {
    /// True if the items of the stage's reduction update elements in memory.
    pub(in crate::schedule) fn is_scattered(&self) -> bool {
        self.program.notes.scattered.contains_key(&self.stage)
    }

    /// Returns the directive that has removed the loop over an axis, because the data choose its value.
    pub(in crate::schedule) fn scattered_by(&self, name: &Name) -> Option<SpanId> {
        let axes = self.program.notes.scattered.get(&self.stage)?;
        axes.iter().find(|(axis, _)| self.name(*axis) == name.text).map(|(_, span)| *span)
    }

    /// Returns the name of the tensor that the stage defines.
    fn result(&self) -> &str {
        &self.program.buffers[self.program.stages[self.stage].buffer].name
    }

    /// Refuses directives for the registers of a reduction, if the items update memory.
    pub(in crate::schedule) fn check_not_scattered(&self, directive: &Directive) -> Applied {
        let what = match (directive.called, &directive.kind) {
            ("vectorize", _) => "lanes would update one element together",
            ("rfactor", _) => "the partial results would be scattered, not the result",
            ("accumulate", _) => "the state is an element of the result",
            ("promote", DirectiveKind::Promote(copy)) if copy.source.text == self.result() => {
                "its elements are filled in its own memory"
            }
            ("dot" | "mma" | "fragment", _) => "the state is not in registers",
            _ => return Ok(()),
        };
        let Some((_, place)) = self.program.notes.scattered.get(&self.stage).and_then(|axes| axes.first()) else { return Ok(()) };
        let stage = &self.program.stages[self.stage].name;
        let error =
            Error::new(directive.span, format!("`{stage}` is scattered, so `{}` is not possible: {what}", directive.called));
        let error = error.note_at(*place, "it was scattered here");
        Err(error.help(match directive.called {
            "vectorize" => "unroll an axis instead: its reads are grouped into wide ones",
            "rfactor" => "put it before `scatter`, and scatter the partial results in their block",
            "accumulate" => "put it before `scatter`",
            "promote" => {
                "put parts of the reduction into that memory: `rfactor(… => part); compute_at(part, …); part { scatter(…); }`"
            }
            _ => "leave out one of the two",
        }))
    }
}
