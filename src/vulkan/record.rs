//! Recording a batch into a command buffer of the caller: [`Batch::record_into`].

use super::checks::Checkup;
use super::session::Session;
use super::{VulkanDevice, submit};
use crate::device::Device;
use crate::device::backend::Backend;
use crate::device::commands::RecordedAccesses;
use crate::device::memory::Memory;
use crate::device::submission::Part;
use crate::error::{Error, Result};
use crate::kernel::batch::{Batch, abandon};
use ash::vk;
use std::fmt;
use std::sync::Arc;

/// The commands of a batch in a command buffer of the caller: see [`Batch::record_into`].
///
/// It keeps the pipelines, descriptor sets, parameters, temporaries and tensors that the commands use. When the command buffer has ended, or
/// will never run, say so by [`BatchCommands::ended`] or [`BatchCommands::discard`]. If it is dropped instead, these objects are leaked
/// together with the device, because the commands might still run.
#[must_use = "its objects are leaked unless `ended` or `discard` is called"]
pub struct BatchCommands {
    device: Device,
    /// `None` if the batch is empty, or once the commands have ended.
    kept: Option<Kept>,
}

/// The objects that recorded commands use.
struct Kept {
    session: Session,
    checkup: Checkup,
    part: Part,
    temporaries: Vec<Arc<Memory>>,
    accesses: RecordedAccesses,
}

impl fmt::Debug for BatchCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.kept.as_ref().map_or(0, |kept| kept.part.steps().len());
        write!(f, "BatchCommands({steps} dispatches on {})", self.device.info().name)
    }
}

impl Batch {
    /// Records all launches into a command buffer of the caller, who submits it. At most 8192 dispatches can be recorded at once.
    ///
    /// The commands begin with a barrier: earlier commands of the queue are finished, and their writes are visible to the launches.
    /// Between launches are the barriers that [`Batch::submit`] has. The commands end with a barrier: the launches are finished, and their
    /// writes are visible to all later commands of the queue, and to the host once it has waited for the submission. So the caller needs
    /// no barriers of its own around the batch within one queue. Between queues, semaphores order them as usual.
    ///
    /// The call waits for submissions that use the same tensors. Until [`BatchCommands::ended`], other calls that conflict with the batch return
    /// [`Error::InCommands`]: for example, a download of an output, or a launch that writes one of the inputs. Outputs can be arguments of
    /// other batches that are recorded into command buffers, and arguments can be shared with these. The command buffer can be submitted
    /// several times, unless it begins with ONE_TIME_SUBMIT.
    ///
    /// With [`Options::checks`](crate::Options::checks), [`BatchCommands::ended`] returns the faults.
    ///
    /// # Safety
    /// - The command buffer must be of the Vulkan device that [`Device::from_ash`] was given, in the recording state, outside of a render
    ///   pass, and used by this thread only. Its pool must be of the family of the queues.
    /// - Its submissions must go to queues that [`AshDevice::queues`](crate::AshDevice::queues) named, and be ordered with each other, and
    ///   with other command buffers whose batches share tensors.
    /// - A batch that takes outputs of another one must be executed after it.
    /// - Afterwards the compute pipeline, descriptor set 0 (also 1, with checks) and the push constants of the command buffer are undefined.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for too many dispatches, and the errors of [`Batch::submit`]. After an error the command buffer may hold a part of
    /// the commands, and must not be submitted. The new tensors of the batch then never get contents.
    pub unsafe fn record_into(self, commands: vk::CommandBuffer) -> Result<BatchCommands> {
        let (device, steps, temporaries) = self.into_steps();
        let name = device.info().name.clone();
        let wrong = || Error::AshDevice { reason: format!("{name} cannot record into a command buffer of Vulkan") };
        let recorded = device.call_as(wrong, |backend: &VulkanDevice, wait| {
            let (size, limit) = (steps.len() as u64, backend.most_steps() as u64);
            if size > limit {
                return Err(Error::TooLarge { what: "the dispatches of a command buffer".to_owned(), size, limit });
            }
            let Some(part) = Part::all(&steps, steps.len()).next() else { return Ok(None) };
            let accesses = device.begin_recorded(&part, wait)?;
            let (session, checkup) = submit::record_into(backend, &part, commands, wait)?;
            backend.context.check_messages()?;
            Ok(Some((session, checkup, part, accesses)))
        });
        match recorded {
            Ok(Some((session, checkup, part, accesses))) => {
                part.set_in_flight();
                Ok(BatchCommands { device, kept: Some(Kept { session, checkup, part, temporaries, accesses }) })
            }
            empty_or_failed => {
                abandon(&steps);
                device.give_temporaries(temporaries);
                empty_or_failed.map(|_| BatchCommands { device, kept: None })
            }
        }
    }
}

impl BatchCommands {
    /// Says that the command buffer has run and ended. New tensors of the batch have contents afterwards, and everything that the batch used
    /// is free.
    ///
    /// # Safety
    /// The command buffer must have been submitted at least once. All its submissions must have ended, as a fence, a semaphore or a wait
    /// for the queue shows. It must not be submitted again.
    ///
    /// # Errors
    /// [`Error::Fault`] if the device checks accesses and found a violation. The batch's new tensors then never get contents.
    pub unsafe fn ended(mut self) -> Result<()> {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        let checked = submit::check(&kept.part, &kept.session, &kept.checkup);
        let checked = checked.and_then(|()| kept.session.context.check_messages());
        match &checked {
            Ok(()) => kept.part.set_written(),
            Err(error) => self.device.fail_recorded(&kept.part, error),
        }
        self.free(kept);
        checked
    }

    /// Says that the command buffer will never run. New tensors of the batch never get contents, and everything that the batch used is
    /// free.
    ///
    /// # Safety
    /// The command buffer must not be in use by a submission, and must be reset, freed or never submitted again.
    pub unsafe fn discard(mut self) {
        let Some(kept) = self.kept.take() else { return };
        let error = Error::NeverWritten { what: "a tensor of a discarded command buffer".to_owned() };
        self.device.fail_recorded(&kept.part, &error);
        self.free(kept);
    }

    fn free(&self, kept: Kept) {
        let Kept { session, temporaries, accesses, .. } = kept;
        drop((accesses, session));
        self.device.give_temporaries(temporaries);
    }
}

impl Drop for BatchCommands {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            log::warn!(
                "the commands of a batch were dropped before they were said to have ended: their memory is leaked, and their device stays open"
            );
            std::mem::forget(kept);
        }
    }
}
