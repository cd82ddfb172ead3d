//! The parameter block: addresses, sizes and scalars of the launch. Each is included only if the dispatch uses it.
//!
//! The block is complete only when all code is emitted, but its loads come first in the function. So a parameter gets its id at
//! its first use, and [`Params::prologue`] writes the loads at the end.

use crate::module::{Code, Id, Member, Module, Type};
use spirv::{Decoration, MemoryAccess, Op, StorageClass};
use tilewright_codegen::Param as Named;
use tilewright_codegen::hash::Map;
use tilewright_dsl::launch::{Param, ParamValue, Size};
use tilewright_dsl::nest::BufferId;

/// The parameters that are used so far, in the order of their first use.
#[derive(Default)]
pub(crate) struct Params<'p> {
    entries: Vec<Entry<'p>>,
    /// The positions of sizes and scalars among the entries, by their numbers in the resolver.
    numbered: Map<u32, usize>,
    /// The ids of addresses.
    addresses: Map<BufferId, Id>,
    /// A zero whose value is unknown to the driver's compiler.
    zero: Option<Id>,
    /// The values of the specialization constants, by `SpecId`.
    constants: Vec<Size>,
}

/// A parameter.
struct Entry<'p> {
    value: ParamValue,
    /// Its name in the block.
    name: Option<&'p str>,
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

impl<'p> Params<'p> {
    /// Returns the workgroup at which a dispatch begins, of type `int`. A grid that is larger than a device can dispatch at once is
    /// dispatched in pieces.
    pub(crate) fn group_base(&mut self, module: &mut Module, dim: u8, int: Id) -> Id {
        self.entry(module, Source::Block, ParamValue::GroupBase(dim), int).id
    }

    /// Returns a zero of type `int` whose value is unknown to the driver's compiler.
    pub(crate) fn zero(&mut self, module: &mut Module, int: Id) -> Id {
        if let Some(id) = self.zero {
            return id;
        }
        let id = self.entry(module, Source::Block, ParamValue::Size(Size::Const(0)), int).id;
        *self.zero.insert(id)
    }

    /// Returns the address of a tensor, as a pointer of a type.
    pub(crate) fn address(&mut self, module: &mut Module, (buffer, name): (BufferId, &'p str), tensor: u32, pointer: Id) -> Id {
        if let Some(id) = self.addresses.get(&buffer) {
            return *id;
        }
        let entry = self.entry(module, Source::Block, ParamValue::Address(tensor), pointer);
        entry.name = Some(name);
        let id = entry.id;
        self.addresses.insert(buffer, id);
        id
    }

    fn entry(&mut self, module: &mut Module, source: Source, value: ParamValue, of: Id) -> &mut Entry<'p> {
        let n = self.entries.len();
        self.entries.push(Entry { value, name: None, of, id: module.id(), source });
        &mut self.entries[n]
    }

    /// Returns the position of a size or scalar of type `of` among the parameters. It is added when it is first named.
    pub(crate) fn named(&mut self, module: &mut Module, n: u32, named: &Named, of: Id) -> usize {
        if let Some(at) = self.numbered.get(&n) {
            return *at;
        }
        let at = self.entries.len();
        let source = if named.pinned { Source::Constant { written: false } } else { Source::Block };
        self.entry(module, source, named.value.clone(), of);
        self.numbered.insert(n, at);
        at
    }

    /// Returns the id of a size's or scalar's loaded value.
    pub(crate) fn value(&mut self, module: &mut Module, n: u32, named: &Named, of: Id) -> Id {
        let at = self.named(module, n, named, of);
        let entry = &mut self.entries[at];
        if let (Source::Constant { written: written @ false }, ParamValue::Size(size)) = (&mut entry.source, &entry.value) {
            *written = true;
            module.spec_constant(entry.id, entry.of, self.constants.len() as u32);
            self.constants.push(size.clone());
        }
        entry.id
    }

    /// Lays out the block, addresses first, and writes its loads. `most` is the size of the push constants in bytes. If the block does not
    /// fit them, it uses the descriptor `binding`.
    pub(crate) fn prologue(self, module: &mut Module, most: u32, addresses: bool, binding: u32) -> Block {
        let mut entries = self.entries;
        entries.retain(|e| e.source == Source::Block);
        entries.sort_by_key(|e| !matches!(e.value, ParamValue::Address(_)));
        let size = |entry: &Entry<'_>| if matches!(entry.value, ParamValue::Address(_)) { 8 } else { 4 };
        let (mut offset, mut members, mut params) = (0, Vec::new(), Vec::new());
        for entry in &entries {
            members.push(Member { of: entry.of, offset, read_only: false, coherent: false });
            params.push(Param { offset, value: entry.value.clone() });
            offset += size(entry);
        }
        let mut code = Code::default();
        let spilled = offset > most;
        if !entries.is_empty() {
            let place = ParameterBlock::of_block(module, members, (spilled, addresses), binding, &mut code);
            for (n, entry) in entries.iter().enumerate() {
                if let Some(name) = entry.name {
                    module.name_member(place.block, n as u32, name);
                }
                let index = module.uint(n as u32);
                let pointer = module.pointer(place.class, entry.of);
                let at = module.id();
                code.op(Op::AccessChain, &[pointer, at, place.base, index]);
                let mut load = vec![entry.of, entry.id, at];
                if place.class == StorageClass::PhysicalStorageBuffer {
                    load.extend([MemoryAccess::ALIGNED.bits(), size(entry)]);
                }
                code.op(Op::Load, &load);
            }
        }
        Block { constants: self.constants, params, bytes: offset, spilled, code }
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
