//! Errors for the names of stages that a decomposition merged into another stage.

use crate::diag::{Error, list};
use crate::nest::{BufferId, Program};
use crate::syntax::Name;

/// Refuses a directive that places a stage which was merged into another.
pub(super) fn placed(program: &Program, name: &Name) -> Option<Error> {
    part(program, name).map(|(error, _)| error.help("leave this out"))
}

/// Refuses directives for a stage that was merged into another.
pub(super) fn scheduled(program: &Program, name: &Name) -> Option<Error> {
    part(program, name).map(|(error, whole)| error.help(format!("write the directives for `{whole}`")))
}

/// Returns an error for the name of a stage that was merged into another, and the name of the other stage.
fn part<'p>(program: &'p Program, name: &Name) -> Option<(Error, &'p str)> {
    let (_, whole) = program.merged.iter().find(|(part, _)| *part == name.text)?;
    let error = Error::new(name.span, format!("`{name}` is not a stage any more: `decompose_online` merged it into `{whole}`"));
    Some((error.note(format!("`{whole}` computes it, in one nest with its own value")), whole))
}

/// Returns an error if a tensor is one of several that a stage computes. `what` names the operation that is not possible.
pub(super) fn one_of_several(program: &Program, buffer: BufferId, name: &Name, what: &str) -> Option<Error> {
    let stage = &program.stages[program.definition(buffer)?];
    if stage.also.is_empty() {
        return None;
    }
    let all = [stage.buffer].into_iter().chain(stage.also.iter().map(|(buffer, _)| *buffer));
    let all = list(all.map(|buffer| program.buffers[buffer].name.clone()));
    Some(Error::new(name.span, format!("`{name}` cannot be {what}: one stage, `{}`, computes {all}", stage.name)))
}
