//! Batches: many launches that are submitted to the device together.

use super::argument::Argument;
use super::load::DynKernel;
use super::recording::{Kept, RecordedLaunch, Recording};
use super::run::{InBatch, Launch, Target, timing};
use crate::device::Device;
use crate::device::backend::LaunchStep;
use crate::device::memory::{Memory, fresh_id};
use crate::device::pending::Pending;
use crate::device::timing::{Span, Timed, Timing};
use crate::error::{Error, Result};
use crate::kernel::{Arguments, Kernel, Loaded, Outputs};
use crate::tensor::AnyTensor;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Launches that are submitted to the device together. They run in order, with a barrier only between launches that share memory
/// with a hazard. They are one submission, or several submissions one after another if they have more than 8192 dispatches. Then
/// [`Batch::submit`] waits for all submissions but the last, and launches of other threads can run between them. If a submission fails or
/// reaches the timeout, the later ones are not submitted, and their new tensors are [`Error::NeverWritten`].
///
/// The outputs of a launch can be arguments of later launches of the same batch at once. Elsewhere they can be used after
/// [`Batch::submit`]. Existing tensors that a batch writes keep their contents until then. A batch that is dropped runs nothing.
pub struct Batch {
    device: Device,
    id: u64,
    launches: Vec<RecordedLaunch>,
    /// The name of each launch's variant.
    variants: Vec<Arc<str>>,
    /// Memory of temporaries that later launches can reuse.
    temporaries: Spare,
}

/// Unused memory, ordered by its size so that [`Spare::take`] finds the smallest one that is large enough.
#[derive(Default)]
pub(crate) struct Spare(BTreeMap<(u64, u64), Arc<Memory>>);

impl Spare {
    /// Removes and returns the smallest memory of at least `bytes`.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<Arc<Memory>> {
        let key = *self.0.range((bytes, 0)..).next()?.0;
        self.0.remove(&key)
    }

    pub(super) fn take_all(&mut self) -> Vec<Arc<Memory>> {
        std::mem::take(&mut self.0).into_values().collect()
    }

    pub(super) fn give(&mut self, memory: impl IntoIterator<Item = Arc<Memory>>) {
        self.0.extend(memory.into_iter().map(|m| ((m.bytes(), m.id()), m)));
    }
}

impl Device {
    /// Starts a batch: many launches that are submitted to the device together.
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }
}

impl Batch {
    pub(crate) fn new(device: Device) -> Batch {
        Batch { device, id: fresh_id(), launches: Vec::new(), variants: Vec::new(), temporaries: Spare::default() }
    }

    /// The number of launches in the batch.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// True if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Adds a launch; see [`Loaded::run`].
    pub fn run<'a, K: Kernel>(&mut self, kernel: &Loaded<K>, args: impl Into<K::Args<'a>>) -> Result<K::Outputs> {
        K::Outputs::from_list(self.run_dyn(kernel.as_dyn(), args.into().list())?)
    }

    /// Adds a launch into the caller's outputs; see [`Loaded::run_into`].
    pub fn run_into<'a, 'b, K: Kernel>(
        &mut self,
        kernel: &Loaded<K>,
        args: impl Into<K::Args<'a>>,
        outputs: <K::Outputs as Outputs>::Into<'b>,
    ) -> Result<()> {
        self.run_dyn_into(kernel.as_dyn(), args.into().list(), K::Outputs::into_list(outputs))
    }

    /// Adds a launch; see [`DynKernel::run`].
    pub fn run_dyn<'a>(&mut self, kernel: &DynKernel, args: impl IntoIterator<Item = Argument<'a>>) -> Result<Vec<AnyTensor>> {
        self.add(kernel, args, Target::Allocate)
    }

    /// Adds a launch into the caller's outputs; see [`DynKernel::run_into`].
    pub fn run_dyn_into<'a, 'b>(
        &mut self,
        kernel: &DynKernel,
        args: impl IntoIterator<Item = Argument<'a>>,
        outputs: impl IntoIterator<Item = &'b mut AnyTensor>,
    ) -> Result<()> {
        self.add(kernel, args, Target::into(outputs)).map(drop)
    }

    fn add<'a>(
        &mut self,
        kernel: &DynKernel,
        args: impl IntoIterator<Item = Argument<'a>>,
        target: Target<'_>,
    ) -> Result<Vec<AnyTensor>> {
        if !kernel.device().is(&self.device) {
            return Err(Error::OtherDevice { what: format!("`{}`", kernel.name()) });
        }
        let given: Vec<Argument<'a>> = args.into_iter().collect();
        let arguments = given.iter().map(Kept::new).collect();
        let into = target.outputs();
        let batch = InBatch { id: self.id, temporaries: &mut self.temporaries };
        let launch = Launch::new(kernel, given, target, Some(batch))?;
        launch.outputs.iter().for_each(|output| output.memory().set_batch(self.id));
        self.temporaries.give(launch.temporaries);
        let outputs = launch.outputs.iter().map(AnyTensor::shared).chain(into).collect();
        let new_outputs = launch.outputs.len();
        self.launches.push(RecordedLaunch { kernel: kernel.clone(), arguments, outputs, new_outputs, steps: launch.steps });
        self.variants.push(launch.variant);
        Ok(launch.outputs)
    }

    /// Checks nothing again, and records the launches so that they can be submitted again and again: see [`Recording`].
    pub fn record(mut self) -> Result<Recording> {
        let (launches, temporaries) = (std::mem::take(&mut self.launches), std::mem::take(&mut self.temporaries));
        Recording::new(self.device.clone(), self.id, launches, temporaries)
    }

    /// Returns the device, the steps of all launches, and their temporaries.
    pub(crate) fn into_steps(mut self) -> (Device, Arc<[LaunchStep]>, Vec<Arc<Memory>>) {
        let (steps, _) = self.steps();
        (self.device.clone(), steps, self.temporaries.take_all())
    }

    /// Returns the steps of all launches, and the number of steps of each.
    fn steps(&mut self) -> (Arc<[LaunchStep]>, Vec<usize>) {
        let launches = std::mem::take(&mut self.launches);
        let counts = launches.iter().map(|launch| launch.steps.len()).collect();
        (launches.into_iter().flat_map(|launch| launch.steps).collect(), counts)
    }

    /// Submits all launches. [`Pending::wait`] waits for them, and so does every call that needs their tensors.
    pub fn submit(mut self) -> Result<Pending> {
        let temporaries = self.temporaries.take_all();
        let (steps, _) = self.steps();
        let started = self.device.start(&steps, Timed::Nothing, temporaries).inspect_err(|_| abandon(&steps))?;
        Ok(Pending::new(self.device.clone(), started))
    }

    /// Runs all launches, one after another without overlap, and returns the time of each.
    pub fn submit_timed(mut self) -> Result<Vec<Timing>> {
        let (steps, counts) = self.steps();
        let spans = self.finish(&steps, Timed::Steps)?;
        let mut first = 0;
        let timing = |(variant, count): (&Arc<str>, usize)| {
            let range = first..first + count;
            first = range.end;
            timing(variant, steps.get(range.clone()).unwrap_or(&[]), spans.get(range).unwrap_or(&[]))
        };
        Ok(self.variants.iter().zip(counts).map(timing).collect())
    }

    /// Runs all launches, one after another without overlap, and returns the time from the beginning of the first to the end of the
    /// last. The device's clock is read only twice, because reading it around each launch takes time, which matters for short
    /// kernels.
    pub fn submit_timed_together(mut self) -> Result<Duration> {
        let (steps, _) = self.steps();
        let spans = self.finish(&steps, Timed::Whole)?;
        let (begin, end) = (spans.first().map_or(0, |s| s.begin), spans.last().map_or(0, |s| s.end));
        Ok(Duration::from_nanos(end.saturating_sub(begin)))
    }

    /// Runs steps and returns their spans.
    fn finish(&mut self, steps: &Arc<[LaunchStep]>, timed: Timed) -> Result<Vec<Span>> {
        self.device.run(steps, timed, self.temporaries.take_all()).inspect_err(|_| abandon(steps))
    }
}

/// Notes that new tensors do not get contents, unless their submission was seen to end or may still run.
pub(crate) fn abandon(steps: &[LaunchStep]) {
    steps.iter().flat_map(|step| &*step.completes).for_each(|memory| memory.abandon());
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.device.give_temporaries(self.temporaries.take_all());
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} launches on {})", self.launches.len(), self.device.info().name)
    }
}
