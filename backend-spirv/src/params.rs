//! The parameter block: addresses, sizes and scalars of the launch. Each is included only if the dispatch uses it.
//!
//! The block is complete only when all code is emitted, but its loads come first in the function. So a parameter gets its id at
//! its first use, and [`Emit::prologue`] writes the loads at the end.

use crate::Result;
use crate::emit::Emit;
use crate::module::{Code, Id, Member, Module, Type};
use rspirv::spirv::{Decoration, MemoryAccess, Op, StorageClass};
use tilewright_codegen::Param as Named;
use tilewright_codegen::hash::Map;
use tilewright_dsl::launch::{DType, Param, ParamValue, Size};
use tilewright_dsl::nest::BufferId;

/// The parameters that are used so far, in the order of their first use.
#[derive(Default)]
pub(crate) struct Params {
    entries: Vec<Entry>,
    /// The positions of sizes and scalars among the entries, by their numbers in the resolver.
    numbered: Map<u32, u32>,
    addresses: Map<BufferId, u32>,
    /// The values of the specialization constants, by `SpecId`.
    constants: Vec<Size>,
}

/// A parameter.
struct Entry {
    value: ParamValue,
    /// Its type in the block.
    of: Id,
    /// The id of the loaded value, or of the specialization constant.
    id: Id,
    source: Source,
}

/// The source of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The parameter block.
    Block,
    /// The pipeline: a specialization constant, which is declared at its first use. Each of its values needs another pipeline.
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

impl Emit<'_> {
    /// Returns the workgroup at which a dispatch begins. A grid that is larger than a device can dispatch at once is dispatched
    /// in pieces.
    pub(crate) fn group_base(&mut self, dim: u8) -> Result<Id> {
        let of = self.scalar_type(DType::I32)?;
        let at = self.entry(Source::Block, ParamValue::GroupBase(dim), of);
        Ok(self.params.entries[at as usize].id)
    }

    /// Returns a zero whose value is unknown to the driver's compiler.
    pub(crate) fn zero_param(&mut self) -> Result<Id> {
        let n = self.resolving(|r| Ok(r.size_number(Size::Const(0))))?;
        self.param(n)
    }

    /// Returns the address of a tensor, as a pointer of a type.
    pub(crate) fn address(&mut self, buffer: BufferId, tensor: u32, pointer: Id) -> Id {
        let at = match self.params.addresses.get(&buffer) {
            Some(at) => *at,
            None => {
                let at = self.entry(Source::Block, ParamValue::Address(tensor), pointer);
                self.params.addresses.insert(buffer, at);
                at
            }
        };
        self.params.entries[at as usize].id
    }

    fn entry(&mut self, source: Source, value: ParamValue, of: Id) -> u32 {
        let id = self.module.id();
        self.params.entries.push(Entry { value, of, id, source });
        self.params.entries.len() as u32 - 1
    }

    /// Returns the position of a size or scalar among the parameters. It is added when it is first named.
    pub(crate) fn named(&mut self, n: u32) -> Result<u32> {
        if let Some(at) = self.params.numbered.get(&n) {
            return Ok(*at);
        }
        let Named { value, dtype, pinned } = self.resolver.parameter(n);
        let (value, dtype) = (value.clone(), *dtype);
        let source = if *pinned { Source::Constant { written: false } } else { Source::Block };
        let of = self.scalar_type(dtype)?;
        let at = self.entry(source, value, of);
        self.params.numbered.insert(n, at);
        Ok(at)
    }

    /// Returns the id of a size's or scalar's loaded value.
    pub(crate) fn param(&mut self, n: u32) -> Result<Id> {
        let at = self.named(n)?;
        let entry = &mut self.params.entries[at as usize];
        if let (Source::Constant { written: written @ false }, ParamValue::Size(size)) = (&mut entry.source, &entry.value) {
            *written = true;
            self.module.spec_constant(entry.id, entry.of, self.params.constants.len() as u32);
            self.params.constants.push(size.clone());
        }
        Ok(entry.id)
    }

    /// Lays out the block, addresses first, and writes its loads. `binding` is the descriptor that it uses if it does not fit the
    /// push constants.
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
            let place = ParameterBlock::of_block(&mut self.module, members, (spilled, addresses), binding, &mut code);
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

    /// Gives an address the name of its tensor.
    fn name_address(&mut self, block: Id, member: u32, tensor: u32) {
        let buffer = self.resolver.uses.global.iter().find(|(_, usage)| usage.tensor == tensor);
        if let Some((buffer, _)) = buffer {
            self.module.name_member(block, member, &self.program.buffers[*buffer].name);
        }
    }
}

struct ParameterBlock {
    base: Id,
    class: StorageClass,
    /// The type of the block.
    block: Id,
}

impl ParameterBlock {
    /// Declares the variables that hold the block.
    fn of_block(
        module: &mut Module,
        mut members: Vec<Member>,
        (spilled, addresses): (bool, bool),
        binding: u32,
        code: &mut Code,
    ) -> ParameterBlock {
        members.iter_mut().for_each(|m| m.read_only = spilled);
        let block = module.ty(Type::Block(members));
        match (spilled, addresses) {
            (false, _) => {
                let class = StorageClass::PushConstant;
                ParameterBlock { base: module.global(class, block, None), class, block }
            }
            (true, true) => {
                // The push constants hold the block's address.
                let class = StorageClass::PhysicalStorageBuffer;
                let pointer = module.pointer(class, block);
                let member = Member { of: pointer, offset: 0, read_only: false, coherent: false };
                let outer = module.ty(Type::Block(vec![member]));
                let variable = module.global(StorageClass::PushConstant, outer, None);
                let to_pointer = module.pointer(StorageClass::PushConstant, pointer);
                let (zero, at, base) = (module.uint(0), module.id(), module.id());
                code.op(Op::AccessChain, &[to_pointer, at, variable, zero]);
                code.op(Op::Load, &[pointer, base, at]);
                ParameterBlock { base, class, block }
            }
            (true, false) => {
                let class = StorageClass::StorageBuffer;
                let base = module.global(class, block, None);
                module.decorate(base, Decoration::DescriptorSet, &[0]);
                module.decorate(base, Decoration::Binding, &[binding]);
                module.decorate(base, Decoration::NonWritable, &[]);
                ParameterBlock { base, class, block }
            }
        }
    }
}
