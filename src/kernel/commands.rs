//! Batches in command buffers of the caller.

use super::batch::{Batch, abandon};
use crate::device::Device;
use crate::device::memory::Memory;
use crate::error::{Error, Result};
use crate::vulkan::record::{RecordedCommands, record_into};
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
    /// The objects that the commands use, with their temporaries. `None` if the batch is empty, or once the commands have ended.
    kept: Option<(RecordedCommands, Vec<Arc<Memory>>)>,
}

impl fmt::Debug for BatchCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.kept.as_ref().map_or(0, |(commands, _)| commands.steps());
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
        // SAFETY: this function has the same contract.
        match unsafe { record_into(&device, &steps, commands) } {
            Ok(Some(recorded)) => Ok(BatchCommands { device, kept: Some((recorded, temporaries)) }),
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
        let Some((commands, temporaries)) = self.kept.take() else { return Ok(()) };
        let ended = commands.end(&self.device);
        self.device.give_temporaries(temporaries);
        ended
    }

    /// Says that the command buffer will never run. New tensors of the batch never get contents, and everything that the batch used is
    /// free.
    ///
    /// # Safety
    /// The command buffer must not be in use by a submission, and must be reset, freed or never submitted again.
    pub unsafe fn discard(mut self) {
        let Some((commands, temporaries)) = self.kept.take() else { return };
        commands.discard(&self.device, &Error::NeverWritten { what: "a tensor of a discarded command buffer".to_owned() });
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
