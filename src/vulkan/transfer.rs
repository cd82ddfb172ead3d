//! Bytes between host and device: directly where the host reaches the memory, else by staging buffers.

use super::memory::{Buffer, Purpose};
use super::{VulkanDevice, failed};
use crate::error::Result;
use crate::parking::Wait;
use ash::vk;
use std::sync::Arc;

/// Bytes staged at once.
const CHUNK: usize = 32 << 20;

/// Writes the first bytes of a tensor.
pub(super) fn write(device: &VulkanDevice, buffer: &Buffer, bytes: &[u8], wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.store(0, bytes));
    }
    let staging = Arc::new(Buffer::new(&device.heap, bytes.len().min(CHUNK) as u64, Purpose::Upload)?);
    let mut offset = 0;
    for chunk in bytes.chunks(CHUNK) {
        stored(staging.store(0, chunk))?;
        let region = vk::BufferCopy::default().dst_offset(offset).size(chunk.len() as u64);
        copy(device, &staging, (&staging, buffer), region, wait)?;
        offset += chunk.len() as u64;
    }
    Ok(())
}

/// Reads the first bytes of a tensor.
pub(super) fn read(device: &VulkanDevice, buffer: &Buffer, bytes: &mut [u8], wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.load(0, bytes));
    }
    let staging = Arc::new(Buffer::new(&device.heap, bytes.len().min(CHUNK) as u64, Purpose::Download)?);
    let mut offset = 0;
    for chunk in bytes.chunks_mut(CHUNK) {
        let region = vk::BufferCopy::default().src_offset(offset).size(chunk.len() as u64);
        copy(device, &staging, (buffer, &staging), region, wait)?;
        stored(staging.load(0, chunk))?;
        offset += chunk.len() as u64;
    }
    Ok(())
}

/// Fills the first bytes of a tensor with zeros.
pub(super) fn clear(device: &VulkanDevice, buffer: &Buffer, bytes: u64, wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.zero(bytes));
    }
    device.sessions.run(
        wait,
        None,
        || format!("filling {bytes} bytes"),
        |session| {
            // SAFETY: recording; the buffer is this device's, lives until the submission has ended, and has as many bytes.
            unsafe { session.context.device.cmd_fill_buffer(session.commands, buffer.raw, 0, bytes, 0) };
            Ok(())
        },
        |_| Ok(()),
    )
}

/// Copies a region from one buffer to another. One of them is the staging buffer; the other one is the caller's to keep.
fn copy(
    device: &VulkanDevice,
    staging: &Arc<Buffer>,
    (from, to): (&Buffer, &Buffer),
    region: vk::BufferCopy,
    wait: &mut Wait,
) -> Result<()> {
    device.sessions.run(
        wait,
        None,
        || format!("a copy of {} bytes", region.size),
        |session| {
            session.hold(staging);
            // SAFETY: recording; the buffers are this device's, live until the submission has ended, and hold the region.
            unsafe { session.context.device.cmd_copy_buffer(session.commands, from.raw, to.raw, &[region]) };
            Ok(())
        },
        |_| Ok(()),
    )
}

/// Whether the host reached the memory, which a staging buffer guarantees.
fn stored(done: bool) -> Result<()> {
    if done { Ok(()) } else { Err(failed("mapping device memory")(vk::Result::ERROR_MEMORY_MAP_FAILED)) }
}
