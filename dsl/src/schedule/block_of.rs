//! Writes directives for helps, in the block of their stage.

use crate::nest::{Program, StageId};

/// Writes a directive with its semicolon, in the block of its stage: `s { unroll(q); }`. The only result of a kernel needs no block.
pub(super) fn written(program: &Program, stage: StageId, directive: &str) -> String {
    match is_outside_blocks(program, stage) {
        true => format!("{directive};"),
        false => format!("{} {{ {directive}; }}", program.stages[stage].name),
    }
}

/// True if directives outside of all blocks apply to this stage, because it is the only result.
pub(super) fn is_outside_blocks(program: &Program, stage: StageId) -> bool {
    program.only_result() == Some(stage)
}
