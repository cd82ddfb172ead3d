//! The function in the making: the code of its regions, and its variables.
//!
//! A *region* is the function itself, or a loop or branch that is open. Instructions go to the region of their level, however deep the
//! emission stands: as an outer region's code is still open while an inner one is built, what is appended to it stands before the inner one.

use crate::module::Code;
use tilewright_dsl::diag::SpanId;

/// The regions, outermost first, and the variables.
pub(crate) struct Function {
    /// What instructions are written for.
    pub(crate) span: SpanId,
    regions: Vec<Region>,
    /// They stand in the function's first block.
    pub(crate) variables: Code,
}

/// The code of an open loop or branch.
#[derive(Default)]
pub(crate) struct Region {
    pub(crate) code: Code,
    /// What the loops in it come to, all iterations written out, in words.
    pub(crate) weight: u64,
}

impl Default for Function {
    fn default() -> Function {
        Function { span: SpanId::NONE, regions: vec![Region::default()], variables: Code::default() }
    }
}

impl Function {
    /// The code of a level.
    pub(crate) fn at(&mut self, level: u32) -> &mut Code {
        let code = &mut self.regions[level as usize].code;
        code.stand_at(self.span);
        code
    }

    /// The code that the emission stands at.
    pub(crate) fn here(&mut self) -> &mut Code {
        self.at(self.regions.len() as u32 - 1)
    }

    /// Opens a region.
    pub(crate) fn open(&mut self) {
        self.regions.push(Region::default());
    }

    /// Takes the innermost region off again.
    pub(crate) fn close(&mut self) -> Region {
        let mut region = self.regions.pop().unwrap_or_default();
        region.weight = region.weight.saturating_add(region.code.words.len() as u64);
        region
    }

    /// Adds what an inner region weighs to the one at hand: an inner loop counts with all its iterations.
    pub(crate) fn weigh(&mut self, weight: u64) {
        if let Some(region) = self.regions.last_mut() {
            region.weight = region.weight.saturating_add(weight);
        }
    }

    /// Words of instructions that the open regions have.
    pub(crate) fn words(&self) -> u64 {
        self.regions.iter().map(|region| region.code.words.len() as u64).sum()
    }
}
