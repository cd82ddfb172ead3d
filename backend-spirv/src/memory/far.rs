//! Addresses of elements in tensors of more than 4 GiB, computed in 64 bits.
//!
//! An access chain with a 64-bit index would mean the same, but a driver computes the offset of a chain in 32 bits even then
//! (`docs/drivers.md`). So the address itself is computed. It is converted to a pointer to the buffer's block type, and element 0 of
//! that block is accessed, because the block's type says what a driver may assume about the memory.

use crate::Result;
use crate::context::BlockContext;
use crate::module::Id;
use spirv::Op;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::{Feature, MOST};
use tilewright_dsl::nest::BufferId;

/// The greatest constant that is added to an address last. An index without that constant still fits 32 bits, because no tensor has
/// more than [`MOST`] elements.
const MOST_ADDED: i64 = i32::MAX as i64 - MOST;

/// The addresses, and the parts of addresses, that were computed already.
#[derive(Default)]
pub(crate) struct Far {
    starts: Map<BufferId, Id>,
    /// Byte offsets, by index and by the bytes of an element.
    offsets: Map<(ValueId, u32), Id>,
    addresses: Map<(BufferId, ValueId, u32), Id>,
}

impl BlockContext<'_> {
    /// True if a buffer may have more than 4 GiB, and the profile can compute 64-bit addresses.
    pub(crate) fn is_far(&self, buffer: BufferId) -> bool {
        let b = &self.program.buffers[buffer];
        let mut extents = b.shape.iter().map(|extent| self.program.exprs.as_int(*extent));
        let bytes = extents.try_fold(i64::from(b.dtype.bytes()), |bytes, extent| bytes.checked_mul(extent?));
        let has_gaps = self.program.strides(buffer).is_some();
        self.profile.has(Feature::Int64) && (has_gaps || bytes.is_none_or(|bytes| bytes > 1 << 32))
    }

    /// Returns the address of an element of a buffer that begins at `base`, as a pointer of type `block`.
    pub(crate) fn far(&mut self, buffer: BufferId, base: Id, block: Id, index: ValueId, stride: u32) -> Result<Id> {
        let level = self.resolver.values.node(index).level;
        let address = self.far_address(buffer, base, index, stride)?;
        Ok(self.ins(level, Op::ConvertUToPtr, block, &[address]))
    }

    /// Computes an address. The constant part of an index is added last, so that the access instruction can hold it as its offset.
    fn far_address(&mut self, buffer: BufferId, base: Id, index: ValueId, stride: u32) -> Result<Id> {
        if let Some(id) = self.buffers.far.addresses.get(&(buffer, index, stride)) {
            return Ok(*id);
        }
        self.features.insert(Feature::Int64);
        let (level, ty) = (self.resolver.values.node(index).level, self.module.u64_type());
        let (from, by) = match self.resolver.values.constant_part(index).filter(|c| c.abs() <= MOST_ADDED) {
            Some(constant) => {
                let less = self.resolver.values.int(-constant);
                let rest = self.resolver.values.plus(index, less);
                (self.far_address(buffer, base, rest, stride)?, self.module.u64((constant * i64::from(stride)).cast_unsigned()))
            }
            None => (self.far_start(buffer, base), self.far_offset(index, stride)?),
        };
        let id = self.ins(level, Op::IAdd, ty, &[from, by]);
        self.buffers.far.addresses.insert((buffer, index, stride), id);
        Ok(id)
    }

    fn far_start(&mut self, buffer: BufferId, base: Id) -> Id {
        if let Some(id) = self.buffers.far.starts.get(&buffer) {
            return *id;
        }
        let ty = self.module.u64_type();
        let id = self.ins(0, Op::ConvertPtrToU, ty, &[base]);
        self.buffers.far.starts.insert(buffer, id);
        id
    }

    fn far_offset(&mut self, index: ValueId, stride: u32) -> Result<Id> {
        if let Some(id) = self.buffers.far.offsets.get(&(index, stride)) {
            return Ok(*id);
        }
        let (level, ty) = (self.resolver.values.node(index).level, self.module.u64_type());
        let id = self.scalar(index)?;
        let wide = self.ins(level, Op::SConvert, ty, &[id]);
        let bytes = self.module.u64(stride.into());
        let id = self.ins(level, Op::IMul, ty, &[wide, bytes]);
        self.buffers.far.offsets.insert((index, stride), id);
        Ok(id)
    }
}
