//! The seam between the runtime and what executes a launch program's words.
//!
//! Everything above it (tensors, loading, launching, batches) knows only these traits; below it are [`crate::vulkan`] and
//! [`crate::reference`].
//! Buffers and pipelines come back to the backend that made them, which the callers see to; a backend finds its own type
//! behind the trait object by downcasting.

use crate::device::DeviceInfo;
use crate::error::Result;
use crate::memory::{Memory, allocated};
use crate::parking::Wait;
use crate::region::Region;
use crate::timing::{Span, Timed};
use std::any::Any;
use std::sync::Arc;
use tilewright_launch::{Dispatch, Program};

/// A device, of whatever kind.
///
/// No function waits for the device longer than its [`Wait`] says. One that stops waiting leaves there what may still be at
/// work, with all that the backend itself made for it; buffers, pipelines and steps are kept by the caller. Dropping buffers and pipelines
/// never waits.
pub(crate) trait Backend: Send + Sync {
    /// What it is and can do.
    fn info(&self) -> &DeviceInfo;

    /// Memory of at least `bytes` > 0 bytes, aligned to 16 bytes or more, contents undefined. Tools show it by a name.
    fn allocate(&self, bytes: u64, name: &str) -> Result<Box<dyn Buffer>>;

    /// Writes a region of a buffer, run after run. The caller excludes every other access meanwhile.
    fn write(&self, buffer: &dyn Buffer, region: &Region, bytes: &[u8], wait: &mut Wait) -> Result<()>;

    /// Reads a region of a buffer, run after run. The caller excludes every write meanwhile.
    fn read(&self, buffer: &dyn Buffer, region: &Region, bytes: &mut [u8], wait: &mut Wait) -> Result<()>;

    /// Fills the first `bytes` bytes (a multiple of 4) with zeros. The caller excludes every other access meanwhile.
    fn clear(&self, buffer: &dyn Buffer, bytes: u64, wait: &mut Wait) -> Result<()>;

    /// Makes one of a program's dispatches ready to run, with the subgroup size that the program requires and these values of the
    /// dispatch's specialization constants. `label` names the program in messages.
    fn compile(
        &self,
        program: &Program,
        dispatch: &Dispatch,
        constants: &[u32],
        label: &str,
        wait: &Wait,
    ) -> Result<Box<dyn Pipeline>>;

    /// Keeps what [`Backend::compile`] made for later processes, where there is a place for it. Failing is no error.
    fn save_cache(&self);

    /// The most steps that [`Backend::submit`] takes at a time.
    fn most_steps(&self) -> usize;

    /// Waits until dropped buffers are freed. A backend may free them later than they are dropped.
    fn reclaim(&self, wait: &Wait);

    /// Runs steps in one submission, and waits until it has ended. Steps that share memory with a hazard run one after another.
    ///
    /// The result has the requested spans: one for each step, one for all steps, or none.
    fn submit(&self, steps: &[Step], timed: Timed, wait: &mut Wait) -> Result<Vec<Span>>;
}

/// A buffer of a backend.
pub(crate) trait Buffer: Any + Send + Sync {
    /// The address that dispatches by address are given; 0 where the backend has none.
    fn address(&self) -> u64;
}

/// A dispatch made ready by a backend.
pub(crate) trait Pipeline: Any + Send + Sync {}

/// A dispatch to run: all sizes known, all memory there.
pub(crate) struct Step {
    /// What to run.
    pub(crate) pipeline: Arc<dyn Pipeline>,
    /// The dispatch's name.
    pub(crate) name: String,
    /// The memory it touches, in order of binding.
    pub(crate) uses: Vec<Use>,
    /// Usually one; several where the grid exceeds the device's limit. No two of them share a hazard.
    pub(crate) pieces: Vec<Piece>,
    /// The new tensors of its launch, if it is the launch's last step. They have contents once this step has been seen to end, because
    /// the steps before it have ended then, too.
    pub(crate) completes: Vec<Arc<Memory>>,
}

/// Steps, as errors name them.
pub(crate) fn named(steps: &[Step]) -> String {
    let name = steps.first().map_or("", |s| &s.name);
    match steps.len() {
        0 | 1 => format!("the dispatch `{name}`"),
        n => format!("the dispatch `{name}`, with the {} after it,", n - 1),
    }
}

/// A tensor's memory in a step.
pub(crate) struct Use {
    pub(crate) memory: Arc<Memory>,
    /// Which part of it is the tensor's.
    pub(crate) region: Region,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Use {
    /// The bytes from the tensor's first on that are bound for it: rounded up to the widest access, as far as there is memory.
    pub(crate) fn bound_bytes(&self) -> u64 {
        allocated(self.region.bytes()).min(self.memory.bytes().saturating_sub(self.region.start))
    }
}

/// One grid of workgroups and its parameter block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) groups: [u32; 3],
    pub(crate) params: Vec<u8>,
}
