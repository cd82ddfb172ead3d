//! The source positions of instructions, given by `OpLine`. A position applies up to the next one, or to the end of its
//! block.

use crate::fault::SourcePosition;
use crate::words::{Id, Inst, Result, string};
use spirv::Op;
use std::collections::HashMap;

/// The source positions of a module's instructions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    files: HashMap<Id, String>,
    /// The file, line and column that apply from a word on, if any.
    from: Vec<(u32, Option<[u32; 3]>)>,
}

impl Lines {
    /// Records the position that an instruction sets for the instructions after it.
    pub(crate) fn note(&mut self, inst: &Inst) -> Result<()> {
        let place = match inst.op {
            Op::String => {
                self.files.insert(inst.id, string(&inst.args));
                return Ok(());
            }
            Op::Line => Some([inst.arg(0)?, inst.arg(1)?, inst.arg(2)?]),
            Op::NoLine | Op::Label => None,
            _ => return Ok(()),
        };
        self.from.push((inst.word, place));
        Ok(())
    }

    /// Returns the source position of the instruction at a word.
    pub(crate) fn place(&self, word: u32) -> Option<SourcePosition> {
        let at = self.from.partition_point(|(from, _)| *from <= word).checked_sub(1)?;
        let [file, line, column] = self.from.get(at)?.1?;
        Some(SourcePosition { file: self.files.get(&file)?.clone(), line, column })
    }
}
