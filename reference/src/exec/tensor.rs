//! Loads and stores of tensors and of the parameter block.

use super::access::{ByteMemory, parameters};
use super::faults::Beyond;
use super::{Numbers, Result, Worker};
use crate::code::{AccessInfo, Part, Root};
use crate::fault::{Access, Element, FaultKind};
use crate::form::Form;
use crate::memory::trail::Who;
use crate::run::BoundTensor;
use std::ops::RangeInclusive;

impl<'a, N: Numbers> Worker<'a, N> {
    pub(super) fn load_bytes(&mut self, info: &AccessInfo) -> Result {
        let first = self.first();
        if !info.apart {
            let (place, base) = self.bytes(info, first, Access::Read)?;
            self.load_lane(info, place, self.offsets[0] + base, first)?;
            return self.also_reads(info, place, base);
        }
        let one_root = !matches!(info.root, Root::Address { lanes: true, .. });
        let common = if one_root { Some(self.bytes(info, first, Access::Read)?) } else { None };
        if let Some((ByteMemory::Tensor(bound), base)) = common
            && bound.is_plain()
            && let [Part { form: Form::Word, offset: 0, .. }] = *info.planes
        {
            return self.load_plain(info, bound, base);
        }
        for lane in 0..self.code.lanes {
            if self.mask[lane as usize] != 0 {
                let (place, base) = match common {
                    Some(common) => common,
                    None => self.bytes(info, lane, Access::Read)?,
                };
                self.load_lane(info, place, self.offsets[lane as usize] + base, lane)?;
            }
        }
        Ok(())
    }

    /// Returns the memory that a lane accesses. It is a fault if the address does not belong to any.
    pub(super) fn bytes(&self, info: &AccessInfo, lane: u32, access: Access) -> Result<(ByteMemory<'a>, i64)> {
        match self.place(info, lane) {
            Some(place) => Ok(place),
            None => self.fault(lane, info.word, FaultKind::Address { access, address: self.address(info, lane) }),
        }
    }

    /// Loads one word in each lane from a tensor that is completely written and that no invocation writes now.
    fn load_plain(&mut self, info: &AccessInfo, bound: &BoundTensor<'_>, base: i64) -> Result {
        for lane in 0..self.code.lanes as usize {
            let at = self.offsets[lane] + base;
            if self.mask[lane] == 0 {
                continue;
            }
            if !bound.holds(at, 4, info.align) {
                return self.bad_tensor(lane as u32, info, Access::Read, bound, at);
            }
            self.words[info.slot as usize + lane] = self.numbers.load(bound.memory, bound.start + at as usize, Form::Word);
        }
        Ok(())
    }

    /// Returns the position of a lane's value in a row, and the length of the row. A load that is done once for all
    /// lanes has rows of one word.
    fn row(&self, info: &AccessInfo, lane: u32) -> (u32, u32) {
        if info.apart { (lane, self.code.lanes) } else { (0, 1) }
    }

    /// Loads a value in one lane.
    fn load_lane(&mut self, info: &AccessInfo, place: ByteMemory<'_>, at: i64, lane: u32) -> Result {
        let bound = match place {
            ByteMemory::Block(words, bytes) => return self.load_block(info, words, bytes, at, lane),
            ByteMemory::Tensor(bound) => bound,
        };
        let (to, row) = self.row(info, lane);
        if !bound.holds(at, info.extent, info.align) {
            return self.bad_tensor(lane, info, Access::Read, bound, at);
        }
        for (plane, part) in (0..).zip(&info.planes) {
            let byte = at as usize + part.offset as usize;
            let byte = bound.start + byte;
            self.words[(info.slot + plane * row + to) as usize] = self.numbers.load(bound.memory, byte, part.form);
        }
        if !bound.is_plain() { self.look_at_read(info, bound, at as usize, lane) } else { Ok(()) }
    }

    /// Checks that the elements that are read have been written, and are not being written by others.
    fn look_at_read(&self, info: &AccessInfo, bound: &BoundTensor<'_>, at: usize, lane: u32) -> Result {
        for part in info.planes.iter().filter(|p| p.wanted) {
            let byte = at + part.offset as usize;
            let (place, needed) = (bound.start + byte, mask(bound.start + byte, part.form));
            if !bound.complete && bound.memory.flags(place / 4) & needed != needed {
                let at = bound.element(byte as i64);
                return self.fault(lane, info.word, FaultKind::Unwritten { at });
            }
            let Some(shadow) = &bound.shadow else { continue };
            let who = Who { group: self.group, clock: &self.global_clock, private: info.private };
            for element in elements(byte, part.form, shadow.element) {
                if let Some(conflict) = shadow.read(element, &who, lane) {
                    let at = Element { of: bound.object.clone(), index: element as i64 };
                    return self.race(lane, info.word, Access::Read, at, conflict);
                }
            }
        }
        Ok(())
    }

    /// Checks a load that is done once for all lanes for a second lane too. Two lanes suffice to find any race.
    fn also_reads(&self, info: &AccessInfo, place: ByteMemory<'_>, base: i64) -> Result {
        match place {
            ByteMemory::Tensor(bound) if bound.shadow.is_some() => {
                let second = (self.first() + 1..self.code.lanes).find(|l| self.mask[*l as usize] != 0);
                second.map_or(Ok(()), |lane| self.look_at_read(info, bound, (self.offsets[0] + base) as usize, lane))
            }
            _ => Ok(()),
        }
    }

    fn load_block(&mut self, info: &AccessInfo, words: &[u32], bytes: i64, at: i64, lane: u32) -> Result {
        let (to, row) = self.row(info, lane);
        if at < 0 || at + i64::from(info.extent) > bytes {
            return self.outside(lane, info, Access::Read, &parameters(bytes), Beyond { at, limit: bytes, unit: 1 });
        }
        for (plane, part) in (0..).zip(&info.planes) {
            let byte = at as usize + part.offset as usize;
            let word = words.get(byte / 4).copied().unwrap_or(0);
            self.words[(info.slot + plane * row + to) as usize] = self.numbers.parameter(word, byte, part.form);
        }
        Ok(())
    }

    #[cold]
    pub(super) fn bad_tensor(&self, lane: u32, info: &AccessInfo, access: Access, bound: &BoundTensor<'_>, at: i64) -> Result {
        if !bound.is_within(at, info.extent) {
            let beyond = Beyond { at, limit: bound.bytes, unit: bound.size.into() };
            return self.outside(lane, info, access, &bound.object, beyond);
        }
        self.fault(lane, info.word, FaultKind::Misaligned { access, at: bound.element(at), alignment: info.align })
    }

    pub(super) fn store_bytes(&mut self, info: &AccessInfo) -> Result {
        for lane in 0..self.code.lanes {
            if self.mask[lane as usize] != 0 {
                let (place, base) = self.bytes(info, lane, Access::Write)?;
                let at = self.offsets[if info.apart { lane as usize } else { 0 }] + base;
                match place {
                    ByteMemory::Tensor(bound) => self.store_lane(info, bound, at, lane)?,
                    ByteMemory::Block(..) => {
                        let at = Element { of: parameters(0), index: at };
                        return self.fault(lane, info.word, FaultKind::ReadOnly { at });
                    }
                }
            }
        }
        Ok(())
    }

    fn store_lane(&mut self, info: &AccessInfo, bound: &BoundTensor<'_>, at: i64, lane: u32) -> Result {
        if !bound.holds(at, info.extent, info.align) {
            return self.bad_tensor(lane, info, Access::Write, bound, at);
        }
        let Some(shadow) = &bound.shadow else {
            return self.fault(lane, info.word, FaultKind::ReadOnly { at: bound.element(at) });
        };
        let who = Who { group: self.group, clock: &self.global_clock, private: info.private };
        let (row, from) = if info.lanes { (self.code.lanes, lane) } else { (1, 0) };
        for (plane, part) in (0..).zip(&info.planes) {
            let byte = at as usize + part.offset as usize;
            for element in elements(byte, part.form, shadow.element) {
                if let Some(conflict) = shadow.write(element, &who, lane) {
                    let at = Element { of: bound.object.clone(), index: element as i64 };
                    return self.race(lane, info.word, Access::Write, at, conflict);
                }
            }
            let value = self.words[(info.slot + plane * row + from) as usize];
            let byte = bound.start + byte;
            self.numbers.store(bound.memory, byte, part.form, value);
        }
        Ok(())
    }
}

/// Returns a mask of the bytes of a word that are accessed.
pub(super) fn mask(byte: usize, form: Form) -> u8 {
    (((1u32 << form.bytes()) - 1) << (byte % 4)) as u8
}

/// Returns the elements that are accessed.
pub(super) fn elements(byte: usize, form: Form, size: u32) -> RangeInclusive<usize> {
    let (size, width) = (size.max(1) as usize, form.bytes() as usize);
    byte / size..=(byte + width - 1) / size
}
