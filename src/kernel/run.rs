//! A launch: binds the arguments, chooses a variant, allocates memory, and builds the steps.

use super::argument::{Argument, Scalar};
use super::batch::Spare;
use super::load::{DynKernel, Loadable};
use crate::device::Device;
use crate::device::backend::{LaunchStep, Use};
use crate::device::memory::{Memory, allocated};
use crate::device::pending::Pending;
use crate::device::region::Region;
use crate::device::statistics::Statistics;
use crate::device::timing::{Span, Timed, Timing};
use crate::error::{Error, Refusal, Result};
use crate::launch::strides::Given;
use crate::launch::work::{self, LaunchLimits, Request, Solved};
use crate::launch::{check, params};
use crate::tensor::{AnyTensor, elements};
use std::sync::Arc;
use tilewright_launch::{self as program, MOST, Program, Role, Temporaries};

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
    pub(crate) variant: String,
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
        let choice = choose_variant(kernel, &bound, &target)?;
        build(kernel, &bound, choice, target, batch)
    }

    /// Runs the launch alone and waits for it. If it is `timed`, also returns its time.
    pub(crate) fn run(self, timed: bool) -> Result<(Vec<AnyTensor>, Timing)> {
        let steps: Arc<[LaunchStep]> = self.steps.into();
        let spans = self.device.run(&steps, if timed { Timed::Steps } else { Timed::Nothing }, self.temporaries)?;
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

/// Returns the index of the variant that takes these arguments.
pub(crate) fn choose<'a>(kernel: &DynKernel, args: impl IntoIterator<Item = Argument<'a>>) -> Result<usize> {
    Ok(choose_variant(kernel, &BoundArguments::new(kernel, args)?, &Target::Allocate)?.at)
}

/// Arguments of the right number, kinds and dtypes.
struct BoundArguments<'a> {
    tensors: Vec<&'a AnyTensor>,
    scalars: Vec<u32>,
    /// The values of the dims that are arguments.
    sizes: Vec<i64>,
}

impl<'a> BoundArguments<'a> {
    fn new(kernel: &DynKernel, args: impl IntoIterator<Item = Argument<'a>>) -> Result<BoundArguments<'a>> {
        let wrong = |message: String| Error::Argument { kernel: kernel.name().to_owned(), message };
        let args: Vec<Argument<'a>> = args.into_iter().collect();
        // All variants have the same arguments.
        let Some(p) = kernel.loadable(0).map(|v| &v.program) else { return Err(Error::NothingToLoad) };
        if args.len() != p.arguments.len() {
            return Err(wrong(format!("takes {} arguments, but was given {}", p.arguments.len(), args.len())));
        }
        let mut bound = BoundArguments { tensors: Vec::new(), scalars: Vec::new(), sizes: Vec::new() };
        for (wanted, got) in p.arguments.iter().zip(args) {
            match wanted {
                program::Argument::Tensor(t) => {
                    let Some(wanted) = p.tensors.get(*t as usize) else { continue };
                    bound.tensors.push(bind_tensor(kernel, wanted, got)?);
                }
                program::Argument::Scalar(s) => {
                    let Some(wanted) = p.scalars.get(*s as usize) else { continue };
                    let got = bind_scalar(wanted, got).map_err(wrong)?;
                    bound.scalars.push(got.bits());
                }
                program::Argument::Dim(d) => {
                    let name = p.dims.get(*d as usize).map_or("?", |dim| &dim.name);
                    bound.sizes.push(bind_size(name, &got).map_err(wrong)?);
                }
            }
        }
        Ok(bound)
    }

    fn shapes(&self) -> Vec<&'a [usize]> {
        self.tensors.iter().map(|t| t.shape()).collect()
    }

    /// Returns the strides and regions of the caller's tensors, indexed as the program's tensors.
    fn given<'t>(&'t self, program: &Program, target: &'t Target<'_>) -> Vec<Option<Given<'t>>> {
        let outputs: &[&AnyTensor] = if let Target::Into(outputs) = target { outputs } else { &[] };
        let (mut inputs, mut outputs) = (self.tensors.iter(), outputs.iter());
        let given = |tensor: &program::Tensor| {
            let tensor: &AnyTensor = match tensor.role {
                Role::Input | Role::Update => inputs.next()?,
                Role::Output => outputs.next()?,
                Role::Prepared | Role::Temporary => return None,
            };
            let region = tensor.region();
            let has_address = tensor.memory().buffer().has_address();
            Some(Given { shape: tensor.shape(), strides: tensor.gaps(), start: region.start, bytes: region.bytes(), has_address })
        };
        program.tensors.iter().map(given).collect()
    }
}

fn bind_tensor<'a>(kernel: &DynKernel, wanted: &program::Tensor, got: Argument<'a>) -> Result<&'a AnyTensor> {
    let wrong = |message| Error::Argument { kernel: kernel.name().to_owned(), message };
    let name = &wanted.name;
    let tensor = match (got, wanted.role) {
        (Argument::Read(t), Role::Input) => t,
        (Argument::Update(t), _) => &*t,
        (Argument::Read(_), _) => return Err(wrong(format!("`{name}` is updated in place, so pass it as `&mut`"))),
        (Argument::Scalar(s), _) => {
            return Err(wrong(format!("`{name}` is a tensor, but was given a number of type {}", s.dtype())));
        }
        (Argument::Size(_), _) => return Err(wrong(format!("`{name}` is a tensor, but was given a size"))),
    };
    check_tensor(kernel, wanted, tensor)?;
    let wants = kernel.preparations().iter().any(|p| p.input() == name);
    match tensor.preparation() {
        None if wants => Err(wrong(format!("`{name}` must be prepared, by `prepare_{name}` or `DynKernel::prepare`"))),
        Some(prepared) if !prepared.is_of(kernel, name) => {
            Err(wrong(format!("`{name}` was prepared by another kernel: prepare it by this one")))
        }
        _ => Ok(tensor),
    }
}

/// Checks a tensor's dtype, layout and device.
fn check_tensor(kernel: &DynKernel, wanted: &program::Tensor, got: &AnyTensor) -> Result<()> {
    let (name, kernel_name) = (&wanted.name, kernel.name());
    if got.dtype() != wanted.dtype {
        let message = format!("`{name}` has elements of {}, but should have {}", got.dtype(), wanted.dtype);
        return Err(Error::Argument { kernel: kernel_name.to_owned(), message });
    }
    if got.layout() != wanted.layout.as_ref() {
        let show = |l: Option<&program::Layout>| l.map_or_else(|| "row-major".to_owned(), |l| format!("packed as {l}"));
        let message = format!("`{name}` is {}, but should be {}", show(got.layout()), show(wanted.layout.as_ref()));
        return Err(Error::Argument { kernel: kernel_name.to_owned(), message });
    }
    if got.device().is(kernel.device()) { Ok(()) } else { Err(Error::OtherDevice { what: format!("`{name}` of `{kernel_name}`") }) }
}

pub(crate) fn bind_scalar(wanted: &program::Scalar, got: Argument<'_>) -> Result<Scalar, String> {
    let name = &wanted.name;
    match got {
        Argument::Scalar(s) if s.dtype() == wanted.dtype => Ok(s),
        Argument::Scalar(s) => Err(format!("`{name}` is of type {}, but was given one of {}", wanted.dtype, s.dtype())),
        Argument::Read(_) | Argument::Update(_) => {
            Err(format!("`{name}` is a number of type {}, but was given a tensor", wanted.dtype))
        }
        Argument::Size(_) => Err(format!("`{name}` is of type {}, but was given a size, a `usize`", wanted.dtype)),
    }
}

pub(crate) fn bind_size(name: &str, got: &Argument<'_>) -> Result<i64, String> {
    match got {
        Argument::Size(n) => match i64::try_from(*n) {
            Ok(size) if size <= MOST => Ok(size),
            _ => Err(format!("`{name}` is {n}, and a dim is at most {MOST}")),
        },
        Argument::Scalar(s) => Err(format!("`{name}` is a size, a `usize`, but was given a number of type {}", s.dtype())),
        Argument::Read(_) | Argument::Update(_) => Err(format!("`{name}` is a size, a `usize`, but was given a tensor")),
    }
}

/// A variant, with its dims and shapes for some arguments.
struct Choice {
    at: usize,
    dims: Vec<i64>,
    shapes: Vec<Vec<usize>>,
}

/// Chooses the first variant that takes the arguments.
fn choose_variant(kernel: &DynKernel, bound: &BoundArguments<'_>, target: &Target<'_>) -> Result<Choice> {
    let mut refusals: Vec<(bool, String, Refusal)> = Vec::new();
    // All variants have the same arguments and outputs, which come first among their tensors.
    let given = kernel.loadable(0).map_or_else(Vec::new, |v| bound.given(&v.program, target));
    let (shapes, limits) = (bound.shapes(), LaunchLimits::from(&kernel.device().info().limits));
    for (at, Loadable { program, specialized, variant, .. }) in kernel.loadables().iter().enumerate() {
        let request = Request { shapes: &shapes, sizes: &bound.sizes, scalars: &bound.scalars, given: &given };
        let tried = request.solve(program, &limits).and_then(|solved| {
            prepared(program, *variant, bound)?;
            Ok(solved)
        });
        match tried {
            Ok(Solved { dims, shapes }) => return Ok(Choice { at, dims, shapes }),
            Err(refusal) => refusals.push((*specialized, program.variant.clone(), refusal)),
        }
    }
    let same_parameters = kernel.variants().is_sorted_by(|a, b| a.parameters == b.parameters);
    Err(work::refused(kernel.name(), refusals, same_parameters))
}

/// Returns the tensors that were precomputed for a variant, with the indices of the program's tensors.
fn prepared<'a>(program: &Program, variant: usize, bound: &BoundArguments<'a>) -> Result<Vec<(u32, &'a AnyTensor)>, Refusal> {
    let mut found = Vec::new();
    for preparation in &program.preparations {
        // Inputs and updates come first among the tensors.
        let Some(of) = bound.tensors.get(preparation.input as usize).and_then(|t| t.preparation()) else { continue };
        let tensors = of.of_variant(variant)?;
        found.extend(preparation.tensors.iter().copied().zip(tensors));
    }
    Ok(found)
}

/// Returns the prepared tensor at an index, if it has the shape that the launch gives it.
fn prepared_as<'a>(
    program: &Program,
    at: usize,
    shape: &[usize],
    prepared: &'a [(u32, &'a AnyTensor)],
) -> Result<&'a &'a AnyTensor> {
    let found = prepared.iter().find(|(n, tensor)| *n as usize == at && tensor.shape() == shape);
    let name = program.tensors.get(at).map_or("?", |t| &t.name);
    let malformed = || Error::Malformed { variant: program.variant.clone(), reason: format!("`{name}` is never prepared") };
    found.map(|(_, tensor)| tensor).ok_or_else(malformed)
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
    choice: Choice,
    target: Target<'_>,
    batch: Option<InBatch<'_>>,
) -> Result<Launch> {
    let Some(variant) = kernel.loadable(choice.at) else { return Err(Error::NothingToLoad) };
    // Parked submissions may have ended, and then their tensors get contents here.
    kernel.device().reap()?;
    let program = &variant.program;
    let batch_id = batch.as_ref().map_or(0, |b| b.id);
    if let Target::Into(outputs) = &target {
        check_outputs(kernel, program, &choice, outputs)?;
    }
    let mut launch = Launch {
        device: kernel.device().clone(),
        variant: program.variant.clone(),
        steps: Vec::new(),
        outputs: Vec::new(),
        temporaries: Vec::new(),
    };
    let placed = place(program, variant.variant, bound, &choice, target, batch, &mut launch)?;
    // Outputs and temporaries that the launch allocated get their contents from its steps.
    for (tensor, p) in program.tensors.iter().zip(&placed).filter(|(_, p)| p.given) {
        p.memory.check_ready(batch_id, || format!("`{}` of `{}`", tensor.name, kernel.name()))?;
    }
    check_overlap(program, &placed)?;
    let addresses: Vec<u64> = placed.iter().map(|p| p.memory.buffer().address() + p.region.start).collect();
    let sources = params::Sources { dims: &choice.dims, addresses: &addresses, scalars: &bound.scalars };
    let (idle, limits) = (work::is_idle(program, &choice.shapes), LaunchLimits::from(&kernel.device().info().limits));
    for (dispatch, pipelines) in program.dispatches.iter().zip(&variant.pipelines) {
        let pieces = work::pieces(kernel.name(), dispatch, &sources, limits.grid)?;
        if pieces.is_empty() || idle || work::writes_nothing(dispatch, &choice.shapes) {
            continue;
        }
        let constants =
            params::constants(dispatch, &choice.dims).ok_or_else(|| work::too_large(kernel.name(), dispatch, u64::MAX))?;
        let pipeline = pipelines.get(kernel.device(), program, dispatch, &constants)?;
        let uses = dispatch.buffers.iter().filter_map(|u| {
            let p = placed.get(u.tensor as usize)?;
            Some(Use { memory: p.memory.clone(), region: p.region.clone(), reads: u.reads, writes: u.writes })
        });
        let (name, uses, pieces) = (dispatch.name.as_str().into(), uses.collect(), pieces.into());
        let begins = launch.steps.is_empty();
        launch.steps.push(LaunchStep { pipeline, name, uses, pieces, begins, completes: Arc::default() });
    }
    if let Some(last) = launch.steps.last_mut() {
        last.completes = launch.outputs.iter().map(|output| output.memory().clone()).collect();
    }
    Ok(launch)
}

/// Compares the caller's outputs with the outputs of the variant.
fn check_outputs(kernel: &DynKernel, program: &Program, choice: &Choice, outputs: &[&AnyTensor]) -> Result<()> {
    let wanted: Vec<_> = program.tensors.iter().enumerate().filter(|(_, t)| t.role == Role::Output).collect();
    if wanted.len() != outputs.len() {
        let message = format!("has {} outputs, but was given {}", wanted.len(), outputs.len());
        return Err(Error::Argument { kernel: kernel.name().to_owned(), message });
    }
    for ((i, tensor), got) in wanted.into_iter().zip(outputs) {
        check_tensor(kernel, tensor, got)?;
        let shape = choice.shapes.get(i).map_or(&[][..], Vec::as_slice);
        let compared = check::compare(program, &choice.dims, i, shape, got.shape());
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
    target: Target<'_>,
    mut batch: Option<InBatch<'_>>,
    launch: &mut Launch,
) -> Result<Vec<Placed>> {
    let (mut given, mut outputs) = (
        bound.tensors.iter(),
        match &target {
            Target::Allocate => [].iter(),
            Target::Into(outputs) => outputs.iter(),
        },
    );
    let prepared = prepared(program, variant, bound).unwrap_or_default();
    let mut placed = Vec::with_capacity(program.tensors.len());
    let idle = work::is_idle(program, &choice.shapes);
    let laid: Vec<Vec<usize>> =
        program.tensors.iter().zip(&choice.shapes).map(|(tensor, shape)| work::in_memory(tensor, shape)).collect();
    let sizes = program.tensors.iter().zip(&laid);
    let sizes =
        sizes.map(|(tensor, laid)| Ok(elements(laid)? as u64 * u64::from(tensor.dtype.bytes()))).collect::<Result<Vec<_>>>()?;
    let mut temporaries = Shared::new(program, &sizes, &launch.device);
    for (n, (tensor, shape)) in program.tensors.iter().zip(&choice.shapes).enumerate() {
        let (laid, bytes) = (&laid[n], sizes[n]);
        let caller = match tensor.role {
            Role::Input | Role::Update => given.next(),
            Role::Output => outputs.next(),
            Role::Prepared => Some(prepared_as(program, n, shape, &prepared)?),
            Role::Temporary => None,
        };
        if bytes == 0 && !idle && matches!(tensor.role, Role::Input | Role::Prepared | Role::Temporary) {
            placed.push(nothing(&launch.device, tensor, laid)?);
            continue;
        }
        let region = caller.map_or_else(|| Region::dense(0, bytes), |t| t.region());
        let memory = match (caller, tensor.role) {
            (Some(t), _) => t.memory().clone(),
            (None, Role::Temporary) => temporaries.take(n, bytes, batch.as_mut(), launch)?,
            (None, _) => {
                // Not cleared, because the compiler's verifier has seen that the launch writes each element. The tensor cannot
                // be read until the launch's last step was seen to end.
                let memory =
                    launch.device.unwritten(tensor.dtype, laid, &format!("{}::{}", program.kernel, tensor.name))?.memory().clone();
                let output = AnyTensor::new(launch.device.clone(), memory.clone(), tensor.dtype, shape.clone());
                let output = output.packed(tensor.layout.as_ref());
                launch.outputs.push(output);
                memory
            }
        };
        // A result without elements needs memory if another dispatch reads it.
        placed.push(match bytes == 0 && !idle && work::is_read(program, n) {
            true => nothing(&launch.device, tensor, laid)?,
            false => Placed { memory, region, given: caller.is_some() },
        });
    }
    Ok(placed)
}

/// The memory of a launch's temporaries, which share it where their lives allow it.
struct Shared {
    plan: Temporaries,
    taken: Vec<Option<Arc<Memory>>>,
}

impl Shared {
    /// Chooses the memory, given the bytes of each tensor.
    fn new(program: &Program, bytes: &[u64], device: &Device) -> Shared {
        let plan = if device.shares_temporaries() { program.temporaries(bytes) } else { Temporaries::default() };
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

/// Allocates memory for a tensor without elements. A read whose index may be out of bounds still loads an element near the first
/// one, and then replaces it by the fill. So there must be memory, as far as the other dimensions reach.
fn nothing(device: &Device, tensor: &program::Tensor, shape: &[usize]) -> Result<Placed> {
    let zeros = device.zeros_any(tensor.dtype, work::loaded_shape(shape))?;
    Ok(Placed { memory: zeros.memory().clone(), region: zeros.region(), given: false })
}

fn check_overlap(program: &Program, placed: &[Placed]) -> Result<()> {
    let tensors = program.tensors.iter().zip(placed);
    let places: Vec<_> = tensors
        .map(|(t, p)| check::TensorMemory { name: &t.name, role: t.role, memory: p.memory.id(), region: &p.region })
        .collect();
    check::overlap(&places).map_or(Ok(()), |(written, other)| {
        Err(Error::Overlap { kernel: program.kernel.clone(), written: written.to_owned(), other: other.to_owned() })
    })
}
