//! Decompositions: statements that replace a stage by other stages, before nests exist. They are applied in the order of the
//! schedule, after its clones ([`super::clone`]); [`super::winograd`] and [`super::im2col`] describe the new stages. The decompositions of [`super::online`] come last,
//! because each covers several stages.

use super::pack::Rewritten;
use super::{clone, im2col, online, winograd};
use crate::diag::{Error, Errors};
use crate::nest::Program;
use crate::schedule::placement;
use crate::syntax::Name;
use crate::syntax::schedule::{Schedule, Statement, StatementKind};

/// True if a schedule has a decomposition that changes rounding.
pub(crate) fn rounds(schedule: &Schedule) -> bool {
    statements(schedule).any(|(statement, _)| matches!(statement.kind, StatementKind::Winograd(_))) || online::is_in(schedule)
}

/// Returns the decomposition of a stage.
pub(in crate::schedule) fn of<'a>(schedule: &'a Schedule, name: &Name) -> Option<&'a Statement> {
    statements(schedule).find(|(_, result)| result.text == name.text).map(|(statement, _)| statement)
}

/// Returns the decompositions, each with the name of the stage that it replaces.
fn statements(schedule: &Schedule) -> impl Iterator<Item = (&Statement, &Name)> {
    schedule.statements().filter_map(|statement| Some((statement, statement.kind.decomposes()?)))
}

/// Checks the stated errors of decompositions after all directives are applied.
pub(crate) fn state_errors(program: &mut Program, rewritten: Rewritten) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for stated in rewritten.stated {
        errors.keep(stated.judge(program));
    }
    errors.into_result()
}

/// Applies a schedule's decompositions. Records the new stages that are stored.
pub(crate) fn apply(program: &mut Program, schedule: &Schedule, rewritten: &mut Rewritten) -> Result<(), Errors> {
    clone::apply(program, schedule)?;
    let (mut errors, mut stored) = (Errors::new(), Vec::new());
    for (statement, result) in statements(schedule) {
        let span = statement.span;
        let first = of(schedule, result).filter(|first| first.span != span);
        if let Some(first) = first {
            let error = Error::new(span, format!("`{result}` is decomposed twice"));
            errors.push(error.note_at(first.span, "first here").help("leave one of them out"));
            continue;
        }
        let made = match &statement.kind {
            StatementKind::Winograd(winograd) => winograd::apply(program, winograd, span, rewritten).map(Vec::from),
            StatementKind::Im2col(im2col) => {
                let placed = placement::computed_at(schedule).any(|placed| placed.text == im2col.stages[0].text);
                im2col::apply(program, im2col, placed, span).map(|columns| vec![columns])
            }
            _ => Ok(Vec::new()),
        };
        stored.extend(errors.keep(made).into_iter().flatten());
    }
    // Later decompositions can renumber stages, so the ids are looked up after all are applied.
    rewritten.stored.extend(stored.into_iter().filter_map(|buffer| program.writer(buffer)));
    errors.into_result()?;
    online::apply(program, schedule, rewritten)
}
