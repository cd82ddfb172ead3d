//! A launch of the variant that takes the arguments: allocates memory, and builds the steps.

use super::argument::Argument;
use super::batch::Spare;
use super::bound::{BoundArguments, check_tensor};
use super::choice::{Choice, choice, prepared};
use super::load::DynKernel;
use crate::device::Device;
use crate::device::backend::{LaunchStep, Use};
use crate::device::memory::{Memory, allocated};
use crate::device::pending::Pending;
use crate::device::region::Region;
use crate::device::statistics::Statistics;
use crate::device::timing::{Span, Timed, Timing};
use crate::error::{Error, Result};
use crate::launch::plan::Plan;
use crate::launch::{check, params, work};
use crate::tensor::AnyTensor;
use smallvec::SmallVec;
use std::sync::Arc;
use tilewright_launch::{self as program, Program, Role, Temporaries};

/// The destination of a launch's outputs.
pub(crate) enum Target<'a> {
    /// New tensors.
    Allocate,
    /// The caller's tensors, in the kernel's order.
    Into(Vec<&'a AnyTensor>),
}

impl<'a> Target<'a> {
    pub(crate) fn into(outputs: impl IntoIterator<Item = &'a mut AnyTensor>) -> Target<'a> {
        Target::Into(outputs.into_iter().map(|t| &*t).collect())
    }

    /// Returns handles of the caller's tensors.
    pub(crate) fn outputs(&self) -> Vec<AnyTensor> {
        if let Target::Into(outputs) = self { outputs.iter().map(|output| output.shared()).collect() } else { Vec::new() }
    }
}

/// The parts of a batch that its launches use: its id, and memory for temporaries.
pub(crate) struct InBatch<'a> {
    pub(crate) id: u64,
    pub(crate) temporaries: &'a mut Spare,
}

/// A launch that is ready to be submitted.
pub(crate) struct Launch {
    device: Device,
    pub(crate) variant: Arc<str>,
    pub(crate) steps: Vec<LaunchStep>,
    pub(crate) outputs: Vec<AnyTensor>,
    pub(crate) temporaries: Vec<Arc<Memory>>,
}

impl Launch {
    pub(crate) fn new<'a>(
        kernel: &DynKernel,
        args: impl IntoIterator<Item = Argument<'a>>,
        target: Target<'_>,
        batch: Option<InBatch<'_>>,
    ) -> Result<Launch> {
        let bound = BoundArguments::new(kernel, args)?;
        let choice = choice(kernel, &bound, &target)?;
        build(kernel, &bound, &choice, &target, batch)
    }

    /// Runs the launch alone and waits for it.
    pub(crate) fn run(self) -> Result<Vec<AnyTensor>> {
        self.device.run(&self.steps.into(), Timed::Nothing, self.temporaries)?;
        Ok(self.outputs)
    }

    /// Runs the launch alone, waits for it, and returns its time.
    pub(crate) fn run_timed(self) -> Result<(Vec<AnyTensor>, Timing)> {
        let steps: Arc<[LaunchStep]> = self.steps.into();
        let spans = self.device.run(&steps, Timed::Steps, self.temporaries)?;
        let timing = timing(&self.variant, &steps, &spans);
        Ok((self.outputs, timing))
    }

    /// Submits the launch alone.
    pub(crate) fn submit(self) -> Result<(Vec<AnyTensor>, Pending)> {
        let started = self.device.start(&self.steps.into(), Timed::Nothing, self.temporaries)?;
        Ok((self.outputs, Pending::new(self.device, started)))
    }

    /// Returns the driver's numbers of the launch's dispatches, and gives its memory back.
    pub(crate) fn statistics(self) -> Result<Vec<Statistics>> {
        let of = |step: &LaunchStep| {
            let values = step.pipeline.statistics().map(<[_]>::to_vec);
            let none = || Error::NoStatistics { device: self.device.info().name.clone() };
            Ok(Statistics { dispatch: step.name.to_string(), values: values.ok_or_else(none)? })
        };
        let all = self.steps.iter().map(of).collect();
        self.device.give_temporaries(self.temporaries);
        all
    }
}

/// Returns the times of a launch's steps.
pub(crate) fn timing(variant: &str, steps: &[LaunchStep], spans: &[Span]) -> Timing {
    Timing::new(variant, steps.iter().map(|s| &*s.name).zip(spans.iter().copied()))
}

/// Returns the prepared tensor at an index, if it has the shape that the launch gives it.
fn prepared_as<'a>(program: &Program, at: usize, shape: &[usize], prepared: &'a [(u32, &'a AnyTensor)]) -> Result<&'a AnyTensor> {
    let found = prepared.iter().find(|(n, tensor)| *n as usize == at && tensor.shape() == shape);
    let name = program.tensors.get(at).map_or("?", |t| &t.name);
    let malformed = || Error::Malformed { variant: program.variant.clone(), reason: format!("`{name}` is never prepared") };
    found.map(|(_, tensor)| *tensor).ok_or_else(malformed)
}

/// The memory of one of the program's tensors in a launch.
struct Placed {
    memory: Arc<Memory>,
    region: Region,
    /// True if the caller gave the tensor.
    given: bool,
}

fn build(
    kernel: &DynKernel,
    bound: &BoundArguments<'_>,
    choice: &Choice,
    target: &Target<'_>,
    batch: Option<InBatch<'_>>,
) -> Result<Launch> {
    let Some(variant) = kernel.loadable(choice.at) else { return Err(Error::NothingToLoad) };
    // Parked submissions may have ended, and then their tensors get contents here.
    kernel.device().reap()?;
    let program = &variant.program;
    let batch_id = batch.as_ref().map_or(0, |b| b.id);
    if let Target::Into(outputs) = target {
        check_outputs(kernel, program, &choice.plan, outputs)?;
    }
    let mut launch = Launch {
        device: kernel.device().clone(),
        variant: variant.name.clone(),
        steps: Vec::new(),
        outputs: Vec::new(),
        temporaries: Vec::new(),
    };
    let placed = place(program, variant.variant, bound, choice, target, batch, &mut launch)?;
    // Outputs and temporaries that the launch allocated get their contents from its steps.
    for (tensor, p) in program.tensors.iter().zip(&placed).filter(|(_, p)| p.given) {
        p.memory.check_ready(batch_id, || format!("`{}` of `{}`", tensor.name, kernel.name()))?;
    }
    check_overlap(program, &placed)?;
    let addresses: SmallVec<[u64; 8]> = placed.iter().map(|p| p.memory.buffer().address() + p.region.start).collect();
    let sources = params::Sources { addresses: &addresses, scalars: &bound.scalars };
    for planned in &choice.plan.dispatches {
        let Some((dispatch, loaded)) = program.dispatches.get(planned.at).zip(variant.dispatches.get(planned.at)) else { continue };
        let pieces = planned.pieces(dispatch, &sources).collect();
        let pipeline = loaded.pipelines.get(kernel.device(), program, dispatch, &planned.constants)?;
        // A validated program names tensors that it has.
        let uses = dispatch.buffers.iter().map(|u| {
            let p = &placed[u.tensor as usize];
            Use { memory: p.memory.clone(), region: p.region.clone(), reads: u.reads, writes: u.writes }
        });
        let (name, uses, begins) = (loaded.name.clone(), uses.collect(), launch.steps.is_empty());
        launch.steps.push(LaunchStep { pipeline, name, uses, pieces, begins, completes: Arc::default() });
    }
    if let Some(last) = launch.steps.last_mut().filter(|_| !launch.outputs.is_empty()) {
        last.completes = launch.outputs.iter().map(|output| output.memory().clone()).collect();
    }
    Ok(launch)
}

/// Compares the caller's outputs with the outputs of the variant.
fn check_outputs(kernel: &DynKernel, program: &Program, plan: &Plan, outputs: &[&AnyTensor]) -> Result<()> {
    let wanted: Vec<_> = program.tensors.iter().enumerate().filter(|(_, t)| t.role == Role::Output).collect();
    if wanted.len() != outputs.len() {
        let message = format!("has {} outputs, but was given {}", wanted.len(), outputs.len());
        return Err(Error::Argument { kernel: kernel.name().to_owned(), message });
    }
    for ((i, tensor), got) in wanted.into_iter().zip(outputs) {
        check_tensor(kernel, tensor, got)?;
        let shape = plan.shapes.get(i).map_or(&[][..], Vec::as_slice);
        let compared = check::compare(program, &plan.dims, i, shape, got.shape());
        compared.map_err(|r| Error::Shape { kernel: kernel.name().to_owned(), message: r.message })?;
    }
    Ok(())
}

/// Chooses the memory of every tensor: the caller's, new outputs, or temporaries.
fn place(
    program: &Program,
    variant: usize,
    bound: &BoundArguments<'_>,
    choice: &Choice,
    target: &Target<'_>,
    mut batch: Option<InBatch<'_>>,
    launch: &mut Launch,
) -> Result<SmallVec<[Placed; 8]>> {
    let given = bound.tensors(program, target);
    let prepared = prepared(program, variant, bound).unwrap_or_default();
    let mut placed = SmallVec::with_capacity(program.tensors.len());
    let (plan, mut temporaries) = (&choice.plan, Shared::new(&choice.temporaries));
    for (n, (tensor, given)) in program.tensors.iter().zip(given).enumerate() {
        let (shape, bytes, has_use) = (&plan.shapes[n], plan.bytes[n], !plan.is_idle);
        let caller = match tensor.role {
            Role::Prepared => Some(prepared_as(program, n, shape, &prepared)?),
            _ => given,
        };
        if bytes == 0 && has_use && matches!(tensor.role, Role::Input | Role::Prepared | Role::Temporary) {
            placed.push(nothing(&launch.device, tensor, shape)?);
            continue;
        }
        let region = caller.map_or_else(|| Region::dense(0, bytes), |t| t.region());
        let memory = match (caller, tensor.role) {
            (Some(t), _) => t.memory().clone(),
            (None, Role::Temporary) => temporaries.take(n, bytes, batch.as_mut(), launch)?,
            (None, _) => {
                // Not cleared, because the compiler's verifier has seen that the launch writes each element. The tensor cannot
                // be read until the launch's last step was seen to end.
                let (laid, name) = (work::in_memory(tensor, shape), format!("{}::{}", program.kernel, tensor.name));
                let memory = launch.device.unwritten(tensor.dtype, &laid, &name)?.memory().clone();
                let output = AnyTensor::new(launch.device.clone(), memory.clone(), tensor.dtype, shape.clone());
                let output = output.packed(tensor.layout.as_ref());
                launch.outputs.push(output);
                memory
            }
        };
        // A result without elements needs memory if another dispatch reads it.
        placed.push(match bytes == 0 && has_use && work::is_read(program, n) {
            true => nothing(&launch.device, tensor, shape)?,
            false => Placed { memory, region, given: caller.is_some() },
        });
    }
    Ok(placed)
}

/// The memory of a launch's temporaries, which share it where their lives allow it.
struct Shared<'a> {
    plan: &'a Temporaries,
    taken: Vec<Option<Arc<Memory>>>,
}

impl<'a> Shared<'a> {
    fn new(plan: &'a Temporaries) -> Shared<'a> {
        Shared { taken: vec![None; plan.bytes.len()], plan }
    }

    /// Returns the memory of a temporary, and allocates it at its first use.
    fn take(&mut self, tensor: usize, bytes: u64, batch: Option<&mut InBatch<'_>>, launch: &mut Launch) -> Result<Arc<Memory>> {
        let shared = self.plan.of.get(tensor).copied().flatten();
        if let Some(memory) = shared.and_then(|n| self.taken[n].clone()) {
            return Ok(memory);
        }
        let bytes = shared.map_or(bytes, |n| self.plan.bytes[n]);
        // Memory that an earlier launch of the batch used can be reused, because a barrier separates the two.
        let kept = batch.and_then(|batch| batch.temporaries.take(allocated(bytes)));
        let memory = kept.map_or_else(|| launch.device.take_temporary(bytes), Ok)?;
        launch.temporaries.push(memory.clone());
        if let Some(n) = shared {
            self.taken[n] = Some(memory.clone());
        }
        Ok(memory)
    }
}

/// Allocates memory for a tensor without elements: see [`work::loaded_elements`]. The values are replaced by the fill.
fn nothing(device: &Device, tensor: &program::Tensor, shape: &[usize]) -> Result<Placed> {
    let zeros = device.zeros_any(tensor.dtype, [work::loaded_elements(tensor, shape)?])?;
    Ok(Placed { memory: zeros.memory().clone(), region: zeros.region(), given: false })
}

fn check_overlap(program: &Program, placed: &[Placed]) -> Result<()> {
    let tensors = program.tensors.iter().zip(placed);
    let places: SmallVec<[_; 8]> = tensors
        .map(|(t, p)| check::TensorMemory { name: &t.name, role: t.role, memory: p.memory.id(), region: &p.region })
        .collect();
    check::overlap(&places).map_or(Ok(()), |(written, other)| {
        Err(Error::Overlap { kernel: program.kernel.clone(), written: written.to_owned(), other: other.to_owned() })
    })
}
