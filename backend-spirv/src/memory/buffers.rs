//! Buffers: how a dispatch uses each, and the variables and pointers that access it.
//!
//! A buffer in device memory is accessed by address or by descriptor, which depends on the profile. It is accessed as
//! elements or as vectors of elements, which are different types for the same memory. Shared memory is an array of
//! elements, or of vectors if lanes access it.

use super::far::Far;
use crate::Result;
use crate::emit::Emit;
use crate::module::{Id, Member, Type};
use rspirv::spirv::{Capability, Decoration, Op, StorageClass};
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::{BufferUse, DType, Feature};
use tilewright_dsl::nest::{BufferId, Space};
use tilewright_dsl::profile::Profile;

/// The buffers of a dispatch.
#[derive(Default)]
pub(crate) struct Buffers {
    views: Map<(BufferId, u32), Id>,
    /// The address of each buffer with the type that it has among the parameters.
    first: Map<BufferId, Id>,
    locals: Map<BufferId, Id>,
    /// Bytes of the widest access to each buffer in device memory.
    widest: Map<BufferId, u32>,
    /// The parts of 64-bit addresses that were computed already.
    pub(crate) far: Far,
    /// The bytes that variables in shared memory take.
    pub(crate) shared_bytes: u32,
}

impl Buffers {
    /// Records an access of `bytes` bytes.
    pub(crate) fn widen(&mut self, buffer: BufferId, bytes: u32) {
        let widest = self.widest.get_or_insert_with(buffer, || bytes);
        *widest = (*widest).max(bytes);
    }
}

/// A pointer to one or more elements.
pub(crate) struct ElementPointer {
    pub(crate) pointer: Id,
    /// The type that the pointer points to.
    pub(crate) of: Id,
    /// The alignment in bytes, if the access must state it.
    pub(crate) aligned: Option<u32>,
}

impl Emit<'_> {
    /// Returns the type that `count` elements have in memory.
    pub(crate) fn memory_type(&mut self, dtype: DType, count: u32) -> Result<Id> {
        let scalar = match dtype {
            DType::F16 if count == 8 => {
                let word = self.module.u32_type();
                return Ok(self.module.vector(word, 4));
            }
            DType::F16 => {
                self.need(
                    Feature::Storage16,
                    "f16 in memory",
                    format_args!("take {}, or tensors of `f32`", Profile::that_have(Feature::Storage16)),
                )?;
                self.module.capability(Capability::StorageBuffer16BitAccess);
                if self.by_address() {
                    // This declares `Float16`. Once push constants point to halves, the validator counts even stores and
                    // conversions of them as arithmetic.
                    self.scalar_type(dtype)?;
                }
                self.module.ty(Type::Float { bits: 16 })
            }
            DType::Bool => self.module.u32_type(),
            DType::F32 | DType::BF16 | DType::I32 | DType::U32 | DType::I8 | DType::U8 => self.scalar_type(dtype)?,
        };
        Ok(self.module.vector(scalar, count))
    }

    /// Returns a pointer to the `index`-th group of `count` elements of a buffer.
    pub(crate) fn place(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<ElementPointer> {
        let index = self.literal_inside(buffer, index);
        match self.program.buffers[buffer].space {
            Space::Shared => self.shared_place(buffer, index, count, level),
            Space::Constant(_) => self.constant_place(buffer, index, level),
            _ => {
                let bytes = self.program.buffers[buffer].dtype.bytes() * count;
                self.buffers.widen(buffer, bytes);
                if self.by_address() {
                    self.address_place(buffer, index, count, level)
                } else {
                    self.descriptor_place(buffer, index, count, level)
                }
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

    /// True if buffers are accessed by address. If the dispatch has buffers of halves, but no arithmetic in f16, they
    /// are not, because push constants may then not hold pointers to halves.
    pub(crate) fn by_address(&self) -> bool {
        let halves = || self.resolver.uses.global.iter().any(|(b, _)| self.program.buffers[*b].dtype == DType::F16);
        self.profile.has(Feature::Address) && (self.native_f16() || !halves())
    }

    /// True if a buffer with this usage is marked as read-only.
    fn marks(&self, usage: &BufferUse) -> bool {
        !usage.writes && !self.program.statements.unmarked
    }

    /// Returns the block type of a buffer in device memory, seen as an array of `of`.
    fn memory_block(&mut self, of: Id, stride: u32, usage: &BufferUse) -> Id {
        let array = self.module.ty(Type::Runtime(of, stride));
        let coherent = self.resolver.uses.coherent && usage.writes && !self.resolver.uses.matrices;
        let read_only = self.marks(usage);
        self.module.ty(Type::Block(vec![Member { of: array, offset: 0, read_only, coherent }]))
    }

    fn address_place(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<ElementPointer> {
        let dtype = self.program.buffers[buffer].dtype;
        let (of, stride) = (self.memory_type(dtype, count)?, dtype.bytes() * count);
        let far = self.is_far(buffer);
        let known = if far { self.buffers.first.get(&buffer) } else { self.buffers.views.get(&(buffer, count)) };
        let base = match known {
            Some(id) => *id,
            None => self.address_view(buffer, count, of, stride)?,
        };
        let zero = self.module.uint(0);
        let (base, index) = match far {
            true => {
                let block = self.address_type(buffer, of, stride)?;
                (self.far(buffer, base, block, index, stride)?, zero)
            }
            false => (base, self.scalar(index)?),
        };
        let pointer = self.module.pointer(StorageClass::PhysicalStorageBuffer, of);
        let pointer = self.ins(level, Op::AccessChain, pointer, &[base, zero, index]);
        Ok(ElementPointer { pointer, of, aligned: Some(stride) })
    }

    /// Returns a buffer's address as a pointer to vectors of `count` elements. For the first such view, it is the
    /// parameter itself.
    fn address_view(&mut self, buffer: BufferId, count: u32, of: Id, stride: u32) -> Result<Id> {
        let Some((_, usage)) = self.resolver.uses.of(buffer) else { return Err(self.unknown_buffer(buffer)) };
        self.features.insert(Feature::Address);
        let pointer = self.address_type(buffer, of, stride)?;
        let id = match self.buffers.first.get(&buffer).copied() {
            Some(first) => self.ins(0, Op::Bitcast, pointer, &[first]),
            None => self.address(buffer, usage.tensor, pointer),
        };
        self.buffers.first.get_or_insert_with(buffer, || id);
        self.buffers.views.insert((buffer, count), id);
        Ok(id)
    }

    /// Returns the type of a pointer to a buffer that is seen as an array of `of`.
    fn address_type(&mut self, buffer: BufferId, of: Id, stride: u32) -> Result<Id> {
        let Some((_, usage)) = self.resolver.uses.of(buffer) else { return Err(self.unknown_buffer(buffer)) };
        let block = self.memory_block(of, stride, &usage);
        Ok(self.module.pointer(StorageClass::PhysicalStorageBuffer, block))
    }

    fn descriptor_place(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<ElementPointer> {
        let dtype = self.program.buffers[buffer].dtype;
        let (of, stride) = (self.memory_type(dtype, count)?, dtype.bytes() * count);
        let base = match self.buffers.views.get(&(buffer, count)) {
            Some(id) => *id,
            None => self.descriptor_view(buffer, count, of, stride)?,
        };
        let (zero, index) = (self.module.uint(0), self.scalar(index)?);
        let pointer = self.module.pointer(StorageClass::StorageBuffer, of);
        Ok(ElementPointer { pointer: self.ins(level, Op::AccessChain, pointer, &[base, zero, index]), of, aligned: None })
    }

    fn descriptor_view(&mut self, buffer: BufferId, count: u32, of: Id, stride: u32) -> Result<Id> {
        let Some((binding, usage)) = self.resolver.uses.of(buffer) else { return Err(self.unknown_buffer(buffer)) };
        let block = self.memory_block(of, stride, &usage);
        let id = self.module.global(StorageClass::StorageBuffer, block, None);
        self.module.decorate(id, Decoration::DescriptorSet, &[0]);
        self.module.decorate(id, Decoration::Binding, &[binding]);
        if self.marks(&usage) {
            self.module.decorate(id, Decoration::NonWritable, &[]);
        }
        self.module.name(id, &self.program.buffers[buffer].name);
        self.buffers.views.insert((buffer, count), id);
        Ok(id)
    }

    /// Decorates variables that share a buffer as `Aliased`, and other written ones as `Restrict`. `Restrict` is valid,
    /// because the launch refuses a written tensor that overlaps another one.
    pub(crate) fn decorate_aliases(&mut self) {
        if self.by_address() {
            return;
        }
        for n in 0..self.resolver.uses.global.len() {
            let (buffer, usage) = self.resolver.uses.global[n];
            let views = [1, 2, 4, 8].map(|count| self.buffers.views.get(&(buffer, count)).copied());
            let several = views.iter().flatten().count() > 1;
            for id in views.into_iter().flatten() {
                if several {
                    self.module.decorate(id, Decoration::Aliased, &[]);
                } else if usage.writes {
                    self.module.decorate(id, Decoration::Restrict, &[]);
                }
            }
        }
    }

    fn unknown_buffer(&self, buffer: BufferId) -> tilewright_dsl::diag::Error {
        self.defect(format!("`{}` is used but was not found", self.program.buffers[buffer].name))
    }

    fn shared_place(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<ElementPointer> {
        let dtype = self.program.buffers[buffer].dtype;
        let group = self.resolver.uses.shared_group(buffer);
        let scalar = self.scalar_type(if dtype == DType::Bool { DType::U32 } else { dtype })?;
        let base = self.shared_variable(buffer, scalar, group)?;
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

    fn shared_variable(&mut self, buffer: BufferId, scalar: Id, group: u32) -> Result<Id> {
        if let Some(id) = self.buffers.locals.get(&buffer) {
            return Ok(*id);
        }
        let elements = self.resolving(|r| r.local_elements(buffer))?;
        let bytes = if self.program.buffers[buffer].dtype == DType::F16 && self.native_f16() { 2 } else { 4 };
        self.buffers.shared_bytes = self.buffers.shared_bytes.saturating_add(elements.saturating_mul(bytes));
        let of = self.module.vector(scalar, group);
        let array = self.module.ty(Type::Array(of, elements / group, None));
        let id = self.module.global(StorageClass::Workgroup, array, None);
        self.module.name(id, &self.program.buffers[buffer].name);
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
