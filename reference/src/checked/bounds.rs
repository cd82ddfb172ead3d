//! Checks of pointers: each index of an access chain is compared with the length of its array, and becomes 0 if it is out of bounds.
//!
//! The lengths of tensors come from the host. An address that is computed in 64 bits is compared with its tensor as a whole.

use super::report::{Span, Target};
use super::rewrite::Rewriter;
use crate::analysis::pointers::{Pointer, Root};
use crate::module::types::Type;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{Op, StorageClass};

/// The elements that an access covers from a pointer on, if it is of a matrix: `lines` of `row` elements, with a stride between them.
#[derive(Clone, Copy)]
pub(super) struct Footprint {
    pub(super) lines: u32,
    pub(super) row: u32,
    pub(super) stride: Id,
}

impl Footprint {
    /// Returns the elements from the first to the last one, if the stride is known.
    fn extent(&self, r: &Rewriter<'_>) -> Option<u32> {
        let stride = r.module.literal(self.stride).ok();
        let last = if self.lines == 1 { Some(0) } else { stride?.checked_mul(self.lines - 1) };
        last?.checked_add(self.row)
    }
}

/// A pointer that is in bounds, the stride of its footprint, and a value that is true if the pointer of the module is out of bounds.
#[derive(Clone, Copy)]
pub(super) struct Safe {
    pub(super) pointer: Id,
    pub(super) stride: Option<Id>,
    pub(super) is_bad: Option<Id>,
}

/// An index that is in bounds, the stride of a footprint if it is another one, and a value that is true if the index is another one.
struct SafeIndex {
    index: Id,
    stride: Option<Id>,
    is_bad: Id,
}

/// The number of elements that an index is compared with.
#[derive(Clone, Copy)]
enum Length {
    Fixed(u32),
    /// The elements of a buffer, with the bytes of each.
    Tensor {
        buffer: usize,
        stride: u32,
    },
}

impl Rewriter<'_> {
    /// Returns a pointer for an access of one element that is in bounds.
    pub(super) fn checked(&mut self, inst: &Inst, pointer: Id) -> Result<Safe> {
        if let Some(known) = self.block.checked.get(&pointer) {
            return Ok(*known);
        }
        let safe = self.safe(inst, pointer, None)?;
        self.block.checked.insert(pointer, safe);
        Ok(safe)
    }

    /// Returns a pointer for an access of one element, or of a footprint, that is in bounds.
    pub(super) fn safe(&mut self, inst: &Inst, pointer: Id, footprint: Option<Footprint>) -> Result<Safe> {
        let unchanged = Safe { pointer, stride: footprint.map(|f| f.stride), is_bad: None };
        let whole = self.pointers.get(self.module, pointer)?;
        let made = match self.made(pointer).filter(|_| self.is_computed(pointer)) {
            Some(made) => made,
            None if whole.class == StorageClass::PhysicalStorageBuffer => return unknown("an access to the start of an address"),
            None => return Ok(unchanged),
        };
        if matches!(whole.class, StorageClass::Input | StorageClass::PushConstant) {
            return Ok(unchanged);
        }
        let base = made.arg(0)?;
        match self.made(base) {
            _ if made.op == Op::ConvertUToPtr => unknown("an access to the start of a computed address"),
            Some(address) if address.op == Op::ConvertUToPtr => self.safe_address(inst, (made, address), footprint),
            Some(_) if self.is_computed(base) => unknown("an access chain that begins at another one"),
            _ => self.safe_chain(inst, made, footprint),
        }
    }

    /// Checks the indices of an access chain that begins at a variable or at the address of a buffer.
    fn safe_chain(&mut self, inst: &Inst, chain: &Inst, footprint: Option<Footprint>) -> Result<Safe> {
        let base = self.pointers.get(self.module, chain.arg(0)?)?;
        let (mut of, mut args, mut stride) = (base.of, chain.args.clone(), footprint.map(|f| f.stride));
        let mut is_bad = None;
        let last = args.len() - 1;
        for (n, place) in args.iter_mut().enumerate().skip(1) {
            let (part, length) = match self.module.types.get(of)? {
                Type::Struct { members } => {
                    let at = self.module.literal(*place)? as usize;
                    match members.get(at) {
                        Some(member) => (member.of, None),
                        None => return malformed(format!("%{of} does not have a member {at}")),
                    }
                }
                Type::Array { of, count, .. } | Type::Vector { of, count } => (*of, Some(Length::Fixed(*count))),
                Type::Runtime { of, stride } => (*of, Some(Length::Tensor { buffer: self.buffer_of(base.root)?, stride: *stride })),
                // The device determines how many components of a matrix an invocation has.
                Type::Matrix(matrix) => (matrix.of, None),
                other => return malformed(format!("an access chain goes into {other:?}")),
            };
            of = part;
            let Some(length) = length else { continue };
            let footprint = footprint.filter(|_| n == last);
            if let (Length::Fixed(count), None) = (length, footprint)
                && self.module.literal(*place).is_ok_and(|at| at < count)
            {
                continue;
            }
            let target = self.target(&base, length, of)?;
            let index = self.safe_index(inst, *place, (length, target), footprint)?;
            *place = index.index;
            stride = index.stride.or(stride);
            is_bad = Some(match is_bad {
                Some(is_bad) => self.bool(Op::LogicalOr, &[is_bad, index.is_bad]),
                None => index.is_bad,
            });
        }
        let pointer = if args == chain.args { chain.id } else { self.ins(chain.op, chain.ty, &args) };
        Ok(Safe { pointer, stride, is_bad })
    }

    /// Returns the object that is reported for an index. `of` is the type of its elements.
    fn target(&self, base: &Pointer, length: Length, of: Id) -> Result<Target> {
        match (length, base.root) {
            (Length::Tensor { buffer, stride }, _) => Ok(Target::Tensor { buffer, unit: stride, is_wide: false }),
            (Length::Fixed(_), Root::Variable(id)) if base.class != StorageClass::StorageBuffer => {
                Ok(Target::Array { object: self.object(id, base.class)?, unit: self.module.types.planes(of)?, first: 0 })
            }
            // An index of a vector in a buffer is reported as an index of the buffer.
            _ => Ok(Target::Tensor { buffer: self.buffer_of(base.root)?, unit: 4, is_wide: false }),
        }
    }

    /// Returns an index that is in bounds, and the stride of a footprint.
    fn safe_index(
        &mut self,
        inst: &Inst,
        index: Id,
        (length, target): (Length, Target),
        footprint: Option<Footprint>,
    ) -> Result<SafeIndex> {
        // A known extent needs one comparison. In a shared array the stride stays a constant, which drivers need for fast loads.
        let extent = footprint.and_then(|f| f.extent(self));
        let need = extent.or(footprint.map(|f| f.row)).unwrap_or(1);
        let span = match length {
            Length::Fixed(count) => self.declared.constant(count.saturating_add(1).saturating_sub(need)),
            Length::Tensor { buffer, stride } => self.span(Span { buffer, unit: stride, need }, false),
        };
        let mut is_bad = self.bool(Op::UGreaterThanEqual, &[index, span]);
        let fits = matches!(length, Length::Fixed(count) if extent.is_some_and(|extent| extent <= count));
        if let (Some(Footprint { lines, stride, .. }), None) = (footprint, extent) {
            let (one, steps) = (self.declared.constant(1), self.declared.constant(lines - 1));
            let rest = self.uint(Op::ISub, &[span, index]);
            let rest = self.uint(Op::ISub, &[rest, one]);
            let most = self.uint(Op::UDiv, &[rest, steps]);
            let is_far = self.bool(Op::UGreaterThan, &[stride, most]);
            is_bad = self.bool(Op::LogicalOr, &[is_bad, is_far]);
        }
        let (site, zero) = (self.new_site(inst, target, false), self.declared.constant(0));
        let low = self.as_uint(index)?;
        self.note(is_bad, site, [low, zero]);
        let stride = footprint.filter(|_| !fits).map(|f| self.zero_if(is_bad, f.stride)).transpose()?;
        Ok(SafeIndex { index: self.zero_if(is_bad, index)?, stride, is_bad })
    }

    /// Returns a value, or zero under a condition.
    fn zero_if(&mut self, condition: Id, value: Id) -> Result<Id> {
        let ty = self.module.type_of(value)?;
        let zero = self.declared.null(ty);
        Ok(self.ins(Op::Select, ty, &[condition, zero, value]))
    }

    /// Checks an address that was computed in 64 bits. The access chain selects element 0 of the block there.
    fn safe_address(&mut self, inst: &Inst, (chain, address): (&Inst, &Inst), footprint: Option<Footprint>) -> Result<Safe> {
        let pointer = self.pointers.get(self.module, address.id)?;
        let (Root::Address(start), Some(stride)) = (pointer.root, self.element_bytes(pointer.of)?) else {
            return unknown("a computed address that is not of a buffer");
        };
        if !chain.args[1..].iter().all(|index| self.module.literal(*index).is_ok_and(|at| at == 0)) {
            return unknown("a computed address from which an index is counted");
        }
        let buffer = self.buffer_of(pointer.root)?;
        let (wide, computed) = (self.declared.wide(), address.arg(0)?);
        let need = footprint.map_or(1, |f| f.row).saturating_mul(stride);
        let span = self.span(Span { buffer, unit: 1, need }, true);
        let start = self.ins(Op::ConvertPtrToU, wide, &[start]);
        let offset = self.ins(Op::ISub, wide, &[computed, start]);
        let mut is_bad = self.bool(Op::UGreaterThanEqual, &[offset, span]);
        if let Some(Footprint { lines: lines @ 2.., stride: step, .. }) = footprint {
            let by = self.declared.wide_constant(u64::from(lines - 1) * u64::from(stride));
            let step = self.ins(Op::UConvert, wide, &[step]);
            let extent = self.ins(Op::IMul, wide, &[step, by]);
            let rest = self.ins(Op::ISub, wide, &[span, offset]);
            let is_far = self.bool(Op::UGreaterThanEqual, &[extent, rest]);
            is_bad = self.bool(Op::LogicalOr, &[is_bad, is_far]);
        }
        let (shift, low) = (self.declared.constant(32), self.uint(Op::UConvert, &[offset]));
        let high = self.ins(Op::ShiftRightLogical, wide, &[offset, shift]);
        let high = self.uint(Op::UConvert, &[high]);
        let site = self.new_site(inst, Target::Tensor { buffer, unit: 1, is_wide: true }, false);
        self.note(is_bad, site, [low, high]);
        let safe = self.ins(Op::Select, wide, &[is_bad, start, computed]);
        let block = self.ins(Op::ConvertUToPtr, address.ty, &[safe]);
        let args = [&[block], &chain.args[1..]].concat();
        let stride = footprint.map(|f| self.zero_if(is_bad, f.stride)).transpose()?;
        Ok(Safe { pointer: self.ins(chain.op, chain.ty, &args), stride, is_bad: Some(is_bad) })
    }

    /// Returns the bytes of an element of a block, if the block is an array.
    fn element_bytes(&self, block: Id) -> Result<Option<u32>> {
        let Type::Struct { members } = self.module.types.get(block)? else { return Ok(None) };
        let Some(first) = members.first() else { return Ok(None) };
        match self.module.types.get(first.of)? {
            Type::Runtime { stride, .. } => Ok(Some(*stride)),
            _ => Ok(None),
        }
    }
}
