//! `distribute(t => thread(x))` and the targets of `tile`: binds axes to workgroups of the grid, to invocations of a workgroup, or
//! to its subgroups and their lanes. Axes that share a coordinate are fused, outermost first. A reduction's axis needs a strategy:
//! [`super::strategy`].
//!
//! Refused: binding an axis inside a reduction's loop to workgroups; a workgroup axis made from an axis within a thread's part; an
//! invocation axis whose extent is not a literal; more invocations than the profile guarantees. [`super::subgroups`] lists the
//! refusals for subgroups.

use super::{strategy, subgroups};
use crate::diag::{Error, SpanId};
use crate::expr::ExprId;
use crate::nest::path::{Frame, Head};
use crate::nest::{AxisDef, AxisId, Exec, Fate, Level, Slot, Space};
use crate::schedule::loops::{fuse, peel, shift, split};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{By, Target};

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name], target: &Target, by: Option<By>, span: SpanId) -> Applied {
    let axes = nest.axes(names)?;
    check_count(axes.len(), target)?;
    strategy::check(nest, &axes, names, target, by)?;
    for (axis, name) in axes.iter().zip(names) {
        split::plain(nest, *axis, name.span)?;
        check_axis(nest, *axis, name.span, target)?;
    }
    bind(nest, &axes, target, by, span)
}

/// Checks that there is one coordinate for each axis.
pub fn check_count(axes: usize, target: &Target) -> Applied {
    if axes == target.slots.len() {
        return Ok(());
    }
    let error =
        Error::new(target.span, format!("the number of axes is {axes}, but the number of coordinates is {}", target.slots.len()));
    Err(error.help("give one coordinate for each axis; axes with the same coordinate are fused"))
}

/// Checks that an axis (or its outer part) can be distributed.
pub fn check_axis(nest: &mut StageNest<'_>, axis: AxisId, blame: SpanId, target: &Target) -> Applied {
    check_target(nest, axis, target, blame)?;
    let (nest, name) = (&*nest, nest.name(axis));
    shift::check_distributed(nest, axis, blame, target.level)?;
    match target.level {
        Level::Workgroup => {}
        Level::Subgroup => peel::check_uniform(nest, axis, blame, "subgroups")?,
        Level::Lane | Level::Thread => peel::check_uniform(nest, axis, blame, "threads")?,
    }
    if target.level == Level::Workgroup {
        let at = nest.path.position(axis).unwrap_or(0);
        // The loops of a reduction are not ordered, so one of its axes can move out of the others.
        let within = |f: &&Frame| f.as_loop().is_some_and(|(a, e)| e == Exec::Serial && nest.is_reduction(a));
        if let Some(outer) = nest.path.frames[..at].iter().find(within).filter(|_| !nest.is_reduction(axis)) {
            let around = outer.as_loop().map_or_else(String::new, |(a, _)| nest.name(a).to_owned());
            let error = Error::new(
                blame,
                format!("`{name}` is inside the reduction's loop over `{around}`, and workgroups enclose all loops"),
            );
            return Err(error
                .note_at(outer.span, format!("the loop over `{around}` comes from here"))
                .help("distribute it before it is moved inside"));
        }
        if let Some((thread, made)) = within_thread(nest, axis) {
            let error = Error::new(blame, format!("`{name}` is within the part of one thread, and workgroups enclose threads"));
            return Err(error
                .note_at(made, format!("`{}` was distributed to threads here", nest.name(thread)))
                .help("distribute to workgroups first"));
        }
    }
    Ok(())
}

/// Checks that an axis can be distributed to a target. A stage within another stage's nest is not distributed to workgroups. For a
/// stage in registers, only parallel axes of distributed registers can be distributed, or the axes of a reduction whose result
/// every invocation gets.
fn check_target(nest: &mut StageNest<'_>, axis: AxisId, target: &Target, blame: SpanId) -> Applied {
    let Some(host) = nest.program.notes.hosts.get(&nest.stage) else { return Ok(()) };
    let stage = &nest.program.stages[nest.stage];
    let (name, host) = (&stage.name, &nest.program.stages[*host].name);
    if target.level == Level::Workgroup {
        let error = Error::new(blame, format!("`{name}` is computed within each workgroup of `{host}`"));
        return Err(error.help("distribute it to the invocations of a workgroup: `thread(…)`"));
    }
    if nest.program.buffers[stage.buffer].space != Space::Register {
        return Ok(());
    }
    if nest.program.notes.dealt.contains(&stage.buffer) {
        if !nest.is_reduction(axis) {
            return Ok(());
        }
        let what = format!("the elements of `{name}` are distributed, so its reduction cannot be distributed too");
        let error = Error::new(blame, what).note("each invocation reduces its own elements alone");
        return Err(error.help(format!("serialize or unroll `{}` instead, or write `to: shared`", nest.name(axis))));
    }
    if !nest.is_reduction(axis) {
        let error = Error::new(blame, format!("`{name}` is in registers, and each invocation fills its own"));
        return Err(error.help("unroll its axes, or write `to: shared`"));
    }
    same_for_all(nest, blame)
}

/// Checks that a cooperative reduction computes the same value for all invocations.
fn same_for_all(nest: &mut StageNest<'_>, blame: SpanId) -> Applied {
    let mut values: Vec<ExprId> = nest.path.compute.values().collect();
    values.extend(nest.path.axes().map(|axis| nest.program.axes[axis].extent));
    let around = nest.placed.outside().filter(|f| super::is_invocation(f));
    let threads: Vec<(AxisId, SpanId)> = around.filter_map(|f| f.as_loop().map(|(axis, _)| (axis, f.span))).collect();
    for value in values {
        let value = nest.on_loops(value);
        let differs = threads.iter().find(|(thread, _)| nest.program.exprs.uses_axis(value, &mut |axis| axis == *thread));
        if let Some((thread, made)) = differs {
            let (name, thread) = (&nest.program.stages[nest.stage].name, nest.name(*thread));
            let what =
                format!("`{name}` is reduced by several invocations into registers, but has another value for each `{thread}`");
            let error = Error::new(blame, what).note("such a reduction has one value for the whole workgroup");
            let error = error.note_at(*made, format!("`{thread}` was distributed to invocations here"));
            return Err(error.help("write `to: shared`"));
        }
    }
    Ok(())
}

/// Returns the thread-bound axis that is an outer sibling of `axis`, or of an axis that it was made from.
fn within_thread(nest: &StageNest<'_>, axis: AxisId) -> Option<(AxisId, SpanId)> {
    match &nest.program.axes[axis].def {
        AxisDef::Root(_) | AxisDef::Made => None,
        AxisDef::Fused(digits) => digits.iter().find_map(|d| within_thread(nest, *d)),
        AxisDef::Part { of, part } => {
            let Fate::Split(split) = &nest.program.axes[*of].fate else { return None };
            let threads = |f: &&Frame| matches!(f.level(), Some((Level::Thread | Level::Subgroup | Level::Lane, _)));
            let outer = |f: &Frame| Some((f.as_loop().map(|(a, _)| a).filter(|a| split.parts[..*part].contains(a))?, f.span));
            nest.path.frames.iter().filter(threads).find_map(outer).or_else(|| within_thread(nest, *of))
        }
    }
}

/// Binds axes, each to its coordinate, and moves their loops outward: workgroup axes outermost, then subgroup axes, then thread or
/// lane axes.
pub fn bind(nest: &mut StageNest<'_>, axes: &[AxisId], target: &Target, by: Option<By>, span: SpanId) -> Applied {
    subgroups::check_level(nest, target)?;
    nest.levels.push(target.level);
    if target.level == Level::Workgroup {
        nest.program.notes.down.extend(axes.iter().zip(&target.down).filter(|(_, down)| **down).map(|(axis, _)| *axis));
    }
    let bound = match target.level {
        Level::Workgroup => axes.iter().copied().zip(target.slots.iter().map(|(s, _)| *s)).collect(),
        _ => fold(nest, axes, target, span)?,
    };
    for (axis, slot) in bound {
        if nest.path.position(axis).is_none() {
            continue;
        }
        if target.level != Level::Workgroup {
            check_extent(nest, axis, (target.level, slot), target.span)?;
        }
        if let Some(by) = by.filter(|_| nest.is_reduction(axis)) {
            strategy::begin(nest, axis, by, span)?;
        }
        let Some(at) = nest.path.position(axis) else { continue };
        let mut frame = nest.path.remove(at);
        frame.head = Head::Loop { axis, exec: Exec::Bind(target.level, slot) };
        frame.span = span;
        let outer = |f: &&Frame| f.level().is_some_and(|(level, _)| level <= target.level);
        let front = nest.path.frames.iter().take_while(outer).count();
        nest.path.frames.insert(front, frame);
    }
    nest.take_hulls(span)?;
    nest.refresh();
    subgroups::check_count(nest, target)?;
    check_invocations(nest, target.span)
}

/// Fuses the axes that share a coordinate, so that each coordinate has one.
fn fold(nest: &mut StageNest<'_>, axes: &[AxisId], target: &Target, span: SpanId) -> Result<Vec<(AxisId, Slot)>, Error> {
    let mut bound = Vec::new();
    for slot in [Slot::Linear, Slot::Z, Slot::Y, Slot::X] {
        let pairs = axes.iter().zip(&target.slots).filter(|(_, (s, _))| *s == slot);
        let mine: Vec<AxisId> = pairs.map(|(a, _)| *a).filter(|a| !nest.program.is_single(*a)).collect();
        match mine.as_slice() {
            [] => {}
            [one] => bound.push((*one, slot)),
            several => {
                let name = several.iter().map(|a| nest.name(*a)).collect::<Vec<_>>().join("_");
                nest.fresh(&name, target.span, "fuse(… => another_name)")?;
                bound.push((fuse::fuse(nest, several, name, span)?, slot));
            }
        }
    }
    Ok(bound)
}

/// Checks that an invocation axis has a literal extent and its own coordinate.
fn check_extent(nest: &StageNest<'_>, axis: AxisId, (level, slot): (Level, Slot), blame: SpanId) -> Applied {
    let extent = nest.program.axes[axis].extent;
    let letter = format!("{slot:?}").to_lowercase();
    let word = format!("{level:?}").to_lowercase();
    if nest.program.exprs.as_int(extent).is_none() {
        let text = nest.text(extent);
        let error = Error::new(
            blame,
            format!("`{}` has the extent `{text}`, but the number of {word}s must be a literal", nest.name(axis)),
        );
        return Err(error.help(match nest.is_reduction(axis) {
            true => {
                let (name, by) = (nest.name(axis), ", by: tree");
                format!("tile it, and distribute the inner part: `tile({name}: 64 => {name}_o); distribute({name} => {word}({letter}){by});`")
            }
            false => format!(
                "tile it so that the part that goes to {word}s has a literal extent: to workgroups first, then the tile to {word}s"
            ),
        }));
    }
    let linear = |of: Slot| of == Slot::Linear;
    let beside = |f: &&Frame| f.level().is_some_and(|(l, of)| l == level && linear(of) != linear(slot));
    if let Some(frame) = nest.path.frames.iter().find(beside) {
        let other = frame.as_loop().map_or_else(String::new, |(a, _)| nest.name(a).to_owned());
        let error = Error::new(blame, format!("`linear` uses all coordinates, but `{other}` already has one of them"));
        return Err(error.note_at(frame.span, "it was distributed here").help("fuse the two axes, or give both `x`, `y` or `z`"));
    }
    let taken = nest.path.frames.iter().find(|f| f.level() == Some((level, slot)));
    if let Some(frame) = taken {
        let other = frame.as_loop().map_or_else(String::new, |(a, _)| nest.name(a).to_owned());
        let error = Error::new(blame, format!("the {word} coordinate `{letter}` is taken by `{other}`"));
        return Err(error.note_at(frame.span, "it was distributed here").help("use another coordinate, or fuse the two axes"));
    }
    Ok(())
}

/// Checks that the workgroup fits the profile.
fn check_invocations(nest: &StageNest<'_>, blame: SpanId) -> Applied {
    let too_large = nest.profile.too_large(nest.local());
    too_large.map_or(Ok(()), |(what, guaranteed)| {
        Err(Error::new(blame, what).note(guaranteed).help("make the tile smaller, or distribute fewer axes"))
    })
}

impl StageNest<'_> {
    /// Returns the number of invocations of a workgroup in x, y and z, as far as axes are distributed.
    pub fn local(&self) -> [u32; 3] {
        if let Some(count) = self.subgroup_count() {
            return [count.saturating_mul(self.profile.subgroup.unwrap_or(1)), 1, 1];
        }
        let mut local = [1u32; 3];
        for frame in &self.path.frames {
            let Some((Level::Thread, slot)) = frame.level() else { continue };
            let extent = frame.as_loop().and_then(|(a, _)| self.program.exprs.as_int(self.program.axes[a].extent));
            let extent = extent.and_then(|e| u32::try_from(e).ok()).unwrap_or(u32::MAX);
            match slot {
                Slot::X | Slot::Linear => local[0] = extent,
                Slot::Y => local[1] = extent,
                Slot::Z => local[2] = extent,
            }
        }
        local
    }
}
