//! Unrolled loops, and the limits of drivers on their size.

use crate::Result;
use crate::emit::Emit;
use tilewright_codegen::BoundAxis;
use tilewright_dsl::length;
use tilewright_dsl::nest::Loop;

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

/// The counts of barriers, loops and branches that were emitted so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) barriers: u32,
    pub(crate) loops: u32,
    pub(crate) branches: u32,
}

impl Emit<'_> {
    /// Emits a loop, iteration by iteration.
    pub(crate) fn unroll(&mut self, l: &Loop) -> Result<()> {
        let (extent, span) = (self.resolving(|r| r.literal_extent(l.axis, "unrolled"))?, self.resolver.span);
        let before = (self.function.words(), self.written);
        self.resolver.enter_unrolled(l.axis, extent);
        for n in 0..extent {
            let value = self.resolver.values.int(n.into());
            self.stand_at(span);
            self.binding(l.axis, BoundAxis { value, owner: false }, |e| e.block(&l.body))?;
            // The module will be refused, so the remaining iterations are not emitted.
            if self.function.words() > length::MOST {
                return Err(length::beyond(self.program, self.dispatch));
            }
        }
        self.resolver.leave_unrolled();
        self.stand_at(span);
        if extent > 1 { self.check_written(&self.program.axes[l.axis].name, extent, before) } else { Ok(()) }
    }

    /// Checks that drivers can compile the copies of a loop that was unrolled since `before`.
    fn check_written(&self, name: &str, extent: u32, before: (u64, Written)) -> Result<()> {
        let (loops, branches) = (self.written.loops - before.1.loops, self.written.branches - before.1.branches);
        if loops.saturating_mul(LOOP).saturating_add(branches) > BRANCHES {
            return Err(self
                .error(format!("unrolling `{name}` {extent} times makes {loops} loops and {branches} branches"))
                .note(format!(
                    "the limit is {BRANCHES} branches, and a loop counts as {LOOP}, because drivers need seconds to compile more"
                ))
                .help("unroll a smaller tile, or `reorder` so that its inner loops enclose it"));
        }
        let (words, barriers) = (self.function.words() - before.0, u64::from(self.written.barriers - before.1.barriers));
        if words.saturating_mul(barriers) > BETWEEN_BARRIERS {
            let message = format!("unrolling `{name}` {extent} times makes {barriers} barriers in {words} words of instructions");
            return Err(self
                .error(message)
                .note(format!(
                    "the limit of barriers times words is {BETWEEN_BARRIERS}, because drivers need seconds to compile more"
                ))
                .help("unroll a smaller tile, or make the loop around the barriers `serial`"));
        }
        Ok(())
    }
}
