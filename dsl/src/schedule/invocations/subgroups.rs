//! The requirements of the targets `subgroup(…)` and `lane(x)`, and of reductions by subgroup.
//!
//! A dispatch with axes distributed to subgroups and lanes has a one-dimensional local size. It consists of whole subgroups, as
//! many as the axes count, with the size that the profile states. The launch requires that size.
//!
//! Refused: threads in the same nest as subgroups or lanes; more subgroups or lanes than the profile has; subgroups without lanes,
//! because all lanes would do the same; reductions by subgroup whose invocations do not fill subgroups.

use crate::diag::{Error, SpanId};
use crate::launch::Feature;
use crate::nest::path::Frame;
use crate::nest::{Exec, How, Level, Pred, Slot, Tail};
use crate::schedule::{Applied, StageNest};
use crate::syntax::schedule::Target;

/// Checks that axes can be distributed to a level, given the axes that were distributed before.
pub(super) fn check_level(nest: &StageNest<'_>, target: &Target) -> Applied {
    let within = |level: Level| matches!(level, Level::Subgroup | Level::Lane);
    if target.level == Level::Workgroup {
        return Ok(());
    }
    let other = |f: &&Frame| f.level().is_some_and(|(level, _)| level != Level::Workgroup && within(level) != within(target.level));
    if let Some(frame) = nest.path.frames.iter().find(other) {
        let (axis, word) =
            (frame.as_loop().map_or("", |(a, _)| nest.name(a)), if within(target.level) { "threads" } else { "subgroups" });
        let error = Error::new(target.span, format!("`{axis}` is distributed to {word}"));
        let error = error.note_at(frame.span, "here").note("a dispatch uses either threads, or lanes of subgroups");
        return Err(error.help("write `subgroup(…)` and `lane(x)` for both, or `thread(…)`"));
    }
    if !within(target.level) {
        return Ok(());
    }
    check_size(nest, target.span)
}

/// Checks that a known subgroup size can be required.
pub(in crate::schedule) fn check_size(nest: &StageNest<'_>, blame: SpanId) -> Applied {
    let profile = nest.profile;
    if profile.subgroup.is_none() {
        let error = Error::new(blame, format!("the profile `{}` does not say how large subgroups are", profile.name));
        return Err(error.help("write `thread(…)`, or `subgroup: 32` in a profile of devices that have this size"));
    }
    if !profile.has(Feature::SubgroupSize) {
        let error = Error::new(blame, format!("the profile `{}` does not have `subgroup_size`", profile.name));
        return Err(error.note("the launch must require a subgroup size from the device").help("write `thread(…)`"));
    }
    Ok(())
}

/// Checks that there are enough lanes and subgroups.
pub(super) fn check_count(nest: &StageNest<'_>, target: &Target) -> Applied {
    let (profile, Some(size)) = (nest.profile, nest.profile.subgroup) else { return Ok(()) };
    if let Some((axis, lanes)) = nest.extents(Level::Lane).next()
        && lanes > i64::from(size)
    {
        let error =
            Error::new(target.span, format!("`{axis}` has {lanes} values, but a subgroup of `{}` has {size} lanes", profile.name));
        return Err(error.help(format!("tile it by {size} or less, and let the outer part be a loop, or subgroups")));
    }
    let Some(count) = nest.subgroup_count().filter(|count| *count > profile.subgroups) else { return Ok(()) };
    let error = Error::new(target.span, format!("a workgroup of {count} subgroups is too large"));
    Err(error
        .note(format!("`{}` guarantees {}", profile.name, profile.subgroups))
        .help("make the tile smaller, or distribute fewer axes"))
}

/// Checks the rules that need the complete distribution.
pub(in crate::schedule) fn check_whole(nest: &StageNest<'_>) -> Applied {
    check_idle_lanes(nest)?;
    let by_subgroup = |f: &&Frame| {
        let how = f.as_loop().and_then(|(axis, _)| nest.program.notes.strategies.get(&axis));
        how == Some(&How::Subgroup)
    };
    let reduced: Vec<&Frame> = nest.path.frames.iter().filter(by_subgroup).collect();
    let (Some(first), Some(size)) = (reduced.first(), nest.profile.subgroup) else { return Ok(()) };
    match first.level() {
        Some((Level::Thread, _)) => check_threads(nest, &reduced, size),
        _ if reduced.iter().any(|f| matches!(f.level(), Some((Level::Lane, _)))) => Ok(()),
        _ => {
            let name = first.as_loop().map_or("", |(a, _)| nest.name(a));
            let error = Error::new(first.span, format!("the partial results over `{name}` are in different subgroups"));
            Err(error
                .note("`by: subgroup` combines lanes, but no lanes are reduced")
                .help("write `by: tree`, or distribute an axis of the reduction to lanes"))
        }
    }
}

/// Checks that subgroups have lanes, because otherwise every lane would do the same.
fn check_idle_lanes(nest: &StageNest<'_>) -> Applied {
    let at = |wanted: Level| nest.path.frames.iter().find(move |f| f.level().is_some_and(|(level, _)| level == wanted));
    let (Some(frame), None) = (at(Level::Subgroup), at(Level::Lane)) else { return Ok(()) };
    if nest.has_matrices() {
        return Ok(());
    }
    let name = frame.as_loop().map_or("", |(a, _)| nest.name(a));
    let error = Error::new(frame.span, format!("`{name}` is distributed to subgroups, and all lanes of each would do the same"));
    Err(error.help("distribute another axis to `lane(x)`, or this one to threads"))
}

/// Checks that threads which are reduced by subgroup fill subgroups. The coordinate x varies fastest.
fn check_threads(nest: &StageNest<'_>, reduced: &[&Frame], size: u32) -> Applied {
    let local = nest.local();
    let slots = [Slot::X, Slot::Y, Slot::Z];
    let bound = |slot: Slot| reduced.iter().any(|f| f.level() == Some((Level::Thread, slot)));
    let is_reduced = |slot: Slot| bound(slot) || bound(Slot::Linear);
    let mut team = 1;
    let mut beyond = None;
    for (slot, count) in slots.into_iter().zip(local).filter(|(_, count)| *count > 1) {
        match (is_reduced(slot), beyond) {
            (true, None) => team *= count,
            (true, Some(other)) => return Err(two_dimensions(nest, reduced, slot, other)),
            (false, None) => beyond = Some(slot),
            (false, Some(_)) => {}
        }
    }
    if team.is_multiple_of(size) {
        return check_row(nest, reduced, local, size);
    }
    let names: Vec<String> = reduced.iter().filter_map(|f| Some(format!("`{}`", nest.name(f.as_loop()?.0)))).collect();
    let message = format!("the {team} invocations of {} do not fill subgroups of {size}", names.join(" and "));
    let error = Error::new(last(reduced), message).note(format!("`{}` has subgroups of {size}", nest.profile.name));
    Err(error.help(format!("make them a multiple of {size}, or write `by: tree`, which takes any number")))
}

fn two_dimensions(nest: &StageNest<'_>, reduced: &[&Frame], slot: Slot, other: Slot) -> Error {
    let [slot, other] = [slot, other].map(|s| format!("{s:?}").to_lowercase());
    let message = format!("`thread({slot})` is reduced by subgroup, and `thread({other})`, which counts faster, is not");
    let error = Error::new(last(reduced), message).note(format!("a subgroup of `{}` extends along `{other}`", nest.profile.name));
    error.help("give the reduced axis the coordinate `x`, or write `by: tree`")
}

/// Checks that the workgroup can be dispatched as one row of whole subgroups.
fn check_row(nest: &StageNest<'_>, reduced: &[&Frame], local: [u32; 3], size: u32) -> Applied {
    let (count, profile) = (local.iter().product::<u32>(), nest.profile);
    if count / size > profile.subgroups {
        let error = Error::new(last(reduced), format!("a workgroup of {} subgroups is too large", count / size));
        return Err(error
            .note(format!("`{}` guarantees {}", profile.name, profile.subgroups))
            .help("make the tile smaller, or distribute fewer axes"));
    }
    if count > profile.local[0] {
        let error = Error::new(last(reduced), format!("a reduction by subgroup needs all {count} invocations in one row"));
        let error = error.note(format!("`{}` guarantees {} in `x`", profile.name, profile.local[0]));
        return Err(error.help("make the tile smaller, or distribute fewer axes"));
    }
    Ok(())
}

fn last(reduced: &[&Frame]) -> SpanId {
    reduced.last().map_or(SpanId::NONE, |f| f.span)
}

impl StageNest<'_> {
    /// Returns the axes bound to a level, with their extents.
    fn extents(&self, level: Level) -> impl Iterator<Item = (&str, i64)> {
        let bound = self.path.frames.iter().filter(move |f| f.level().is_some_and(|(l, _)| l == level));
        bound.filter_map(|f| {
            let (axis, _) = f.as_loop()?;
            Some((self.name(axis), self.program.exprs.as_int(self.program.axes[axis].extent)?))
        })
    }

    /// True if subgroups compute with matrices.
    pub(in crate::schedule) fn has_matrices(&self) -> bool {
        self.path.frames.iter().any(|f| matches!(f.as_loop(), Some((_, Exec::Matrix(_)))))
    }

    /// Returns the number of subgroups of a workgroup, if axes are distributed to subgroups or lanes.
    pub(super) fn subgroup_count(&self) -> Option<u32> {
        let lanes = self.extents(Level::Lane).next().is_some() || self.has_matrices();
        let subgroups: Vec<i64> = self.extents(Level::Subgroup).map(|(_, n)| n).collect();
        if !lanes && subgroups.is_empty() {
            return None;
        }
        let count = subgroups.into_iter().fold(1i64, i64::saturating_mul);
        Some(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Returns predicates on axes that have fewer values than a subgroup has lanes.
    pub(in crate::schedule) fn against_inactive(&self) -> Vec<Pred> {
        let few = |f: &Frame| {
            let (axis, Exec::Bind(Level::Lane, _)) = f.as_loop()? else { return None };
            let count = self.program.exprs.as_int(self.program.axes[axis].extent)?;
            (count < i64::from(self.profile.subgroup?)).then_some(Pred { axis, tail: Tail::Guard })
        };
        self.path.frames.iter().filter_map(few).collect()
    }
}
