//! Buffers: how a dispatch uses each, and the variables and pointers that access it.
//!
//! A buffer in device memory is accessed by address or by descriptor, which depends on the profile. It is accessed as
//! elements or as vectors of elements, which are different types for the same memory. Shared memory is an array of
//! elements, or of vectors if lanes access it.

use super::far::Far;
use crate::Result;
use crate::context::BlockContext;
use crate::module::{Id, Member, Module, Type};
use crate::writer::Writer;
use spirv::{Capability, Decoration, Op, StorageClass};
use std::collections::BTreeMap;
use tilewright_codegen::Resolver;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::{BufferUse, DType, Feature};
use tilewright_dsl::nest::local_bytes::is_stored_narrow;
use tilewright_dsl::nest::{BufferId, Space};
use tilewright_dsl::profile::Profile;

/// The buffers of a dispatch.
#[derive(Default)]
pub(crate) struct Buffers {
    views: Map<(BufferId, u32), Id>,
    /// The address of each buffer with the type that it has among the parameters.
    first: Map<BufferId, Id>,
    locals: Map<BufferId, Id>,
    /// The arrays of overlaid buffers.
    overlaid: BTreeMap<DType, Id>,
    /// Bytes of the widest access to each buffer in device memory.
    widest: Map<BufferId, u32>,
    /// The parts of 64-bit addresses that were computed already.
    pub(super) far: Far,
}

impl Buffers {
    /// Records an access of `bytes` bytes.
    pub(crate) fn widen(&mut self, buffer: BufferId, bytes: u32) {
        let widest = self.widest.get_or_insert_with(buffer, || bytes);
        *widest = (*widest).max(bytes);
    }

    /// Decorates variables that share a buffer as `Aliased`, and other written ones as `Restrict`. `Restrict` is valid,
    /// because the launch refuses a written tensor that overlaps another one.
    pub(crate) fn decorate_aliases(&self, module: &mut Module, global: &[(BufferId, BufferUse)]) {
        for (buffer, usage) in global {
            let views = [1, 2, 4, 8, 16].map(|count| self.views.get(&(*buffer, count)).copied());
            let several = views.iter().flatten().count() > 1;
            for id in views.into_iter().flatten() {
                if several {
                    module.decorate(id, Decoration::Aliased, &[]);
                } else if usage.writes {
                    module.decorate(id, Decoration::Restrict, &[]);
                }
            }
        }
    }
}

/// A buffer in device memory that is seen as an array of vectors.
struct BufferView {
    buffer: BufferId,
    usage: BufferUse,
    binding: u32,
    /// The number of elements in a vector, their type, and their bytes.
    count: u32,
    of: Id,
    stride: u32,
}

/// True if buffers are accessed by address. A dispatch with buffers of 8- or 16-bit elements uses descriptors if the profile lacks arithmetic
/// on these elements, because push constants may then not hold pointers to them.
pub(crate) fn are_accessed_by_address(r: &Resolver<'_>) -> bool {
    let has = |(buffer, _): &(BufferId, BufferUse)| {
        let dtype = r.program.buffers[*buffer].dtype;
        dtype == DType::I64 || is_stored_narrow(dtype, r.profile)
    };
    r.profile.has(Feature::Address) && r.uses.global.iter().all(has)
}

/// A pointer to one or more elements.
pub(crate) struct ElementPointer {
    pub(crate) pointer: Id,
    /// The type that the pointer points to.
    pub(crate) of: Id,
    /// The alignment in bytes, if the access must state it.
    pub(crate) aligned: Option<u32>,
}

impl BlockContext<'_> {
    /// Returns a pointer to the `index`-th group of `count` elements of a buffer.
    pub(crate) fn place(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<ElementPointer> {
        let index = self.literal_inside(buffer, index);
        match self.program.buffers[buffer].space {
            Space::Shared => self.shared_place(buffer, index, count, level),
            Space::Constant(_) => self.constant_place(buffer, index, level),
            _ => {
                let dtype = self.program.buffers[buffer].dtype;
                let Some((binding, usage)) = self.resolver.uses.of(buffer) else { return Err(self.unknown_buffer(buffer)) };
                let (of, stride) = (self.memory_type(dtype, count)?, dtype.bytes() * count);
                self.buffers.widen(buffer, stride);
                let view = BufferView { buffer, usage, binding, count, of, stride };
                if self.by_address { self.address_place(&view, index, level) } else { self.descriptor_place(&view, index, level) }
            }
        }
    }

    /// Returns an index, or the nearest valid one if it is a literal below 0 or past the end of a table. Code that does not run can have
    /// such an index, and SPIR-V does not allow it.
    fn literal_inside(&mut self, buffer: BufferId, index: ValueId) -> ValueId {
        let Some(at) = self.resolver.values.as_int(index) else { return index };
        let last = match &self.program.buffers[buffer].space {
            Space::Constant(data) => data.len() as i64 - 1,
            _ => i64::MAX,
        };
        if (0..=last).contains(&at) { index } else { self.resolver.values.int(at.min(last).max(0)) }
    }

    /// Returns the alignment of a buffer in device memory, in bytes: the width of its widest access.
    pub(crate) fn alignment(&self, buffer: BufferId) -> u32 {
        self.buffers.widest.get(&buffer).map_or(1, |bytes| *bytes).max(self.program.buffers[buffer].dtype.bytes())
    }

    /// Returns the block type of a view.
    fn memory_block(&mut self, view: &BufferView) -> Id {
        let array = self.module.ty(Type::Runtime(view.of, view.stride));
        let coherent = self.memory_model.declares_coherent(view.usage.writes);
        let read_only = self.marks(&view.usage);
        self.module.ty(Type::Block(vec![Member { of: array, offset: 0, read_only, coherent }]))
    }

    fn address_place(&mut self, view: &BufferView, index: ValueId, level: u32) -> Result<ElementPointer> {
        let BufferView { buffer, count, of, stride, .. } = *view;
        let far = self.is_far(buffer);
        let known = if far { self.buffers.first.get(&buffer) } else { self.buffers.views.get(&(buffer, count)) };
        let base = match known {
            Some(id) => *id,
            None => self.address_view(view),
        };
        let zero = self.module.uint(0);
        let (base, index) = match far {
            true => {
                let block = self.address_type(view);
                (self.far(buffer, base, block, index, stride)?, zero)
            }
            false => (base, self.scalar(index)?),
        };
        let pointer = self.module.pointer(StorageClass::PhysicalStorageBuffer, of);
        let pointer = self.ins(level, Op::AccessChain, pointer, &[base, zero, index]);
        Ok(ElementPointer { pointer, of, aligned: Some(stride) })
    }

    /// Returns the address of a view. For the first view of a buffer, it is the parameter itself.
    fn address_view(&mut self, view: &BufferView) -> Id {
        self.features.insert(Feature::Address);
        let pointer = self.address_type(view);
        let id = match self.buffers.first.get(&view.buffer).copied() {
            Some(first) => self.ins(0, Op::Bitcast, pointer, &[first]),
            None => {
                let (w, name) = (&mut self.writer, &self.resolver.program.buffers[view.buffer].name);
                w.params.address(&mut w.module, (view.buffer, name), view.usage.tensor, pointer)
            }
        };
        self.buffers.first.get_or_insert_with(view.buffer, || id);
        self.buffers.views.insert((view.buffer, view.count), id);
        id
    }

    /// Returns the type of the address of a view.
    fn address_type(&mut self, view: &BufferView) -> Id {
        let block = self.memory_block(view);
        self.module.pointer(StorageClass::PhysicalStorageBuffer, block)
    }

    fn descriptor_place(&mut self, view: &BufferView, index: ValueId, level: u32) -> Result<ElementPointer> {
        let base = match self.buffers.views.get(&(view.buffer, view.count)) {
            Some(id) => *id,
            None => self.descriptor_view(view),
        };
        let (zero, index) = (self.module.uint(0), self.scalar(index)?);
        let pointer = self.module.pointer(StorageClass::StorageBuffer, view.of);
        let pointer = self.ins(level, Op::AccessChain, pointer, &[base, zero, index]);
        Ok(ElementPointer { pointer, of: view.of, aligned: None })
    }

    fn descriptor_view(&mut self, view: &BufferView) -> Id {
        let block = self.memory_block(view);
        let id = self.module.global(StorageClass::StorageBuffer, block, None);
        self.module.decorate(id, Decoration::DescriptorSet, &[0]);
        self.module.decorate(id, Decoration::Binding, &[view.binding]);
        if self.marks(&view.usage) {
            self.module.decorate(id, Decoration::NonWritable, &[]);
        }
        self.writer.module.name(id, &self.writer.program.buffers[view.buffer].name);
        self.buffers.views.insert((view.buffer, view.count), id);
        id
    }

    fn unknown_buffer(&self, buffer: BufferId) -> tilewright_dsl::diag::Error {
        self.defect(format!("`{}` is used but was not found", self.program.buffers[buffer].name))
    }

    fn shared_place(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<ElementPointer> {
        let dtype = self.program.buffers[buffer].dtype;
        let group = self.resolver.uses.shared_group(buffer);
        let scalar = self.shared_type(dtype)?;
        let base = self.shared_variable(buffer, dtype, group)?;
        // A group that is accessed whole is counted in groups.
        let first =
            self.program.overlaid(buffer).map_or(0, |range| range.start / if count == group { i64::from(group) } else { 1 });
        let first = self.resolver.values.int(first);
        let index = self.resolver.values.plus(first, index);
        let of = self.module.vector(scalar, count);
        let pointer = self.module.pointer(StorageClass::Workgroup, of);
        let pointer = if count == group {
            let index = self.scalar(index)?;
            self.ins(level, Op::AccessChain, pointer, &[base, index])
        } else {
            let by = self.resolver.values.int(group.into());
            let (row, column) = (self.resolver.values.floor_div(index, by), self.resolver.values.floor_mod(index, by));
            let (row, column) = (self.scalar(row)?, self.scalar(column)?);
            self.ins(level, Op::AccessChain, pointer, &[base, row, column])
        };
        Ok(ElementPointer { pointer, of, aligned: None })
    }

    fn shared_variable(&mut self, buffer: BufferId, dtype: DType, group: u32) -> Result<Id> {
        if let Some(id) = self.buffers.locals.get(&buffer) {
            return Ok(*id);
        }
        let is_overlaid = self.program.overlaid(buffer).is_some();
        if let Some(id) = self.buffers.overlaid.get(&dtype).filter(|_| is_overlaid) {
            return Ok(*id);
        }
        let elements = match is_overlaid {
            true => self.resolver.uses.overlaid_elements(dtype),
            false => self.resolving(|r| r.local_elements(buffer))?,
        };
        let id = self.shared_array(dtype, elements, group)?;
        if is_overlaid {
            self.buffers.overlaid.insert(dtype, id);
            self.writer.module.name(id, &format!("shared_{dtype}"));
            return Ok(id);
        }
        self.writer.module.name(id, &self.writer.program.buffers[buffer].name);
        self.buffers.locals.insert(buffer, id);
        Ok(id)
    }

    fn constant_place(&mut self, buffer: BufferId, index: ValueId, level: u32) -> Result<ElementPointer> {
        let b = &self.program.buffers[buffer];
        let Space::Constant(data) = &b.space else { return Err(self.unknown_buffer(buffer)) };
        let of = self.scalar_type(b.dtype)?;
        let base = match self.buffers.locals.get(&buffer) {
            Some(id) => *id,
            None => {
                let parts: Vec<Id> = data.iter().map(|c| self.constant(*c)).collect::<Result<_>>()?;
                let array = self.module.ty(Type::Array(of, parts.len() as u32, None));
                let value = self.module.composite(array, &parts);
                let id = self.module.global(StorageClass::Private, array, Some(value));
                self.module.name(id, &b.name);
                self.buffers.locals.insert(buffer, id);
                id
            }
        };
        let (pointer, index) = (self.module.pointer(StorageClass::Private, of), self.scalar(index)?);
        Ok(ElementPointer { pointer: self.ins(level, Op::AccessChain, pointer, &[base, index]), of, aligned: None })
    }
}

impl Writer<'_> {
    /// Returns the type that `count` elements have in memory.
    pub(crate) fn memory_type(&mut self, dtype: DType, count: u32) -> Result<Id> {
        if dtype.is_narrow() {
            return self.packed_type(dtype, count);
        }
        let scalar = match dtype {
            DType::F16 if count == 8 => {
                let word = self.module.u32_type();
                return Ok(self.module.vector(word, 4));
            }
            DType::F16 => {
                let profiles = Profile::that_have(Feature::Storage16);
                self.need(Feature::Storage16, "f16 in memory", format_args!("take {profiles}, or tensors of `f32`"))?;
                self.module.capability(Capability::StorageBuffer16BitAccess);
                if self.by_address {
                    // This declares `Float16`. Once push constants point to halves, the validator counts even stores and
                    // conversions of them as arithmetic.
                    self.scalar_type(dtype)?;
                }
                self.module.ty(Type::Float { bits: 16 })
            }
            DType::Bool => self.module.u32_type(),
            _ => self.scalar_type(dtype)?,
        };
        Ok(self.module.vector(scalar, count))
    }

    /// True if a buffer with this usage is marked as read-only.
    fn marks(&self, usage: &BufferUse) -> bool {
        !usage.writes && !self.program.statements.unmarked
    }
}
