//! The memory model: GLSL's, or Vulkan's if there are cooperative matrices, which require it.
//!
//! In Vulkan's model, an access to memory that several invocations access must say so (`NonPrivatePointer`), and a barrier must say
//! that writes become available and visible. Buffers cannot be declared coherent.

use crate::context::BlockContext;
use rspirv::spirv::{Capability, MemoryAccess, MemorySemantics, Scope};
use smallvec::SmallVec;
use tilewright_dsl::nest::{BufferId, Space};

impl BlockContext<'_> {
    /// Declares the memory model of the dispatch.
    pub(crate) fn declare_memory_model(&mut self) {
        if self.resolver.uses.matrices {
            self.module.capability(Capability::VulkanMemoryModel);
            self.module.extension("SPV_KHR_vulkan_memory_model");
        }
    }

    /// Returns the memory operands for a load or store of a buffer. `aligned` is the alignment in bytes.
    pub(crate) fn memory_operands(&self, buffer: BufferId, aligned: Option<u32>) -> SmallVec<[u32; 2]> {
        let uses = &self.resolver.uses;
        let is_coherent = || uses.coherent && uses.of(buffer).is_some_and(|(_, usage)| usage.writes);
        let shared = self.program.buffers[buffer].space == Space::Shared || is_coherent();
        operands(aligned, shared && uses.matrices)
    }

    /// Returns the memory operands for shared memory that does not belong to a buffer of the nest.
    pub(crate) fn shared_operands(&self) -> SmallVec<[u32; 2]> {
        operands(None, self.resolver.uses.matrices)
    }

    /// Returns the memory semantics of a barrier.
    pub(crate) fn barrier_semantics(&self) -> u32 {
        let mut semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        if self.resolver.uses.coherent {
            semantics |= MemorySemantics::UNIFORM_MEMORY;
        }
        if self.resolver.uses.matrices {
            semantics |= MemorySemantics::MAKE_AVAILABLE | MemorySemantics::MAKE_VISIBLE;
        }
        semantics.bits()
    }

    /// Returns the scope of atomics, which includes everything that a launch runs. In Vulkan's model, the device scope is a feature of
    /// its own, so that the queue family is used.
    pub(crate) fn widest_scope(&self) -> Scope {
        if self.resolver.uses.matrices { Scope::QueueFamily } else { Scope::Device }
    }
}

fn operands(aligned: Option<u32>, shared: bool) -> SmallVec<[u32; 2]> {
    let mut bits = MemoryAccess::NONE;
    if aligned.is_some() {
        bits |= MemoryAccess::ALIGNED;
    }
    if shared {
        bits |= MemoryAccess::NON_PRIVATE_POINTER;
    }
    let all = (!bits.is_empty()).then_some(bits.bits());
    all.into_iter().chain(aligned).collect()
}
