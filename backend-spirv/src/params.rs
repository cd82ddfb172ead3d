//! The parameter block: addresses, sizes and scalars of the launch, each only if the dispatch uses it.
//!
//! The block is known when all is emitted, and its loads come first in the function: a parameter has its id from its
//! first use on, and [`Emit::prologue`] writes the loads at the end.

use crate::emit::{Emit, Result};
use crate::hash::Map;
use crate::module::{Code, Id, Member, Type};
use crate::values::{Kind, ValueId};
use rspirv::spirv::{Decoration, MemoryAccess, Op, StorageClass};
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Binary, Expr};
use tilewright_dsl::launch::{DType, Param, ParamValue, Relation, Size};
use tilewright_dsl::lower::launch::{scalar_index, size};
use tilewright_dsl::nest::{BufferId, DimId, Program, ScalarId};

/// The parameters so far, in the order of their first use.
#[derive(Default)]
pub(crate) struct Params {
    entries: Vec<Entry>,
    sizes: Map<Size, u32>,
    scalars: Map<u32, u32>,
    addresses: Map<BufferId, u32>,
    /// What the specialization constants are, by `SpecId`.
    constants: Vec<Size>,
}

/// A parameter.
struct Entry {
    value: ParamValue,
    /// Its type in the block.
    of: Id,
    /// What it is loaded as, or the specialization constant that it is.
    id: Id,
    source: Source,
}

/// Where a parameter comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The parameter block.
    Block,
    /// The pipeline: a specialization constant, which is written where it is first used. (Each value of one is another pipeline.)
    Constant { written: bool },
}

/// The finished block.
pub(crate) struct Block {
    pub(crate) constants: Vec<Size>,
    pub(crate) params: Vec<Param>,
    pub(crate) bytes: u32,
    pub(crate) spilled: bool,
    /// The loads.
    pub(crate) code: Code,
}

/// The dims that a condition of the form `D % 4 == 0` makes multiples of a literal.
pub(crate) fn multiples(program: &Program) -> Map<u32, i64> {
    let mut multiples: Map<u32, i64> = Map::default();
    for c in &program.conditions {
        let exprs = &program.exprs;
        let Expr::Binary(Binary::FloorMod | Binary::Rem, dim, by) = exprs.get(c.left) else { continue };
        let (Expr::Dim(dim), Some(by), Some(0)) = (exprs.get(*dim), exprs.as_int(*by), exprs.as_int(c.right)) else { continue };
        if c.relation == Relation::Eq && (1..=1 << 16).contains(&by) {
            let known = multiples.get_or_insert_with(dim.index() as u32, || 1);
            *known = (*known * by / gcd(*known, by)).min(1 << 24).max(*known);
        }
    }
    multiples
}

/// Of every dim, whether it is pinned, or derived from pinned ones alone.
pub(crate) fn pinned(program: &Program) -> Vec<bool> {
    let mut pinned = vec![false; program.dims.len()];
    for (id, dim) in program.dims.iter() {
        let follows = |value| size(program, value).is_some_and(|s| !s.any_dim(&|d| !pinned.get(d as usize).is_some_and(|p| *p)));
        pinned[id.index()] = match dim.derived {
            None => program.pinned.contains(&id),
            Some(value) => follows(value),
        };
    }
    pinned
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Emit<'_> {
    /// The value of a dim. One that is a multiple of 32 is 32 times a parameter, so that indices divide by it.
    pub(crate) fn dim(&mut self, dim: DimId) -> Result<ValueId> {
        let n = dim.index() as u32;
        Ok(match self.multiples.get(&n).copied() {
            Some(by) if by > 1 => {
                let part = Size::FloorDiv(Size::Dim(n).into(), Size::Const(by).into());
                let part = self.size_param(part)?;
                self.values.scaled(part, by)
            }
            _ => self.size_param(Size::Dim(n))?,
        })
    }

    /// A size that the launch computes.
    pub(crate) fn size_param(&mut self, size: Size) -> Result<ValueId> {
        let bounds = size.bounds();
        let n = self.size_entry(size)?;
        Ok(self.values.size(n, bounds))
    }

    fn size_entry(&mut self, size: Size) -> Result<u32> {
        if let Some(n) = self.params.sizes.get(&size) {
            return Ok(*n);
        }
        let of = self.scalar_type(DType::I32)?;
        let source = if self.is_pinned(&size) { Source::Constant { written: false } } else { Source::Block };
        let n = self.entry_from(source, ParamValue::Size(size.clone()), of);
        self.params.sizes.insert(size, n);
        Ok(n)
    }

    /// The size that parameter number `n` is.
    pub(crate) fn size_of(&self, n: u32) -> Option<&Size> {
        match &self.params.entries.get(n as usize)?.value {
            ParamValue::Size(size) => Some(size),
            _ => None,
        }
    }

    /// Whether a size is made of pinned dims alone.
    fn is_pinned(&self, size: &Size) -> bool {
        let pinned = |d: u32| self.pinned.get(d as usize).is_some_and(|pinned| *pinned);
        size.any_dim(&|_| true) && !size.any_dim(&|d| !pinned(d))
    }

    /// Whether a value is known when the pipeline is made.
    pub(crate) fn is_folded(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Const(_) => true,
            Kind::Param(n) => self.params.entries.get(*n as usize).is_some_and(|e| e.source != Source::Block),
            Kind::Sum(sum) => sum.terms.iter().flat_map(|t| &t.factors).all(|factor| self.is_folded(*factor)),
            Kind::Op(_, operands) => operands.iter().all(|operand| self.is_folded(*operand)),
            _ => false,
        }
    }

    /// The workgroup at which a dispatch begins, as an id: larger grids than a device can dispatch come in pieces.
    pub(crate) fn group_base(&mut self, dim: u8) -> Result<Id> {
        let of = self.scalar_type(DType::I32)?;
        let n = self.entry(ParamValue::GroupBase(dim), of);
        self.param(n)
    }

    /// A zero, as an id: one that a driver's compiler does not know.
    pub(crate) fn zero_param(&mut self) -> Result<Id> {
        let n = self.size_entry(Size::Const(0))?;
        self.param(n)
    }

    /// A scalar argument, as it travels: f16 as f32, bool as a word.
    pub(crate) fn scalar_param(&mut self, scalar: ScalarId) -> Result<ValueId> {
        let index = scalar_index(self.program, scalar);
        let dtype = match self.program.scalars[scalar].dtype {
            DType::F16 => DType::F32,
            DType::Bool => DType::U32,
            dtype @ (DType::F32 | DType::BF16 | DType::I32 | DType::U32 | DType::I8 | DType::U8) => dtype,
        };
        let n = match self.params.scalars.get(&index) {
            Some(n) => *n,
            None => {
                let of = self.scalar_type(dtype)?;
                let n = self.entry(ParamValue::Scalar(index), of);
                self.params.scalars.insert(index, n);
                n
            }
        };
        Ok(self.values.scalar_param(n, dtype))
    }

    /// The address of a tensor, as a pointer of a type.
    pub(crate) fn address(&mut self, buffer: BufferId, tensor: u32, pointer: Id) -> Id {
        let n = match self.params.addresses.get(&buffer) {
            Some(n) => *n,
            None => {
                let n = self.entry(ParamValue::Address(tensor), pointer);
                self.params.addresses.insert(buffer, n);
                n
            }
        };
        self.params.entries[n as usize].id
    }

    fn entry(&mut self, value: ParamValue, of: Id) -> u32 {
        self.entry_from(Source::Block, value, of)
    }

    fn entry_from(&mut self, source: Source, value: ParamValue, of: Id) -> u32 {
        let id = self.module.id();
        self.params.entries.push(Entry { value, of, id, source });
        self.params.entries.len() as u32 - 1
    }

    /// What parameter `n` is loaded as.
    pub(crate) fn param(&mut self, n: u32) -> Result<Id> {
        let entry = &mut self.params.entries[n as usize];
        if let (Source::Constant { written: written @ false }, ParamValue::Size(size)) = (&mut entry.source, &entry.value) {
            *written = true;
            self.module.spec_constant(entry.id, entry.of, self.params.constants.len() as u32);
            self.params.constants.push(size.clone());
        }
        Ok(entry.id)
    }

    /// Lays the block out, addresses first, and writes its loads. `binding` is free for it where it does not fit.
    pub(crate) fn prologue(&mut self, addresses: bool, binding: u32) -> Block {
        let mut entries = std::mem::take(&mut self.params.entries);
        entries.retain(|e| e.source == Source::Block);
        entries.sort_by_key(|e| !matches!(e.value, ParamValue::Address(_)));
        let (mut offset, mut members, mut params) = (0, Vec::new(), Vec::new());
        for entry in &entries {
            let size = if matches!(entry.value, ParamValue::Address(_)) { 8 } else { 4 };
            members.push(Member { of: entry.of, offset, read_only: false, coherent: false });
            params.push(Param { offset, value: entry.value.clone() });
            offset += size;
        }
        let mut code = Code::default();
        let spilled = offset > self.profile.push_bytes;
        if !entries.is_empty() {
            let place = self.block_place(members, spilled, addresses, binding, &mut code);
            for (n, entry) in entries.iter().enumerate() {
                if let ParamValue::Address(tensor) = entry.value {
                    self.name_address(place.block, n as u32, tensor);
                }
                let index = self.module.uint(n as u32);
                let pointer = self.module.pointer(place.class, entry.of);
                let at = self.module.id();
                code.op(Op::AccessChain, &[pointer, at, place.base, index]);
                let mut load = vec![entry.of, entry.id, at];
                if place.class == StorageClass::PhysicalStorageBuffer {
                    let size = if matches!(entry.value, ParamValue::Address(_)) { 8 } else { 4 };
                    load.extend([MemoryAccess::ALIGNED.bits(), size]);
                }
                code.op(Op::Load, &load);
            }
        }
        let constants = std::mem::take(&mut self.params.constants);
        Block { constants, params, bytes: offset, spilled, code }
    }

    /// An address has its tensor's name.
    fn name_address(&mut self, block: Id, member: u32, tensor: u32) {
        let buffer = self.buffers.global.iter().find(|(_, usage)| usage.tensor == tensor);
        if let Some((buffer, _)) = buffer {
            self.module.name_member(block, member, &self.program.buffers[*buffer].name);
        }
    }

    /// Where the block lies.
    fn block_place(&mut self, mut members: Vec<Member>, spilled: bool, addresses: bool, binding: u32, code: &mut Code) -> Place {
        members.iter_mut().for_each(|m| m.read_only = spilled);
        let block = self.module.ty(Type::Block(members));
        match (spilled, addresses) {
            (false, _) => {
                let class = StorageClass::PushConstant;
                Place { base: self.module.global(class, block, None), class, block }
            }
            (true, true) => {
                // The push constants hold the block's address.
                let class = StorageClass::PhysicalStorageBuffer;
                let pointer = self.module.pointer(class, block);
                let member = Member { of: pointer, offset: 0, read_only: false, coherent: false };
                let outer = self.module.ty(Type::Block(vec![member]));
                let variable = self.module.global(StorageClass::PushConstant, outer, None);
                let to_pointer = self.module.pointer(StorageClass::PushConstant, pointer);
                let (zero, at, base) = (self.module.uint(0), self.module.id(), self.module.id());
                code.op(Op::AccessChain, &[to_pointer, at, variable, zero]);
                code.op(Op::Load, &[pointer, base, at]);
                Place { base, class, block }
            }
            (true, false) => {
                let class = StorageClass::StorageBuffer;
                let base = self.module.global(class, block, None);
                self.module.decorate(base, Decoration::DescriptorSet, &[0]);
                self.module.decorate(base, Decoration::Binding, &[binding]);
                self.module.decorate(base, Decoration::NonWritable, &[]);
                Place { base, class, block }
            }
        }
    }

    /// A size expression over dims as the launch computes it, if it is one.
    pub(crate) fn launch_size(&self, id: tilewright_dsl::expr::ExprId) -> Option<Size> {
        size(self.program, id)
    }
}

struct Place {
    base: Id,
    class: StorageClass,
    /// Its type.
    block: Id,
}
