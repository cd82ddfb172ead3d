//! The limits of drivers on the size of unrolled loops, and the hint that keeps them from unrolling others.

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::{CodeSize, Id};
use crate::writer::Writer;
use spirv::LoopControl;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::DType;

/// The limit of an unrolled loop's instructions, in 32-bit words, times its barriers. Drivers for CPUs split a workgroup's invocations at
/// each barrier, across all values that are live there. Beyond this limit, lavapipe compiles for seconds, and at a hundred times of it for
/// minutes.
const BETWEEN_BARRIERS: u64 = 1 << 19;

/// The limit of branches in all copies of an unrolled loop, where a loop that is not unrolled counts as [`LOOP`] branches. The time that
/// NVIDIA's driver takes for a module grows with these far more than with its size: 60 loops, or 800 branches, can take 10 seconds, and
/// thousands take minutes. Large modules without branches have a limit of their own (`tilewright_dsl::length`).
const BRANCHES: u32 = 640;

/// The number of branches that a loop counts as.
const LOOP: u32 = 20;

/// A loop of fewer 32-bit words than this gets no hint against unrolling, because some such loops are faster if the driver unrolls them.
/// The count is the words of the body, times the iterations, times the copies that enclosing `unroll`s make. Larger loops get the hint,
/// because the schedule decides which loops are unrolled.
const SMALL: u64 = 8192;

/// The reason for a limit.
const SECONDS: &str = ", because drivers need seconds to compile more";

impl BlockContext<'_> {
    /// Returns the hint about unrolling a loop, and the bound that the loop compares with. `written_out` is the number of 32-bit words in
    /// all iterations.
    pub(crate) fn against_unrolling(&mut self, extent: ValueId, end: Id, written_out: u64) -> Result<(LoopControl, Id)> {
        let (copies, is_known) = (self.resolver.copies(), self.resolver.values.as_int(extent).is_some());
        // If the bound is a specialization constant, the driver knows it and can judge the cost of unrolling itself.
        let is_judged = written_out == u64::MAX && (copies == 1 || !is_known) && self.resolver.is_folded(extent);
        if written_out.saturating_mul(copies) < SMALL || is_judged {
            return Ok((LoopControl::NONE, end));
        }
        // NVIDIA's driver ignores the hint if the bound is a literal. It then needs 32 s for eight copies of a loop of 4 x 16 iterations,
        // so the bound is hidden.
        let end = match is_known && copies > 1 {
            true => self.hidden(Site { level: 0, n: 1, of: DType::I32, dtype: DType::I32 }, end)?,
            false => end,
        };
        Ok((LoopControl::DONT_UNROLL, end))
    }
}

impl Writer<'_> {
    /// Checks that drivers can compile the copies of a loop that was unrolled since `before`.
    pub(crate) fn check_written(&self, name: &str, extent: u32, before: CodeSize) -> Result<()> {
        let now = self.function.size();
        let (loops, branches) = (now.loops - before.loops, now.branches - before.branches);
        if loops.saturating_mul(LOOP).saturating_add(branches) > BRANCHES {
            let message = format!("unrolling `{name}` {extent} times makes {loops} loops and {branches} branches");
            let limit = format!("the limit is {BRANCHES} branches, and a loop counts as {LOOP}");
            let help = "unroll a smaller tile, or `reorder` so that its inner loops enclose it";
            return Err(self.error(message).note(limit + SECONDS).help(help));
        }
        let (words, barriers) = (now.words - before.words, u64::from(now.barriers - before.barriers));
        if words.saturating_mul(barriers) > BETWEEN_BARRIERS {
            let message = format!("unrolling `{name}` {extent} times makes {barriers} barriers in {words} words of instructions");
            let limit = format!("the limit of barriers times words is {BETWEEN_BARRIERS}");
            let help = "unroll a smaller tile, or make the loop around the barriers `serial`";
            return Err(self.error(message).note(limit + SECONDS).help(help));
        }
        Ok(())
    }
}
