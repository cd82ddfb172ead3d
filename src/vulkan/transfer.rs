//! Copies bytes between host and device: directly if the host can access the memory, else through staging buffers. Several staging buffers
//! are in use at a time, so that the host fills or empties one while the device copies the others.

use super::memory::{Buffer, Purpose};
use super::session::{End, Session, Sessions, Submission};
use super::staging::CHUNK;
use super::{VulkanDevice, failed};
use crate::device::backend::{NotSubmitted, Recorded};
use crate::device::region::Region;
use crate::device::work::{Flight, Wait};
use crate::error::Result;
use ash::vk;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The most staging buffers that a transfer uses at a time.
const DEPTH: usize = 3;
/// The bytes of the parts of a short transfer.
const LEAST_PART: u64 = 1 << 20;
/// The most regions of a copy.
const MOST_COPIES: usize = 1 << 16;

/// Writes a region of a tensor's memory.
pub(super) fn write(device: &VulkanDevice, buffer: &Buffer, region: &Region, bytes: &[u8], wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        let mut runs = region.runs().zip(bytes.chunks(region.run.max(1) as usize));
        return runs.try_for_each(|(at, run)| stored(buffer.store(at, run)));
    }
    let mut copies = Copies::new(device, Purpose::Upload, wait);
    in_parts(region, bytes.len() as u64, |parts, range| {
        let staging = copies.staging(|_, _| Ok(()))?;
        stored(bytes.get(range.clone()).is_some_and(|part| staging.store(0, part)))?;
        let copy_of = |p: &Part| vk::BufferCopy::default().src_offset(p.staged).dst_offset(p.at).size(p.bytes);
        copies.submit(staging, buffer, &parts.iter().map(copy_of).collect::<Vec<_>>(), range)
    })?;
    copies.finish(|_, _| Ok(()))
}

/// Reads a region of a tensor's memory.
pub(super) fn read(device: &VulkanDevice, buffer: &Buffer, region: &Region, bytes: &mut [u8], wait: &mut Wait) -> Result<()> {
    if buffer.is_direct() {
        let mut runs = region.runs().zip(bytes.chunks_mut(region.run.max(1) as usize));
        return runs.try_for_each(|(at, run)| stored(buffer.load(at, run)));
    }
    let (mut copies, count) = (Copies::new(device, Purpose::Download, wait), bytes.len() as u64);
    let mut arrive = |staging: &Buffer, range| stored(bytes.get_mut(range).is_some_and(|part| staging.load(0, part)));
    in_parts(region, count, |parts, range| {
        let staging = copies.staging(&mut arrive)?;
        let copy_of = |p: &Part| vk::BufferCopy::default().src_offset(p.at).dst_offset(p.staged).size(p.bytes);
        copies.submit(staging, buffer, &parts.iter().map(copy_of).collect::<Vec<_>>(), range)
    })?;
    copies.finish(arrive)
}

/// The copies of a transfer that were submitted and have not been seen to end, the oldest first.
struct Copies<'a> {
    device: &'a VulkanDevice,
    purpose: Purpose,
    wait: &'a mut Wait,
    /// Each with its staging buffer, and the range of the transfer's bytes.
    running: VecDeque<(Submission, Arc<Buffer>, Range<usize>)>,
}

impl<'a> Copies<'a> {
    fn new(device: &'a VulkanDevice, purpose: Purpose, wait: &'a mut Wait) -> Copies<'a> {
        Copies { device, purpose, wait, running: VecDeque::new() }
    }

    /// Returns a staging buffer. If the transfer has enough, it waits for the oldest copy, and calls `arrive` with its buffer and range.
    fn staging(&mut self, arrive: impl FnMut(&Buffer, Range<usize>) -> Result<()>) -> Result<Arc<Buffer>> {
        if self.running.len() < DEPTH { self.device.staging.take(self.purpose) } else { self.oldest(arrive) }
    }

    /// Waits for the oldest copy, and returns its staging buffer.
    fn oldest(&mut self, mut arrive: impl FnMut(&Buffer, Range<usize>) -> Result<()>) -> Result<Arc<Buffer>> {
        let Some((submission, staging, range)) = self.running.front() else { return self.device.staging.take(self.purpose) };
        if !self.device.sessions.wait(submission, self.wait)? {
            return Err(self.wait.over(format!("a copy of {} bytes", range.len())));
        }
        submission.finish()?;
        arrive(staging, range.clone())?;
        let staging = staging.clone();
        self.running.pop_front();
        Ok(staging)
    }

    /// Submits a copy between a staging buffer and a tensor's buffer.
    fn submit(&mut self, staging: Arc<Buffer>, tensor: &Buffer, regions: &[vk::BufferCopy], range: Range<usize>) -> Result<()> {
        let mut session = self.device.sessions.begin()?;
        session.hold(&staging);
        let ends = if self.purpose == Purpose::Upload { (&*staging, tensor) } else { (tensor, &*staging) };
        copy(&session, ends, regions);
        match self.device.sessions.submit(session, &[], End::Nothing) {
            Ok(submission) => {
                self.running.push_back((submission, staging, range));
                Ok(())
            }
            Err(NotSubmitted { error, flight }) => {
                flight.into_iter().for_each(|flight| self.wait.leave(flight));
                Err(error)
            }
        }
    }

    /// Waits for all copies.
    fn finish(mut self, mut arrive: impl FnMut(&Buffer, Range<usize>) -> Result<()>) -> Result<()> {
        while !self.running.is_empty() {
            let staging = self.oldest(&mut arrive)?;
            self.device.staging.give(self.purpose, staging);
        }
        Ok(())
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        // After an error, copies may still run.
        self.running.drain(..).for_each(|(submission, ..)| self.wait.leave(Arc::new(submission)));
    }
}

/// A contiguous part of a region, and its offset in the staging buffer.
struct Part {
    at: u64,
    staged: u64,
    bytes: u64,
}

/// Calls `each` with groups of parts that can be staged at once, and with the range of the region's bytes that they cover.
fn in_parts(region: &Region, bytes: u64, mut each: impl FnMut(&[Part], Range<usize>) -> Result<()>) -> Result<()> {
    let (mut parts, mut staged, mut done) = (Vec::new(), 0, 0);
    // A short transfer has parts, too, so that host and device work at the same time.
    let chunk = (bytes / 4).next_power_of_two().clamp(LEAST_PART, CHUNK);
    for run in region.runs() {
        let mut at = run;
        while at < run + region.run {
            let bytes = (run + region.run - at).min(chunk - staged);
            parts.push(Part { at, staged, bytes });
            (at, staged) = (at + bytes, staged + bytes);
            if staged == chunk || parts.len() == MOST_COPIES {
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
            unsafe { session.context.device.cmd_fill_buffer(session.commands, buffer.raw, buffer.base, bytes, 0) };
            Ok(())
        },
    )
}

/// Records a copy of the runs of a region to the runs of another one. One of the regions is dense.
pub(super) fn record(device: &VulkanDevice, from: (&Buffer, &Region), to: (&Buffer, &Region)) -> Result<RecordedCopy> {
    let session = device.sessions.begin()?;
    let run = if from.1.steps.is_empty() { to.1.run } else { from.1.run };
    // The dense region has a run for each run of the other one.
    let starts = |region: &Region| -> Vec<u64> {
        if region.steps.is_empty() {
            (region.start..region.end()).step_by(run.max(1) as usize).collect()
        } else {
            region.runs().collect()
        }
    };
    let copy_of = |(src, dst): (u64, u64)| vk::BufferCopy::default().src_offset(src).dst_offset(dst).size(run);
    let regions: Vec<_> = starts(from.1).into_iter().zip(starts(to.1)).map(copy_of).collect();
    regions.chunks(MOST_COPIES).for_each(|regions| copy(&session, (from.0, to.0), regions));
    Ok(RecordedCopy { session, sessions: device.sessions.clone() })
}

/// A recorded copy.
pub(super) struct RecordedCopy {
    session: Box<Session>,
    sessions: Arc<Sessions>,
}

impl Recorded for RecordedCopy {
    fn submit(self: Box<Self>, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted> {
        Ok(Arc::new(self.sessions.submit(self.session, after, End::Nothing)?))
    }
}

/// Records copies of regions from one buffer to another. Both live until the submission has ended, and hold the regions.
fn copy(session: &Session, (from, to): (&Buffer, &Buffer), regions: &[vk::BufferCopy]) {
    let placed = |region: &vk::BufferCopy| {
        let (src, dst) = (from.base + region.src_offset, to.base + region.dst_offset);
        vk::BufferCopy::default().src_offset(src).dst_offset(dst).size(region.size)
    };
    let regions: Vec<_> = regions.iter().map(placed).collect();
    // SAFETY: recording; the buffers are this device's.
    unsafe { session.context.device.cmd_copy_buffer(session.commands, from.raw, to.raw, &regions) };
}

/// Checks that the host could access the memory. A staging buffer guarantees it.
fn stored(done: bool) -> Result<()> {
    if done { Ok(()) } else { Err(failed("mapping device memory")(vk::Result::ERROR_MEMORY_MAP_FAILED)) }
}
