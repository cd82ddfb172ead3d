//! The placement of intermediates: `inline(s)`, `root(s)`, and the default. A stage that [`compute_at`](crate::schedule::memory::compute_at) places is a root
//! until that directive is applied.
//!
//! A pointwise intermediate is inlined: it becomes part of its readers. A reduction is a root: its own dispatch stores it in a
//! temporary. So is a pointwise intermediate that would make one of its readers too large ([`mod@crate::algorithm::inline`]). These
//! directives rewrite the stages of the algorithm, and are applied before the first nest is made, regardless of their position in
//! the schedule.
//!
//! Refused: a stage that does not exist; an output or an updated tensor; inlining a reduction; a stage that is placed twice.

use super::resolve::ResolvedSchedule;
use super::stage_names;
use crate::algorithm::inline::{Stored, Why};
use crate::diag::{Error, Errors, SpanId};
use crate::nest::{Body, Program, Space, StageId};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Schedule};
use std::collections::BTreeMap;

/// The place of an intermediate, as a directive states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// `inline(s)`.
    Inlined,
    /// `root(s)`.
    Root,
    /// `compute_at(s, …)`.
    Computed,
}

/// The placed intermediates, each with the place of its name in the directive.
pub(super) type Placements = BTreeMap<StageId, (Placement, SpanId)>;

/// Returns the placements of a schedule. Reports invalid placements.
pub(super) fn placements(program: &Program, schedule: &Schedule, errors: &mut Errors) -> Placements {
    let (mut placements, mut placed) = (Placements::new(), Vec::new());
    for directive in schedule.directives() {
        let (names, placement) = match &directive.kind {
            DirectiveKind::Inline(names) => (names.as_slice(), Placement::Inlined),
            DirectiveKind::Root(names) => (names.as_slice(), Placement::Root),
            DirectiveKind::ComputeAt(placed) => (std::slice::from_ref(&placed.source), Placement::Computed),
            _ => continue,
        };
        for name in names {
            if is_partial(schedule, name) {
                errors.keep(if placement == Placement::Computed { once(&mut placed, name) } else { Err(partial(name)) });
                continue;
            }
            let Some(stage) = errors.keep(intermediate(program, name)) else { continue };
            errors.keep(once(&mut placed, name));
            if placement == Placement::Inlined {
                errors.keep(pointwise(program, stage, name.span));
            }
            placements.insert(stage, (placement, name.span));
        }
    }
    placements
}

/// Reports the pointwise intermediates that are roots although the schedule does not say so, because they would make their readers too large
/// or need values that are overwritten. It reports them if the schedule shapes the nest of such a reader. Returns warnings.
///
/// # Errors
/// The schedule names such an intermediate in `inline`.
pub(crate) fn stored(program: &Program, resolved: &ResolvedSchedule, stored: &[Stored]) -> Result<Errors, Errors> {
    let (mut errors, mut warnings) = (Errors::new(), Errors::new());
    for stored in stored {
        let (name, reader) = (&program.stages[stored.stage].name, &program.stages[stored.reader].name);
        let why = match stored.why {
            Why::Parts(parts) => {
                format!("with it, `{reader}` would have more than {parts} operations, and drivers compile such code slowly")
            }
            Why::Deep => "it is computed in too many steps, one after another".into(),
            Why::Updated(buffer) => {
                format!("it reads values of `{}` that are overwritten before `{reader}` needs them", program.buffers[buffer].name)
            }
        };
        let help = match stored.why {
            Why::Updated(_) => format!("write `root({name})`"),
            _ => format!("write `root({name})`, or place it by `compute_at({name}, …)` at a loop of `{reader}`"),
        };
        if let Some((Placement::Inlined, asked)) = resolved.placements.get(&stored.stage) {
            errors.push(Error::new(*asked, format!("`{name}` cannot be inlined into `{reader}`")).note(why).help(help));
        } else if let Some(span) = resolved.written(stored.reader) {
            let error = Error::new(span, format!("`{name}` is not inlined into `{reader}`: it has a dispatch of its own"));
            warnings.push(error.note(why).help(help));
        }
    }
    errors.into_result().map(|()| warnings)
}

/// Checks that every placed stage was computed. Stages can be placed within each other without any of them having a dispatch.
pub(super) fn all_computed(program: &Program, resolved: &ResolvedSchedule, errors: &mut Errors) {
    let is_left = |name: &Name| dispatched(program).iter().any(|stage| program.stages[*stage].name == name.text);
    for placed in resolved.computed_at().filter(|placed| is_left(placed)) {
        let error =
            Error::new(placed.span, format!("`{placed}` is never computed: no dispatch contains the nest that it is placed in"));
        let error = error.note("the stages of these `compute_at` directives are placed in each other's nests");
        errors.push(error.help("move this directive to the block of a stage that has a dispatch of its own"));
    }
}

/// Returns the stages that have a dispatch, without stages in their nests.
pub(super) fn dispatched(program: &Program) -> Vec<StageId> {
    let is_own = |stage: &StageId| program.is_planned(*stage) && !program.notes.hosts.contains_key(stage);
    program.stages.ids().filter(is_own).collect()
}

/// Returns the stages that a schedule places by `compute_at`.
pub(crate) fn computed_at(schedule: &Schedule) -> impl Iterator<Item = &Name> {
    schedule.directives().filter_map(computed)
}

pub(super) fn computed(directive: &Directive) -> Option<&Name> {
    match &directive.kind {
        DirectiveKind::ComputeAt(placed) => Some(&placed.source),
        _ => None,
    }
}

/// True if an `rfactor` defines a stage of that name.
fn is_partial(schedule: &Schedule, stage: &Name) -> bool {
    schedule.directives().any(|d| matches!(&d.kind, DirectiveKind::Rfactor { into, .. } if into.text == stage.text))
}

/// Reports `inline` or `root` of a stage of partial results.
fn partial(name: &Name) -> Error {
    let error = Error::new(name.span, format!("`{name}` is defined by `rfactor`, and has a dispatch of its own"));
    error.help(format!("leave this out, or write `compute_at({name}, …)` to place it where its partial results are reduced"))
}

/// Finds an intermediate by name.
fn intermediate(program: &Program, name: &Name) -> Result<StageId, Error> {
    let is = |stage: &StageId| !program.is_result(*stage);
    let Some(stage) = program.stage_named(&name.text) else {
        if let Some(error) = stage_names::merged_and_placed(program, name) {
            return Err(error);
        }
        if program.buffers.values().any(|b| b.name == name.text && b.space == Space::Input) {
            let error = Error::new(name.span, format!("`{name}` is an input, and is not computed"));
            return Err(error.help(format!("to copy it, write `promote({name} => {name}_copy, at: …, to: …)`")));
        }
        let names: Vec<&str> = program.stages.ids().filter(is).map(|stage| program.stages[stage].name.as_str()).collect();
        return Err(stage_names::unknown(program, name, "intermediate", &names));
    };
    if is(&stage) {
        return Ok(stage);
    }
    let error = Error::new(name.span, format!("`{name}` is a result: it has a dispatch of its own, and is stored for the caller"));
    Err(error.help("only stages that `let` defines in the kernel can be placed"))
}

/// Checks that a stage is not placed twice.
fn once<'n>(placed: &mut Vec<&'n Name>, name: &'n Name) -> Result<(), Error> {
    if let Some(first) = placed.iter().find(|other| other.text == name.text) {
        let error = Error::new(name.span, format!("`{name}` is placed twice"));
        let error = error.note_at(first.span, "it is already placed here").note("a stage is computed in one place");
        return Err(error.help("leave this out"));
    }
    placed.push(name);
    Ok(())
}

/// Checks that an inlined stage is pointwise, so that it has one value where it is read.
fn pointwise(program: &Program, stage: StageId, span: SpanId) -> Result<(), Error> {
    let Body::Reduce { monoid, .. } = &program.stages[stage].body else { return Ok(()) };
    let name = &program.stages[stage].name;
    let error = Error::new(span, format!("`{name}` is a reduction, which cannot be inlined"));
    let error = error.note(format!("its `{}` would run again for every element that reads it", monoid.name));
    Err(error.help(format!("leave it out: `{name}` is then computed in a dispatch of its own")))
}
