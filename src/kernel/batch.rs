//! Batches: many launches that are submitted to the device together.

use super::argument::Argument;
use super::load::DynKernel;
use super::run::{InBatch, Launch, Target, timing};
use crate::device::Device;
use crate::device::backend::LaunchStep;
use crate::device::memory::{Memory, fresh_id};
use crate::device::timing::{Span, Timed, Timing};
use crate::error::{Error, Result};
use crate::kernel::{Arguments, Kernel, Loaded, Outputs};
use crate::tensor::AnyTensor;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Launches that are submitted to the device together. They run in order, with a barrier only between launches that share memory
/// with a hazard. They are one submission, or several submissions one after another if they have more than 8192 dispatches. If one
/// of these fails or reaches the timeout, the later ones are not submitted, and their new tensors are [`Error::NeverWritten`].
///
/// The outputs of a launch can be arguments of later launches of the same batch at once. Elsewhere they can be used after
/// [`Batch::submit`]. Existing tensors that a batch writes keep their contents until then. A batch that is dropped runs nothing.
pub struct Batch {
    device: Device,
    id: u64,
    steps: Vec<LaunchStep>,
    /// Each launch's variant and steps.
    launches: Vec<(String, Range<usize>)>,
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

    fn give(&mut self, memory: impl IntoIterator<Item = Arc<Memory>>) {
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
        Batch { device, id: fresh_id(), steps: Vec::new(), launches: Vec::new(), temporaries: Spare::default() }
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
        let batch = InBatch { id: self.id, temporaries: &mut self.temporaries };
        let launch = Launch::new(kernel, args, target, Some(batch))?;
        let first = self.steps.len();
        self.steps.extend(launch.steps);
        self.launches.push((launch.variant, first..self.steps.len()));
        launch.outputs.iter().for_each(|output| output.memory().set_batch(self.id));
        self.temporaries.give(launch.temporaries);
        Ok(launch.outputs)
    }

    /// Runs all launches and waits for them.
    pub fn submit(mut self) -> Result<()> {
        self.finish(Timed::Nothing).map(drop)
    }

    /// Runs all launches, one after another without overlap, and returns the time of each.
    pub fn submit_timed(mut self) -> Result<Vec<Timing>> {
        let (steps, spans) = self.finish(Timed::Steps)?;
        let timing = |(variant, range): (String, Range<usize>)| {
            timing(&variant, steps.get(range.clone()).unwrap_or(&[]), spans.get(range).unwrap_or(&[]))
        };
        Ok(std::mem::take(&mut self.launches).into_iter().map(timing).collect())
    }

    /// Runs all launches, one after another without overlap, and returns the time from the beginning of the first to the end of the
    /// last. The device's clock is read only twice, because reading it around each launch takes time, which matters for short
    /// kernels.
    pub fn submit_timed_together(mut self) -> Result<Duration> {
        let (_, spans) = self.finish(Timed::Whole)?;
        let (begin, end) = (spans.first().map_or(0, |s| s.begin), spans.last().map_or(0, |s| s.end));
        Ok(Duration::from_nanos(end.saturating_sub(begin)))
    }

    /// Runs all steps and returns them with their spans. New tensors get their contents when their submission is seen to end. If a
    /// submission fails, the new tensors of later submissions never get contents.
    fn finish(&mut self, timed: Timed) -> Result<(Arc<[LaunchStep]>, Vec<Span>)> {
        let steps: Arc<[LaunchStep]> = std::mem::take(&mut self.steps).into();
        let spans = self.device.submit(&steps, timed);
        if spans.is_err() {
            steps.iter().flat_map(|step| &step.completes).for_each(|memory| memory.abandon());
        }
        Ok((steps, spans?))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.device.give_temporaries(std::mem::take(&mut self.temporaries.0).into_values());
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} launches on {})", self.launches.len(), self.device.info().name)
    }
}
