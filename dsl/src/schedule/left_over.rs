//! The last check of a schedule: every parallel axis of extent above 1 is distributed, unrolled, in lanes, or serial
//! because the schedule says so.

use super::{Applied, StageNest};
use crate::diag::{Error, SpanId};
use crate::nest::{AxisDef, Exec, Space, Stage};

/// `blame` is the stage's first directive, for axes that no directive made.
pub(super) fn check(nest: &mut StageNest<'_>, blame: SpanId) -> Applied {
    for frame in nest.path.frames.clone() {
        let Some((axis, Exec::Serial)) = frame.as_loop() else { continue };
        if nest.is_reduction(axis) || nest.serial.contains(&axis) {
            continue;
        }
        let extent = nest.program.axes[axis].extent;
        if nest.prover().upper(extent).is_some_and(|most| most <= 1) {
            continue;
        }
        let made = !matches!(nest.program.axes[axis].def, AxisDef::Root(_));
        let (name, stage, text) = (nest.name(axis), &nest.program.stages[nest.stage].name, nest.text(extent));
        let error =
            Error::new(if made { frame.span } else { blame }, format!("the parallel axis `{name}` of `{stage}` is left over"));
        let error = error.note(match made {
            true => format!("it runs over `0..{text}` in each invocation"),
            false => format!(
                "it runs over `0..{text}` in each invocation: a stage with a directive is scheduled by its directives alone"
            ),
        });
        let help = format!("distribute, unroll or vectorize it, or write `serial({name})` if that is meant");
        return Err(error.help(match is_outside_blocks(nest) {
            true => help,
            false => format!("in `{stage} {{ … }}`, {help}"),
        }));
    }
    Ok(())
}

/// Whether what stands outside of all blocks is the stage's: it is the only output.
fn is_outside_blocks(nest: &StageNest<'_>) -> bool {
    let space = |buffer| &nest.program.buffers[buffer].space;
    let is_result = |stage: &&Stage| matches!(space(stage.buffer), Space::Output | Space::Update);
    nest.program.stages.values().filter(is_result).count() == 1 && is_result(&&nest.program.stages[nest.stage])
}
