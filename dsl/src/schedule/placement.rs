//! Where intermediates live: `inline(s)`, `root(s)`, and what is so without a word. What [`super::compute_at`] places is a root
//! until then.
//!
//! A pointwise intermediate is inlined: it becomes part of what reads it. A reduction is a root: a dispatch of its own
//! stores it in a temporary. So is a pointwise intermediate that would make one of its readers too large
//! ([`mod@crate::algorithm::inline`]). These directives are rewrites of the algorithm's stages, and are applied before the first nest is
//! made, wherever they stand in the schedule.
//!
//! Refused: a stage that there is not; an output or an updated tensor; a reduction that is to be inlined; a stage that is placed
//! twice.

use super::merged;
use crate::algorithm::inline::Stored;
use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::nest::{Body, Program, Space, StageId};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Item, Promote};

/// The intermediates that are not inlined although they are pointwise.
///
/// # Errors
/// What is wrong with the places.
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
                let error = Error::new(name.span, format!("`{name}` is what `rfactor` makes, and has a dispatch of its own"));
                errors.push(
                    error.help(format!("leave this out, or write `compute_at({name}, …)` to place it where its parts are reduced")),
                );
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

/// Returns the place of the first directive for a stage's nest, if the schedule has one.
fn nest_of(program: &Program, items: &[Item], stage: StageId) -> Option<SpanId> {
    let name = &program.stages[stage].name;
    items.iter().find_map(|item| match item {
        Item::Block { stages, .. } => stages.iter().find(|n| n.text == *name).map(|name| name.span),
        // Directives outside of blocks apply to the only result.
        Item::Directive(directive) => (program.is_result(stage) && !is_placement(&directive.kind)).then_some(directive.span),
        Item::Statement(_) => None,
    })
}

/// That everything placed was computed there: stages can be placed within each other.
pub(super) fn all_computed(program: &Program, items: &[Item], errors: &mut Errors) {
    let hosted = |name: &Name| program.hosts.keys().any(|stage| program.stages[*stage].name == name.text);
    for placed in computed_at(items).filter(|placed| !hosted(&placed.source)) {
        let error = Error::new(placed.source.span, format!("`{}` is placed in the nest of a stage that has none", placed.source));
        let error = error.note("the stage of the block in which this stands is itself placed, and computed nowhere");
        errors.push(error.help("write it in the block of a stage that has a dispatch of its own"));
    }
}

/// Whether a directive gives an intermediate its place, and rewrites no nest.
pub(super) fn is_placement(kind: &DirectiveKind) -> bool {
    matches!(kind, DirectiveKind::Inline(_) | DirectiveKind::Root(_))
}

/// What is to be computed at a loop of another stage.
pub(super) fn computed_at(items: &[Item]) -> impl Iterator<Item = &Promote> {
    directives(items).filter_map(computed)
}

fn computed(directive: &Directive) -> Option<&Promote> {
    match &directive.kind {
        DirectiveKind::ComputeAt(placed) => Some(placed),
        _ => None,
    }
}

/// Whether a directive makes the stage of that name.
pub(super) fn made(items: &[Item], stage: &Name) -> bool {
    directives(items).any(|d| matches!(&d.kind, DirectiveKind::Rfactor { into, .. } if into.text == stage.text))
}

/// Every directive, in blocks too.
fn directives(items: &[Item]) -> impl Iterator<Item = &Directive> {
    items.iter().flat_map(|item| match item {
        Item::Directive(directive) => std::slice::from_ref(directive),
        Item::Block { directives, .. } => directives.as_slice(),
        Item::Statement(_) => &[],
    })
}

/// The intermediate of a name.
fn intermediate(program: &Program, name: &Name) -> Result<StageId, Error> {
    let is = |stage: &StageId| !program.is_result(*stage);
    let names = || program.stages.ids().filter(is).map(|stage| program.stages[stage].name.as_str());
    let Some(stage) = program.stages.ids().find(|stage| program.stages[*stage].name == name.text) else {
        if let Some(error) = merged::placed(program, name) {
            return Err(error);
        }
        if program.buffers.values().any(|b| b.name == name.text && b.space == Space::Input) {
            let error = Error::new(name.span, format!("`{name}` is an input, which nothing computes"));
            return Err(error.help(format!("a copy of it is made by `promote({name} => {name}_copy, at: …, to: …)`")));
        }
        let known = if names().next().is_none() { "this kernel has none".into() } else { format!("there are {}", list(names())) };
        let error = Error::new(name.span, format!("there is no intermediate `{name}`"));
        return Err(error.help(did_you_mean(&name.text, names()).unwrap_or(known)));
    };
    if is(&stage) {
        return Ok(stage);
    }
    let error = Error::new(name.span, format!("`{name}` is a result: it has a dispatch of its own, and is stored for the caller"));
    Err(error.help("a place is given to what `let` defines in the kernel"))
}

/// No stage is placed twice.
fn once<'n>(placed: &mut Vec<&'n Name>, name: &'n Name) -> Result<(), Error> {
    if let Some(first) = placed.iter().find(|other| other.text == name.text) {
        let error = Error::new(name.span, format!("`{name}` is placed twice"));
        let error = error.note_at(first.span, "it is already placed here").note("a stage is computed in one place");
        return Err(error.help("leave this out"));
    }
    placed.push(name);
    Ok(())
}

/// What is inlined has one value where it is read.
fn pointwise(program: &Program, stage: StageId, span: SpanId) -> Result<(), Error> {
    let Body::Reduce { monoid, .. } = &program.stages[stage].body else { return Ok(()) };
    let name = &program.stages[stage].name;
    let error = Error::new(span, format!("`{name}` is a reduction, which cannot be inlined"));
    let error = error.note(format!("its `{}` would run again for every element that reads it", monoid.name));
    Err(error.help(format!("leave it out: `{name}` is then computed in a dispatch of its own")))
}
