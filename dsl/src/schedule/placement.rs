//! The placement of intermediates: `inline(s)`, `root(s)`, and the default. A stage that [`compute_at`](crate::schedule::memory::compute_at) places is a root
//! until that directive is applied.
//!
//! A pointwise intermediate is inlined: it becomes part of its readers. A reduction is a root: its own dispatch stores it in a
//! temporary. So is a pointwise intermediate that would make one of its readers too large ([`mod@crate::algorithm::inline`]). These
//! directives rewrite the stages of the algorithm, and are applied before the first nest is made, regardless of their position in
//! the schedule.
//!
//! Refused: a stage that does not exist; an output or an updated tensor; inlining a reduction; a stage that is placed twice.

use super::merged;
use crate::algorithm::inline::Stored;
use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::nest::{Body, Program, Space, StageId};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Item, Promote};

/// Returns the intermediates that are not inlined although they are pointwise.
///
/// # Errors
/// Reports invalid placements.
pub fn kept(program: &Program, items: &[Item]) -> Result<Vec<StageId>, Errors> {
    let (mut errors, mut kept) = (Errors::new(), Vec::new());
    let mut placed: Vec<&Name> = Vec::new();
    for directive in directives(items) {
        let (names, keep) = match &directive.kind {
            DirectiveKind::Inline(names) => (names.as_slice(), false),
            DirectiveKind::Root(names) => (names.as_slice(), true),
            DirectiveKind::ComputeAt(placed) => (std::slice::from_ref(&placed.source), true),
            _ => continue,
        };
        for name in names {
            if made(items, name) {
                if let DirectiveKind::ComputeAt(_) = &directive.kind {
                    errors.keep(once(&mut placed, name));
                    continue;
                }
                let error = Error::new(name.span, format!("`{name}` is defined by `rfactor`, and has a dispatch of its own"));
                errors.push(error.help(format!(
                    "leave this out, or write `compute_at({name}, …)` to place it where its partial results are reduced"
                )));
                continue;
            }
            let Some(stage) = errors.keep(intermediate(program, name)) else { continue };
            errors.keep(once(&mut placed, name));
            match keep {
                true => kept.push(stage),
                false => drop(errors.keep(pointwise(program, stage, name.span))),
            }
        }
    }
    for item in items {
        let Item::Block { stages, directives } = item else { continue };
        for placed in directives.iter().filter_map(computed) {
            let own = stages.iter().any(|stage| stage.text == placed.source.text);
            let error = Error::new(placed.source.span, format!("`{}` would be computed within its own nest", placed.source));
            errors.keep(if own { Err(error.help("place it at a loop of a stage that reads it")) } else { Ok(()) });
        }
    }
    errors.into_result()?;
    Ok(kept)
}

/// Reports the pointwise intermediates that are roots because they would make their readers too large, if the schedule shapes the
/// nest of such a reader. Returns warnings.
///
/// # Errors
/// The schedule names such an intermediate in `inline`.
pub fn stored(program: &Program, items: &[Item], stored: &[Stored]) -> Result<Errors, Errors> {
    let (mut errors, mut warnings) = (Errors::new(), Errors::new());
    for Stored { stage, reader, parts } in stored {
        let (into, name, reader) = (reader, &program.stages[*stage].name, &program.stages[*reader].name);
        let why = match parts {
            Some(parts) => {
                format!("with it, `{reader}` would have more than {parts} operations, and drivers compile such code slowly")
            }
            None => "it is computed in too many steps, one after another".into(),
        };
        let help = format!("write `root({name})`, or place it by `compute_at({name}, …)` at a loop of `{reader}`");
        let asked = directives(items).find_map(|directive| match &directive.kind {
            DirectiveKind::Inline(names) => names.iter().find(|n| n.text == *name),
            _ => None,
        });
        if let Some(asked) = asked {
            errors.push(Error::new(asked.span, format!("`{name}` cannot be inlined into `{reader}`")).note(why).help(help));
        } else if let Some(span) = nest_of(program, items, *into) {
            let error = Error::new(span, format!("`{name}` is not inlined into `{reader}`: it has a dispatch of its own"));
            warnings.push(error.note(why).help(help));
        }
    }
    errors.into_result().map(|()| warnings)
}

/// Returns the place of the user's first directive for a stage's nest, if there is one.
fn nest_of(program: &Program, items: &[Item], stage: StageId) -> Option<SpanId> {
    let name = &program.stages[stage].name;
    let is_written = |directive: &Directive| directive.planned.is_none();
    items.iter().find_map(|item| match item {
        Item::Block { stages, directives } => {
            stages.iter().find(|n| n.text == *name && directives.iter().all(is_written)).map(|name| name.span)
        }
        // Directives outside of blocks apply to the only result.
        Item::Directive(directive) => {
            let shapes = is_written(directive) && program.is_result(stage) && !is_placement(&directive.kind);
            shapes.then_some(directive.span)
        }
        Item::Statement(_) => None,
    })
}

/// Checks that every placed stage was computed. Stages can be placed within each other without any of them having a dispatch.
pub(super) fn all_computed(program: &Program, items: &[Item], errors: &mut Errors) {
    let hosted = |name: &Name| program.hosts.keys().any(|stage| program.stages[*stage].name == name.text);
    for placed in computed_at(items).filter(|placed| !hosted(&placed.source)) {
        let error = Error::new(
            placed.source.span,
            format!("`{}` is never computed: no dispatch contains the nest that it is placed in", placed.source),
        );
        let error = error.note("the stages of these `compute_at` directives are placed in each other's nests");
        errors.push(error.help("move this directive to the block of a stage that has a dispatch of its own"));
    }
}

/// True if a directive places an intermediate without rewriting a nest.
pub(crate) fn is_placement(kind: &DirectiveKind) -> bool {
    matches!(kind, DirectiveKind::Inline(_) | DirectiveKind::Root(_))
}

/// Returns the `compute_at` placements of a schedule.
pub(crate) fn computed_at(items: &[Item]) -> impl Iterator<Item = &Promote> {
    directives(items).filter_map(computed)
}

fn computed(directive: &Directive) -> Option<&Promote> {
    match &directive.kind {
        DirectiveKind::ComputeAt(placed) => Some(placed),
        _ => None,
    }
}

/// True if an `rfactor` defines a stage of that name.
pub(super) fn made(items: &[Item], stage: &Name) -> bool {
    directives(items).any(|d| matches!(&d.kind, DirectiveKind::Rfactor { into, .. } if into.text == stage.text))
}

/// Returns every directive, including those in blocks.
pub(crate) fn directives(items: &[Item]) -> impl Iterator<Item = &Directive> {
    items.iter().flat_map(|item| match item {
        Item::Directive(directive) => std::slice::from_ref(directive),
        Item::Block { directives, .. } => directives.as_slice(),
        Item::Statement(_) => &[],
    })
}

/// Finds an intermediate by name.
fn intermediate(program: &Program, name: &Name) -> Result<StageId, Error> {
    let is = |stage: &StageId| !program.is_result(*stage);
    let names = || program.stages.ids().filter(is).map(|stage| program.stages[stage].name.as_str());
    let Some(stage) = program.stages.ids().find(|stage| program.stages[*stage].name == name.text) else {
        if let Some(error) = merged::placed(program, name) {
            return Err(error);
        }
        if program.buffers.values().any(|b| b.name == name.text && b.space == Space::Input) {
            let error = Error::new(name.span, format!("`{name}` is an input, and is not computed"));
            return Err(error.help(format!("to copy it, write `promote({name} => {name}_copy, at: …, to: …)`")));
        }
        let known = if names().next().is_none() {
            "this kernel has none".into()
        } else {
            format!("the intermediates are {}", list(names()))
        };
        let error = Error::new(name.span, format!("unknown intermediate `{name}`"));
        return Err(error.help(did_you_mean(&name.text, names()).unwrap_or(known)));
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
