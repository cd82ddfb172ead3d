//! Where instructions come from, as `OpLine` says: it holds to the end of its block, or to the next one.

use crate::fault::Place;
use crate::words::{Id, Inst, Result, string};
use spirv::Op;
use std::collections::HashMap;

/// The places of a module's instructions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    files: HashMap<Id, String>,
    /// From which word on: file, line and column, if any.
    from: Vec<(u32, Option<[u32; 3]>)>,
}

impl Lines {
    /// Notes what an instruction says of the places of those after it.
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

    /// The place of the instruction at a word.
    pub(crate) fn place(&self, word: u32) -> Option<Place> {
        let at = self.from.partition_point(|(from, _)| *from <= word).checked_sub(1)?;
        let [file, line, column] = self.from.get(at)?.1?;
        Some(Place { file: self.files.get(&file)?.clone(), line, column })
    }
}
