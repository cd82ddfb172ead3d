//! Recordings: batches that are recorded once and submitted again and again.

use super::argument::{Argument, Scalar};
use super::batch::Spare;
use super::load::DynKernel;
use super::run::{InBatch, Launch, Target};
use crate::device::Device;
use crate::device::backend::LaunchStep;
use crate::device::pending::Pending;
use crate::device::submission::Repeated;
use crate::error::{Error, Result};
use crate::tensor::AnyTensor;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tilewright_launch::{self as program};

/// Launches that were checked and recorded once, and are submitted again and again. [`Batch::record`](crate::Batch::record) makes it.
///
/// Each submission reads the current contents of the arguments, and overwrites the outputs that the batch returned. It runs after earlier
/// submissions that use the same tensors, also after an earlier one of itself, and [`Recording::submit`] does not wait for those. An unchanged
/// recording costs a submission only. [`Recording::set`] changes an argument: that launch is checked again at once. The first change of a launch
/// divides the recording there, and records the adjacent launches again, too. Later changes of this launch record only it. A
/// recording is divided at 31 launches at most: after another change, all launches are recorded together again.
///
/// A recording keeps its tensors and its memory for temporaries. With [`Options::checks`](crate::Options::checks), and on the reference
/// device, each submission is recorded anew.
///
/// ```
/// # use tilewright::{Device, kernel};
/// # kernel! {
/// #     pub fn step<N>(rate: f32, g: f32[N], w: &mut f32[N]) { w[i] = w[i] - rate * g[i]; }
/// # }
/// # fn main() -> tilewright::Result<()> {
/// let device = Device::open()?;
/// let step = device.load(&[step::DEFAULT])?;
/// let (g, mut w) = (device.upload([2], &[1.0f32, 2.0])?, device.upload([2], &[0.0f32, 0.0])?);
/// let mut batch = device.batch();
/// batch.run(&step, (0.5, &g, &mut w))?;
/// let mut recording = batch.record()?;
/// for _ in 0..10 {
///     recording.submit()?;
/// }
/// recording.set(0, "rate", 0.25f32)?; // of the first launch
/// recording.submit()?;
/// assert_eq!(w.download()?, [-5.25, -10.5]);
/// # Ok(())
/// # }
/// ```
pub struct Recording {
    device: Device,
    /// The id of the batch.
    id: u64,
    launches: Vec<RecordedLaunch>,
    temporaries: Spare,
    /// The recorded commands. `None` if they were not recorded, or a launch has another number of steps since.
    parts: Option<Vec<Repeated>>,
    /// The launches that have changed since.
    changed: BTreeSet<usize>,
}

/// A launch with its arguments.
pub(crate) struct RecordedLaunch {
    pub(crate) kernel: DynKernel,
    pub(crate) arguments: Vec<Kept>,
    /// The outputs, and the number of those at the start that are new tensors.
    pub(crate) outputs: Vec<AnyTensor>,
    pub(crate) new_outputs: usize,
    pub(crate) steps: Vec<LaunchStep>,
}

/// An argument that is kept.
pub(crate) enum Kept {
    Read(AnyTensor),
    Update(AnyTensor),
    Scalar(Scalar),
    Size(usize),
}

impl Kept {
    pub(crate) fn new(argument: &Argument<'_>) -> Kept {
        match argument {
            Argument::Read(tensor) => Kept::Read(tensor.shared()),
            Argument::Update(tensor) => Kept::Update(tensor.shared()),
            Argument::Scalar(scalar) => Kept::Scalar(*scalar),
            Argument::Size(size) => Kept::Size(*size),
        }
    }

    fn argument(&mut self) -> Argument<'_> {
        match self {
            Kept::Read(tensor) => Argument::Read(tensor),
            Kept::Update(tensor) => Argument::Update(tensor),
            Kept::Scalar(scalar) => Argument::Scalar(*scalar),
            Kept::Size(size) => Argument::Size(*size),
        }
    }
}

impl Recording {
    /// Records the launches of a batch.
    pub(crate) fn new(device: Device, id: u64, launches: Vec<RecordedLaunch>, temporaries: Spare) -> Result<Recording> {
        let mut recording = Recording { device, id, launches, temporaries, parts: None, changed: BTreeSet::new() };
        recording.record()?;
        Ok(recording)
    }

    fn record(&mut self) -> Result<&[Repeated]> {
        if self.parts.is_none() || !self.changed.is_empty() {
            let steps: Arc<[LaunchStep]> = self.launches.iter().flat_map(|launch| &launch.steps).cloned().collect();
            let changed = self.changed_steps();
            // The old parts stay if this fails, so that the next submission records the changes.
            let parts = self.device.repeat(&steps, self.parts.as_deref().map(|parts| (parts, &*changed)))?;
            self.parts = Some(parts);
            self.changed.clear();
        }
        Ok(self.parts.as_deref().unwrap_or_default())
    }

    /// Returns the steps of each launch that has changed, among all steps.
    fn changed_steps(&self) -> Vec<Range<usize>> {
        let mut first = 0;
        let steps = self.launches.iter().map(|launch| {
            let range = first..first + launch.steps.len();
            first = range.end;
            range
        });
        steps.enumerate().filter(|(n, _)| self.changed.contains(n)).map(|(_, range)| range).collect()
    }

    /// Returns the number of launches.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Returns true if it is empty.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Submits all launches. If an argument has changed since the last submission, all launches are recorded first.
    pub fn submit(&mut self) -> Result<Pending> {
        // After an error, new outputs are still to be written by a later submission.
        let device = self.device.clone();
        let started = device.start_again(self.record()?)?;
        Ok(Pending::new(device, started))
    }

    /// Changes an argument of a launch: a tensor, a number, or a size. Launches are numbered from 0 in the order in which they were added to the
    /// batch. Submissions before this call keep the old argument.
    ///
    /// The outputs stay the same tensors, so an argument must not change their shapes.
    ///
    /// # Errors
    /// Returns [`Error::NoLaunch`] or [`Error::Argument`] if there is no such launch or argument, and the errors of [`DynKernel::run_into`] if the launch does not take
    /// it. The recording is then unchanged.
    pub fn set<'a>(&mut self, launch: usize, argument: &str, value: impl Into<Argument<'a>>) -> Result<()> {
        let count = self.launches.len();
        let changed = self.launches.get_mut(launch).ok_or(Error::NoLaunch { launch, count })?;
        let at = changed.index_of(argument)?;
        let mut value = Kept::new(&value.into());
        std::mem::swap(&mut changed.arguments[at], &mut value);
        match changed.check(self.id, &mut self.temporaries) {
            Ok(steps) => {
                let old = std::mem::replace(&mut changed.steps, steps);
                if old.len() == changed.steps.len() {
                    self.changed.insert(launch);
                } else {
                    self.parts = None;
                }
                Ok(())
            }
            Err(error) => {
                changed.arguments[at] = value;
                Err(error)
            }
        }
    }
}

impl RecordedLaunch {
    /// Returns the index of an argument.
    fn index_of(&self, name: &str) -> Result<usize> {
        let program = self.kernel.variants().next().ok_or(Error::NothingToLoad)?;
        let named = |argument: &program::Argument| match argument {
            program::Argument::Tensor(n) => program.tensors.get(*n as usize).map_or("?", |t| &t.name),
            program::Argument::Scalar(n) => program.scalars.get(*n as usize).map_or("?", |s| &s.name),
            program::Argument::Dim(n) => program.dims.get(*n as usize).map_or("?", |d| &d.name),
        };
        let names: Vec<&str> = program.arguments.iter().map(named).collect();
        names.iter().position(|known| *known == name).ok_or_else(|| {
            let message = format!("has no argument `{name}`; its arguments are `{}`", names.join("`, `"));
            Error::Argument { kernel: self.kernel.name().to_owned(), message }
        })
    }

    /// Checks the launch with its arguments, and returns its steps.
    fn check(&mut self, id: u64, temporaries: &mut Spare) -> Result<Vec<LaunchStep>> {
        let arguments = self.arguments.iter_mut().map(Kept::argument);
        let batch = InBatch { id, temporaries };
        let mut launch = Launch::new(&self.kernel, arguments, Target::into(&mut self.outputs), Some(batch))?;
        if let Some(last) = launch.steps.last_mut() {
            let new = self.outputs.iter().take(self.new_outputs);
            last.completes = new.map(|output| output.memory().clone()).collect();
        }
        temporaries.give(launch.temporaries);
        Ok(launch.steps)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Submissions that may still run hold claims to this memory, so later launches that take it follow them.
        self.device.give_temporaries(self.temporaries.take_all());
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recording({} launches on {})", self.launches.len(), self.device.info().name)
    }
}
