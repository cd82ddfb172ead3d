//! Bytes between host and device: directly where the host reaches the memory, else by staging buffers.

use super::memory::{Buffer, Purpose};
use super::{VulkanDevice, failed};
use crate::error::Result;
use ash::vk;

/// Bytes staged at once.
const CHUNK: usize = 32 << 20;

/// Writes the first bytes of a tensor.
pub(super) fn write(device: &VulkanDevice, buffer: &Buffer, bytes: &[u8]) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.store(0, bytes));
    }
    let staging = Buffer::new(&device.heap, bytes.len().min(CHUNK) as u64, Purpose::Upload)?;
    let mut offset = 0;
    for chunk in bytes.chunks(CHUNK) {
        stored(staging.store(0, chunk))?;
        let region = vk::BufferCopy::default().dst_offset(offset).size(chunk.len() as u64);
        copy(device, &staging, buffer, region)?;
        offset += chunk.len() as u64;
    }
    Ok(())
}

/// Reads the first bytes of a tensor.
pub(super) fn read(device: &VulkanDevice, buffer: &Buffer, bytes: &mut [u8]) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.load(0, bytes));
    }
    let staging = Buffer::new(&device.heap, bytes.len().min(CHUNK) as u64, Purpose::Download)?;
    let mut offset = 0;
    for chunk in bytes.chunks_mut(CHUNK) {
        let region = vk::BufferCopy::default().src_offset(offset).size(chunk.len() as u64);
        copy(device, buffer, &staging, region)?;
        stored(staging.load(0, chunk))?;
        offset += chunk.len() as u64;
    }
    Ok(())
}

/// Fills the first bytes of a tensor with zeros.
pub(super) fn clear(device: &VulkanDevice, buffer: &Buffer, bytes: u64) -> Result<()> {
    if buffer.is_direct() {
        return stored(buffer.zero(bytes));
    }
    device.sessions.run(
        |session| {
            // SAFETY: recording; the buffer is this device's, lives until the submission is done, and has as many bytes.
            unsafe { session.context.device.cmd_fill_buffer(session.commands, buffer.raw, 0, bytes, 0) };
            Ok(())
        },
        |_| Ok(()),
    )
}

fn copy(device: &VulkanDevice, from: &Buffer, to: &Buffer, region: vk::BufferCopy) -> Result<()> {
    device.sessions.run(
        |session| {
            // SAFETY: recording; the buffers are this device's, live until the submission is done, and hold the region.
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
