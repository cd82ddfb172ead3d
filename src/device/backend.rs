//! The interface between the runtime and the backends, which execute the SPIR-V modules of a launch program.
//!
//! The code above it (tensors, loading, launching, batches) uses only these traits. The implementations are [`crate::vulkan`] and
//! [`crate::reference`]. A backend is only called with buffers and pipelines that it made, which the callers ensure. It finds its
//! own type behind the trait object by downcasting.

use super::memory::{Memory, allocated};
use super::region::Region;
use super::statistics::Statistic;
use super::submission::Part;
use super::timing::Timed;
use super::work::{Flight, Wait};
use crate::device::DeviceInfo;
use crate::error::{Error, Result};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tilewright_launch::{DType, Dispatch, Program};
use tilewright_reference::field::Element;

/// A device of any kind.
///
/// No function waits for the device longer than its [`Wait`] allows. A function that stops waiting leaves the work that may still
/// run, and everything that the backend itself made for it, in that [`Wait`]. The caller keeps the buffers, pipelines and steps.
/// Dropping buffers and pipelines never waits.
pub(crate) trait Backend: Any + Send + Sync {
    /// The name, kind, features and limits of the device.
    fn info(&self) -> &DeviceInfo;

    /// True if temporaries of a launch may share memory. A backend that finds reads of unwritten elements needs each apart.
    fn shares_temporaries(&self) -> bool {
        true
    }

    /// Allocates at least `bytes` > 0 bytes, aligned to 16 bytes or more, with undefined contents. Tools show the buffer by `name`.
    fn allocate(&self, bytes: u64, name: &str) -> Result<Box<dyn Buffer>>;

    /// Allocates memory of the host that the device can copy from and to, filled with zeros. `None` if the device shares the host's memory.
    fn allocate_pinned(&self, _bytes: u64, _name: &str) -> Result<Option<Box<dyn Buffer>>> {
        Ok(None)
    }

    /// Records a copy of the runs of a region to the runs of another region of as many bytes. One of the buffers is pinned.
    fn copy(&self, _: [(&dyn Buffer, &Region); 2]) -> Result<Box<dyn Recorded>> {
        Err(Error::OtherDevice { what: "a buffer".to_owned() })
    }

    /// Writes the contiguous runs of a buffer's region in order. The caller excludes every other access in the meantime.
    fn write(&self, buffer: &dyn Buffer, region: &Region, bytes: &[u8], wait: &mut Wait) -> Result<()>;

    /// Reads the contiguous runs of a buffer's region in order. The caller excludes every write in the meantime.
    fn read(&self, buffer: &dyn Buffer, region: &Region, bytes: &mut [u8], wait: &mut Wait) -> Result<()>;

    /// Reads the elements of a type in a buffer's region in order, in exact arithmetic. The caller excludes every write in the meantime.
    fn elements(&self, _: &dyn Buffer, _: &Region, _: DType) -> Result<Vec<Element>> {
        Err(Error::NotExact { device: self.info().name.clone() })
    }

    /// Fills the first `bytes` bytes (a multiple of 4) with zeros. The caller excludes every other access in the meantime.
    fn clear(&self, buffer: &dyn Buffer, bytes: u64, wait: &mut Wait) -> Result<()>;

    /// Compiles one of a program's dispatches, with the subgroup size that the program requires and these values of the dispatch's
    /// specialization constants. `label` names the program in messages.
    fn compile(
        &self,
        program: &Program,
        dispatch: &Dispatch,
        constants: &[u32],
        label: &str,
        wait: &Wait,
    ) -> Result<Box<dyn Pipeline>>;

    /// Saves compiled pipelines for later processes, if the device has a pipeline cache on disk. A failure is not an error.
    fn save_cache(&self);

    /// The most steps that [`Backend::submit`] takes at a time.
    fn most_steps(&self) -> usize;

    /// Waits until dropped buffers are freed, because a backend may free them later than they are dropped.
    fn reclaim(&self, wait: &Wait);

    /// Records steps for one submission. Steps that share memory with a hazard run one after another.
    ///
    /// `timed` says which spans the submission returns: one for each step, one for all steps, or none.
    fn record(&self, part: &Part, timed: Timed, wait: &mut Wait) -> Result<Box<dyn Recorded>>;

    /// Records steps for any number of submissions. `None` if the backend records each submission anew. `earlier` is the commands of a part
    /// that differs only in some steps.
    fn repeat(&self, _: &Part, _: Option<Changed<'_>>, _: &mut Wait) -> Result<Option<Arc<dyn Repeatable>>> {
        Ok(None)
    }
}

/// The commands of a submission.
pub(crate) trait Recorded {
    /// Submits the commands behind other submissions of the device, which they follow. The call does not wait.
    fn submit(self: Box<Self>, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted>;
}

/// Commands that can be submitted again and again, also while earlier submissions of them still run.
pub(crate) trait Repeatable: Any + Send + Sync {
    /// Submits the commands behind other submissions of the device, which they follow. The call does not wait.
    fn submit(self: Arc<Self>, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted>;
}

/// The commands of steps before some of the steps changed.
#[derive(Clone, Copy)]
pub(crate) struct Changed<'a> {
    pub(crate) before: &'a dyn Repeatable,
    /// The changed steps of each launch that has changed, in order.
    pub(crate) ranges: &'a [Range<usize>],
    /// True if all steps access the same bytes as before.
    pub(crate) same_accesses: bool,
}

/// The reason why commands were not submitted.
pub(crate) struct NotSubmitted {
    pub(crate) error: Error,
    /// The submission, if the device was lost, because then it is not known whether it was submitted.
    pub(crate) flight: Option<Arc<dyn Flight>>,
}

/// A buffer of a backend.
pub(crate) trait Buffer: Any + Send + Sync {
    /// The device address that is passed to dispatches that address buffers directly; 0 if the backend does not support addresses.
    fn address(&self) -> u64;

    /// Returns the host's pointer to the bytes of a pinned buffer.
    fn mapped(&self) -> Option<std::ptr::NonNull<u8>> {
        None
    }

    /// False if the buffer lacks an address although the backend supports addresses: it is the caller's, and was created without one.
    fn has_address(&self) -> bool {
        true
    }
}

/// A dispatch that a backend has compiled.
pub(crate) trait Pipeline: Any + Send + Sync {
    /// Returns the driver's numbers of the dispatch, or `None` if they were not kept.
    fn statistics(&self) -> Option<&[Statistic]> {
        None
    }
}

/// A dispatch to run, with all sizes known and all memory allocated. Its clones share their parts.
#[derive(Clone)]
pub(crate) struct LaunchStep {
    /// The compiled dispatch.
    pub(crate) pipeline: Arc<dyn Pipeline>,
    /// The dispatch's name.
    pub(crate) name: Arc<str>,
    /// The memory that it accesses, in binding order.
    pub(crate) uses: Arc<[Use]>,
    /// Usually one; several if the grid exceeds the device's limit. No two of them share a hazard.
    pub(crate) pieces: Arc<[Piece]>,
    /// True for the first step of a launch.
    pub(crate) begins: bool,
    /// The new tensors of its launch, if it is the launch's last step. They have contents once this step has been seen to end,
    /// because the steps before it have then ended, too.
    pub(crate) completes: Arc<[Arc<Memory>]>,
}

impl LaunchStep {
    /// True if it accesses the same bytes as another step, in the same way.
    pub(crate) fn accesses_as(&self, other: &LaunchStep) -> bool {
        self.uses.len() == other.uses.len() && self.uses.iter().zip(&*other.uses).all(|(own, other)| own.is(other))
    }
}

/// The description of a submission in errors.
#[derive(Clone)]
pub(crate) enum Described {
    /// The first dispatch, and the number of those after it.
    Dispatches(Arc<str>, usize),
    Text(Arc<str>),
}

impl Described {
    pub(crate) fn steps(steps: &[LaunchStep]) -> Described {
        let name = steps.first().map_or_else(|| "".into(), |first| first.name.clone());
        Described::Dispatches(name, steps.len().saturating_sub(1))
    }
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Described::Dispatches(name, 0) => write!(f, "the dispatch `{name}`"),
            Described::Dispatches(name, more) => write!(f, "the dispatch `{name}`, with the {more} after it,"),
            Described::Text(text) => f.write_str(text),
        }
    }
}

/// A tensor's memory in a step.
#[derive(Clone)]
pub(crate) struct Use {
    pub(crate) memory: Arc<Memory>,
    /// The part of the memory that the tensor occupies.
    pub(crate) region: Region,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Use {
    fn is(&self, other: &Use) -> bool {
        let same_memory = Arc::ptr_eq(&self.memory, &other.memory);
        same_memory && self.region == other.region && (self.reads, self.writes) == (other.reads, other.writes)
    }

    /// The number of bytes to bind, from the tensor's first byte on: its size rounded up to the widest access, but not past the
    /// memory.
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
