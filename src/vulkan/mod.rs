//! The Vulkan backend: the only place that knows ash.
//!
//! [`instance`] loads Vulkan, [`choose`] finds the device, [`context`] opens it; on that stand [`memory`] (buffers, as far as
//! the [`budget`] goes), [`transfer`] (copies from and to the host), [`pipeline`] and [`cache`] (words made ready), [`session`]
//! (command buffers) and [`submit`] (steps recorded with barriers and timestamps). Every object is owned by a struct whose `Drop` destroys it,
//! and holds what it was made from.

mod budget;
mod cache;
mod choose;
mod context;
mod instance;
mod memory;
mod pipeline;
mod session;
mod submit;
mod transfer;
mod validation;

pub(crate) use cache::default_folder as cache_folder;

use crate::backend::{Backend, Buffer, Pipeline, Step};
use crate::device::{DeviceInfo, Options};
use crate::error::{Error, Result};
use crate::timing::Span;
use ash::vk;
use context::Context;
use memory::Heap;
use session::Sessions;
use std::any::Any;
use std::sync::Arc;
use tilewright_launch::{Dispatch, Program};

/// The devices there are.
pub(crate) fn list(options: &Options) -> Result<Vec<DeviceInfo>> {
    let instance = instance::Instance::new(options)?;
    Ok(choose::candidates(&instance)?.into_iter().map(|c| c.info).collect())
}

/// Opens the device that the options name.
pub(crate) fn open(options: &Options) -> Result<Box<dyn Backend>> {
    let instance = instance::Instance::new(options)?;
    let candidate = choose::choose(choose::candidates(&instance)?, options.device.as_deref())?;
    let context = Arc::new(Context::new(instance, candidate)?);
    let heap = Arc::new(Heap::new(context.clone(), options.staging)?);
    let cache = cache::PipelineCache::open(context.clone(), options.cache.as_deref())?;
    let device = VulkanDevice { sessions: Sessions::new(context.clone(), heap.clone()), cache, heap, context };
    device.context.check_messages()?;
    Ok(Box::new(device))
}

/// A Vulkan device that runs launch programs.
struct VulkanDevice {
    sessions: Sessions,
    cache: cache::PipelineCache,
    heap: Arc<Heap>,
    context: Arc<Context>,
}

impl Backend for VulkanDevice {
    fn info(&self) -> &DeviceInfo {
        &self.context.info
    }

    fn allocate(&self, bytes: u64) -> Result<Box<dyn Buffer>> {
        let buffer = memory::Buffer::new(&self.heap, bytes, memory::Purpose::Tensor)?;
        self.context.check_messages()?;
        Ok(Box::new(buffer))
    }

    fn write(&self, buffer: &dyn Buffer, bytes: &[u8]) -> Result<()> {
        transfer::write(self, own(buffer)?, bytes)?;
        self.context.check_messages()
    }

    fn read(&self, buffer: &dyn Buffer, bytes: &mut [u8]) -> Result<()> {
        transfer::read(self, own(buffer)?, bytes)?;
        self.context.check_messages()
    }

    fn clear(&self, buffer: &dyn Buffer, bytes: u64) -> Result<()> {
        transfer::clear(self, own(buffer)?, bytes)?;
        self.context.check_messages()
    }

    fn compile(&self, program: &Program, dispatch: &Dispatch, constants: &[u32], label: &str) -> Result<Box<dyn Pipeline>> {
        let words = pipeline::Words { dispatch, subgroup: program.requires.subgroup, constants };
        let pipeline = pipeline::ComputePipeline::new(&self.context, &self.cache, &words, label)?;
        self.context.check_messages()?;
        Ok(Box::new(pipeline))
    }

    fn save_cache(&self) {
        self.cache.save();
    }

    fn submit(&self, steps: &[Step], timed: bool) -> Result<Vec<Span>> {
        let spans = submit::submit(self, steps, timed)?;
        self.context.check_messages()?;
        Ok(spans)
    }
}

/// A buffer as the one of this backend that it is.
fn own(buffer: &dyn Buffer) -> Result<&memory::Buffer> {
    let any: &dyn Any = buffer;
    any.downcast_ref().ok_or_else(|| Error::OtherDevice { what: "a buffer".to_owned() })
}

/// A failed call as an error.
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
