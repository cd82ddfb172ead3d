//! Checked dispatches: modules that check their own accesses, and the records in which they report faults.
//!
//! A checked dispatch has a descriptor set of its own, with a record and, if accesses to shared memory are recorded, a buffer for these. The
//! buffer holds a limited number of workgroups, so that a large grid is dispatched in chunks. Each chunk has its own record. The host reads
//! the records when the submission has ended.

use super::failed;
use super::memory::{Buffer, Purpose};
use super::pipeline::ComputePipeline;
use super::session::{Session, Stages};
use super::submit::Own;
use crate::device::backend::LaunchStep;
use crate::error::{Error, Result};
use ash::vk;
use tilewright_launch::{Dispatch, Program};
use tilewright_reference::checked::{Checked, Chunk, Tensor};

/// The most bytes in which accesses to shared memory are recorded at a time.
const MOST_BYTES: u64 = 64 << 20;

/// The most checked dispatches of a submission. Each has a descriptor set, for which lavapipe maps memory.
const MOST_PARTS: u64 = 1 << 15;

/// The module of a checked dispatch, and the names for its faults.
pub(super) struct CheckedModule {
    pub(super) module: Checked,
    variant: String,
    /// The name and the bytes of an element of each tensor that the dispatch accesses.
    tensors: Vec<(String, u32)>,
}

impl CheckedModule {
    /// Adds checks to a dispatch's module, for subgroups of a size.
    pub(super) fn new(
        (program, dispatch): (&Program, &Dispatch),
        (subgroup, constants): (u32, &[u32]),
        races: bool,
        variant: &str,
    ) -> Result<CheckedModule> {
        let refused = |reason| Error::NotChecked { variant: variant.to_owned(), dispatch: dispatch.name.clone(), reason };
        let module = Checked::new(dispatch, subgroup, constants, races).map_err(refused)?;
        let named =
            |u: &tilewright_launch::BufferUse| program.tensors.get(u.tensor as usize).map(|t| (t.name.clone(), t.dtype.bytes()));
        let tensors = dispatch.buffers.iter().filter_map(named).collect();
        Ok(CheckedModule { module, variant: variant.to_owned(), tensors })
    }

    /// True if it needs memory for accesses to shared memory.
    pub(super) fn has_races(&self) -> bool {
        self.module.group_bytes() > 0
    }

    /// The number of storage buffers of its descriptor set.
    pub(super) fn bindings(&self) -> u32 {
        1 + u32::from(self.has_races())
    }

    fn tensors<'a>(&'a self, step: &LaunchStep) -> Vec<Tensor<'a>> {
        let all = self.tensors.iter().zip(&*step.uses);
        all.map(|((name, element), used)| Tensor { name, element: *element, bytes: used.region.bytes() }).collect()
    }
}

/// A checked dispatch of a chunk of workgroups.
struct Part {
    step: usize,
    piece: usize,
    chunk: Chunk,
    /// The offset of its record.
    offset: u64,
}

/// The checked dispatches of a submission in order.
#[derive(Default)]
pub(super) struct Checkup {
    parts: Vec<Part>,
    /// The bytes of all records, and of the memory for accesses to shared memory.
    bytes: u64,
    accesses: u64,
}

impl Checkup {
    /// Divides the grids of steps. Records begin at multiples of `alignment`.
    pub(super) fn plan(steps: &[Own<'_>], alignment: u64) -> Result<Checkup> {
        let mut plan = Checkup::default();
        for (n, Own { step, pipeline, .. }) in steps.iter().enumerate() {
            let Some(checked) = &pipeline.checked else { continue };
            let (each, bytes) = (checked.module.group_bytes(), checked.module.record_bytes());
            let most = MOST_BYTES.checked_div(each).map_or(u64::MAX, |groups| groups.max(1));
            for (p, piece) in step.pieces.iter().enumerate() {
                let size = count_chunks(piece.groups, most) + plan.parts.len() as u64;
                if size > MOST_PARTS {
                    return Err(Error::TooLarge {
                        what: format!("the parts of the grid of `{}` that its checks need", step.name),
                        size,
                        limit: MOST_PARTS,
                    });
                }
                for chunk in chunks(piece.groups, most) {
                    let groups: u64 = chunk.groups.iter().map(|n| u64::from(*n)).product();
                    plan.parts.push(Part { step: n, piece: p, chunk, offset: plan.bytes });
                    plan.bytes = (plan.bytes + bytes).next_multiple_of(alignment);
                    plan.accesses = plan.accesses.max(groups * each);
                }
            }
        }
        Ok(plan)
    }

    /// True if no step is checked.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of descriptor sets, each with at most two buffers.
    pub(super) fn sets(&self) -> u64 {
        self.parts.len() as u64
    }

    /// Writes the records, and makes room for accesses to shared memory.
    pub(super) fn write(&self, session: &mut Session, steps: &[Own<'_>]) -> Result<()> {
        if self.parts.is_empty() {
            return Ok(());
        }
        session.keep(Purpose::Records, self.bytes)?;
        if self.accesses > 0 {
            session.keep(Purpose::Accesses, self.accesses)?;
        }
        let Some(records) = session.kept(Purpose::Records) else { return Ok(()) };
        for part in &self.parts {
            let Own { step, pipeline, .. } = &steps[part.step];
            let Some(checked) = &pipeline.checked else { continue };
            let record = checked.module.record(&part.chunk, &checked.tensors(step));
            if !records.store(part.offset, &record) {
                return Err(failed("mapping device memory")(vk::Result::ERROR_MEMORY_MAP_FAILED));
            }
        }
        Ok(())
    }

    /// Records the dispatches of a step's piece. The pipeline and its other descriptors must be bound.
    pub(super) fn dispatch(
        &self,
        session: &Session,
        (step, piece): (usize, usize),
        pipeline: &ComputePipeline,
        pool: vk::DescriptorPool,
    ) -> Result<()> {
        let (device, commands) = (&session.context.device, session.commands);
        // The parts are in order.
        let first = self.parts.partition_point(|part| (part.step, part.piece) < (step, piece));
        for part in self.parts[first..].iter().take_while(|part| (part.step, part.piece) == (step, piece)) {
            bind(session, part, pipeline, pool)?;
            let ([x, y, z], [width, height, depth]) = (part.chunk.base, part.chunk.groups);
            // SAFETY: recording; the groups are within the device's limits, and the pipeline allows a base if it is not 0.
            unsafe {
                if part.chunk.base == [0; 3] {
                    device.cmd_dispatch(commands, width, height, depth);
                } else {
                    device.cmd_dispatch_base(commands, x, y, z, width, height, depth);
                }
            }
        }
        Ok(())
    }

    /// Returns the first fault of the steps as an error.
    pub(super) fn result(&self, session: &Session, steps: &[Own<'_>]) -> Result<()> {
        let Some(records) = session.kept(Purpose::Records) else { return Ok(()) };
        for part in &self.parts {
            let Own { step, pipeline, .. } = &steps[part.step];
            let Some(checked) = &pipeline.checked else { continue };
            let mut record = vec![0; Checked::REPORT_BYTES];
            if !records.load(part.offset, &mut record) {
                return Err(failed("mapping device memory")(vk::Result::ERROR_MEMORY_MAP_FAILED));
            }
            let piece = (step.pieces.len() > 1).then_some(part.piece as u32);
            if let Some(fault) = checked.module.fault(&record, &checked.tensors(step), piece) {
                return Err(Error::Fault { variant: checked.variant.clone(), dispatch: step.name.to_string(), fault });
            }
        }
        Ok(())
    }
}

/// Binds a part's record, and clears and binds the memory for accesses to shared memory.
fn bind(session: &Session, part: &Part, pipeline: &ComputePipeline, pool: vk::DescriptorPool) -> Result<()> {
    let (Some(checked), Some(records)) = (&pipeline.checked, session.kept(Purpose::Records)) else { return Ok(()) };
    let (device, commands) = (&session.context.device, session.commands);
    let accesses = session.kept(Purpose::Accesses).filter(|_| checked.has_races());
    let groups: u64 = part.chunk.groups.iter().map(|n| u64::from(*n)).product();
    let room = groups * checked.module.group_bytes();
    if let Some(buffer) = accesses {
        // Earlier dispatches use the same memory.
        session.barrier(Stages::Device, Stages::Device);
        // SAFETY (this function): recording; buffers and sets are this device's and live until the submission has ended.
        unsafe { device.cmd_fill_buffer(commands, buffer.raw, 0, room, 0) };
        session.barrier(Stages::Device, Stages::Device);
    }
    let layouts = [pipeline.check_layout];
    let allocate = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
    let sets = unsafe { device.allocate_descriptor_sets(&allocate) }.map_err(failed("vkAllocateDescriptorSets"))?;
    let info =
        |buffer: &Buffer, offset, bytes| [vk::DescriptorBufferInfo::default().buffer(buffer.raw).offset(offset).range(bytes)];
    let record = info(records, part.offset, checked.module.record_bytes());
    let infos: Vec<_> = [record].into_iter().chain(accesses.map(|buffer| info(buffer, 0, room))).collect();
    let set = sets.first().copied().unwrap_or_default();
    let write = |(i, info)| {
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        vk::WriteDescriptorSet::default().dst_set(set).dst_binding(i as u32).descriptor_type(ty).buffer_info(info)
    };
    let writes: Vec<_> = infos.iter().map(|i| &i[..]).enumerate().map(write).collect();
    let point = vk::PipelineBindPoint::COMPUTE;
    unsafe {
        device.update_descriptor_sets(&writes, &[]);
        device.cmd_bind_descriptor_sets(commands, point, pipeline.layout, checked.module.set(), &sets, &[]);
    }
    Ok(())
}

/// Returns the workgroups of a chunk in x, y, z: whole planes if they fit, else whole rows, else a part of a row.
fn chunk_size([x, y, z]: [u32; 3], most: u64) -> [u64; 3] {
    let width = most.min(x.into()).max(1);
    let height = (most / width).min(y.into()).max(1);
    let height = if width < u64::from(x) { 1 } else { height };
    let depth = (most / width / height).min(z.into()).max(1);
    let depth = if height < u64::from(y) || width < u64::from(x) { 1 } else { depth };
    [width, height, depth]
}

/// Returns the number of chunks of a grid.
fn count_chunks(groups: [u32; 3], most: u64) -> u64 {
    groups.into_iter().zip(chunk_size(groups, most)).map(|(size, step)| u64::from(size).div_ceil(step)).product()
}

/// Divides a grid into chunks of at most `most` workgroups.
fn chunks([x, y, z]: [u32; 3], most: u64) -> Vec<Chunk> {
    let [width, height, depth] = chunk_size([x, y, z], most);
    let starts = |size: u32, step: u64| (0..size).step_by(step as usize).map(move |at| (at, (size - at).min(step as u32)));
    let mut list = Vec::new();
    for (at_z, depth) in starts(z, depth) {
        for (at_y, height) in starts(y, height) {
            list.extend(starts(x, width).map(|(at_x, width)| Chunk { base: [at_x, at_y, at_z], groups: [width, height, depth] }));
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::{chunks, count_chunks};
    use std::collections::HashSet;

    #[test]
    fn chunks_cover_the_grid_once_and_are_small_enough() {
        for most in [1, 2, 3, 5, 7, 12, 100, u64::MAX] {
            for grid in [[1, 1, 1], [3, 4, 5], [7, 1, 2], [1, 9, 1], [0, 2, 2]] {
                let mut seen = HashSet::new();
                for chunk in chunks(grid, most) {
                    let size = chunk.groups.iter().product::<u32>();
                    assert!(u64::from(size) <= most && size > 0, "{grid:?} by {most}: {chunk:?}");
                    for n in 0..size {
                        let [x, y, _] = chunk.groups;
                        let at = [n % x, n / x % y, n / x / y];
                        assert!(seen.insert([0, 1, 2].map(|axis| chunk.base[axis] + at[axis])), "{grid:?} by {most}: twice");
                    }
                }
                assert_eq!(seen.len() as u32, grid.iter().product::<u32>(), "{grid:?} by {most}");
                assert_eq!(count_chunks(grid, most), chunks(grid, most).len() as u64, "{grid:?} by {most}");
            }
        }
    }
}
