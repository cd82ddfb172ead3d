//! The memory model: GLSL's, or Vulkan's where cooperative matrices are, which need that.
//!
//! In Vulkan's model an access to memory that several invocations touch must say so (`NonPrivatePointer`), and a barrier that what was
//! written becomes visible. There are no coherent buffers.

use crate::emit::Emit;
use rspirv::spirv::{Capability, MemoryAccess, MemorySemantics, Scope};
use smallvec::SmallVec;
use tilewright_dsl::nest::{BufferId, Space};

impl Emit<'_> {
    /// Declares the model that the dispatch is written in.
    pub(crate) fn declare_memory_model(&mut self) {
        if self.resolver.uses.matrices {
            self.module.capability(Capability::VulkanMemoryModel);
            self.module.extension("SPV_KHR_vulkan_memory_model");
        }
    }

    /// The operands of a load or store of a buffer, whose place is a multiple of so many bytes.
    pub(crate) fn memory_operands(&self, buffer: BufferId, aligned: Option<u32>) -> SmallVec<[u32; 2]> {
        let shared = self.program.buffers[buffer].space == Space::Shared || self.is_coherent(buffer);
        operands(aligned, shared && self.resolver.uses.matrices)
    }

    /// The same of shared memory that no buffer of the nest has.
    pub(crate) fn shared_operands(&self) -> SmallVec<[u32; 2]> {
        operands(None, self.resolver.uses.matrices)
    }

    /// Whether invocations see each other's writes to a buffer in device memory.
    pub(crate) fn is_coherent(&self, buffer: BufferId) -> bool {
        let uses = &self.resolver.uses;
        uses.coherent && uses.of(buffer).is_some_and(|(_, usage)| usage.writes)
    }

    /// What a barrier does to memory.
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

    /// The scope of atomics: all that a launch runs. Vulkan's model has the device as a feature of its own.
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
