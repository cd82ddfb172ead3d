//! The final check of a schedule: every parallel axis of extent above 1 is distributed, unrolled, in lanes, or explicitly serial.

use super::{Applied, StageNest};
use crate::diag::{Error, SpanId, list};
use crate::nest::{AxisDef, Exec, Space};

/// Checks that no parallel axis is left over. `blame` is the stage's first directive; it is blamed for axes that no directive made.
pub(super) fn check(nest: &mut StageNest<'_>, blame: SpanId) -> Applied {
    let mut left = Vec::new();
    for frame in nest.path.frames.clone() {
        let Some((axis, Exec::Serial)) = frame.as_loop() else { continue };
        if nest.is_reduction(axis) || nest.serial.contains(&axis) {
            continue;
        }
        let extent = nest.program.axes[axis].extent;
        if nest.prover().upper(extent).is_none_or(|most| most > 1) {
            left.push((axis, frame.span));
        }
    }
    let Some((first, span)) = left.first().copied() else { return Ok(()) };
    let made = !matches!(nest.program.axes[first].def, AxisDef::Root(_));
    let names: Vec<&str> = left.iter().map(|(axis, _)| nest.name(*axis)).collect();
    let stage = &nest.program.stages[nest.stage].name;
    let ranges = list(left.iter().map(|(axis, _)| format!("0..{}", nest.text(nest.program.axes[*axis].extent))));
    let (what, note, them) = match names.len() {
        1 => (format!("axis {} of `{stage}` is", list(&names)), format!("it runs over {ranges}"), "it"),
        _ => (format!("axes {} of `{stage}` are", list(&names)), format!("they run over {ranges}"), "them"),
    };
    let (what, note) = (format!("the parallel {what} left over"), format!("{note} in each invocation"));
    let error = Error::new(if made { span } else { blame }, what).note(match made {
        true => note,
        false => format!("{note}: a stage with a directive is not planned"),
    });
    let names = names.join(", ");
    let buffer = nest.program.stages[nest.stage].buffer;
    let help = match nest.program.notes.hosts.contains_key(&nest.stage) {
        false => format!(
            "distribute, unroll or vectorize {them}, write `default` so that the planner does, or write `serial({names})` if that is intended"
        ),
        // `default` plans dispatches only.
        true if nest.program.buffers[buffer].space == Space::Shared => {
            format!("the workgroup computes it together, so distribute {them}: `distribute({names} => thread(…))`")
        }
        true => format!("unroll or vectorize {them}: `unroll({names})`"),
    };
    let is_outside_blocks = nest.program.only_result() == Some(nest.stage);
    Err(error.help(if is_outside_blocks { help } else { format!("in `{stage} {{ … }}`, {help}") }))
}
