//! The place of a copy: at the loop of an axis, or under all axes of a level.

use crate::diag::{Error, SpanId};
use crate::nest::path::Frame;
use crate::nest::{AxisId, AxisKind, Exec, Level};
use crate::schedule::StageNest;
use crate::schedule::invocations::is_invocation;
use crate::schedule::memory::attach::Attached;
use crate::syntax::schedule::{Memory, Promote};
use std::collections::HashSet;

/// A place in the nest of a stage.
#[derive(Clone)]
pub(in crate::schedule) struct Place {
    /// The number of loops around it that are not over invocations.
    pub(in crate::schedule) depth: usize,
    /// The axes of these loops.
    pub(in crate::schedule) outer: Vec<AxisId>,
    /// The axes that vary under it.
    pub(in crate::schedule) inside: HashSet<AxisId>,
    /// True if the stage's result is computed under it, because it is outside the loops of the reduction.
    pub(in crate::schedule) has_result: bool,
    /// True if it encloses attachments at the same loop.
    pub(in crate::schedule) around: bool,
    /// True if each invocation has its own copy, so that cooperative attachments cannot read it.
    pub(in crate::schedule) private: bool,
}

impl Place {
    /// True if an attachment at this depth reads a copy that is made at the place.
    pub(in crate::schedule) fn serves(&self, attached: &Attached, depth: usize) -> bool {
        self.encloses(depth) && !(self.private && attached.together)
    }

    /// True if an attachment at this depth is under the place.
    pub(in crate::schedule) fn encloses(&self, depth: usize) -> bool {
        depth > self.depth || (self.around && depth == self.depth)
    }
}

/// Finds the place that `at` names.
pub(in crate::schedule) fn find(nest: &StageNest<'_>, promote: &Promote) -> Result<Place, Error> {
    let plain: Vec<&Frame> = nest.path.frames.iter().filter(|f| !is_invocation(f)).collect();
    let workgroups = plain.iter().take_while(|f| f.level().is_some()).count();
    let at = &promote.at;
    let depth = match at.as_str() {
        "workgroup" => workgroups,
        "thread" | "subgroup" => {
            if promote.dealt {
                let (word, source) = (if promote.computed { "" } else { "the copy of " }, &promote.source);
                let what = format!("{word}`{source}` is distributed to invocations, but `{at}` is a place within each invocation");
                return Err(Error::new(at.span, what).help("name `workgroup` or a loop as the place"));
            }
            if promote.to == Memory::Shared {
                let what = if promote.computed { "shared memory" } else { "a shared copy" };
                let error = Error::new(
                    at.span,
                    format!("{what} cannot be placed at `{at}`, because all invocations of a workgroup share it"),
                );
                return Err(error.help(match promote.computed {
                    true => "name `workgroup` as the place, or write `to: register`",
                    false => "write `at: workgroup`, or `to: register`",
                }));
            }
            let level = if at.as_str() == "thread" { Level::Thread } else { Level::Subgroup };
            let bound = nest.path.frames.iter().rposition(|f| matches!(f.level(), Some((l, _)) if l == level));
            let Some(bound) = bound else {
                // If each invocation computes the stage for itself, the place encloses all of its loops.
                let around = nest.placed.outside().any(|f| matches!(f.level(), Some((l, _)) if l == level));
                if around || nest.levels.contains(&level) {
                    return place(nest, promote, &plain, workgroups);
                }
                let error =
                    Error::new(at.span, format!("no axis of `{}` is distributed to {at}s", nest.program.stages[nest.stage].name));
                return Err(error.help(format!(
                    "write `distribute(… => {at}(x));` before this directive, or name a loop or `workgroup` as the place"
                )));
            };
            nest.path.frames[..bound].iter().filter(|f| !is_invocation(f)).count()
        }
        _ => of_axis(nest, promote, &plain, workgroups)?,
    };
    place(nest, promote, &plain, depth)
}

/// Returns the place at a depth.
fn place(nest: &StageNest<'_>, promote: &Promote, plain: &[&Frame], depth: usize) -> Result<Place, Error> {
    let outer: Vec<AxisId> = plain[..depth].iter().filter_map(|f| f.as_loop().map(|(a, _)| a)).collect();
    let reduces = |a: &AxisId| nest.program.axes[*a].kind == AxisKind::Reduction;
    let has_result = !outer.iter().any(reduces);
    check_uniform(nest, promote, &plain[..depth])?;
    // All readers of a computed stage are under the place, otherwise the directive is refused.
    let private = !promote.is_together() && !promote.computed;
    Ok(Place { depth, inside: inside(nest, promote.is_together(), depth, false), outer, has_result, around: false, private })
}

/// Returns the depth just inside the loop of an axis.
fn of_axis(nest: &StageNest<'_>, promote: &Promote, plain: &[&Frame], workgroups: usize) -> Result<usize, Error> {
    let name = &promote.at;
    let axis = nest.axis(name)?;
    let Some(at) = nest.path.position(axis) else {
        if let Some((_, inside)) = nest.vanished.iter().find(|(other, _)| *other == axis) {
            let is_inside = |f: &&Frame| matches!(f.as_loop(), Some((a, exec)) if matches!(exec, Exec::Lanes | Exec::Dot) || nest.program.comes_from(a, inside));
            return Ok(plain.iter().position(is_inside).unwrap_or(plain.len()).max(workgroups));
        }
        let error = Error::new(name.span, format!("`{name}` has one value, and therefore no loop"));
        return Err(error.help(nest.there_are()));
    };
    let frame = &nest.path.frames[at];
    let refuse = |what: &str, help: &str| {
        Err(Error::new(name.span, format!("`{name}` is {what}")).note_at(frame.span, "by this directive").help(help))
    };
    match frame.as_loop() {
        Some((_, Exec::Lanes)) => refuse("in lanes, which run together", "name a loop around the lanes as the place"),
        Some((_, Exec::Dot)) => refuse("in a dot product, which is one instruction", "name a loop around it as the place"),
        Some((_, Exec::Bind(Level::Workgroup, _))) => Ok(workgroups),
        Some((_, Exec::Bind(..))) if promote.is_together() => match promote.computed {
            true => refuse("distributed to invocations, which share the memory", "name `workgroup` or a loop as the place"),
            false => {
                refuse("distributed to invocations, which share the copy", "write `at: workgroup`, or name a loop as the place")
            }
        },
        Some((_, Exec::Bind(..))) => Ok(nest.path.frames[..at].iter().filter(|f| !is_invocation(f)).count()),
        _ => Ok(plain.iter().position(|f| f.as_loop().is_some_and(|(a, _)| a == axis)).map_or(workgroups, |at| at + 1)),
    }
}

/// Returns the axes that vary under a place: the axes of inner loops, and for a cooperative copy the axes bound to invocations. The
/// latter include the host's, if each invocation computes the stage for itself.
pub(in crate::schedule) fn inside(nest: &StageNest<'_>, together: bool, depth: usize, around: bool) -> HashSet<AxisId> {
    let mut inside = HashSet::new();
    if together {
        inside.extend(nest.placed.outside().filter(|f| is_invocation(f)).filter_map(|f| f.as_loop()).map(|(axis, _)| axis));
    }
    let mut plain = 0;
    for frame in &nest.path.frames {
        let Some((axis, _)) = frame.as_loop() else { continue };
        let varies = match is_invocation(frame) {
            true => together,
            false => {
                plain += 1;
                plain > depth
            }
        };
        if varies {
            inside.insert(axis);
        }
    }
    for attached in nest.placed.attached.iter().filter(|a| nest.place_of(a) + usize::from(around) > depth) {
        for block in [&attached.before, &attached.after] {
            for (axis, exec) in super::footprint::loops(block) {
                let bound = matches!(exec, Exec::Bind(level, _) if level != Level::Workgroup);
                if !bound || together {
                    inside.insert(axis);
                }
            }
        }
    }
    inside
}

/// Checks that a cooperative copy is not in a loop whose extent differs among invocations, of its own nest or of the nest that the
/// stage is placed in.
fn check_uniform(nest: &StageNest<'_>, promote: &Promote, around: &[&Frame]) -> Result<(), Error> {
    if !promote.is_together() {
        return Ok(());
    }
    let hosts = nest.placed.around.iter().map(|frame| (frame, true));
    for (frame, is_host) in hosts.chain(around.iter().map(|frame| (*frame, false))) {
        if let Some((axis, thread, span)) = varying(nest, frame) {
            let (name, thread) = (nest.name(axis), nest.name(thread));
            let (verb, source) = (if promote.computed { "computed" } else { "copied" }, &promote.source);
            let error = Error::new(
                promote.at.span,
                format!(
                    "`{source}` would be {verb} cooperatively in the loop over `{name}`, whose trip count differs among invocations"
                ),
            );
            let error = error.note_at(span, format!("its extent depends on `{thread}`, which is distributed to invocations"));
            return Err(error.help(match is_host {
                true => format!(
                    "compute `{}` outside the loop over `{name}`, or write `to: register`",
                    nest.program.stages[nest.stage].name
                ),
                false => outside(nest, around, frame),
            }));
        }
    }
    Ok(())
}

/// Returns a help that names the place around a loop, because the copy cannot be made within the loop.
fn outside(nest: &StageNest<'_>, around: &[&Frame], of: &Frame) -> String {
    let before = around.iter().take_while(|frame| !std::ptr::eq(**frame, of));
    let inner = before.filter_map(|frame| frame.as_loop()).last();
    let place = match inner {
        Some((axis, Exec::Serial | Exec::Unroll)) => nest.name(axis),
        _ => "workgroup",
    };
    format!("name `{place}` as the place, or write `to: register`")
}

/// Returns the axis of a loop, and an axis bound to invocations that its extent depends on.
pub(in crate::schedule) fn varying(nest: &StageNest<'_>, frame: &Frame) -> Option<(AxisId, AxisId, SpanId)> {
    let (axis, _) = frame.as_loop()?;
    // Triangular ranges are rare, so the cheap check comes first.
    if !nest.program.exprs.uses_axis(nest.program.axes[axis].extent, &mut |_| true) {
        return None;
    }
    let bound: HashSet<AxisId> = nest.bound_axes();
    let threads: Vec<(AxisId, SpanId)> = nest
        .path
        .frames
        .iter()
        .chain(nest.placed.outside())
        .filter(|f| is_invocation(f))
        .filter_map(|f| f.as_loop().map(|(a, _)| (a, f.span)))
        .collect();
    let extent = nest.program.over_leaves(nest.program.axes[axis].extent, &bound);
    threads.into_iter().find(|(t, _)| nest.program.exprs.uses_axis(extent, &mut |a| a == *t)).map(|(t, span)| (axis, t, span))
}
