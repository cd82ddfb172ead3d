//! What a device's heaps have left, asked before the driver is asked for memory.
//!
//! What happens when a driver has no memory left is its own matter: some fail, some take what other programs need, and some let
//! the system end the process. So an allocation that does not fit is an error before it reaches the driver.

use super::context::Context;
use crate::error::{Error, Result};
use crate::memory::lock;
use ash::{ext, vk};
use gpu_allocator::MemoryLocation;
use std::sync::{Arc, Mutex};

/// The budgets of a device's heaps.
pub(super) struct Budget {
    context: Arc<Context>,
    memory: vk::PhysicalDeviceMemoryProperties,
    /// By heap.
    left: Mutex<[Left; vk::MAX_MEMORY_HEAPS]>,
}

/// What can be taken of a heap without asking the driver again: asking costs more than most allocations do.
#[derive(Clone, Copy, Default)]
struct Left(u64);

impl Left {
    /// Takes bytes; `ask` tells how many the heap has. The error is that number.
    fn take(&mut self, bytes: u64, ask: impl FnOnce() -> u64) -> Result<(), u64> {
        if bytes <= self.0 {
            self.0 -= bytes;
            return Ok(());
        }
        let all = ask();
        let rest = all.checked_sub(bytes).ok_or(all)?;
        // Others take memory too: with half of it gone, it is asked again.
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

    /// Takes what a buffer requires from the budget of its heap.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], where the heap has less.
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

    /// The heap from which the allocator takes memory for a location: that of the first type that has all of the wanted flags.
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

    /// What a heap has left for this process: what of its size no buffer has, and no more than its budget, where there is
    /// VK_EXT_memory_budget. (A budget alone says too much where a driver counts memory only when it is touched.)
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

/// What the allocator has taken from the driver.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// Bytes that buffers have of it.
    pub(super) used: u64,
    /// Bytes that no buffer has.
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
