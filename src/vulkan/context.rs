//! An open device and its queues.

use super::choose::{Candidate, Chain, Details};
use super::failed;
use super::instance::Instance;
use super::queues::Queues;
use crate::device::{DeviceInfo, Options};
use crate::error::Result;
use ash::{ext, khr, vk};
use std::ffi::{CStr, CString};

/// An open device. Everything made on it holds it.
pub(super) struct Context {
    pub(super) device: ash::Device,
    pub(super) info: DeviceInfo,
    pub(super) details: Details,
    pub(super) physical: vk::PhysicalDevice,
    pub(super) family: u32,
    pub(super) queues: Queues,
    /// Where the function is not core.
    address_khr: Option<khr::buffer_device_address::Device>,
    names: Option<ext::debug_utils::Device>,
    /// Whether words have lines.
    pub(super) lines: bool,
    // Dropped after the device is destroyed in `Drop`.
    pub(super) instance: Instance,
}

impl Context {
    pub(super) fn new(instance: Instance, candidate: Candidate, options: &Options) -> Result<Context> {
        let Candidate { raw: physical, family, queues: available, info, details } = candidate;
        let priorities = vec![1.0; Queues::count(available, options.queues)];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
        let extensions: Vec<_> = details.extensions.iter().map(|e| e.as_ptr()).collect();
        let mut chain = Chain::default();
        let mut features = chain.link(&details.features);
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut features);
        // SAFETY: the physical device is the instance's; extensions and features are those that it listed.
        let device = unsafe { instance.raw().create_device(physical, &create, None) }.map_err(failed("vkCreateDevice"))?;
        // SAFETY: the family has as many queues, and they were asked for.
        let queues = Queues::new((0..priorities.len()).map(|n| unsafe { device.get_device_queue(family, n as u32) }));
        let by_extension = details.features.address && details.api < vk::API_VERSION_1_2;
        let address_khr = by_extension.then(|| khr::buffer_device_address::Device::new(instance.raw(), &device));
        let names = has_names(&instance, &device).then(|| ext::debug_utils::Device::new(instance.raw(), &device));
        let lines = options.debug || instance.is_validating();
        Ok(Context { device, info, details, physical, family, queues, address_khr, names, lines, instance })
    }

    /// What the validation layers said since the last call.
    pub(super) fn check_messages(&self) -> Result<()> {
        self.instance.messages().check()
    }

    /// The address of a buffer that was made for being addressed.
    pub(super) fn address_of(&self, buffer: vk::Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the buffer has the usage, and the function is loaded: as core, or by its extension.
        match &self.address_khr {
            Some(khr) => unsafe { khr.get_buffer_device_address(&info) },
            None => unsafe { self.device.get_buffer_device_address(&info) },
        }
    }

    /// Begins a part of a command buffer that tools show by a name; `label` ends it.
    ///
    /// The command buffer is recording, and no other thread uses it.
    pub(super) fn label<T>(&self, commands: vk::CommandBuffer, name: &CStr, record: impl FnOnce() -> T) -> T {
        if let Some(names) = &self.names {
            let label = vk::DebugUtilsLabelEXT::default().label_name(name);
            // SAFETY: recording, by this function's contract.
            unsafe { names.cmd_begin_debug_utils_label(commands, &label) };
        }
        let result = record();
        if let Some(names) = &self.names {
            // SAFETY: as above; begun above.
            unsafe { names.cmd_end_debug_utils_label(commands) };
        }
        result
    }

    /// Names an object in tools and in the layers' messages. No other thread uses it yet.
    pub(super) fn name(&self, object: impl vk::Handle, name: &str) {
        let (Some(names), Ok(name)) = (&self.names, CString::new(name.replace('\0', ""))) else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(object).object_name(&name);
        // SAFETY: the object is this device's. A name that is not taken is no loss.
        let _ = unsafe { names.set_debug_utils_object_name(&info) };
    }
}

/// Whether the device has what names and labels need: functions that are not loaded must not be called.
fn has_names(instance: &Instance, device: &ash::Device) -> bool {
    let needed = [c"vkSetDebugUtilsObjectNameEXT", c"vkCmdBeginDebugUtilsLabelEXT", c"vkCmdEndDebugUtilsLabelEXT"];
    // SAFETY: the device is the instance's.
    let has = |name: &&CStr| unsafe { instance.raw().get_device_proc_addr(device.handle(), name.as_ptr()) }.is_some();
    instance.has_names() && needed.iter().all(has)
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: whatever was made on the device held it, so nothing is left; what a submission uses lives until that has
        // ended, so none is at work. A lost device is destroyed like any other.
        unsafe { self.device.destroy_device(None) };
    }
}
