//! Records the steps of a part into a command buffer and submits it, with barriers between hazards and timestamps if requested.

use super::checks::Checkup;
use super::memory::{Buffer, Purpose};
use super::pipeline::ComputePipeline;
use super::session::{End, Session, Sessions, Stages};
use super::{VulkanDevice, failed, idle, own};
use crate::device::backend::{Described, LaunchStep, NotSubmitted, Piece, Recorded, Use};
use crate::device::submission::Part;
use crate::device::timing::{Span, Timed};
use crate::device::work::{Flight, Wait};
use crate::error::{Error, Result};
use crate::launch::hazards::{Hazards, MemoryUse};
use ash::vk;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;
use tilewright_launch::Addressing;

/// A step with this backend's own types.
pub(super) struct Own<'a> {
    pub(super) step: &'a LaunchStep,
    pub(super) pipeline: &'a ComputePipeline,
    buffers: SmallVec<[&'a Buffer; 8]>,
}

/// The most steps of a submission. Each step may have a descriptor set, and lavapipe maps memory for each set. A process can have
/// 65,530 mappings, and the driver does not check whether it got one.
pub(super) const MOST_STEPS: usize = 8192;

/// Records a part for one submission.
pub(super) fn record(device: &VulkanDevice, part: &Part, timed: Timed, wait: &mut Wait) -> Result<RecordedPart> {
    let steps = own_steps(part)?;
    let checkup = Checkup::plan(&steps, device.context.details.storage_offset_alignment)?;
    let_pipelines_settle(device, part, &steps, wait)?;
    let record = |session: &mut Session| {
        let barriers = barriers(part.steps(), timed);
        record_steps(device, session, (&steps, &checkup), (&barriers, timed))
    };
    let session = if timed == Timed::Nothing && checkup.is_empty() && idle::can_repeat(&steps) {
        device.sessions.begin_or_repeat(&steps, record)?
    } else {
        let mut session = device.sessions.begin()?;
        record(&mut session)?;
        session
    };
    Ok(RecordedPart { session, part: part.clone(), checkup, timed, sessions: device.sessions.clone() })
}

/// Records a part into a command buffer of the caller, between barriers that order it with all other commands of the queue.
pub(super) fn record_into(
    device: &VulkanDevice,
    part: &Part,
    commands: vk::CommandBuffer,
    wait: &mut Wait,
) -> Result<(Box<Session>, Checkup)> {
    let steps = own_steps(part)?;
    let checkup = Checkup::plan(&steps, device.context.details.storage_offset_alignment)?;
    let_pipelines_settle(device, part, &steps, wait)?;
    let mut session = Session::over(device.context.clone(), device.heap.clone(), commands);
    session.barrier(Stages::Any, Stages::Device);
    let barriers = barriers(part.steps(), Timed::Nothing);
    record_steps(device, &mut session, (&steps, &checkup), (&barriers, Timed::Nothing))?;
    session.barrier(Stages::Device, Stages::Any);
    Ok((session, checkup))
}

/// Returns the fault that the checks of a part have found, after its commands have ended.
pub(super) fn check(part: &Part, session: &Session, checkup: &Checkup) -> Result<()> {
    checkup.result(session, &own_steps(part)?)
}

/// Waits until pipelines that were just made can be launched. With NVIDIA's driver a pipeline that is launched at once may run the code of
/// another one (`docs/drivers.md`).
pub(super) fn let_pipelines_settle(device: &VulkanDevice, part: &Part, steps: &[Own<'_>], wait: &mut Wait) -> Result<()> {
    match steps.iter().map(|s| s.pipeline.made).max().filter(|_| device.context.details.is_nvidia) {
        Some(youngest) => device.sessions.catch_up(youngest, wait, || Described::steps(part.steps()).to_string()),
        None => Ok(()),
    }
}

/// The recorded commands of a part.
pub(super) struct RecordedPart {
    session: Box<Session>,
    part: Part,
    checkup: Checkup,
    timed: Timed,
    sessions: Arc<Sessions>,
}

impl Recorded for RecordedPart {
    fn submit(self: Box<Self>, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted> {
        let RecordedPart { session, part, checkup, timed, sessions } = *self;
        if timed == Timed::Nothing && checkup.is_empty() {
            return Ok(Arc::new(sessions.submit(session, after, End::Nothing)?));
        }
        let read = move |session: &Session| {
            checkup.result(session, &own_steps(&part)?)?;
            read_spans(session, queries(timed, part.steps().len()))
        };
        Ok(Arc::new(sessions.submit(session, after, End::Read(Box::new(read)))?))
    }
}

/// Returns which steps follow a barrier: those with a hazard, and those whose time is measured apart.
pub(super) fn barriers(steps: &[LaunchStep], timed: Timed) -> Vec<bool> {
    if let [_] = steps {
        return vec![false];
    }
    let mut hazards = Hazards::default();
    let barrier = |(n, step): (usize, &LaunchStep)| {
        let is_apart = n > 0 && timed.keeps_apart(step.begins);
        if is_apart {
            hazards = Hazards::default();
        }
        hazards.barrier_before(step.uses.iter().map(touch)) || is_apart
    };
    steps.iter().enumerate().map(barrier).collect()
}

/// Records steps, with barriers before some of them, and timestamps if requested.
pub(super) fn record_steps(
    device: &VulkanDevice,
    session: &mut Session,
    (steps, checkup): (&[Own<'_>], &Checkup),
    (barriers, timed): (&[bool], Timed),
) -> Result<()> {
    let spill = Spill::plan(device, steps);
    let spilled = spill.write(session, steps)?;
    checkup.write(session, steps)?;
    let pool = descriptor_pool(session, steps, checkup)?;
    let queries = queries(timed, steps.len());
    if queries > 0 {
        session.reset_queries(queries)?;
    }
    let mut bound = vk::Pipeline::null();
    let mut offsets = spill.offsets.iter().copied();
    for (i, (own, follows_barrier)) in steps.iter().zip(barriers).enumerate() {
        if *follows_barrier {
            session.barrier(Stages::Compute, Stages::Compute);
        }
        session.context.label(session.commands, &own.pipeline.shown, || -> Result<()> {
            let [before, after] = stamps(timed, i, steps.len());
            stamp(session, before);
            if bound != own.pipeline.raw {
                bound = own.pipeline.raw;
                // SAFETY: recording; the pipeline is this device's and lives until the submission has ended.
                unsafe { session.context.device.cmd_bind_pipeline(session.commands, vk::PipelineBindPoint::COMPUTE, bound) };
            }
            dispatch(session, (i, own), (pool, checkup), &spilled, &mut offsets)?;
            stamp(session, after);
            Ok(())
        })?;
    }
    Ok(())
}

fn touch(used: &Use) -> MemoryUse {
    let bytes = used.region.start..used.region.end();
    MemoryUse { memory: used.memory.id(), bytes, reads: used.reads, writes: used.writes }
}

fn own_steps(part: &Part) -> Result<SmallVec<[Own<'_>; 4]>> {
    part.steps().iter().map(own_step).collect()
}

pub(super) fn own_step(step: &LaunchStep) -> Result<Own<'_>> {
    let pipeline: &dyn Any = &*step.pipeline;
    let pipeline: &ComputePipeline =
        pipeline.downcast_ref().ok_or_else(|| Error::OtherDevice { what: format!("`{}`", step.name) })?;
    let buffers = step.uses.iter().map(|u| own(u.memory.buffer())).collect::<Result<_>>()?;
    Ok(Own { step, pipeline, buffers })
}

/// The parameter blocks that do not fit push constants.
struct Spill {
    /// The offset of each piece's block in the buffer, for all spilled steps in order.
    offsets: Vec<u64>,
    bytes: u64,
}

/// The buffer that holds spilled parameter blocks.
#[derive(Clone, Copy, Default)]
struct Spilled {
    raw: vk::Buffer,
    address: u64,
}

impl Spill {
    fn plan(device: &VulkanDevice, steps: &[Own<'_>]) -> Spill {
        let alignment = device.context.details.storage_offset_alignment;
        let mut spill = Spill { offsets: Vec::new(), bytes: 0 };
        for piece in Spill::pieces(steps) {
            spill.offsets.push(spill.bytes);
            spill.bytes += (piece.params.len() as u64).max(1).next_multiple_of(alignment);
        }
        spill
    }

    fn pieces<'a>(steps: &'a [Own<'_>]) -> impl Iterator<Item = &'a Piece> {
        steps.iter().filter(|s| s.pipeline.spilled).flat_map(|s| &*s.step.pieces)
    }

    fn write(&self, session: &mut Session, steps: &[Own<'_>]) -> Result<Spilled> {
        if self.offsets.is_empty() {
            return Ok(Spilled::default());
        }
        session.keep(Purpose::Params, self.bytes)?;
        let Some(buffer) = session.kept(Purpose::Params) else { return Ok(Spilled::default()) };
        for (piece, offset) in Spill::pieces(steps).zip(&self.offsets) {
            if !buffer.store(*offset, &piece.params) {
                return Err(failed("mapping device memory")(vk::Result::ERROR_MEMORY_MAP_FAILED));
            }
        }
        Ok(Spilled { raw: buffer.raw, address: buffer.address })
    }
}

/// Returns a pool with room for the descriptor sets of the checks, and of all steps that do not access buffers by address.
fn descriptor_pool(session: &mut Session, steps: &[Own<'_>], checkup: &Checkup) -> Result<vk::DescriptorPool> {
    let (mut sets, mut buffers) = (checkup.sets(), 2 * checkup.sets());
    for own in steps.iter().filter(|s| s.pipeline.addressing == Addressing::Descriptor) {
        let count = if own.pipeline.spilled { own.step.pieces.len() as u64 } else { 1 };
        sets += count;
        buffers += count * (own.buffers.len() as u64 + 1);
    }
    // The session rounds the counts up to powers of two. There are at least as many buffers as sets.
    const LIMIT: u64 = 1 << 31;
    if buffers > LIMIT {
        return Err(Error::TooLarge { what: "the descriptors of a submission".to_owned(), size: buffers, limit: LIMIT });
    }
    if sets == 0 { Ok(vk::DescriptorPool::null()) } else { session.descriptor_pool(sets as u32, buffers as u32) }
}

/// Records the pieces of one step. Its pipeline must be bound.
fn dispatch(
    session: &Session,
    (n, own): (usize, &Own<'_>),
    (pool, checkup): (vk::DescriptorPool, &Checkup),
    spilled: &Spilled,
    offsets: &mut dyn Iterator<Item = u64>,
) -> Result<()> {
    let (device, commands, pipeline) = (&session.context.device, session.commands, own.pipeline);
    let by_descriptor = pipeline.addressing == Addressing::Descriptor;
    if by_descriptor && !pipeline.spilled {
        bind(session, own, pool, None)?;
    }
    for (p, piece) in own.step.pieces.iter().enumerate() {
        let block = if pipeline.spilled { offsets.next() } else { None };
        let address = block.map(|offset| (spilled.address + offset).to_le_bytes());
        match (block, &address) {
            (Some(offset), _) if by_descriptor => bind(session, own, pool, Some((spilled.raw, offset, piece.params.len() as u64)))?,
            (_, Some(address)) => push(session, pipeline, address),
            _ => push(session, pipeline, &piece.params),
        }
        if pipeline.checked.is_some() {
            checkup.dispatch(session, (n, p), pipeline, pool)?;
            continue;
        }
        let [x, y, z] = piece.groups;
        // SAFETY: recording; buffers and sets are this device's and live until the submission has ended, and the groups are within its limits.
        unsafe { device.cmd_dispatch(commands, x, y, z) };
    }
    Ok(())
}

fn push(session: &Session, pipeline: &ComputePipeline, bytes: &[u8]) {
    if !bytes.is_empty() {
        // SAFETY: recording; the layout has as many bytes.
        unsafe {
            session.context.device.cmd_push_constants(session.commands, pipeline.layout, vk::ShaderStageFlags::COMPUTE, 0, bytes)
        };
    }
}

/// Binds a new descriptor set with the step's buffers and, if there is one, its parameter block.
fn bind(session: &Session, own: &Own<'_>, pool: vk::DescriptorPool, params: Option<(vk::Buffer, u64, u64)>) -> Result<()> {
    let (device, layouts) = (&session.context.device, [own.pipeline.set_layout]);
    let allocate = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
    // SAFETY (this function): as in `record`; the pool has room, by `descriptor_pool`.
    let sets = unsafe { device.allocate_descriptor_sets(&allocate) }.map_err(failed("vkAllocateDescriptorSets"))?;
    let one = |(buffer, used): (&&Buffer, &Use)| {
        let info = vk::DescriptorBufferInfo::default().buffer(buffer.raw);
        [info.offset(buffer.base + used.region.start).range(used.bound_bytes())]
    };
    let mut infos: SmallVec<[[vk::DescriptorBufferInfo; 1]; 8]> = own.buffers.iter().zip(&*own.step.uses).map(one).collect();
    infos.extend(
        params.map(|(b, offset, bytes)| [vk::DescriptorBufferInfo::default().buffer(b).offset(offset).range(bytes.max(4))]),
    );
    let set = sets.first().copied().unwrap_or_default();
    let write = |(i, info)| {
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        vk::WriteDescriptorSet::default().dst_set(set).dst_binding(i as u32).descriptor_type(ty).buffer_info(info)
    };
    let writes: SmallVec<[_; 8]> = infos.iter().map(|i| &i[..]).enumerate().map(write).collect();
    // SAFETY: the set is new, and bindings are as in its layout.
    unsafe {
        device.update_descriptor_sets(&writes, &[]);
        device.cmd_bind_descriptor_sets(session.commands, vk::PipelineBindPoint::COMPUTE, own.pipeline.layout, 0, &sets, &[]);
    }
    Ok(())
}

/// Records a timestamp, if `query` is given, that is written when all earlier commands are finished.
fn stamp(session: &Session, query: Option<u32>) {
    if let Some(query) = query {
        let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
        // SAFETY: recording; `reset_queries` made room for it.
        unsafe { session.context.device.cmd_write_timestamp(session.commands, stage, session.queries, query) };
    }
}

/// Returns the number of timestamps of a submission.
fn queries(timed: Timed, steps: usize) -> u32 {
    match timed {
        Timed::Nothing => 0,
        Timed::Steps => 2 * steps as u32,
        Timed::Whole => 2,
    }
}

/// Returns the timestamps that are taken before and after a step.
fn stamps(timed: Timed, step: usize, steps: usize) -> [Option<u32>; 2] {
    match timed {
        Timed::Nothing => [None; 2],
        Timed::Steps => [0, 1].map(|n| Some(2 * step as u32 + n)),
        Timed::Whole => [(step == 0).then_some(0), (step + 1 == steps).then_some(1)],
    }
}

fn read_spans(session: &Session, queries: u32) -> Result<Vec<Span>> {
    if queries == 0 {
        return Ok(Vec::new());
    }
    let mut ticks = vec![0u64; queries as usize];
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
    // SAFETY: the submission that wrote them is done.
    unsafe { session.context.device.get_query_pool_results(session.queries, 0, &mut ticks, flags) }
        .map_err(failed("vkGetQueryPoolResults"))?;
    let details = &session.context.details;
    let first = ticks.first().copied().unwrap_or_default();
    // Relative to the first, so that a counter that wraps in between is handled, and an f64 holds the difference exactly.
    let nanos = |t: u64| ((t.wrapping_sub(first) & details.timestamp_mask) as f64 * details.timestamp_period).round() as u64;
    Ok(ticks.chunks_exact(2).filter_map(|t| Some(Span { begin: nanos(*t.first()?), end: nanos(*t.get(1)?) })).collect())
}
