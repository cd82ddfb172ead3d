//! The accesses of batches in command buffers of the caller: from the recording until the caller says that the commands have ended.
//!
//! The runtime does not see when the caller submits a command buffer. So other calls that conflict with its accesses are refused at once, with
//! [`Error::InCommands`]. Batches in command buffers do not exclude each other, because the caller orders them.

use super::access::{Access, Refusal};
use super::backend::Backend;
use super::memory::Memory;
use super::submission::Part;
use super::work::Wait;
use super::{Counted, Device};
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The accesses of a batch in a command buffer of the caller. They end when this is dropped.
pub(crate) struct RecordedAccesses(Vec<(Arc<Memory>, bool)>);

impl Drop for RecordedAccesses {
    fn drop(&mut self) {
        self.0.iter().for_each(|(memory, writes)| memory.end_record(*writes));
    }
}

impl Device {
    /// Waits until submissions and the host have ended their accesses that conflict with a part, and begins the accesses of the part.
    pub(crate) fn begin_recorded(&self, part: &Part, wait: &Wait) -> Result<RecordedAccesses> {
        let deadline = wait.deadline();
        // A submission that sees no conflict with the accesses below was claimed before, and is waited for.
        let _counted = Counted::new(&self.0.accesses);
        self.0.common.has_recorded.store(true, Ordering::Release);
        let mut begun = RecordedAccesses(Vec::new());
        for (memory, writes) in part.accessed() {
            // Held during the call, so that no other access begins without seeing the new one.
            let _access = Access::new(memory.clone(), writes, deadline).map_err(|refusal| match refusal {
                Refusal::Late => wait.over(format!("other work on {}", part.name_of(memory))),
                Refusal::Failed(error) => error,
            })?;
            memory.check_contents()?;
            memory.record(writes);
            begun.0.push((memory.clone(), writes));
        }
        Ok(begun)
    }

    /// Notes that a part in a command buffer of the caller has failed, or never runs. Its new tensors keep the error.
    pub(crate) fn fail_recorded(&self, part: &Part, error: &Error) {
        self.0.common.has_failed.store(true, Ordering::Release);
        part.set_failed(error);
    }

    /// Calls a backend of the type `B` with the limit of its waits, if the device can be called. `wrong` is the error for another backend.
    pub(crate) fn call_as<B: Backend, T>(
        &self,
        wrong: impl FnOnce() -> Error,
        call: impl FnOnce(&B, &mut Wait) -> Result<T>,
    ) -> Result<T> {
        self.reap()?;
        let mut wait = Wait::new(self.0.timeout);
        let result = match self.backend::<B>() {
            Some(backend) => self.call(|_| call(backend, &mut wait)),
            None => Err(wrong()),
        };
        self.leave(wait, None);
        result
    }
}
