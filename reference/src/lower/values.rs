//! The slots of values, and composite values.

use super::slots::Value;
use super::{Lower, Slot};
use crate::analysis::demand::part;
use crate::code::Op;
use crate::words::{Id, Inst, Result, malformed};

impl Lower<'_> {
    pub(super) fn divergent(&self, id: Id) -> bool {
        self.uniform.divergent.get(id as usize).copied().unwrap_or(true)
    }

    /// Returns the slot of an instruction's result, and allocates it if necessary.
    pub(super) fn define(&mut self, inst: &Inst) -> Result<Value> {
        if let Some(known) = self.values.get(&inst.id) {
            return Ok(*known);
        }
        let planes = if self.is_address(inst.ty)? { 2 } else { self.module.types.planes(inst.ty)? };
        let lanes = self.divergent(inst.id);
        // A value that must survive while other lanes run earlier blocks again never shares its slot. Neither does a phi, even after its
        // last use, because it is written at the ends of the preceding blocks, where other values are still needed.
        let value = if inst.op == spirv::Op::Phi || self.uniform.kept.contains(&inst.id) {
            Value { at: self.slots.fresh(planes, lanes)?, planes, lanes, owned: false }
        } else {
            self.slots.take(planes, lanes)?
        };
        self.values.insert(inst.id, value);
        Ok(value)
    }

    /// Returns a slot to compute an instruction's result in. [`Lower::computed`] must be called once it is computed.
    pub(super) fn result(&mut self, inst: &Inst) -> Result<Value> {
        let value = self.define(inst)?;
        if self.uniform.kept.contains(&inst.id) { self.temporary(value.planes, true) } else { Ok(value) }
    }

    /// Completes a result. Lanes that have left a loop keep the values that they left with.
    pub(super) fn computed(&mut self, inst: &Inst, at: Value) -> Result<()> {
        let value = self.define(inst)?;
        if value.at != at.at {
            self.op(Op::Masked { dst: value.at, src: at.at, planes: value.planes });
        }
        Ok(())
    }

    /// Allocates a slot for the duration of this instruction.
    pub(super) fn temporary(&mut self, planes: u32, lanes: bool) -> Result<Value> {
        let value = self.slots.take(planes, lanes)?;
        self.temporaries.push(value);
        Ok(value)
    }

    /// Returns the slot of a value, which may be uniform or divergent.
    pub(super) fn value(&mut self, id: Id) -> Result<Value> {
        if let Some(value) = self.values.get(&id) {
            return Ok(*value);
        }
        if let Some((_, words)) = self.module.constants.get(&id) {
            let planes = words.len() as u32;
            let at = self.constant(id, words, false)?;
            return Ok(Value { at, planes, lanes: false, owned: false });
        }
        if let Some(ty) = self.module.undefined.get(&id) {
            let planes = self.module.types.planes(*ty)?;
            let value = Value { at: self.slots.fresh(planes, false)?, planes, lanes: false, owned: true };
            self.values.insert(id, value);
            return Ok(value);
        }
        malformed(format!("%{id} is used before it is defined, or is not a value"))
    }

    /// Checks that a value has `planes` planes.
    pub(super) fn check_planes(&mut self, id: Id, planes: u32) -> Result<()> {
        match self.value(id)?.planes {
            n if n == planes => Ok(()),
            n => malformed(format!("%{id} has {n} scalars instead of {planes}")),
        }
    }

    /// Returns the slot of a value in rows, or in single words.
    pub(super) fn operand(&mut self, id: Id, lanes: bool) -> Result<Slot> {
        let value = self.value(id)?;
        if value.lanes == lanes {
            return Ok(value.at);
        }
        if !lanes {
            return malformed(format!("%{id} differs between invocations, where it must not"));
        }
        if let Some((_, words)) = self.module.constants.get(&id) {
            return self.constant(id, words, true);
        }
        if let Some(known) = self.spread.get(&id) {
            return Ok(known.at);
        }
        let spread = self.slots.take(value.planes, true)?;
        self.op(Op::Broadcast { dst: spread.at, src: value.at, planes: value.planes });
        self.spread.insert(id, spread);
        Ok(spread.at)
    }

    /// Returns the slot of a constant. Constants are set from the beginning, and their slots are never reused.
    fn constant(&mut self, id: Id, words: &[u32], lanes: bool) -> Result<Slot> {
        if let Some(at) = self.constants.get(&(id, lanes)) {
            return Ok(*at);
        }
        let at = self.literal(words, lanes)?;
        if let Some(format) = self.module.constants.get(&id).and_then(|(ty, _)| self.module.types.format(*ty)) {
            let end = at as usize + words.len() * self.row(lanes) as usize;
            self.code.floats.push((at as usize..end, format));
        }
        self.constants.insert((id, lanes), at);
        Ok(at)
    }

    /// Allocates words that hold these values from the beginning, each in a row.
    pub(super) fn literal(&mut self, words: &[u32], lanes: bool) -> Result<Slot> {
        let at = self.slots.fresh(words.len() as u32, lanes)?;
        let row = self.row(lanes) as usize;
        let image = &mut self.code.image;
        let end = at as usize + words.len() * row;
        if image.len() < end {
            image.resize(end, 0);
        }
        for (chunk, word) in image[at as usize..end].chunks_exact_mut(row).zip(words) {
            chunk.fill(*word);
        }
        Ok(at)
    }

    /// Allocates a row that holds these words from the beginning.
    pub(super) fn row_of(&mut self, words: &[u32]) -> Result<Slot> {
        let at = self.slots.fresh(1, true)?;
        let end = at as usize + words.len();
        if self.code.image.len() < end {
            self.code.image.resize(end, 0);
        }
        self.code.image[at as usize..end].copy_from_slice(words);
        Ok(at)
    }

    /// Returns a row of ones, or a single one.
    pub(super) fn ones(&mut self, lanes: bool) -> Result<Slot> {
        // The key 0 cannot conflict with a constant, because 0 is not a valid id.
        self.constant(0, &[1], lanes)
    }

    /// Makes a result an alias of its operand or of a part of it.
    pub(super) fn alias(&mut self, inst: &Inst) -> Result<()> {
        let of = inst.arg(0)?;
        let whole = self.value(of)?;
        let (at, planes) = match inst.op {
            spirv::Op::CompositeExtract => {
                let (at, planes, _) = part(&self.module.types, self.module.type_of(of)?, inst.from(1))?;
                (at, planes)
            }
            _ => (0, whole.planes),
        };
        if self.module.types.planes(inst.ty).unwrap_or(2) != planes {
            return malformed(format!("%{} is not of its type", inst.id));
        }
        let value = Value { at: whole.at + at * self.row(whole.lanes), planes, lanes: whole.lanes, owned: false };
        // The result may have to keep its value although its operand does not.
        if self.uniform.kept.contains(&inst.id) || (self.divergent(inst.id) && !whole.lanes) {
            let own = self.define(inst)?;
            let rows = if whole.lanes { value.at } else { self.operand(of, true)? + at * self.code.lanes };
            self.op(Op::Masked { dst: own.at, src: rows, planes });
            return Ok(());
        }
        self.values.insert(inst.id, value);
        Ok(())
    }

    /// Composes a vector, array or struct from its components.
    pub(super) fn composite(&mut self, inst: &Inst) -> Result<()> {
        let result = self.result(inst)?;
        let row = self.row(result.lanes);
        match inst.op {
            spirv::Op::CompositeConstruct => {
                let mut at = result.at;
                let end = result.at + result.planes * row;
                for id in inst.from(0) {
                    if at + self.value(*id)?.planes * row > end {
                        return malformed(format!("%{} is composed of too many components", inst.id));
                    }
                    at = self.put(*id, result.lanes, at, None)?;
                }
                if at != end {
                    return malformed(format!("%{} is composed of too few components", inst.id));
                }
            }
            spirv::Op::CompositeInsert => {
                let of = inst.arg(1)?;
                self.check_planes(of, result.planes)?;
                self.put(of, result.lanes, result.at, None)?;
                let (at, planes, _) = part(&self.module.types, inst.ty, inst.from(2))?;
                self.check_planes(inst.arg(0)?, planes)?;
                self.put(inst.arg(0)?, result.lanes, result.at + at * row, None)?;
            }
            _ => {
                let (a, b) = (inst.arg(0)?, inst.arg(1)?);
                let first = self.value(a)?.planes;
                if inst.from(2).len() != result.planes as usize {
                    return malformed(format!("%{} has a different number of components than its type", inst.id));
                }
                for (n, from) in (0..).zip(inst.from(2)) {
                    let (of, plane) = if *from < first { (a, *from) } else { (b, from.wrapping_sub(first)) };
                    // A component that is not taken from either operand is undefined.
                    if *from != u32::MAX {
                        self.put(of, result.lanes, result.at + n * row, Some(plane))?;
                    }
                }
            }
        }
        self.computed(inst, result)
    }

    /// Copies a value, or one plane of it. Returns the slot that follows the copy.
    fn put(&mut self, id: Id, lanes: bool, dst: Slot, plane: Option<u32>) -> Result<Slot> {
        let row = self.row(lanes);
        let all = self.value(id)?;
        let (first, planes) = plane.map_or((0, all.planes), |p| (p, 1));
        if first.checked_add(planes).is_none_or(|end| end > all.planes) {
            return malformed(format!("%{id} does not have a component {first}"));
        }
        if lanes && !all.lanes {
            self.op(Op::Broadcast { dst, src: all.at + first, planes });
        } else {
            self.op(Op::Copy { dst, src: all.at + first * row, len: planes * row });
        }
        Ok(dst + planes * row)
    }
}
