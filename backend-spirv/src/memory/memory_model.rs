//! The memory model: GLSL's, or Vulkan's if there are cooperative matrices, which require it.
//!
//! In Vulkan's model, an access to memory that several invocations access must say so (`NonPrivatePointer`), and a barrier must say
//! that writes become available and visible. Buffers cannot be declared coherent.

use crate::module::Module;
use smallvec::SmallVec;
use spirv::{Capability, MemoryAccess, MemorySemantics, Scope};
use tilewright_codegen::Uses;

/// The memory model of a dispatch.
#[derive(Clone, Copy)]
pub(crate) struct MemoryModel {
    is_vulkan: bool,
    /// True if invocations see each other's writes to buffers in device memory.
    pub(super) is_coherent: bool,
}

impl MemoryModel {
    pub(crate) fn new(uses: &Uses) -> MemoryModel {
        MemoryModel { is_vulkan: uses.matrices, is_coherent: uses.coherent }
    }

    /// Declares the memory model.
    pub(crate) fn declare(self, module: &mut Module) {
        if self.is_vulkan {
            module.capability(Capability::VulkanMemoryModel);
            module.extension("SPV_KHR_vulkan_memory_model");
        }
    }

    /// True if a buffer is declared as coherent.
    pub(super) fn declares_coherent(self, is_written: bool) -> bool {
        self.is_coherent && is_written && !self.is_vulkan
    }

    /// Returns the memory operands for a load or store. `aligned` is the alignment in bytes. `is_shared` is true if several invocations
    /// access the memory.
    pub(crate) fn operands(self, is_shared: bool, aligned: Option<u32>) -> SmallVec<[u32; 2]> {
        let mut bits = MemoryAccess::NONE;
        if aligned.is_some() {
            bits |= MemoryAccess::ALIGNED;
        }
        if is_shared && self.is_vulkan {
            bits |= MemoryAccess::NON_PRIVATE_POINTER;
        }
        let all = (!bits.is_empty()).then_some(bits.bits());
        all.into_iter().chain(aligned).collect()
    }

    /// Returns the memory operands for shared memory that does not belong to a buffer of the nest.
    pub(crate) fn shared_operands(self) -> SmallVec<[u32; 2]> {
        self.operands(true, None)
    }

    /// Returns the memory semantics of a barrier.
    pub(crate) fn barrier_semantics(self) -> u32 {
        let mut semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        if self.is_coherent {
            semantics |= MemorySemantics::UNIFORM_MEMORY;
        }
        if self.is_vulkan {
            semantics |= MemorySemantics::MAKE_AVAILABLE | MemorySemantics::MAKE_VISIBLE;
        }
        semantics.bits()
    }

    /// Returns the scope of atomics, which includes everything that a launch runs. In Vulkan's model, the device scope is a feature of
    /// its own, so that the queue family is used.
    pub(crate) fn widest_scope(self) -> Scope {
        if self.is_vulkan { Scope::QueueFamily } else { Scope::Device }
    }
}
