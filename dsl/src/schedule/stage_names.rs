//! Errors for names that are not the names of stages: unknown names, tensors that are defined together with another one, and stages that a
//! decomposition merged into another stage.

use crate::diag::{Error, did_you_mean, list};
use crate::nest::{BufferId, Program, Stage, StageId};
use crate::syntax::Name;

/// Reports a name that no stage has. `what` is the required kind of stage, and `known` has the names of the stages of this kind.
pub(super) fn unknown(program: &Program, name: &Name, what: &str, known: &[&str]) -> Error {
    if let Some(error) = unread(program, name) {
        return error;
    }
    let all = || match known {
        [] => "this kernel has none".into(),
        _ => format!("the {what}s are {}", list(known)),
    };
    let help = did_you_mean(&name.text, known.iter().copied()).unwrap_or_else(all);
    Error::new(name.span, format!("unknown {what} `{name}`")).help(help)
}

/// Refuses the name of a `let` that no result depends on.
pub(super) fn unread(program: &Program, name: &Name) -> Option<Error> {
    let (_, place) = program.report.unread.iter().find(|(unread, _)| *unread == name.text)?;
    let error = Error::new(name.span, format!("`{name}` is not computed, because no result of the kernel depends on it"));
    Some(error.note_at(*place, "it is defined here").help("read it in the kernel, or leave this out"))
}

/// Returns the stage of a name.
pub(super) fn find(program: &Program, name: &Name) -> Result<StageId, Error> {
    let names = || program.stages.values().map(|stage| stage.name.as_str()).collect::<Vec<_>>();
    program.stage_named(&name.text).ok_or_else(|| unknown(program, name, "stage", &names()))
}

/// Refuses a directive that places a stage which was merged into another.
pub(super) fn merged_and_placed(program: &Program, name: &Name) -> Option<Error> {
    part(program, name).map(|(error, _)| error.help("leave this out"))
}

/// Refuses directives for a stage that was merged into another.
pub(super) fn merged_and_scheduled(program: &Program, name: &Name) -> Option<Error> {
    part(program, name).map(|(error, whole)| error.help(format!("write the directives for `{whole}`")))
}

/// Returns an error for the name of a stage that was merged into another, and the name of the other stage.
fn part<'p>(program: &'p Program, name: &Name) -> Option<(Error, &'p str)> {
    if let Some((_, whole)) = program.notes.merged.iter().find(|(part, _)| *part == name.text) {
        let error = Error::new(name.span, format!("`{name}` is not a stage any more: `decompose_online` merged it into `{whole}`"));
        return Some((error.note(format!("`{whole}` computes it, in one nest with its own value")), whole));
    }
    let is_named = |(buffer, _): &(BufferId, _)| program.buffers[*buffer].name == name.text;
    let Stage { name: first, .. } = program.stages.values().find(|stage| stage.also.iter().any(is_named))?;
    let error = Error::new(name.span, format!("`{name}` is not a stage of its own: it is defined together with `{first}`"));
    Some((error, first))
}

/// Returns an error if a tensor is one of several that a stage computes. `what` names the operation that is not possible.
pub(super) fn one_of_several(program: &Program, buffer: BufferId, name: &Name, what: &str) -> Option<Error> {
    let stage = &program.stages[program.writer(buffer)?];
    if stage.also.is_empty() {
        return None;
    }
    let all = [stage.buffer].into_iter().chain(stage.also.iter().map(|(buffer, _)| *buffer));
    let all = list(all.map(|buffer| program.buffers[buffer].name.clone()));
    Some(Error::new(name.span, format!("`{name}` cannot be {what}: one stage, `{}`, computes {all}", stage.name)))
}
