//! Loops that are written out, and how much of them drivers can take.

use crate::Result;
use crate::emit::Emit;
use crate::resolve::Bound;
use tilewright_dsl::length;
use tilewright_dsl::nest::Loop;

/// Words of instructions times barriers that a loop written out may come to. Drivers for CPUs split a workgroup's invocations at each
/// barrier, over all that is alive there: beyond this lavapipe compiles for seconds, and for minutes at a hundred times of it.
const BETWEEN_BARRIERS: u64 = 1 << 19;

/// Branches in all copies of a loop that is written out, where a loop that stays a loop counts as [`LOOP`] of them. What NVIDIA's driver takes
/// for a module grows with these far more than with its words: 60 loops, or 800 branches, can be 10 seconds, and thousands are
/// minutes. For modules of many words without them there is a limit of their own (`tilewright_dsl::length`).
const BRANCHES: u32 = 640;

/// Branches that a loop counts as.
const LOOP: u32 = 20;

/// What has been written so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) barriers: u32,
    pub(crate) loops: u32,
    pub(crate) branches: u32,
}

impl Emit<'_> {
    /// A loop, iteration by iteration.
    pub(crate) fn unroll(&mut self, l: &Loop) -> Result<()> {
        let (extent, span) = (self.resolving(|r| r.literal_extent(l.axis, "unrolled"))?, self.resolver.span);
        let before = (self.function.words(), self.written);
        self.resolver.unrolled.push((l.axis, extent));
        for n in 0..extent {
            let value = self.resolver.values.int(n.into());
            self.stand_at(span);
            self.binding(l.axis, Bound { value, owner: false }, |e| e.block(&l.body))?;
            // The module will be refused, so the remaining iterations are not emitted.
            if self.function.words() > length::MOST {
                return Err(length::beyond(self.program, self.dispatch));
            }
        }
        self.resolver.unrolled.pop();
        self.stand_at(span);
        if extent > 1 { self.check_written(&self.program.axes[l.axis].name, extent, before) } else { Ok(()) }
    }

    /// Whether drivers can take what a loop comes to that was written out since `before`.
    fn check_written(&self, name: &str, extent: u32, before: (u64, Written)) -> Result<()> {
        let (loops, branches) = (self.written.loops - before.1.loops, self.written.branches - before.1.branches);
        if loops.saturating_mul(LOOP).saturating_add(branches) > BRANCHES {
            return Err(self
                .error(format!("`{name}` written out {extent} times makes {loops} loops and {branches} branches"))
                .note(format!(
                    "at most {BRANCHES} branches are written out, and a loop counts as {LOOP}: drivers compile more for seconds"
                ))
                .help("unroll a smaller tile, or `reorder` so that the loops within it stand around it"));
        }
        let (words, barriers) = (self.function.words() - before.0, u64::from(self.written.barriers - before.1.barriers));
        if words.saturating_mul(barriers) > BETWEEN_BARRIERS {
            let message =
                format!("`{name}` written out {extent} times makes {barriers} barriers among {words} words of instructions");
            return Err(self
                .error(message)
                .note(format!("barriers times words are at most {BETWEEN_BARRIERS}: drivers compile more of them for seconds"))
                .help("unroll a smaller tile, or leave the loop around the barriers a loop: `serial`"));
        }
        Ok(())
    }
}
