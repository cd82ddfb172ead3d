//! Access chains, folded: where a pointer points, as a root, an offset and what is added to it as the module runs.
//!
//! Offsets into buffers are in bytes, into shared arrays and registers in planes.

use super::is_chain;
use crate::module::Module;
use crate::module::types::Type;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{Op, StorageClass};
use std::collections::HashMap;

/// Where a pointer points.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    pub(crate) root: Root,
    pub(crate) class: StorageClass,
    /// The type of what is there.
    pub(crate) of: Id,
    pub(crate) offset: i64,
    pub(crate) terms: Vec<Term>,
    /// Barriers can make what is written there visible to others.
    pub(crate) coherent: bool,
}

/// What a pointer begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Variable(Id),
    /// A value that is an address.
    Address(Id),
}

/// `index * stride`, with the index below a bound if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) index: Id,
    pub(crate) stride: u32,
    pub(crate) bound: Option<u32>,
}

/// The pointers of a module, by id.
#[derive(Debug, Default)]
pub(crate) struct Pointers(HashMap<Id, Pointer>);

impl Pointers {
    pub(crate) fn new(module: &Module, order: &[usize]) -> Result<Pointers> {
        let mut pointers = Pointers::default();
        for inst in order.iter().flat_map(|n| &module.blocks[*n].insts) {
            if is_chain(inst.op) {
                let pointer = pointers.chain(module, inst)?;
                pointers.0.insert(inst.id, pointer);
            }
        }
        Ok(pointers)
    }

    /// Where the pointer `id` points.
    pub(crate) fn get(&self, module: &Module, id: Id) -> Result<Pointer> {
        if let Some(pointer) = self.0.get(&id) {
            return Ok(pointer.clone());
        }
        let coherent = module.coherent.contains(&(id, None));
        let start = |root, class, of| Pointer { root, class, of, offset: 0, terms: Vec::new(), coherent };
        if let Some(variable) = module.variables.get(&id) {
            return Ok(start(Root::Variable(id), variable.class, variable.of));
        }
        match module.types.pointee(module.type_of(id)?)? {
            (class @ StorageClass::PhysicalStorageBuffer, of) => Ok(start(Root::Address(id), class, of)),
            (class, _) => unknown(format!("pointers of the storage class {class:?} that are no access chain")),
        }
    }

    fn chain(&self, module: &Module, inst: &Inst) -> Result<Pointer> {
        let mut pointer = self.get(module, inst.arg(0)?)?;
        let mut indices = inst.from(1);
        if matches!(inst.op, Op::PtrAccessChain | Op::InBoundsPtrAccessChain) {
            return unknown(format!("Op{:?}", inst.op));
        }
        while let Some((index, rest)) = indices.split_first() {
            indices = rest;
            pointer.step(module, *index)?;
        }
        if module.types.pointee(inst.ty)?.1 != pointer.of {
            return malformed(format!("the access chain %{} is not of its type", inst.id));
        }
        Ok(pointer)
    }
}

impl Pointer {
    /// Whether offsets are in bytes.
    pub(crate) fn is_explicit(&self) -> bool {
        use StorageClass::*;
        matches!(self.class, StorageBuffer | PhysicalStorageBuffer | PushConstant)
    }

    /// Goes to a part of what is there.
    fn step(&mut self, module: &Module, index: Id) -> Result<()> {
        let explicit = self.is_explicit();
        let (of, stride, bound) = match module.types.get(self.of)? {
            Type::Struct { members } => {
                let at = module.literal(index)? as usize;
                let Some(member) = members.get(at) else { return malformed(format!("%{} has no member {at}", self.of)) };
                self.coherent |= module.coherent.contains(&(self.of, Some(at as u32)));
                self.offset += if explicit {
                    i64::from(member.offset)
                } else {
                    let mut planes = 0;
                    for m in &members[..at] {
                        planes += i64::from(module.types.planes(m.of)?);
                    }
                    planes
                };
                self.of = member.of;
                return Ok(());
            }
            Type::Vector { of, count } => (*of, if explicit { module.types.scalar(*of)?.bytes() } else { 1 }, Some(*count)),
            Type::Array { of, count, stride } => (*of, if explicit { *stride } else { module.types.planes(*of)? }, Some(*count)),
            Type::Runtime { of, stride } => (*of, *stride, None),
            other => return malformed(format!("an access chain goes into {other:?}")),
        };
        match module.constants.get(&index).map(|(_, words)| words.as_slice()) {
            // Beyond the bound it is left to be found as the module runs.
            Some([at]) if bound.is_none_or(|b| at < &b) => self.offset += i64::from(*at as i32) * i64::from(stride),
            _ => self.terms.push(Term { index, stride, bound }),
        }
        self.of = of;
        Ok(())
    }
}
