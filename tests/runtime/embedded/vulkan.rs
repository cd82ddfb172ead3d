//! A Vulkan program: it opens its own device, allocates its own buffers, and records its own commands.

use crate::support::has_layers;
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tilewright::ash::{self, ext, vk};
use tilewright::{AshBuffer, AshDevice, Device, Options, SharedQueue};

/// The parts of the device that the program enables.
#[derive(Clone, Copy)]
pub struct Setup {
    pub api: u32,
    pub address: bool,
    pub int64: bool,
    pub validation: bool,
}

pub const ALL: Setup = Setup { api: vk::API_VERSION_1_3, address: true, int64: true, validation: true };

/// An open device. Messages of the validation layers fail the test when it is closed.
pub struct Vulkan {
    pub setup: Setup,
    pub entry: ash::Entry,
    pub instance: ash::Instance,
    pub physical: vk::PhysicalDevice,
    pub device: ash::Device,
    pub family: u32,
    pub queue: Arc<Mutex<vk::Queue>>,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    messages: Box<Mutex<Vec<String>>>,
}

const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

impl Vulkan {
    pub fn open(mut setup: Setup) -> Arc<Vulkan> {
        setup.validation &= has_layers();
        let messages: Box<Mutex<Vec<String>>> = Box::default();
        // SAFETY (this file): this is a Vulkan program, whose calls the validation layers check.
        let entry = unsafe { ash::Entry::load() }.expect("a loader");
        let application = vk::ApplicationInfo::default().api_version(setup.api);
        let (layers, extensions) = ([LAYER.as_ptr()], [ext::debug_utils::NAME.as_ptr()]);
        let enables = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
        let mut info = vk::InstanceCreateInfo::default().application_info(&application).enabled_extension_names(&extensions);
        if setup.validation {
            info = info.enabled_layer_names(&layers).push_next(&mut features);
        }
        let instance = unsafe { entry.create_instance(&info, None) }.expect("an instance");
        let messenger = setup.validation.then(|| {
            let functions = ext::debug_utils::Instance::new(&entry, &instance);
            let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
                .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
                .pfn_user_callback(Some(hear))
                .user_data(std::ptr::from_ref(&*messages).cast_mut().cast());
            let raw = unsafe { functions.create_debug_utils_messenger(&info, None) }.expect("a messenger");
            (functions, raw)
        });
        let physical = physical(&instance);
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let family =
            families.iter().position(|f| f.queue_flags.contains(vk::QueueFlags::COMPUTE)).expect("a compute family") as u32;
        let device = device(&instance, physical, family, setup);
        let queue = Arc::new(Mutex::new(unsafe { device.get_device_queue(family, 0) }));
        Arc::new(Vulkan { setup, entry, instance, physical, device, family, queue, messenger, messages })
    }

    /// Describes the device for the runtime, truthfully and without an owner.
    pub fn described(&self) -> AshDevice {
        let queue: Arc<dyn SharedQueue> = self.queue.clone();
        let ash = AshDevice::new(self.entry.clone(), self.instance.clone(), self.setup.api, self.physical, self.device.clone());
        let ash = ash.queues(self.family, [queue]).instance_extensions([ext::debug_utils::NAME]);
        with_features(self.setup, |enabled| unsafe { ash.features(enabled) })
    }

    /// Opens the device for the runtime, which keeps it.
    pub fn runtime(self: &Arc<Vulkan>, options: &Options) -> Device {
        unsafe { Device::from_ash(self.described().owner(self.clone()), options) }.expect("the device has all that is needed")
    }

    /// Creates a buffer in memory that the host can access.
    pub fn buffer(self: &Arc<Vulkan>, bytes: u64, usage: vk::BufferUsageFlags) -> Arc<OwnBuffer> {
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        let raw = unsafe { self.device.create_buffer(&info, None) }.expect("a buffer");
        let needs = unsafe { self.device.get_buffer_memory_requirements(raw) };
        let all = unsafe { self.instance.get_physical_device_memory_properties(self.physical) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let fits = |(n, ty): (usize, &vk::MemoryType)| needs.memory_type_bits >> n & 1 == 1 && ty.property_flags.contains(wanted);
        let ty = all.memory_types_as_slice().iter().enumerate().position(fits).expect("host memory") as u32;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut allocate = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(ty);
        if usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS) {
            allocate = allocate.push_next(&mut flags);
        }
        let memory = unsafe { self.device.allocate_memory(&allocate, None) }.expect("memory");
        unsafe { self.device.bind_buffer_memory(raw, memory, 0) }.expect("binds");
        let mapped = unsafe { self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }.expect("maps");
        Arc::new(OwnBuffer { raw, usage, bytes, memory, mapped: mapped as usize, gone: Arc::default(), vulkan: self.clone() })
    }

    /// Begins a command buffer.
    pub fn commands(self: &Arc<Vulkan>) -> Commands {
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        let pool = unsafe { self.device.create_command_pool(&pool, None) }.expect("a pool");
        let allocate = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let raw = unsafe { self.device.allocate_command_buffers(&allocate) }.expect("a command buffer")[0];
        unsafe { self.device.begin_command_buffer(raw, &vk::CommandBufferBeginInfo::default()) }.expect("begins");
        Commands { raw, pool, vulkan: self.clone() }
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        unsafe {
            self.device.device_wait_idle().expect("the device works");
            self.device.destroy_device(None);
            if let Some((functions, raw)) = self.messenger.take() {
                functions.destroy_debug_utils_messenger(raw, None);
            }
            self.instance.destroy_instance(None);
        }
        let messages = self.messages.lock().expect("no panic");
        assert!(messages.is_empty() || std::thread::panicking(), "the validation layers report: {}", messages.join("\n"));
    }
}

unsafe extern "system" fn hear(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    let (messages, text) = unsafe { (&*messages.cast::<Mutex<Vec<String>>>(), CStr::from_ptr((*data).p_message)) };
    eprintln!("{}", text.to_string_lossy());
    messages.lock().expect("no panic").push(text.to_string_lossy().into_owned());
    vk::FALSE
}

/// Returns the device that the other tests use.
fn physical(instance: &ash::Instance) -> vk::PhysicalDevice {
    let wanted = super::device().info().name.clone();
    let devices = unsafe { instance.enumerate_physical_devices() }.expect("devices");
    let name = |raw: &vk::PhysicalDevice| unsafe { instance.get_physical_device_properties(*raw) };
    let named = |raw: &vk::PhysicalDevice| name(raw).device_name_as_c_str().is_ok_and(|name| name.to_string_lossy() == wanted);
    devices.into_iter().find(named).expect("the device of the other tests")
}

/// Calls a function with the features of a setup.
fn with_features<T>(setup: Setup, call: impl FnOnce(&vk::PhysicalDeviceFeatures2<'_>) -> T) -> T {
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(setup.address).timeline_semaphore(true);
    let base = vk::PhysicalDeviceFeatures::default().shader_int64(setup.int64);
    let all = vk::PhysicalDeviceFeatures2::default().features(base);
    call(&if setup.api >= vk::API_VERSION_1_2 { all.push_next(&mut v12) } else { all })
}

fn device(instance: &ash::Instance, physical: vk::PhysicalDevice, family: u32, setup: Setup) -> ash::Device {
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
    with_features(setup, |features| {
        let mut features = *features;
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut features);
        unsafe { instance.create_device(physical, &info, None) }.expect("a device")
    })
}

/// A buffer, which is destroyed when its last `Arc` is dropped.
pub struct OwnBuffer {
    pub raw: vk::Buffer,
    pub usage: vk::BufferUsageFlags,
    pub bytes: u64,
    memory: vk::DeviceMemory,
    mapped: usize,
    /// Set when the buffer is destroyed.
    pub gone: Arc<AtomicBool>,
    vulkan: Arc<Vulkan>,
}

impl OwnBuffer {
    /// The part from an offset to the end. The tensor keeps the buffer.
    pub fn part(self: &Arc<OwnBuffer>, offset: u64) -> AshBuffer {
        let owner: Arc<dyn Any + Send + Sync> = self.clone();
        let bytes = self.bytes.saturating_sub(offset);
        AshBuffer { buffer: self.raw, usage: self.usage, offset, bytes, owner }
    }

    pub fn write(&self, offset: u64, values: &[f32]) {
        assert!(offset + 4 * values.len() as u64 <= self.bytes);
        let to = (self.mapped + offset as usize) as *mut f32;
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, values.len()) };
    }

    pub fn write_bytes(&self, values: &[u8]) {
        assert!(values.len() as u64 <= self.bytes);
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.mapped as *mut u8, values.len()) };
    }

    pub fn address(&self) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.raw);
        unsafe { self.vulkan.device.get_buffer_device_address(&info) }
    }

    pub fn read(&self, offset: u64, count: usize) -> Vec<f32> {
        assert!(offset + 4 * count as u64 <= self.bytes);
        unsafe { std::slice::from_raw_parts((self.mapped + offset as usize) as *const f32, count) }.to_vec()
    }
}

impl Drop for OwnBuffer {
    fn drop(&mut self) {
        unsafe {
            self.vulkan.device.destroy_buffer(self.raw, None);
            self.vulkan.device.free_memory(self.memory, None);
        }
        self.gone.store(true, Ordering::SeqCst);
    }
}

/// A command buffer that is recording.
pub struct Commands {
    pub raw: vk::CommandBuffer,
    pool: vk::CommandPool,
    vulkan: Arc<Vulkan>,
}

impl Commands {
    pub fn end(&self) {
        unsafe { self.vulkan.device.end_command_buffer(self.raw) }.expect("ends");
    }

    /// Submits the commands and waits until they have ended.
    pub fn run(&self) {
        let device = &self.vulkan.device;
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }.expect("a fence");
        let buffers = [self.raw];
        let submit = [vk::SubmitInfo::default().command_buffers(&buffers)];
        unsafe { device.queue_submit(*self.vulkan.queue.lock().expect("no panic"), &submit, fence) }.expect("submits");
        unsafe {
            device.wait_for_fences(&[fence], true, u64::MAX).expect("ends");
            device.destroy_fence(fence, None);
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        unsafe { self.vulkan.device.destroy_command_pool(self.pool, None) };
    }
}
