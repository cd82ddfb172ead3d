//! Devices and buffers of the caller: [`Device::from_ash`] and [`Device::tensor_over`].
//!
//! The runtime uses these objects and never destroys them. It finds out by itself all that Vulkan can be asked for. The rest (the queues,
//! the enabled extensions and features, the usage of a buffer) is the caller's statement, because Vulkan cannot be asked for it.

use super::choose::{self, Enabled};
use super::context::{Context, DeviceOwner, timeline};
use super::features::Features;
use super::instance::{Instance, has};
use super::memory::{self, Heap, Owner};
use super::queues::Queues;
use super::session::Sessions;
use super::{VulkanDevice, cache, matrices, staging};
use crate::device::memory::{Memory, allocated, lock};
use crate::device::{Device, Disabled, Options, folder};
use crate::error::{Error, Result};
use crate::tensor::element::Element;
use crate::tensor::{AnyTensor, Tensor, elements};
use ash::vk::{self, TaggedStructure};
use ash::{ext, khr};
use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::{Arc, Mutex};
use tilewright_launch::{DType, Feature};

/// A queue that the runtime shares with the caller.
///
/// In Vulkan, one thread at a time may use a queue. `Mutex<vk::Queue>` implements this trait, so a program with an
/// `Arc<Mutex<vk::Queue>>` passes a clone. Functions such as `move |submit| submit(*my_lock.lock())` implement it, too.
pub trait SharedQueue: Send + Sync {
    /// Calls a function with the queue while no other thread uses it. It is called once, before this returns, and does not panic.
    fn with(&self, call: &mut dyn FnMut(vk::Queue));
}

impl SharedQueue for Mutex<vk::Queue> {
    fn with(&self, call: &mut dyn FnMut(vk::Queue)) {
        call(*lock(self));
    }
}

impl<F: Fn(&mut dyn FnMut(vk::Queue)) + Send + Sync> SharedQueue for F {
    fn with(&self, call: &mut dyn FnMut(vk::Queue)) {
        self(call);
    }
}

/// A Vulkan device that the caller opened, for [`Device::from_ash`].
///
/// The types come from ash 0.38, which this crate re-exports as [`tilewright::ash`](crate::ash).
pub struct AshDevice {
    entry: ash::Entry,
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    enabled: Enabled,
    names: bool,
    family: u32,
    queues: Vec<Arc<dyn SharedQueue>>,
    cache: Option<vk::PipelineCache>,
    owner: Option<Owner>,
}

impl fmt::Debug for AshDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AshDevice({:?} with {} queues of family {})", self.device.handle(), self.queues.len(), self.family)
    }
}

impl AshDevice {
    /// Names a device and its parents. `api_version` is the `ApplicationInfo::api_version` of the instance, because a device has no
    /// newer functions than the application asked for.
    pub fn new(
        entry: ash::Entry,
        instance: ash::Instance,
        api_version: u32,
        physical: vk::PhysicalDevice,
        device: ash::Device,
    ) -> AshDevice {
        let enabled = Enabled { api: api_version, extensions: Vec::new(), features: Features::default() };
        let (names, family, queues) = (false, 0, Vec::new());
        AshDevice { entry, instance, physical, device, enabled, names, family, queues, cache: None, owner: None }
    }

    /// Gives the runtime queues of a family. At least one is needed. With several, which need
    /// `timelineSemaphore`, launches of several threads run in parallel.
    pub fn queues(mut self, family: u32, queues: impl IntoIterator<Item = Arc<dyn SharedQueue>>) -> AshDevice {
        (self.family, self.queues) = (family, queues.into_iter().collect());
        self
    }

    /// Names the device extensions that were enabled (`DeviceCreateInfo::enabled_extension_names`).
    pub fn extensions<'a>(mut self, names: impl IntoIterator<Item = &'a CStr>) -> AshDevice {
        self.enabled.extensions.extend(names.into_iter().map(CString::from));
        self
    }

    /// Names the instance extensions that were enabled. With VK_EXT_debug_utils, tools show the runtime's objects by name.
    pub fn instance_extensions<'a>(mut self, names: impl IntoIterator<Item = &'a CStr>) -> AshDevice {
        self.names |= names.into_iter().any(|name| name == ext::debug_utils::NAME);
        self
    }

    /// States the features that were enabled, as the chain that was passed to `vkCreateDevice`. Features by
    /// `DeviceCreateInfo::enabled_features` are `PhysicalDeviceFeatures2::default().features(…)`. Features that the runtime does not
    /// know are ignored, and so are structs of unknown types.
    ///
    /// # Safety
    /// The pointers of the chain must be valid, as for `vkCreateDevice`.
    pub unsafe fn features(mut self, enabled: &vk::PhysicalDeviceFeatures2<'_>) -> AshDevice {
        // SAFETY: this function has the same contract.
        self.enabled.features = unsafe { enabled_features(enabled) };
        self
    }

    /// Compiles pipelines with this cache, instead of a cache of the runtime. It must not be externally synchronized. It is not saved
    /// or destroyed, and [`Options::cache`] is ignored.
    pub fn pipeline_cache(mut self, cache: vk::PipelineCache) -> AshDevice {
        self.cache = Some(cache);
        self
    }

    /// Keeps a value until the runtime no longer uses the device. The value's `Drop` may destroy the device, or the program may wait
    /// until its other `Arc`s are the only ones.
    pub fn owner(mut self, owner: Arc<dyn std::any::Any + Send + Sync>) -> AshDevice {
        self.owner = Some(owner);
        self
    }
}

impl Device {
    /// Runs kernels on a Vulkan device that the caller opened.
    ///
    /// The device needs Vulkan 1.1 and a queue with compute. Each feature and extension is optional. A variant that needs a missing one is
    /// left out by [`Device::load`], and [`DeviceInfo::disabled`](crate::DeviceInfo::disabled) names the line that enables it.
    ///
    /// Options about the choice and the opening of a device are ignored: the device, the library, the number of queues, validation and its
    /// listener. Messages of the validation layers go to the caller's own messenger.
    ///
    /// # Safety
    /// - The entry, the instance, the physical device and the device must belong together, and the statements in `ash` must be true.
    /// - The device, its parents, and the pipeline cache must live until the runtime no longer uses them: until the
    ///   value given to [`AshDevice::owner`] is dropped. Without an owner, it is until the last handle of the device and the last of its
    ///   tensors, kernels, batches and [`BatchCommands`](crate::BatchCommands) are dropped and their work has ended. After [`Error::Timeout`] it may be never, and only an owner can
    ///   tell.
    /// - Work of the caller on the buffers of tensors must be ordered with the launches that use these tensors: see
    ///   [`Device::tensor_over`].
    /// - `vkDeviceWaitIdle` uses all queues, so the caller must lock them for it.
    ///
    /// The runtime passes null for allocation callbacks, whatever callbacks the device was created with. Vulkan permits it for each object.
    ///
    /// # Errors
    /// [`Error::AshDevice`] if the device lacks Vulkan 1.1, a queue with compute, an extension that was named, or timeline semaphores for
    /// several queues.
    pub unsafe fn from_ash(ash: AshDevice, options: &Options) -> Result<Device> {
        crate::device::listening::check_not_listening()?;
        if ash.queues.is_empty() {
            return Err(Error::AshDevice { reason: "it was given no queue: name one by `AshDevice::queues`".to_owned() });
        }
        let cache = options.cache.as_deref().map(folder::checked).transpose()?;
        let options = Options { cache, ..options.clone() };
        let instance = Instance::foreign(ash.entry, ash.instance, ash.names);
        let mut candidate = choose::foreign(&instance, ash.physical, ash.family, &ash.enabled)?;
        candidate.details.features.statistics &= options.statistics;
        let queues = shared_queues(&ash.device, ash.queues, candidate.details.features.timeline)?;
        let owner = DeviceOwner::Caller(ash.owner);
        let context = Arc::new(Context::over(instance, candidate, ash.device, queues, &options, owner));
        let heap = Arc::new(Heap::new(context.clone(), options.staging)?);
        let cache = match ash.cache {
            Some(raw) => cache::PipelineCache::foreign(context.clone(), raw),
            None => cache::PipelineCache::open(context.clone(), options.cache.as_deref())?,
        };
        let sessions = Arc::new(Sessions::new(context.clone(), heap.clone()));
        let staging = staging::Staging::new(heap.clone());
        let backend = VulkanDevice { sessions, staging, cache: Arc::new(cache), heap, context, timeout: options.timeout };
        Ok(Device::new(&options, Box::new(backend)))
    }
}

/// Returns the queues of the caller. Several queues each get a timeline semaphore, because their submissions wait for each other.
fn shared_queues(device: &ash::Device, queues: Vec<Arc<dyn SharedQueue>>, has_timelines: bool) -> Result<Queues> {
    if queues.len() == 1 {
        return Ok(Queues::shared(queues.into_iter().map(|queue| (queue, vk::Semaphore::null()))));
    }
    if !has_timelines {
        let reason = "several queues wait for each other by timeline semaphores, and `timelineSemaphore` is not enabled: set \
                      `PhysicalDeviceVulkan12Features::timeline_semaphore`, or name one queue";
        return Err(Error::AshDevice { reason: reason.to_owned() });
    }
    let mut found: Vec<(Arc<dyn SharedQueue>, vk::Semaphore)> = Vec::new();
    for queue in queues {
        // SAFETY: the device lives, and no submission uses the semaphores.
        let destroy = |made: &vk::Semaphore| unsafe { device.destroy_semaphore(*made, None) };
        let timeline = timeline(device).inspect_err(|_| found.iter().for_each(|(_, made)| destroy(made)))?;
        found.push((queue, timeline));
    }
    Ok(Queues::shared(found))
}

/// A part of a buffer of the caller, for [`Device::tensor_over`].
#[derive(Clone)]
pub struct AshBuffer {
    /// The buffer.
    pub buffer: vk::Buffer,
    /// The usage with which it was created.
    pub usage: vk::BufferUsageFlags,
    /// The offset of the tensor's first byte.
    pub offset: u64,
    /// The bytes from the offset on that the tensor may use: for example, to the end of the buffer.
    pub bytes: u64,
    /// A value that is kept until no tensor and no work in flight uses the buffer. Its `Drop` may destroy the buffer. `Arc::new(())` if
    /// the program destroys the buffer later than that by itself.
    pub owner: Arc<dyn std::any::Any + Send + Sync>,
}

impl fmt::Debug for AshBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AshBuffer { buffer, usage, offset, bytes, .. } = self;
        write!(f, "AshBuffer({buffer:?} at {offset}, {bytes} bytes, {usage:?})")
    }
}

impl Device {
    /// Creates a row-major tensor over a part of a buffer of the caller. The tensor has the elements that the buffer holds. Launches read
    /// and write them there, without a copy.
    ///
    /// The buffer needs `STORAGE_BUFFER`. A variant that accesses buffers by address also needs `SHADER_DEVICE_ADDRESS`,
    /// [`AnyTensor::download`] needs `TRANSFER_SRC`, and [`AnyTensor::write`] needs `TRANSFER_DST`. A `bool` is a 32-bit word.
    ///
    /// # Safety
    /// - The device must be one of [`Device::from_ash`]. The buffer must be of the same Vulkan device, bound to memory, of the stated usage,
    ///   and at least `offset + bytes` long. It must live until the owner is dropped.
    /// - The buffer must be shared with the family of the runtime's queues (`SharingMode::CONCURRENT`), or belong to it.
    /// - Work of the caller that writes these bytes must have ended before a launch or a copy of the runtime uses them, or precede it in
    ///   the same queue with a barrier to the stages COMPUTE_SHADER and TRANSFER. Likewise, a launch must have ended before work of the
    ///   caller uses the bytes that it writes.
    /// - No two tensors may be made over the same bytes, unless launches only read them. Use views of one tensor instead.
    ///
    /// # Errors
    /// [`Error::AshBuffer`] if the offset is not aligned, the part is too small, or a usage is missing.
    pub unsafe fn tensor_over<T: Element>(&self, shape: impl AsRef<[usize]>, buffer: AshBuffer) -> Result<Tensor<T>> {
        // SAFETY: this function has the same contract.
        unsafe { self.tensor_over_any(T::DTYPE, shape, buffer) }?.typed()
    }

    /// Creates a tensor over a part of a buffer, with a dtype known at run time: see [`Device::tensor_over`].
    ///
    /// # Safety
    /// As for [`Device::tensor_over`].
    pub unsafe fn tensor_over_any(&self, dtype: DType, shape: impl AsRef<[usize]>, buffer: AshBuffer) -> Result<AnyTensor> {
        let shape = shape.as_ref();
        let refused = |reason: String| Error::AshBuffer { shape: shape.to_vec(), reason };
        let device: &VulkanDevice = self.backend().ok_or_else(|| refused("the device is not a Vulkan device".to_owned()))?;
        let wanted = allocated(elements(shape)? as u64 * u64::from(dtype.bytes()));
        check_part(device, &buffer, wanted).map_err(refused)?;
        let AshBuffer { buffer: raw, usage, offset, owner, .. } = buffer;
        let usage = match device.context.details.features.address {
            true => usage,
            false => usage & !vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        };
        let buffer = memory::Buffer::foreign(&device.heap, raw, (offset, wanted), usage, owner);
        if !buffer.address.is_multiple_of(16) {
            return Err(refused(format!("its device address at byte {offset}, {:#x}, is not a multiple of 16", buffer.address)));
        }
        let memory = Arc::new(Memory::foreign(Box::new(buffer), wanted));
        Ok(AnyTensor::new(self.clone(), memory, dtype, shape.to_vec()))
    }
}

/// Checks that a part of a buffer can hold `wanted` bytes.
fn check_part(device: &VulkanDevice, buffer: &AshBuffer, wanted: u64) -> Result<(), String> {
    let AshBuffer { usage, offset, bytes, .. } = *buffer;
    if !usage.contains(vk::BufferUsageFlags::STORAGE_BUFFER) {
        return Err("it was created without `BufferUsageFlags::STORAGE_BUFFER`".to_owned());
    }
    let alignment = device.context.details.storage_offset_alignment;
    if !offset.is_multiple_of(alignment) {
        return Err(format!(
            "its offset {offset} is not a multiple of {alignment}, the larger of 16 and `minStorageBufferOffsetAlignment`"
        ));
    }
    if bytes < wanted {
        return Err(format!(
            "it needs {wanted} bytes, because accesses are up to 16 bytes wide, and there are {bytes} from offset {offset} on"
        ));
    }
    offset.checked_add(bytes).map(drop).ok_or_else(|| format!("offset {offset} and {bytes} bytes exceed 64 bits"))
}

/// Checks that a buffer has a usage for a copy.
pub(super) fn with_usage<'a>(
    buffer: &'a memory::Buffer,
    usage: vk::BufferUsageFlags,
    call: &'static str,
) -> Result<&'a memory::Buffer> {
    let name = if usage == vk::BufferUsageFlags::TRANSFER_SRC { "TRANSFER_SRC" } else { "TRANSFER_DST" };
    if buffer.has_usage(usage) { Ok(buffer) } else { Err(Error::BufferUsage { usage: name, call }) }
}

/// Returns the features that a chain switches on.
///
/// # Safety
/// The pointers of the chain must be valid.
unsafe fn enabled_features(enabled: &vk::PhysicalDeviceFeatures2<'_>) -> Features {
    let on = |b: vk::Bool32| b == vk::TRUE;
    let mut features =
        Features { int64: on(enabled.features.shader_int64), i16: on(enabled.features.shader_int16), ..Features::default() };
    let mut next = enabled.p_next.cast::<vk::BaseInStructure<'_>>().cast_const();
    // SAFETY: the pointers are valid, by this function's contract.
    while let Some(link) = unsafe { next.as_ref() } {
        // SAFETY: the type of a struct is the one that its first member names.
        unsafe { features.enable(link) };
        next = link.p_next;
    }
    features
}

/// Returns the feature, its Vulkan name, and the place in ash's structs that enables it: of Vulkan 1.1 to 1.3, and of its extension.
fn disabled_row(feature: Feature) -> (&'static str, &'static str, Option<(u32, &'static CStr, &'static str)>) {
    let (v12, v13) = (vk::API_VERSION_1_2, vk::API_VERSION_1_3);
    match feature {
        Feature::Address => (
            "bufferDeviceAddress",
            "PhysicalDeviceVulkan12Features::buffer_device_address",
            Some((v12, khr::buffer_device_address::NAME, "PhysicalDeviceBufferDeviceAddressFeatures::buffer_device_address")),
        ),
        Feature::Storage16 => ("storageBuffer16BitAccess", "PhysicalDevice16BitStorageFeatures::storage_buffer16_bit_access", None),
        Feature::F16 => (
            "shaderFloat16",
            "PhysicalDeviceVulkan12Features::shader_float16",
            Some((v12, khr::shader_float16_int8::NAME, "PhysicalDeviceShaderFloat16Int8Features::shader_float16")),
        ),
        Feature::Storage8 => (
            "storageBuffer8BitAccess",
            "PhysicalDeviceVulkan12Features::storage_buffer8_bit_access",
            Some((v12, khr::_8bit_storage::NAME, "PhysicalDevice8BitStorageFeatures::storage_buffer8_bit_access")),
        ),
        Feature::I8 => (
            "shaderInt8",
            "PhysicalDeviceVulkan12Features::shader_int8",
            Some((v12, khr::shader_float16_int8::NAME, "PhysicalDeviceShaderFloat16Int8Features::shader_int8")),
        ),
        Feature::I16 => ("shaderInt16", "PhysicalDeviceFeatures::shader_int16", None),
        Feature::Int64 => ("shaderInt64", "PhysicalDeviceFeatures::shader_int64", None),
        Feature::SubgroupArithmetic | Feature::SubgroupShuffle => {
            ("shaderSubgroupExtendedTypes", "PhysicalDeviceVulkan12Features::shader_subgroup_extended_types", None)
        }
        Feature::SubgroupSize => (
            "subgroupSizeControl` and `computeFullSubgroups",
            "PhysicalDeviceVulkan13Features::subgroup_size_control` and `compute_full_subgroups",
            Some((
                v13,
                ext::subgroup_size_control::NAME,
                "PhysicalDeviceSubgroupSizeControlFeatures::subgroup_size_control` and `compute_full_subgroups",
            )),
        ),
        Feature::MemoryModel => (
            "vulkanMemoryModel` and `vulkanMemoryModelDeviceScope",
            "PhysicalDeviceVulkan12Features::vulkan_memory_model` and `vulkan_memory_model_device_scope",
            Some((
                v12,
                khr::vulkan_memory_model::NAME,
                "PhysicalDeviceVulkanMemoryModelFeatures::vulkan_memory_model` and `vulkan_memory_model_device_scope",
            )),
        ),
        Feature::IntegerDotProduct => (
            "shaderIntegerDotProduct",
            "PhysicalDeviceVulkan13Features::shader_integer_dot_product",
            Some((
                v13,
                khr::shader_integer_dot_product::NAME,
                "PhysicalDeviceShaderIntegerDotProductFeatures::shader_integer_dot_product",
            )),
        ),
        Feature::CooperativeMatrix => by_extension(
            "cooperativeMatrix",
            khr::cooperative_matrix::NAME,
            "PhysicalDeviceCooperativeMatrixFeaturesKHR::cooperative_matrix",
        ),
        Feature::AtomicF32Add => by_extension(
            "shaderBufferFloat32AtomicAdd",
            ext::shader_atomic_float::NAME,
            "PhysicalDeviceShaderAtomicFloatFeaturesEXT::shader_buffer_float32_atomic_add",
        ),
        Feature::MatrixReductions => by_extension(
            "cooperativeMatrixReductions",
            matrices::MORE,
            "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixReductions",
        ),
        Feature::MatrixConversions => by_extension(
            "cooperativeMatrixConversions",
            matrices::MORE,
            "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixConversions",
        ),
        Feature::MatrixBf16 => by_extension(
            "shaderBFloat16Type` and `shaderBFloat16CooperativeMatrix",
            matrices::BFLOAT,
            "VkPhysicalDeviceShaderBfloat16FeaturesKHR::shaderBFloat16Type` and `shaderBFloat16CooperativeMatrix",
        ),
        // The device has these properties once the extension is enabled.
        _ => ("", "", Some((v12, khr::shader_float_controls::NAME, ""))),
    }
}

/// Returns the row of a feature that is not part of any Vulkan version.
fn by_extension(
    name: &'static str,
    extension: &'static CStr,
    place: &'static str,
) -> (&'static str, &'static str, Option<(u32, &'static CStr, &'static str)>) {
    (name, place, Some((u32::MAX, extension, place)))
}

/// Explains how to enable a feature of a device, given its version and the extensions that were named.
pub(super) fn disabled(feature: Feature, api: u32, listed: &[vk::ExtensionProperties]) -> Disabled {
    let (name, core, extension) = disabled_row(feature);
    let by_extension = extension.filter(|(since, ..)| api < *since);
    let enable = match by_extension {
        Some((_, extension, _)) if !has(listed, extension) => {
            let extension = extension.to_string_lossy();
            format!("the extension `{extension}` is not enabled: enable it, and name it in `AshDevice::extensions`")
        }
        _ => {
            let place = by_extension.map_or(core, |(.., place)| place);
            format!("`{name}` is not enabled: set `{place}`")
        }
    };
    Disabled { feature, enable }
}

impl Features {
    /// Switches on the features that a struct of a chain enables.
    ///
    /// # Safety
    /// The struct must have the type that its first member names.
    unsafe fn enable(&mut self, link: &vk::BaseInStructure<'_>) {
        let on = |b: vk::Bool32| b == vk::TRUE;
        macro_rules! with {
            ($t:ty, |$s:ident| { $($field:ident: $value:expr),* $(,)? }) => {
                if link.s_type == <$t>::STRUCTURE_TYPE {
                    // SAFETY: by this function's contract.
                    let $s = unsafe { &*std::ptr::from_ref(link).cast::<$t>() };
                    $(self.$field |= $value;)*
                }
            };
        }
        with!(vk::PhysicalDeviceVulkan11Features<'_>, |s| { storage_16: on(s.storage_buffer16_bit_access) });
        with!(vk::PhysicalDeviceVulkan12Features<'_>, |s| {
            address: on(s.buffer_device_address),
            storage_8: on(s.storage_buffer8_bit_access),
            f16: on(s.shader_float16),
            i8: on(s.shader_int8),
            memory_model: on(s.vulkan_memory_model),
            memory_model_device: on(s.vulkan_memory_model_device_scope),
            subgroup_types: on(s.shader_subgroup_extended_types),
            timeline: on(s.timeline_semaphore),
        });
        with!(vk::PhysicalDeviceTimelineSemaphoreFeatures<'_>, |s| { timeline: on(s.timeline_semaphore) });
        with!(vk::PhysicalDeviceVulkan13Features<'_>, |s| {
            subgroup_size: on(s.subgroup_size_control) && on(s.compute_full_subgroups),
            integer_dot_product: on(s.shader_integer_dot_product),
        });
        with!(vk::PhysicalDeviceBufferDeviceAddressFeatures<'_>, |s| { address: on(s.buffer_device_address) });
        with!(vk::PhysicalDevice16BitStorageFeatures<'_>, |s| { storage_16: on(s.storage_buffer16_bit_access) });
        with!(vk::PhysicalDevice8BitStorageFeatures<'_>, |s| { storage_8: on(s.storage_buffer8_bit_access) });
        with!(vk::PhysicalDeviceShaderFloat16Int8Features<'_>, |s| { f16: on(s.shader_float16), i8: on(s.shader_int8) });
        with!(vk::PhysicalDeviceVulkanMemoryModelFeatures<'_>, |s| {
            memory_model: on(s.vulkan_memory_model),
            memory_model_device: on(s.vulkan_memory_model_device_scope),
        });
        with!(vk::PhysicalDeviceSubgroupSizeControlFeatures<'_>, |s| {
            subgroup_size: on(s.subgroup_size_control) && on(s.compute_full_subgroups),
        });
        with!(vk::PhysicalDeviceShaderSubgroupExtendedTypesFeatures<'_>, |s| {
            subgroup_types: on(s.shader_subgroup_extended_types),
        });
        with!(vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'_>, |s| { cooperative_matrix: on(s.cooperative_matrix) });
        with!(matrices::MoreFeatures, |s| {
            matrix_reductions: on(s.reductions),
            matrix_conversions: on(s.conversions),
        });
        with!(matrices::BFloatFeatures, |s| { matrix_bf16: on(s.ty) && on(s.matrix) });
        with!(vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT<'_>, |s| {
            atomic_f32_add: on(s.shader_buffer_float32_atomic_add),
        });
        with!(vk::PhysicalDeviceShaderIntegerDotProductFeatures<'_>, |s| {
            integer_dot_product: on(s.shader_integer_dot_product),
        });
        with!(vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'_>, |s| { statistics: on(s.pipeline_executable_info) });
    }
}
