//! `by: tree | subgroup | atomic`: the strategy of a reduction whose axis is distributed. Each invocation reduces its own part.
//! Then the partial results are combined:
//! - `tree`: in shared memory, in steps with barriers between them;
//! - `subgroup`: by subgroup arithmetic, or by shuffles (integers, argmin, argmax). If there are several subgroups, each stores its
//!   partial result in shared memory;
//! - `atomic`: by atomic operations on the result in device memory, which a preceding dispatch fills with the identity. It is the
//!   only strategy for workgroups.
//!
//! The meaning of every operator, including ties of argmin and argmax, does not depend on the order. So a strategy changes a result
//! only by the rounding of floats.
//!
//! Refused: a reduction's axis without a strategy, and a strategy without such an axis; workgroups by a strategy other than
//! `atomic`; two strategies within a workgroup, except that atomics may follow another; operators without atomics; features that
//! the profile lacks; `subgroup` with invocations that do not fill subgroups.

use super::atomics;
use crate::diag::{Error, SpanId};
use crate::launch::Feature;
use crate::nest::{AxisId, Body, How, Level, Monoid, State};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{By, Target};

/// Checks that axes which are about to be distributed (or whose outer parts are) agree with the given strategy.
pub fn check(nest: &StageNest<'_>, axes: &[AxisId], names: &[Name], target: &Target, by: Option<By>) -> Applied {
    let reduced: Vec<&Name> = axes.iter().zip(names).filter(|(a, _)| nest.is_reduction(**a)).map(|(_, n)| n).collect();
    let (Some(first), Some(by)) = (reduced.first(), by) else { return missing(reduced.first().copied(), target, by) };
    check_coordinates(nest, axes, names, target)?;
    if target.level == Level::Workgroup && by.how != How::Atomic {
        let error = Error::new(by.span, "workgroups share only device memory, so their partial results need `by: atomic`");
        return Err(error.help(format!(
            "write `by: atomic`, or let another dispatch reduce the partial results: `rfactor({first} => part)` in place of this"
        )));
    }
    if by.how != How::Atomic {
        check_scattered(nest, by)?;
        check_other(nest, by)?;
    }
    let Some(monoid) = monoid(nest) else { return Ok(()) };
    match by.how {
        // Rows of matrices are checked by `fragment`.
        How::Tree | How::Matrix => Ok(()),
        How::Subgroup => check_subgroup(nest, &monoid, by),
        How::Atomic => atomics::check(nest, &monoid, by),
    }
}

/// Reports a missing strategy, or a strategy without an axis that it reduces.
fn missing(reduced: Option<&Name>, target: &Target, by: Option<By>) -> Applied {
    match (reduced, by) {
        (Some(name), None) => {
            let error =
                Error::new(name.span, format!("`{name}` is a reduction's axis: its iterations are combined into one element"));
            let help = match target.level {
                Level::Workgroup => {
                    "say how the partial results are combined: `by: atomic`; or let another dispatch reduce them: `rfactor`".to_owned()
                }
                _ => "say how the partial results are combined: `by: tree` in shared memory, `by: subgroup` with subgroup operations, or \
                      `by: atomic` in device memory"
                    .to_owned(),
            };
            Err(error.help(help))
        }
        (None, Some(by)) => {
            let error = Error::new(by.span, "no axis of a reduction is distributed here");
            Err(error.help("`by` says how the partial results of a reduction are combined: leave it out"))
        }
        _ => Ok(()),
    }
}

/// Checks that a coordinate which is given several times fuses axes of one kind.
fn check_coordinates(nest: &StageNest<'_>, axes: &[AxisId], names: &[Name], target: &Target) -> Applied {
    for (i, (slot, span)) in target.slots.iter().enumerate() {
        let other = (0..i).find(|j| target.slots[*j].0 == *slot && nest.is_reduction(axes[*j]) != nest.is_reduction(axes[i]));
        if let Some(other) = other.filter(|_| target.level != Level::Workgroup) {
            let error = Error::new(*span, format!("`{}` and `{}` share a coordinate", names[other], names[i]));
            return Err(error.note("one is a reduction's axis, the other is parallel").help("give each a coordinate of its own"));
        }
    }
    Ok(())
}

/// Refuses partial results of a scattered reduction, whose invocations update elements in memory.
fn check_scattered(nest: &StageNest<'_>, by: By) -> Applied {
    if !nest.is_scattered() {
        return Ok(());
    }
    let name = &nest.program.stages[nest.stage].name;
    let error = Error::new(by.span, format!("the invocations of `{name}` update elements in memory, and have no partial results"));
    Err(error.help("write `by: atomic`; or give each invocation its own elements: `rfactor` before `scatter`"))
}

/// Checks that all axes of a reduction within a workgroup have the same strategy.
fn check_other(nest: &StageNest<'_>, by: By) -> Applied {
    let other = nest.path.frames.iter().find(|f| {
        let how = f.as_loop().and_then(|(axis, _)| nest.program.notes.strategies.get(&axis));
        how.is_some_and(|how| *how != by.how && *how != How::Atomic)
    });
    let Some(frame) = other else { return Ok(()) };
    let name = frame.as_loop().map_or("", |(axis, _)| nest.name(axis));
    let error = Error::new(by.span, format!("another axis of this reduction, `{name}`, has another strategy"));
    Err(error.note_at(frame.span, "it was distributed here").help("give both the same strategy"))
}

/// Checks that the profile has the features that `by: subgroup` needs.
fn check_subgroup(nest: &StageNest<'_>, monoid: &Monoid, by: By) -> Applied {
    let profile = nest.profile;
    let feature = match monoid.of_subgroups(&nest.program.exprs) {
        Some(_) => Feature::SubgroupArithmetic,
        None => Feature::SubgroupShuffle,
    };
    if profile.subgroup.is_none() {
        let error = Error::new(by.span, format!("the profile `{}` does not say how large subgroups are", profile.name));
        return Err(error.help("write `by: tree`, or `subgroup: 32` in a profile of devices that have this size"));
    }
    for feature in [feature, Feature::SubgroupSize] {
        if !profile.has(feature) {
            let what = format!("`{}` by subgroup needs `{}`, which `{}` does not have", monoid.name, feature.name(), profile.name);
            return Err(Error::new(by.span, what).help("write `by: tree`"));
        }
    }
    Ok(())
}

/// Records that an axis is about to be bound, and prepares the program for it.
pub fn begin(nest: &mut StageNest<'_>, axis: AxisId, by: By, span: SpanId) -> Applied {
    let (name, stage) = (nest.name(axis).to_owned(), nest.program.stages[nest.stage].name.clone());
    if by.how == How::Atomic {
        atomics::prepare(nest, span);
    } else {
        nest.program.owe(
            format!("the partial results over `{name}` are combined before `{stage}` is written"),
            State::Proved,
            span,
        );
    }
    nest.program.notes.strategies.insert(axis, by.how);
    Ok(())
}

/// Returns the stage's monoid.
pub(in crate::schedule) fn monoid(nest: &StageNest<'_>) -> Option<Monoid> {
    match &nest.program.stages[nest.stage].body {
        Body::Reduce { monoid, .. } => Some(monoid.clone()),
        Body::Map(_) => None,
    }
}
