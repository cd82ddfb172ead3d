//! Folds access chains: each pointer becomes a root, a constant offset and terms that are added as the module runs. Addresses that are
//! computed in 64 bits are folded too.
//!
//! Offsets into buffers are in bytes. Offsets into shared arrays and registers are in planes.

use super::{is_chain, is_folded};
use crate::module::Module;
use crate::module::types::{MOST_BYTES, Scalar, Type};
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{Op, StorageClass};
use std::collections::HashMap;

/// The target of a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    pub(crate) root: Root,
    pub(crate) class: StorageClass,
    /// The type of the target.
    pub(crate) of: Id,
    pub(crate) offset: i64,
    pub(crate) terms: Vec<Term>,
    /// True if barriers can make writes to it visible to other invocations.
    pub(crate) coherent: bool,
}

/// The start of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Variable(Id),
    /// A value that is an address.
    Address(Id),
}

/// `index * stride`. The index must be less than `bound`, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) index: Id,
    pub(crate) stride: u32,
    pub(crate) bound: Option<u32>,
}

/// A 64-bit integer: an address if it has a root, otherwise an offset.
#[derive(Clone, Debug)]
struct Wide {
    root: Option<Root>,
    offset: i64,
    terms: Vec<Term>,
}

/// The largest offset in an address. Together with the indices in the address, it does not overflow 64 bits.
const MOST_OFFSET: u64 = 1 << 56;

/// The largest number of indices in an address.
const MOST_TERMS: usize = 64;

/// The pointers of a module, by id, and the 64-bit integers that they are computed from.
#[derive(Debug, Default)]
pub(crate) struct Pointers {
    pointers: HashMap<Id, Pointer>,
    wide: HashMap<Id, Wide>,
}

impl Pointers {
    pub(crate) fn new(module: &Module, order: &[usize]) -> Result<Pointers> {
        let mut pointers = Pointers::default();
        for inst in order.iter().flat_map(|n| &module.blocks[*n].insts) {
            if is_folded(module, inst) {
                pointers.fold(module, inst)?;
            }
        }
        Ok(pointers)
    }

    /// Returns the target of the pointer `id`.
    pub(crate) fn get(&self, module: &Module, id: Id) -> Result<Pointer> {
        if let Some(pointer) = self.pointers.get(&id) {
            return Ok(pointer.clone());
        }
        let coherent = module.coherent.contains(&(id, None));
        let start = |root, class, of| Pointer { root, class, of, offset: 0, terms: Vec::new(), coherent };
        if let Some(variable) = module.variables.get(&id) {
            return Ok(start(Root::Variable(id), variable.class, variable.of));
        }
        match module.types.pointee(module.type_of(id)?)? {
            (class @ StorageClass::PhysicalStorageBuffer, of) => Ok(start(Root::Address(id), class, of)),
            (class, _) => unknown(format!("pointers of the storage class {class:?} that are not access chains")),
        }
    }

    /// Returns the values from which a pointer or a 64-bit integer is computed.
    pub(crate) fn made_of(&self, id: Id) -> Vec<Id> {
        let (root, terms) = match (self.pointers.get(&id), self.wide.get(&id)) {
            (Some(Pointer { root, terms, .. }), _) => (Some(root), terms),
            (None, Some(Wide { root, terms, .. })) => (root.as_ref(), terms),
            (None, None) => return Vec::new(),
        };
        let root = root.and_then(|root| if let Root::Address(id) = root { Some(*id) } else { None });
        root.into_iter().chain(terms.iter().map(|term| term.index)).collect()
    }

    fn fold(&mut self, module: &Module, inst: &Inst) -> Result<()> {
        let pointer = match inst.op {
            op if is_chain(op) => self.chain(module, inst)?,
            Op::ConvertUToPtr => self.made_of_address(module, inst)?,
            _ => {
                let wide = self.computed(module, inst)?;
                self.wide.insert(inst.id, wide);
                return Ok(());
            }
        };
        self.pointers.insert(inst.id, pointer);
        Ok(())
    }

    fn made_of_address(&self, module: &Module, inst: &Inst) -> Result<Pointer> {
        let Wide { root, offset, terms } = self.wide(module, inst.arg(0)?)?;
        match (root, module.types.pointee(inst.ty)?) {
            (Some(root), (class @ StorageClass::PhysicalStorageBuffer, of)) => {
                Ok(Pointer { root, class, of, offset, terms, coherent: false })
            }
            _ => unknown("OpConvertUToPtr of an integer that is not the address of a buffer"),
        }
    }

    fn wide(&self, module: &Module, id: Id) -> Result<Wide> {
        match (self.wide.get(&id), module.wide_constants.get(&id)) {
            (Some(wide), _) => Ok(wide.clone()),
            (None, Some(offset)) => Wide { root: None, offset: *offset, terms: Vec::new() }.checked(),
            _ => malformed(format!("%{id} should be an integer of 64 bits")),
        }
    }

    fn computed(&self, module: &Module, inst: &Inst) -> Result<Wide> {
        let pair = || Ok((self.wide(module, inst.arg(0)?)?, self.wide(module, inst.arg(1)?)?));
        match inst.op {
            Op::ConvertPtrToU => {
                let Pointer { root, class, offset, terms, .. } = self.get(module, inst.arg(0)?)?;
                match class {
                    StorageClass::PhysicalStorageBuffer => Wide { root: Some(root), offset, terms }.checked(),
                    _ => malformed("OpConvertPtrToU of a pointer that is not an address"),
                }
            }
            Op::SConvert if matches!(module.types.get(module.type_of(inst.arg(0)?)?)?, Type::Scalar(Scalar::Int)) => {
                Ok(Wide { root: None, offset: 0, terms: vec![Term { index: inst.arg(0)?, stride: 1, bound: None }] })
            }
            Op::IAdd => {
                let (a, b) = pair()?;
                a.plus(b)
            }
            Op::IMul => match pair()? {
                (of, Wide { root: None, offset, terms }) if terms.is_empty() => of.times(offset),
                (Wide { root: None, offset, terms }, of) if terms.is_empty() => of.times(offset),
                _ => unknown("products of 64 bits without a constant factor"),
            },
            op => unknown(format!("Op{op:?} of 64 bits")),
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

impl Wide {
    fn plus(mut self, other: Wide) -> Result<Wide> {
        if self.root.is_some() && other.root.is_some() {
            return unknown("a sum of two addresses");
        }
        self.root = self.root.or(other.root);
        self.offset += other.offset;
        self.terms.extend(other.terms);
        self.checked()
    }

    fn times(mut self, by: i64) -> Result<Wide> {
        let Some(offset) = self.offset.checked_mul(by) else { return unknown("a product that needs more than 64 bits") };
        self.offset = offset;
        for term in &mut self.terms {
            let stride = i64::from(term.stride).checked_mul(by).and_then(|s| u32::try_from(s).ok()).filter(|s| *s <= MOST_BYTES);
            let Some(stride) = stride else { return unknown(format!("an index with a stride of more than {MOST_BYTES} bytes")) };
            term.stride = stride;
        }
        match self.root {
            Some(_) => unknown("a product of an address"),
            None => self.checked(),
        }
    }

    /// Checks that it cannot wrap.
    fn checked(self) -> Result<Wide> {
        if self.offset.unsigned_abs() > MOST_OFFSET || self.terms.len() > MOST_TERMS {
            return unknown("an address that is too far from its buffer");
        }
        Ok(self)
    }
}

impl Pointer {
    /// True if offsets are in bytes.
    pub(crate) fn is_explicit(&self) -> bool {
        use StorageClass::*;
        matches!(self.class, StorageBuffer | PhysicalStorageBuffer | PushConstant)
    }

    /// Moves the pointer to a part of its target.
    fn step(&mut self, module: &Module, index: Id) -> Result<()> {
        let explicit = self.is_explicit();
        let (of, stride, bound) = match module.types.get(self.of)? {
            Type::Struct { members } => {
                let at = module.literal(index)? as usize;
                let Some(member) = members.get(at) else { return malformed(format!("%{} does not have a member {at}", self.of)) };
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
            // The elements of a matrix are indexed by component, which selects one of the invocation's own elements.
            Type::Matrix(matrix) => (matrix.of, 1, Some(matrix.planes)),
            other => return malformed(format!("an access chain goes into {other:?}")),
        };
        match module.constants.get(&index).map(|(_, words)| words.as_slice()) {
            // An index out of bounds is not an error here. It is reported if the access runs.
            Some([at]) if bound.is_none_or(|b| at < &b) => self.offset += i64::from(*at as i32) * i64::from(stride),
            _ => self.terms.push(Term { index, stride, bound }),
        }
        self.of = of;
        Ok(())
    }
}
