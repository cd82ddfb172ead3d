//! Recording steps into a command buffer of the caller.

use super::checks::Checkup;
use super::session::Session;
use super::{VulkanDevice, submit};
use crate::device::Device;
use crate::device::backend::{Backend, LaunchStep};
use crate::device::commands::RecordedAccesses;
use crate::device::submission::Part;
use crate::error::{Error, Result};
use ash::vk;
use std::sync::Arc;

/// The objects that recorded commands use. They must live until the commands have ended.
pub(crate) struct RecordedCommands {
    // Dropped first, so that the memory is free when the accesses end.
    session: Box<Session>,
    checkup: Checkup,
    part: Part,
    _accesses: RecordedAccesses,
}

/// Records steps into a command buffer of the caller. Returns `None` for an empty list.
///
/// # Safety
/// The contract of [`Batch::record_into`](crate::Batch::record_into).
pub(crate) unsafe fn record_into(
    device: &Device,
    steps: &Arc<[LaunchStep]>,
    commands: vk::CommandBuffer,
) -> Result<Option<RecordedCommands>> {
    let name = device.info().name.clone();
    let wrong = || Error::AshDevice { reason: format!("{name} cannot record into a command buffer of Vulkan") };
    device.call_as(wrong, |backend: &VulkanDevice, wait| {
        let (size, limit) = (steps.len() as u64, backend.most_steps() as u64);
        if size > limit {
            return Err(Error::TooLarge { what: "the dispatches of a command buffer".to_owned(), size, limit });
        }
        let Some(part) = Part::all(steps, steps.len()).next() else { return Ok(None) };
        let accesses = device.begin_recorded(&part, wait)?;
        let (session, checkup) = submit::record_into(backend, &part, commands, wait)?;
        backend.context.check_messages()?;
        part.set_in_flight();
        Ok(Some(RecordedCommands { session, checkup, part, _accesses: accesses }))
    })
}

impl RecordedCommands {
    /// Returns the number of dispatches.
    pub(crate) fn steps(&self) -> usize {
        self.part.steps().len()
    }

    /// Ends the accesses of commands that have run and ended. New tensors get contents, or a fault.
    pub(crate) fn end(self, device: &Device) -> Result<()> {
        let checked = submit::check(&self.part, &self.session, &self.checkup);
        let checked = checked.and_then(|()| self.session.context.check_messages());
        match &checked {
            Ok(()) => self.part.set_written(),
            Err(error) => device.fail_recorded(&self.part, error),
        }
        checked
    }

    /// Ends the accesses of commands that never run. New tensors get an error.
    pub(crate) fn discard(self, device: &Device, error: &Error) {
        device.fail_recorded(&self.part, error);
    }
}
