//! An open device and its queues.

use super::choose::{Candidate, Details};
use super::destroy::Destroyer;
use super::failed;
use super::features::Chain;
use super::instance::Instance;
use super::queues::Queues;
use crate::device::checks::Checks;
use crate::device::listening::is_listening;
use crate::device::{DeviceInfo, DeviceKind, Options};
use crate::error::Result;
use ash::{ext, khr, vk};
use std::any::Any;
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The time for which a wait polls on a device that is not a CPU.
const SPINS: Duration = Duration::from_micros(50);

/// An open device. Every object that is made on it keeps it open.
pub(super) struct Context {
    pub(super) device: ash::Device,
    pub(super) info: DeviceInfo,
    pub(super) details: Details,
    pub(super) physical: vk::PhysicalDevice,
    pub(super) family: u32,
    pub(super) queues: Queues,
    /// The function's extension, if the function is not core.
    address_khr: Option<khr::buffer_device_address::Device>,
    /// The functions' extension, if the functions are not core.
    pub(super) timeline_khr: Option<khr::timeline_semaphore::Device>,
    names: Option<ext::debug_utils::Device>,
    /// True if tools are given source lines in SPIR-V modules, and labels in command buffers.
    pub(super) lines: bool,
    /// The checks that are added to SPIR-V modules.
    pub(super) checks: Checks,
    /// True if the driver keeps its numbers of pipelines.
    pub(super) statistics: bool,
    /// The time for which a wait polls before it blocks: none on a CPU, whose cores run the kernel.
    pub(super) spins: Duration,
    /// The number of pipelines that the driver is compiling.
    compiling: AtomicUsize,
    destroyer: Destroyer,
    // Dropped after the device is destroyed in `Drop`.
    pub(super) instance: Instance,
    // Dropped last, because it may destroy the device.
    owner: DeviceOwner,
}

/// The owner of an open device.
pub(super) enum DeviceOwner {
    /// The device is destroyed with its context.
    Runtime,
    /// The caller destroys the device after this value was dropped.
    Caller(#[expect(dead_code, reason = "it is only dropped")] Option<Arc<dyn Any + Send + Sync>>),
}

impl Context {
    pub(super) fn new(instance: Instance, mut candidate: Candidate, options: &Options) -> Result<Context> {
        candidate.details.features.statistics &= options.statistics;
        // Submissions of several queues wait for each other by timeline semaphores.
        let available = if candidate.details.features.timeline { candidate.queues } else { 1 };
        let count = Queues::count(available, options.queues);
        let device = match create(&instance, &candidate, count) {
            // RenderDoc refuses addresses, which the driver has, if the driver cannot restore them for a replay.
            Err(vk::Result::ERROR_FEATURE_NOT_PRESENT) if candidate.details.features.address => {
                log::warn!("a tool refuses buffer device addresses, so variants that need them cannot be loaded");
                candidate.disable_addresses();
                create(&instance, &candidate, count)
            }
            created => created,
        };
        let device = device.map_err(failed("vkCreateDevice"))?;
        // SAFETY: the device was made for this, and is destroyed once.
        let queues = open_queues(&device, candidate.family, count).inspect_err(|_| unsafe { device.destroy_device(None) })?;
        Ok(Context::over(instance, candidate, device, queues, options, DeviceOwner::Runtime))
    }

    /// Wraps a device that is open, with queues of the candidate's family.
    pub(super) fn over(
        instance: Instance,
        candidate: Candidate,
        device: ash::Device,
        queues: Queues,
        options: &Options,
        owner: DeviceOwner,
    ) -> Context {
        let Candidate { raw: physical, family, info, details, .. } = candidate;
        let is_core = details.api >= vk::API_VERSION_1_2;
        let by_extension = |has: bool| has && !is_core;
        let address_khr =
            by_extension(details.features.address).then(|| khr::buffer_device_address::Device::new(instance.raw(), &device));
        let timeline_khr =
            by_extension(details.features.timeline).then(|| khr::timeline_semaphore::Device::new(instance.raw(), &device));
        let names = has_names(&instance, &device).then(|| ext::debug_utils::Device::new(instance.raw(), &device));
        let lines = options.debug || instance.is_validating();
        let (checks, statistics) = (options.checks, details.features.statistics);
        let (compiling, destroyer) = (AtomicUsize::new(0), Destroyer::default());
        let spins = if info.kind == DeviceKind::Cpu { Duration::ZERO } else { SPINS };
        Context {
            device,
            info,
            details,
            physical,
            family,
            queues,
            address_khr,
            timeline_khr,
            names,
            lines,
            checks,
            statistics,
            spins,
            compiling,
            destroyer,
            instance,
            owner,
        }
    }

    /// Returns the messages of the validation layers since the last call as an error.
    pub(super) fn check_messages(&self) -> Result<()> {
        self.instance.messages().check()
    }

    /// Destroys an object for which a driver may wait while the device works. For example, lavapipe's `vkDestroyPipeline` waits for
    /// the running kernel. No submission may use the object.
    ///
    /// The call does not wait: if a submission or a compilation is running, or this is a listener, a thread destroys the object.
    pub(super) fn destroy(self: &Arc<Context>, end: impl FnOnce(&ash::Device) + Send + 'static) {
        let mut end = Some(end);
        if !is_listening() && !self.is_compiling() {
            self.queues.while_idle(|| end.take().into_iter().for_each(|end| end(&self.device)));
        }
        if let Some(end) = end {
            let context = self.clone();
            self.destroyer.later(move || end(&context.device));
        }
    }

    /// Destroys an object that drivers destroy without a wait while others are in use. No submission may use the object.
    ///
    /// It is destroyed at once, so that its memory is free when the drop returns. But if a call has waited for a submission until the timeout,
    /// which may never end, a thread destroys the object, because a driver may wait even for such objects.
    pub(super) fn free(self: &Arc<Context>, end: impl FnOnce(&ash::Device) + Send + 'static) {
        if is_listening() || self.queues.has_late() {
            let context = self.clone();
            self.destroyer.later(move || end(&context.device));
        } else {
            end(&self.device);
        }
    }

    /// Counts a compilation until the guard is dropped.
    pub(super) fn compiles(&self) -> Compiles<'_> {
        self.compiling.fetch_add(1, Ordering::AcqRel);
        Compiles(&self.compiling)
    }

    /// True if the driver compiles a pipeline now.
    fn is_compiling(&self) -> bool {
        self.compiling.load(Ordering::Acquire) > 0
    }

    /// True if the driver executes or compiles something.
    pub(super) fn is_left_at_work(&self) -> bool {
        self.queues.is_running() || self.is_compiling()
    }

    /// Waits until all dropped objects are destroyed, but not beyond `limit`.
    pub(super) fn finish_destroying(&self, limit: Option<Duration>) {
        self.destroyer.finish(limit);
    }

    /// Returns the device address of a buffer whose usage includes addresses.
    pub(super) fn address_of(&self, buffer: vk::Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the buffer has the usage, and the function is loaded: as core, or by its extension.
        match &self.address_khr {
            Some(khr) => unsafe { khr.get_buffer_device_address(&info) },
            None => unsafe { self.device.get_buffer_device_address(&info) },
        }
    }

    /// Records a part of a command buffer that tools show by a name, if they are given lines. Otherwise a label costs a third of the time in which a
    /// dispatch is recorded.
    ///
    /// The command buffer must be recording, and no other thread may use it.
    pub(super) fn label<T>(&self, commands: vk::CommandBuffer, name: &CStr, record: impl FnOnce() -> T) -> T {
        let names = self.names.as_ref().filter(|_| self.lines);
        if let Some(names) = names {
            let label = vk::DebugUtilsLabelEXT::default().label_name(name);
            // SAFETY: recording, by this function's contract.
            unsafe { names.cmd_begin_debug_utils_label(commands, &label) };
        }
        let result = record();
        if let Some(names) = names {
            // SAFETY: as above; begun above.
            unsafe { names.cmd_end_debug_utils_label(commands) };
        }
        result
    }

    /// Names an object in tools and in the layers' messages. No other thread may use the object yet.
    pub(super) fn name(&self, object: impl vk::Handle, name: &str) {
        let (Some(names), Ok(name)) = (&self.names, CString::new(name.replace('\0', ""))) else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(object).object_name(&name);
        // SAFETY: the object is this device's. A failure only loses the name.
        let _ = unsafe { names.set_debug_utils_object_name(&info) };
    }
}

/// Creates a device with the candidate's features and some queues of its family.
fn create(instance: &Instance, candidate: &Candidate, queues: usize) -> Result<ash::Device, vk::Result> {
    let priorities = vec![1.0; queues];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(candidate.family).queue_priorities(&priorities)];
    let extensions: Vec<_> = candidate.details.extensions.iter().map(|e| e.as_ptr()).collect();
    let mut chain = Chain::default();
    let mut features = chain.link(&candidate.details.features);
    let create = vk::DeviceCreateInfo::default();
    let create = create.queue_create_infos(&queues).enabled_extension_names(&extensions).push_next(&mut features);
    // SAFETY: the physical device is the instance's; extensions and features are those that it listed.
    unsafe { instance.raw().create_device(candidate.raw, &create, None) }
}

/// Returns the queues of a device, which was created with `count` queues of the family.
fn open_queues(device: &ash::Device, family: u32, count: usize) -> Result<Queues> {
    let mut found = Vec::new();
    for n in 0..count {
        let timeline = if count > 1 { timeline(device) } else { Ok(vk::Semaphore::null()) };
        // SAFETY (this function): the device lives, and no submission uses the semaphores.
        let timeline =
            timeline.inspect_err(|_| found.iter().for_each(|(_, made)| unsafe { device.destroy_semaphore(*made, None) }))?;
        found.push((unsafe { device.get_device_queue(family, n as u32) }, timeline));
    }
    Ok(Queues::new(found))
}

/// Creates a timeline semaphore.
pub(super) fn timeline(device: &ash::Device) -> Result<vk::Semaphore> {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: the device lives, and has the feature.
    unsafe { device.create_semaphore(&info, None) }.map_err(failed("vkCreateSemaphore"))
}

/// A guard that counts a running compilation.
pub(super) struct Compiles<'a>(&'a AtomicUsize);

impl Drop for Compiles<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns true if the device has the functions for names and labels, because functions that are not loaded must not be called.
fn has_names(instance: &Instance, device: &ash::Device) -> bool {
    let needed = [c"vkSetDebugUtilsObjectNameEXT", c"vkCmdBeginDebugUtilsLabelEXT", c"vkCmdEndDebugUtilsLabelEXT"];
    // SAFETY: the device is the instance's.
    let has = |name: &&CStr| unsafe { instance.raw().get_device_proc_addr(device.handle(), name.as_ptr()) }.is_some();
    instance.has_names() && needed.iter().all(has)
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: every object made on the device held it, so none is left. The objects that a submission uses live until it has
        // ended, so no submission is running. A lost device is destroyed like any other.
        unsafe {
            self.queues.timelines().for_each(|timeline| self.device.destroy_semaphore(timeline, None));
            if matches!(self.owner, DeviceOwner::Runtime) {
                self.device.destroy_device(None);
            }
        }
    }
}
