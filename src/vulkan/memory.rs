//! Buffers and their memory.

use super::budget::{Budget, Held};
use super::context::Context;
use super::failed;
use crate::device::backend;
use crate::device::memory::lock;
use crate::error::{Error, Result};
use ash::vk;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationError, AllocationSizes, MemoryLocation};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The purpose of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A tensor.
    Tensor,
    /// A tensor of the host.
    Host,
    /// A staging buffer that the host writes and the device copies from.
    Upload,
    /// A staging buffer that the device copies to and the host reads.
    Download,
    /// Parameter blocks, which the host writes and dispatches read.
    Params,
    /// Records of checks, which the host writes and reads, and dispatches read and write.
    Records,
    /// The memory in which checks record accesses to shared memory.
    Accesses,
}

/// The memory of a device.
pub(super) struct Heap {
    allocator: Mutex<ManuallyDrop<Allocator>>,
    budget: Budget,
    /// The bytes of all buffers.
    used: AtomicU64,
    /// The location of tensors.
    tensors: MemoryLocation,
    pub(super) context: Arc<Context>,
}

impl Heap {
    /// Creates the heap. With `staging`, tensors are placed in memory that the host cannot access, even if the device shares the
    /// host's memory.
    pub(super) fn new(context: Arc<Context>, staging: bool) -> Result<Heap> {
        let mut debug_settings = gpu_allocator::AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false;
        let desc = AllocatorCreateDesc {
            instance: context.instance.raw().clone(),
            device: context.device.clone(),
            physical_device: context.physical,
            debug_settings,
            buffer_device_address: context.details.features.address,
            // Blocks are small at first and grow, because most programs need little memory.
            allocation_sizes: AllocationSizes::new(16 << 20, 16 << 20)
                .with_max_device_memblock_size(256 << 20)
                .with_max_host_memblock_size(64 << 20),
        };
        let allocator = Allocator::new(&desc).map_err(|e| Error::Vulkan { call: "the allocator", code: e.to_string() })?;
        let tensors = if !staging && shares_memory(&context) { MemoryLocation::GpuToCpu } else { MemoryLocation::GpuOnly };
        let (allocator, budget) = (Mutex::new(ManuallyDrop::new(allocator)), Budget::new(context.clone()));
        Ok(Heap { allocator, budget, used: AtomicU64::new(0), tensors, context })
    }

    /// Returns the memory that the allocator has taken from the driver.
    fn held(&self, allocator: &Allocator) -> Held {
        let used = self.used.load(Ordering::Relaxed);
        Held { used, free: allocator.capacity().saturating_sub(used) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let allocator = self.allocator.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: dropped once, here. The device still lives, and no buffer does, since each holds the heap.
        unsafe { ManuallyDrop::drop(allocator) };
    }
}

/// Returns true if host and device share one memory: the first memory type that the host can read fast is local to the device.
fn shares_memory(context: &Context) -> bool {
    // SAFETY: the physical device is the instance's.
    let memory = unsafe { context.instance.raw().get_physical_device_memory_properties(context.physical) };
    let host =
        vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT | vk::MemoryPropertyFlags::HOST_CACHED;
    let unified =
        matches!(context.details.properties.device_type, vk::PhysicalDeviceType::INTEGRATED_GPU | vk::PhysicalDeviceType::CPU);
    let first = memory.memory_types_as_slice().iter().find(|t| t.property_flags.contains(host));
    unified && first.is_some_and(|t| t.property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL))
}

/// A buffer with its memory.
pub(super) struct Buffer {
    pub(super) raw: vk::Buffer,
    allocation: Allocation,
    /// 0 if the device does not support addresses.
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The offset of the first byte in `raw`: 0, unless it is a part of the caller's buffer.
    pub(super) base: u64,
    /// The usage of a buffer of the caller, and its owner.
    foreign: Option<(vk::BufferUsageFlags, Owner)>,
    /// True if the host can access the memory without staging.
    direct: bool,
    heap: Arc<Heap>,
}

/// A value that keeps a buffer of the caller alive.
pub(super) type Owner = Arc<dyn Any + Send + Sync>;

impl Buffer {
    pub(super) fn new(heap: &Arc<Heap>, bytes: u64, purpose: Purpose) -> Result<Buffer> {
        let context = &heap.context;
        let address = context.details.features.address;
        let (usage, location, name) = describe(heap, purpose);
        let usage = if address { usage | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS } else { usage };
        if bytes > context.details.max_buffer {
            return Err(Error::OutOfMemory {
                what: format!("{bytes} bytes for {name}: a buffer of this device has at most {}", context.details.max_buffer),
            });
        }
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        // SAFETY: the device lives.
        let raw = unsafe { context.device.create_buffer(&info, None) }.map_err(failed("vkCreateBuffer"))?;
        // From here on, an early return destroys the buffer.
        let (allocation, heap) = (Allocation::default(), heap.clone());
        let mut buffer = Buffer { raw, allocation, address: 0, bytes, base: 0, foreign: None, direct: false, heap };
        let heap = buffer.heap.clone();
        // SAFETY: the buffer was just made.
        let mut requirements = unsafe { context.device.get_buffer_memory_requirements(raw) };
        requirements.alignment = requirements.alignment.max(16);
        let desc = AllocationCreateDesc {
            name,
            requirements,
            location,
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        };
        {
            let mut allocator = lock(&heap.allocator);
            heap.budget.take(&requirements, location, name, || heap.held(&allocator))?;
            buffer.allocation = allocator.allocate(&desc).map_err(|e| allocation_failed(e, name, bytes))?;
        }
        heap.used.fetch_add(buffer.allocation.size(), Ordering::Relaxed);
        buffer.direct = location != MemoryLocation::GpuOnly && buffer.allocation.mapped_ptr().is_some();
        // SAFETY: the memory is as the buffer requires, and is bound once.
        let bound = unsafe { context.device.bind_buffer_memory(raw, buffer.allocation.memory(), buffer.allocation.offset()) };
        bound.map_err(failed("vkBindBufferMemory"))?;
        if purpose != Purpose::Tensor {
            context.name(raw, name);
        }
        if address {
            buffer.address = context.address_of(raw);
        }
        Ok(buffer)
    }

    /// Wraps a part of a buffer of the caller, from `base` on. It is not destroyed. The owner is dropped when no submission uses it.
    ///
    /// The buffer must be the device's, and live as long as the owner. With SHADER_DEVICE_ADDRESS in `usage`, the device must have
    /// addresses.
    pub(super) fn foreign(
        heap: &Arc<Heap>,
        raw: vk::Buffer,
        (base, bytes): (u64, u64),
        usage: vk::BufferUsageFlags,
        owner: Owner,
    ) -> Buffer {
        let is_addressed = usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        let address = if is_addressed { heap.context.address_of(raw).wrapping_add(base) } else { 0 };
        let (allocation, heap) = (Allocation::default(), heap.clone());
        Buffer { raw, allocation, address, bytes, base, foreign: Some((usage, owner)), direct: false, heap }
    }

    /// Returns true if the buffer was created with a usage. The runtime's own buffers have all that their purpose needs.
    pub(super) fn has_usage(&self, wanted: vk::BufferUsageFlags) -> bool {
        self.foreign.as_ref().is_none_or(|(usage, _)| usage.contains(wanted))
    }

    /// Returns true if the host can access the memory without staging.
    pub(super) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Copies bytes to an offset. Returns false if the host cannot access the memory, or if they do not fit.
    ///
    /// The caller excludes every other access in the meantime.
    pub(super) fn store(&self, offset: u64, bytes: &[u8]) -> bool {
        let Some(at) = self.host(offset, bytes.len()) else { return false };
        // SAFETY: `host` checked the range; no one else accesses it, by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
        true
    }

    /// Copies bytes from an offset. Returns false if the host cannot access the memory, or if the buffer is too small.
    ///
    /// The caller excludes every write in the meantime.
    pub(super) fn load(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let Some(at) = self.host(offset, bytes.len()) else { return false };
        // SAFETY: as in `store`; any contents of device memory are valid bytes.
        unsafe { std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), bytes.len()) };
        true
    }

    /// Fills the first bytes with zeros. Returns false if the host cannot access the memory, or if the buffer is too small.
    ///
    /// The caller excludes every other access in the meantime.
    pub(super) fn zero(&self, bytes: u64) -> bool {
        let Some(at) = usize::try_from(bytes).ok().and_then(|n| self.host(0, n)) else { return false };
        // SAFETY: as in `store`.
        unsafe { std::ptr::write_bytes(at, 0, bytes as usize) };
        true
    }

    /// Returns the host's pointer to `count` bytes at an offset.
    fn host(&self, offset: u64, count: usize) -> Option<*mut u8> {
        let end = offset.checked_add(count as u64)?;
        let base = self.allocation.mapped_ptr().filter(|_| self.direct && end <= self.bytes)?;
        // SAFETY: the offset lies in the allocation, which is at least as large as the buffer.
        Some(unsafe { base.as_ptr().cast::<u8>().add(offset as usize) })
    }
}

impl backend::Buffer for Buffer {
    fn address(&self) -> u64 {
        self.address
    }

    fn mapped(&self) -> Option<std::ptr::NonNull<u8>> {
        std::ptr::NonNull::new(self.host(0, 0)?)
    }

    fn has_address(&self) -> bool {
        self.has_usage(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some((_, owner)) = self.foreign.take() {
            return self.heap.context.free(move |_| drop(owner));
        }
        let (raw, allocation, heap) = (self.raw, std::mem::take(&mut self.allocation), self.heap.clone());
        self.heap.context.free(move |device| {
            // SAFETY: made by `new`, destroyed once; a buffer that a submission uses is not dropped before the submission has ended.
            unsafe { device.destroy_buffer(raw, None) };
            heap.used.fetch_sub(allocation.size(), Ordering::Relaxed);
            if !allocation.is_null()
                && let Err(e) = lock(&heap.allocator).free(allocation)
            {
                log::error!("device memory cannot be freed: {e}");
            }
        });
    }
}

fn describe(heap: &Heap, purpose: Purpose) -> (vk::BufferUsageFlags, MemoryLocation, &'static str) {
    use vk::BufferUsageFlags as Usage;
    match purpose {
        Purpose::Tensor => (Usage::STORAGE_BUFFER | Usage::TRANSFER_SRC | Usage::TRANSFER_DST, heap.tensors, "a tensor"),
        Purpose::Host => (Usage::TRANSFER_SRC | Usage::TRANSFER_DST, MemoryLocation::GpuToCpu, "a tensor of the host"),
        Purpose::Upload => (Usage::TRANSFER_SRC, MemoryLocation::CpuToGpu, "an upload"),
        Purpose::Download => (Usage::TRANSFER_DST, MemoryLocation::GpuToCpu, "a download"),
        Purpose::Params => (Usage::STORAGE_BUFFER, MemoryLocation::CpuToGpu, "parameters"),
        Purpose::Records => (Usage::STORAGE_BUFFER, MemoryLocation::CpuToGpu, "the records of checks"),
        Purpose::Accesses => {
            (Usage::STORAGE_BUFFER | Usage::TRANSFER_DST, MemoryLocation::GpuOnly, "the record of accesses to shared memory")
        }
    }
}

fn allocation_failed(e: AllocationError, name: &str, bytes: u64) -> Error {
    let what = format!("{bytes} bytes for {name}: {e}");
    match e {
        AllocationError::OutOfMemory => Error::OutOfMemory { what },
        // The allocator has its own error for only one of Vulkan's two codes.
        AllocationError::Internal(text) if text.contains("OUT_OF_HOST_MEMORY") => Error::OutOfMemory { what },
        _ => Error::Vulkan { call: "vkAllocateMemory", code: what },
    }
}
