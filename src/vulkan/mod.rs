//! The Vulkan backend, the only module that uses ash.
//!
//! [`instance`] loads Vulkan, [`choose`] finds the device and its [`features`], and [`context`] opens it; or the caller did these steps
//! ([`foreign`]). The other modules build on these: [`memory`] (buffers, within the [`budget`]), [`transfer`] (copies from and to the host,
//! through [`staging`] buffers), [`record`] (batches in command buffers of the caller), [`pipeline`], [`cache`] and [`files`] (compiled
//! SPIR-V modules), [`session`] (command buffers; [`idle`] keeps them for equal launches), [`queues`] (the choice of a queue for each submission), [`signal`] (its end) and [`submit`] (steps
//! recorded with barriers and timestamps). Every object is owned by a struct whose `Drop` destroys it, and keeps the objects that
//! it was made from. An object that a submission uses is dropped after the submission has ended, or never. Drops do not wait: if
//! the driver may wait, a thread destroys the object ([`destroy`]).

mod budget;
mod cache;
mod checks;
mod choose;
mod context;
mod destroy;
mod features;
mod files;
pub(crate) mod foreign;
mod idle;
mod instance;
mod manifests;
mod matrices;
mod memory;
mod pipeline;
mod queues;
pub(crate) mod record;
mod repeat;
mod session;
mod signal;
mod staging;
mod statistics;
mod submit;
mod transfer;
mod validation;

use crate::device::backend::{Backend, Buffer, Changed, Pipeline, Recorded, Repeatable};
use crate::device::checks::Checks;
use crate::device::listening::{check_not_listening, is_listening};
use crate::device::region::Region;
use crate::device::submission::Part;
use crate::device::timing::Timed;
use crate::device::work::Wait;
use crate::device::{DeviceInfo, Options};
use crate::error::{Error, Result};
use ash::vk;
use context::Context;
use memory::Heap;
use session::Sessions;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tilewright_launch::{Addressing, Dispatch, Program};

/// Lists the devices.
pub(crate) fn list(options: &Options) -> Result<Vec<DeviceInfo>> {
    check_not_listening()?;
    let instance = instance::Instance::new(options)?;
    Ok(choose::candidates(&instance)?.into_iter().map(|c| c.info).collect())
}

/// Opens the device that the options name.
pub(crate) fn open(options: &Options) -> Result<Box<dyn Backend>> {
    check_not_listening()?;
    let instance = instance::Instance::new(options)?;
    let candidate = choose::choose(choose::candidates(&instance)?, options.device.as_deref())?;
    let context = Arc::new(Context::new(instance, candidate, options)?);
    let heap = Arc::new(Heap::new(context.clone(), options.staging)?);
    let cache = Arc::new(cache::PipelineCache::open(context.clone(), options.cache.as_deref())?);
    let sessions = Arc::new(Sessions::new(context.clone(), heap.clone()));
    let staging = staging::Staging::new(heap.clone());
    let device = VulkanDevice { sessions, staging, cache, heap, context, timeout: options.timeout };
    device.context.check_messages()?;
    Ok(Box::new(device))
}

/// A Vulkan device that runs launch programs.
struct VulkanDevice {
    sessions: Arc<Sessions>,
    staging: staging::Staging,
    cache: Arc<cache::PipelineCache>,
    heap: Arc<Heap>,
    context: Arc<Context>,
    timeout: Option<Duration>,
}

impl Drop for VulkanDevice {
    fn drop(&mut self) {
        // No call is running. If no work is left behind, the thread that destroys objects ends soon. Wait for it, so that the
        // device is closed when this returns, because the process may end then.
        if !is_listening() && !self.context.is_left_at_work() {
            self.context.finish_destroying(self.timeout);
        }
    }
}

impl Backend for VulkanDevice {
    fn info(&self) -> &DeviceInfo {
        &self.context.info
    }

    fn allocate(&self, bytes: u64, name: &str) -> Result<Box<dyn Buffer>> {
        let buffer = memory::Buffer::new(&self.heap, bytes, memory::Purpose::Tensor)?;
        self.context.name(buffer.raw, name);
        self.context.check_messages()?;
        Ok(Box::new(buffer))
    }

    fn allocate_pinned(&self, bytes: u64, name: &str) -> Result<Option<Box<dyn Buffer>>> {
        let buffer = memory::Buffer::new(&self.heap, bytes, memory::Purpose::Host)?;
        self.context.name(buffer.raw, name);
        buffer.zero(bytes);
        self.context.check_messages()?;
        Ok(Some(Box::new(buffer)))
    }

    fn copy(&self, ends: [(&dyn Buffer, &Region); 2]) -> Result<Box<dyn Recorded>> {
        let [(from, taken), (to, given)] = ends;
        let from = foreign::with_usage(own(from)?, vk::BufferUsageFlags::TRANSFER_SRC, "download")?;
        let to = foreign::with_usage(own(to)?, vk::BufferUsageFlags::TRANSFER_DST, "write")?;
        let recorded = transfer::record(self, (from, taken), (to, given))?;
        self.context.check_messages()?;
        Ok(Box::new(recorded))
    }

    fn write(&self, buffer: &dyn Buffer, region: &Region, bytes: &[u8], wait: &mut Wait) -> Result<()> {
        let buffer = foreign::with_usage(own(buffer)?, vk::BufferUsageFlags::TRANSFER_DST, "write")?;
        transfer::write(self, buffer, region, bytes, wait)?;
        self.context.check_messages()
    }

    fn read(&self, buffer: &dyn Buffer, region: &Region, bytes: &mut [u8], wait: &mut Wait) -> Result<()> {
        let buffer = foreign::with_usage(own(buffer)?, vk::BufferUsageFlags::TRANSFER_SRC, "download")?;
        transfer::read(self, buffer, region, bytes, wait)?;
        self.context.check_messages()
    }

    fn clear(&self, buffer: &dyn Buffer, bytes: u64, wait: &mut Wait) -> Result<()> {
        let buffer = foreign::with_usage(own(buffer)?, vk::BufferUsageFlags::TRANSFER_DST, "clear")?;
        transfer::clear(self, buffer, bytes, wait)?;
        self.context.check_messages()
    }

    fn compile(
        &self,
        program: &Program,
        dispatch: &Dispatch,
        constants: &[u32],
        label: &str,
        wait: &Wait,
    ) -> Result<Box<dyn Pipeline>> {
        let checked = self.checked(program, dispatch, constants, label)?;
        let words = pipeline::Words {
            dispatch: dispatch.clone(),
            subgroup: program.requires.subgroup,
            constants: constants.into(),
            shown: shown(program, dispatch),
            checked,
        };
        let pipeline =
            pipeline::ComputePipeline::within(wait, &self.context, &self.cache, words, format!("{label}/{}", dispatch.name))?;
        self.context.check_messages()?;
        Ok(Box::new(pipeline))
    }

    fn save_cache(&self) {
        self.cache.save();
    }

    fn most_steps(&self) -> usize {
        match self.context.checks {
            Checks::Off => submit::MOST_STEPS,
            // The checks of a step have descriptor sets of their own: one, or one for each chunk of its grid.
            Checks::Bounds => submit::MOST_STEPS / 2,
            Checks::All => submit::MOST_STEPS / 128,
        }
    }

    fn reclaim(&self, wait: &Wait) {
        self.staging.clear();
        self.context.finish_destroying(wait.timeout());
    }

    fn record(&self, part: &Part, timed: Timed, wait: &mut Wait) -> Result<Box<dyn Recorded>> {
        let recorded = submit::record(self, part, timed, wait)?;
        self.context.check_messages()?;
        Ok(Box::new(recorded))
    }

    fn repeat(&self, part: &Part, earlier: Option<Changed<'_>>, wait: &mut Wait) -> Result<Option<Arc<dyn Repeatable>>> {
        // The host writes and reads the records of checks for each submission.
        if self.context.checks != Checks::Off {
            return Ok(None);
        }
        let recorded = repeat::repeat(self, part, earlier, wait)?;
        self.context.check_messages()?;
        Ok(Some(Arc::new(recorded)))
    }
}

impl VulkanDevice {
    /// Returns the module of a dispatch with the checks that this device was opened for.
    fn checked(
        &self,
        program: &Program,
        dispatch: &Dispatch,
        constants: &[u32],
        variant: &str,
    ) -> Result<Option<checks::CheckedModule>> {
        if self.context.checks == Checks::Off {
            return Ok(None);
        }
        let limits = &self.context.info.limits;
        let subgroup = program.requires.subgroup.unwrap_or(limits.subgroup);
        let races = self.context.checks == Checks::All;
        let checked = checks::CheckedModule::new((program, dispatch), (subgroup, constants), races, variant)?;
        let own = match dispatch.addressing {
            Addressing::Descriptor => dispatch.buffers.len() as u64 + u64::from(dispatch.spilled),
            Addressing::Address => 0,
        };
        let (size, limit) = (own + u64::from(checked.bindings()), limits.storage_buffers.into());
        match size > limit {
            true => {
                Err(Error::TooLarge { what: format!("the storage buffers of `{}` with its checks", dispatch.name), size, limit })
            }
            false => Ok(Some(checked)),
        }
    }
}

/// Returns the name by which tools show a dispatch, for example `conv2d::VALHALL, 1 of 2: output`.
fn shown(program: &Program, dispatch: &Dispatch) -> String {
    let (all, name) = (program.dispatches.len(), &dispatch.name);
    let of = match program.dispatches.iter().position(|d| std::ptr::eq(d, dispatch)) {
        Some(n) if all > 1 => format!(", {} of {all}", n + 1),
        _ => String::new(),
    };
    format!("{}::{}{of}: {name}", program.kernel, program.variant)
}

/// Downcasts a buffer to this backend's type.
fn own(buffer: &dyn Buffer) -> Result<&memory::Buffer> {
    let any: &dyn Any = buffer;
    any.downcast_ref().ok_or_else(|| Error::OtherDevice { what: "a buffer".to_owned() })
}

/// Converts the result of a failed call to an error.
fn failed(call: &'static str) -> impl FnOnce(vk::Result) -> Error {
    move |code| match code {
        vk::Result::ERROR_DEVICE_LOST => Error::DeviceLost { during: call },
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_POOL_MEMORY => {
            Error::OutOfMemory { what: format!("{call}: {code}") }
        }
        _ => Error::Vulkan { call, code: format!("{code:?}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_device_and_missing_memory_are_told_from_other_failures() {
        assert_eq!(failed("vkQueueSubmit")(vk::Result::ERROR_DEVICE_LOST).to_string(), "the device was lost during vkQueueSubmit");
        assert!(matches!(failed("vkCreateBuffer")(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY), Error::OutOfMemory { .. }));
        assert!(matches!(failed("vkCreateBuffer")(vk::Result::ERROR_OUT_OF_HOST_MEMORY), Error::OutOfMemory { .. }));
        let other = failed("vkCreateFence")(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
        assert_eq!(other.to_string(), "vkCreateFence failed: ERROR_FORMAT_NOT_SUPPORTED");
    }
}
