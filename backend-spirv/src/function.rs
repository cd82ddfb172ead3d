//! The function that is being built: the code of its regions, and its variables.
//!
//! A *region* is the function itself, or an open loop or branch. An instruction is appended to the region of its level, even if a deeper
//! region is open. Code that is appended to an outer region precedes the inner one, because the inner region is attached when it is closed.

use crate::module::{Code, CodeSize};
use tilewright_dsl::diag::SpanId;

/// The open regions, outermost first, and the variables.
pub(crate) struct Function {
    /// The directive or definition that the current instructions implement.
    pub(crate) span: SpanId,
    regions: Vec<Region>,
    /// The variables. They are declared in the function's first block.
    pub(crate) variables: Code,
}

/// The code of an open loop or branch.
#[derive(Default)]
pub(crate) struct Region {
    pub(crate) code: Code,
    /// The instructions of the loops in the region, in 32-bit words, counted for all iterations.
    pub(crate) weight: u64,
}

impl Function {
    pub(crate) fn new(span: SpanId) -> Function {
        Function { span, regions: vec![Region::default()], variables: Code::default() }
    }

    /// Returns the level of the innermost open region.
    pub(crate) fn level(&self) -> u32 {
        self.regions.len() as u32 - 1
    }

    /// Returns the code of the region of a level.
    pub(crate) fn at(&mut self, level: u32) -> &mut Code {
        let code = &mut self.regions[level as usize].code;
        code.stand_at(self.span);
        code
    }

    /// Returns the code of the innermost open region.
    pub(crate) fn here(&mut self) -> &mut Code {
        self.at(self.level())
    }

    /// Opens a region.
    pub(crate) fn open(&mut self) {
        self.regions.push(Region::default());
    }

    /// Detaches the innermost region.
    pub(crate) fn close(&mut self) -> Region {
        let mut region = self.regions.pop().unwrap_or_default();
        region.weight = region.weight.saturating_add(region.code.size.words);
        region
    }

    /// Adds the weight of an inner region to the current one. An inner loop counts with all its iterations.
    pub(crate) fn weigh(&mut self, weight: u64) {
        if let Some(region) = self.regions.last_mut() {
            region.weight = region.weight.saturating_add(weight);
        }
    }

    /// Returns the counts of instructions in the open regions.
    pub(crate) fn size(&self) -> CodeSize {
        self.regions.iter().fold(CodeSize::default(), |sum, region| sum.plus(region.code.size))
    }
}
