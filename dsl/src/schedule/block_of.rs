//! Writes directives for helps, in the block of their stage.

use crate::nest::{Program, StageId};

/// Writes a directive with its semicolon, in the block of its stage: `s { unroll(q); }`. The only result of a kernel needs no block.
pub(super) fn written(program: &Program, stage: StageId, directive: &str) -> String {
    match program.only_result() {
        Some(result) if result == stage => format!("{directive};"),
        _ => format!("{} {{ {directive}; }}", program.stages[stage].name),
    }
}
