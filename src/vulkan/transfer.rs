//! Copies bytes between host and device: directly if the host can access the memory, else through staging buffers.

use super::memory::{Buffer, Purpose};
use super::{VulkanDevice, failed};
use crate::device::region::Region;
use crate::device::work::Wait;
use crate::error::Result;
use ash::vk;
use std::ops::Range;
use std::sync::Arc;

/// The most bytes that are staged at once.
const CHUNK: u64 = 32 << 20;
/// The most regions of a copy.
const MOST_COPIES: usize = 1 << 16;

/// Writes a region of a tensor's memory.
pub(super) fn write(device: &VulkanDevice, buffer: &Buffer, region: &Region, bytes: &[u8], wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        let mut runs = region.runs().zip(bytes.chunks(region.run.max(1) as usize));
        return runs.try_for_each(|(at, run)| stored(buffer.store(at, run)));
    }
    let staging = Arc::new(Buffer::new(&device.heap, (bytes.len() as u64).min(CHUNK), Purpose::Upload)?);
    in_parts(region, |parts, range| {
        stored(bytes.get(range).is_some_and(|part| staging.store(0, part)))?;
        let copy_of = |p: &Part| vk::BufferCopy::default().src_offset(p.staged).dst_offset(p.at).size(p.bytes);
        copy(device, &staging, (&staging, buffer), &parts.iter().map(copy_of).collect::<Vec<_>>(), wait)
    })
}

/// Reads a region of a tensor's memory.
pub(super) fn read(device: &VulkanDevice, buffer: &Buffer, region: &Region, bytes: &mut [u8], wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        let mut runs = region.runs().zip(bytes.chunks_mut(region.run.max(1) as usize));
        return runs.try_for_each(|(at, run)| stored(buffer.load(at, run)));
    }
    let staging = Arc::new(Buffer::new(&device.heap, (bytes.len() as u64).min(CHUNK), Purpose::Download)?);
    in_parts(region, |parts, range| {
        let copy_of = |p: &Part| vk::BufferCopy::default().src_offset(p.at).dst_offset(p.staged).size(p.bytes);
        copy(device, &staging, (buffer, &staging), &parts.iter().map(copy_of).collect::<Vec<_>>(), wait)?;
        stored(bytes.get_mut(range).is_some_and(|part| staging.load(0, part)))
    })
}

/// A contiguous part of a region, and its offset in the staging buffer.
struct Part {
    at: u64,
    staged: u64,
    bytes: u64,
}

/// Calls `each` with groups of parts that can be staged at once, and with the range of the region's bytes that they cover.
fn in_parts(region: &Region, mut each: impl FnMut(&[Part], Range<usize>) -> Result<()>) -> Result<()> {
    let (mut parts, mut staged, mut done) = (Vec::new(), 0, 0);
    for run in region.runs() {
        let mut at = run;
        while at < run + region.run {
            let bytes = (run + region.run - at).min(CHUNK - staged);
            parts.push(Part { at, staged, bytes });
            (at, staged) = (at + bytes, staged + bytes);
            if staged == CHUNK || parts.len() == MOST_COPIES {
                each(&parts, done as usize..(done + staged) as usize)?;
                parts.clear();
                (staged, done) = (0, done + staged);
            }
        }
    }
    if parts.is_empty() { Ok(()) } else { each(&parts, done as usize..(done + staged) as usize) }
}

/// Fills the first bytes of a tensor with zeros.
pub(super) fn clear(device: &VulkanDevice, buffer: &Buffer, bytes: u64, wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.zero(bytes));
    }
    device.sessions.run(
        wait,
        || format!("filling {bytes} bytes"),
        |session| {
            // SAFETY: recording; the buffer is this device's, lives until the submission has ended, and has as many bytes.
            unsafe { session.context.device.cmd_fill_buffer(session.commands, buffer.raw, 0, bytes, 0) };
            Ok(())
        },
    )
}

/// Copies regions from one buffer to another. One of them is the staging buffer, which the session keeps alive; the caller keeps
/// the other one alive.
fn copy(
    device: &VulkanDevice,
    staging: &Arc<Buffer>,
    (from, to): (&Buffer, &Buffer),
    regions: &[vk::BufferCopy],
    wait: &mut Wait,
) -> Result<()> {
    device.sessions.run(
        wait,
        || format!("a copy of {} bytes", regions.iter().map(|r| r.size).sum::<u64>()),
        |session| {
            session.hold(staging);
            // SAFETY: recording; the buffers are this device's, live until the submission has ended, and hold the regions.
            unsafe { session.context.device.cmd_copy_buffer(session.commands, from.raw, to.raw, regions) };
            Ok(())
        },
    )
}

/// Checks that the host could access the memory. A staging buffer guarantees it.
fn stored(done: bool) -> Result<()> {
    if done { Ok(()) } else { Err(failed("mapping device memory")(vk::Result::ERROR_MEMORY_MAP_FAILED)) }
}
