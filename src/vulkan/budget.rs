//! Checks the remaining budget of a device's heaps before memory is allocated from the driver.
//!
//! Drivers behave differently when they run out of memory: some fail, some take memory that other programs need, and some let the
//! system kill the process. Therefore an allocation that does not fit is an error before it reaches the driver.

use super::context::Context;
use crate::device::memory::lock;
use crate::error::{Error, Result};
use ash::{ext, vk};
use gpu_allocator::MemoryLocation;
use std::sync::{Arc, Mutex};

/// The budgets of a device's heaps.
pub(super) struct Budget {
    context: Arc<Context>,
    memory: vk::PhysicalDeviceMemoryProperties,
    /// The remaining bytes of each heap.
    left: Mutex<[Left; vk::MAX_MEMORY_HEAPS]>,
}

/// The bytes that can be taken from a heap before the driver's budget is queried again, because a query costs more than most
/// allocations.
#[derive(Clone, Copy, Default)]
struct Left(u64);

impl Left {
    /// Takes bytes; `ask` returns how many the heap has left. The error is that number.
    fn take(&mut self, bytes: u64, ask: impl FnOnce() -> u64) -> Result<(), u64> {
        if bytes <= self.0 {
            self.0 -= bytes;
            return Ok(());
        }
        let all = ask();
        let rest = all.checked_sub(bytes).ok_or(all)?;
        // Other processes allocate memory, too, so the budget is queried again after half of it is used.
        self.0 = rest / 2;
        Ok(())
    }
}

impl Budget {
    pub(super) fn new(context: Arc<Context>) -> Budget {
        // SAFETY: the physical device is the instance's.
        let memory = unsafe { context.instance.raw().get_physical_device_memory_properties(context.physical) };
        Budget { context, memory, left: Mutex::default() }
    }

    /// Takes the bytes that a buffer requires from the budget of its heap.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the heap has less.
    pub(super) fn take(
        &self,
        requirements: &vk::MemoryRequirements,
        location: MemoryLocation,
        name: &str,
        allocator: impl FnOnce() -> Held,
    ) -> Result<()> {
        let Some(heap) = self.heap(requirements.memory_type_bits, location) else { return Ok(()) };
        let mut left = lock(&self.left);
        let Some(left) = left.get_mut(heap) else { return Ok(()) };
        left.take(requirements.size, || self.ask(heap, allocator())).map_err(|left| Error::OutOfMemory {
            what: format!("{} bytes for {name}: the device has {left} left", requirements.size),
        })
    }

    /// Returns the heap from which the allocator takes memory for a location: the heap of the first memory type that has all wanted
    /// flags.
    fn heap(&self, bits: u32, location: MemoryLocation) -> Option<usize> {
        use vk::MemoryPropertyFlags as Flags;
        let host = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let (preferred, required) = match location {
            MemoryLocation::GpuOnly => (Flags::DEVICE_LOCAL, Flags::DEVICE_LOCAL),
            MemoryLocation::CpuToGpu => (host | Flags::DEVICE_LOCAL, host),
            MemoryLocation::GpuToCpu => (host | Flags::HOST_CACHED, host),
            MemoryLocation::Unknown => (Flags::empty(), Flags::empty()),
        };
        let types = self.memory.memory_types_as_slice();
        let first = |flags| {
            let fits = |(n, ty): &(usize, &vk::MemoryType)| bits >> n & 1 == 1 && ty.property_flags.contains(flags);
            types.iter().enumerate().find(fits).map(|(_, ty)| ty.heap_index as usize)
        };
        first(preferred).or_else(|| first(required))
    }

    /// Returns the bytes that a heap has left for this process: its size less all buffers, but at most its budget if
    /// VK_EXT_memory_budget is available. The budget alone is too large with drivers that count memory only when it is first
    /// accessed.
    fn ask(&self, heap: usize, held: Held) -> u64 {
        let size = self.memory.memory_heaps_as_slice().get(heap).map_or(0, |h| h.size).saturating_sub(held.used);
        if !self.context.details.extensions.contains(&ext::memory_budget::NAME) {
            return size;
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the physical device is the instance's, and has the extension.
        unsafe { self.context.instance.raw().get_physical_device_memory_properties2(self.context.physical, &mut properties) };
        let of = |list: &[u64]| list.get(heap).copied().unwrap_or_default();
        size.min(of(&budget.heap_budget).saturating_sub(of(&budget.heap_usage)).saturating_add(held.free))
    }
}

/// The memory that the allocator has taken from the driver.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// Bytes that buffers occupy.
    pub(super) used: u64,
    /// Bytes that no buffer occupies.
    pub(super) free: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_asked_again_when_half_of_what_it_had_is_taken() {
        let mut left = Left::default();
        assert_eq!(left.take(100, || 1100), Ok(()));
        assert_eq!(left.take(500, || unreachable!("it was told 500 more")), Ok(()));
        assert_eq!(left.take(1, || 0), Err(0), "another process has taken the rest");
        assert_eq!(left.take(40, || 39), Err(39));
        assert_eq!(left.take(40, || 40), Ok(()));
        assert_eq!(left.take(1, || 0), Err(0));
    }
}
