//! Loads and stores of shared arrays, and of registers that are indexed as the module runs.

use super::faults::Beyond;
use super::{Numbers, Result, Worker};
use crate::code::{AccessInfo, Register};
use crate::fault::{Access, Element, FaultKind, Object};
use crate::memory::shared::Who;

impl<N: Numbers> Worker<'_, N> {
    /// Returns the lanes in which an access is made, each with its position among the offsets and in the value's rows.
    /// These are the active lanes. If the access is made once for all lanes, the first two suffice.
    fn members(&self, info: &AccessInfo) -> impl Iterator<Item = (u32, usize, u32)> + use<N> {
        let (apart, lanes) = (info.apart, info.lanes);
        let count = if apart || lanes { usize::MAX } else { 2 };
        let active: Vec<u32> = (0..).zip(&self.mask).filter(|(_, m)| **m != 0).map(|(lane, _)| lane).take(count).collect();
        active.into_iter().map(move |lane| (lane, if apart { lane as usize } else { 0 }, if lanes { lane } else { 0 }))
    }

    pub(super) fn load_shared(&mut self, info: &AccessInfo, first: u32, object: &Object) -> Result {
        let row = if info.lanes { self.code.lanes } else { 1 };
        for (lane, offset, to) in self.members(info) {
            let at = self.inside(info, object, offset, lane, Access::Read)?;
            for (plane, part) in (0..).zip(&info.planes) {
                let index = at + part.offset as usize;
                let cell = first as usize + index;
                self.words[(info.slot + plane * row + to) as usize] = self.shared.load(cell);
                if !part.wanted {
                    continue;
                }
                let element = || Element { of: object.clone(), index: index as i64 };
                if !self.shared.is_written(cell, &self.shared_clock) {
                    return self.fault(lane, info.word, FaultKind::Unwritten { at: element() });
                }
                if let Some(conflict) = self.shared.read(cell, Who { clock: &self.shared_clock, lane, group: self.group }) {
                    return self.race(lane, info.word, Access::Read, element(), conflict);
                }
            }
        }
        Ok(())
    }

    pub(super) fn store_shared(&mut self, info: &AccessInfo, first: u32, object: &Object) -> Result {
        let row = if info.lanes { self.code.lanes } else { 1 };
        for (lane, offset, from) in self.members(info) {
            let at = self.inside(info, object, offset, lane, Access::Write)?;
            for (plane, part) in (0..).zip(&info.planes) {
                let index = at + part.offset as usize;
                let value = self.words[(info.slot + plane * row + from) as usize];
                let cell = first as usize + index;
                let who = Who { clock: &self.shared_clock, lane, group: self.group };
                if let Some(conflict) = self.shared.write(cell, value, who) {
                    let at = Element { of: object.clone(), index: index as i64 };
                    return self.race(lane, info.word, Access::Write, at, conflict);
                }
            }
        }
        Ok(())
    }

    /// Returns the plane at which an access begins. It is a fault if the access leaves its object.
    pub(super) fn inside(&self, info: &AccessInfo, object: &Object, offset: usize, lane: u32, access: Access) -> Result<usize> {
        let (at, limit) = (self.offsets[offset], object.elements as i64);
        if at < 0 || at + i64::from(info.extent) > limit {
            return self.outside(lane, info, access, object, Beyond { at, limit, unit: 1 });
        }
        Ok(at as usize)
    }

    pub(super) fn load_register(&mut self, info: &AccessInfo, register: &Register) -> Result {
        let code = self.code;
        let object = &code.objects[register.object as usize];
        let (row, own) = (if info.lanes { code.lanes } else { 1 }, if register.lanes { code.lanes } else { 1 });
        for (lane, offset, to) in self.members(info) {
            let at = self.inside(info, object, offset, lane, Access::Read)?;
            let lane_of = if register.lanes { lane } else { 0 };
            for (plane, part) in (0..).zip(&info.planes) {
                let index = at as u32 + part.offset;
                let place = index * own + lane_of;
                let missing = register.flags.is_some_and(|flags| self.integer(flags + place) == 0);
                if missing && part.wanted {
                    let at = Element { of: object.clone(), index: index.into() };
                    return self.fault(lane, info.word, FaultKind::Unwritten { at });
                }
                self.words[(info.slot + plane * row + to) as usize] = self.words[(register.slot + place) as usize];
            }
        }
        Ok(())
    }

    pub(super) fn store_register(&mut self, info: &AccessInfo, register: &Register) -> Result {
        let code = self.code;
        let object = &code.objects[register.object as usize];
        let (row, own) = (if info.lanes { code.lanes } else { 1 }, if register.lanes { code.lanes } else { 1 });
        for (lane, offset, from) in self.members(info) {
            let at = self.inside(info, object, offset, lane, Access::Write)?;
            let lane_of = if register.lanes { lane } else { 0 };
            for (plane, part) in (0..).zip(&info.planes) {
                let place = (at as u32 + part.offset) * own + lane_of;
                self.words[(register.slot + place) as usize] = self.words[(info.slot + plane * row + from) as usize];
                if let Some(flags) = register.flags {
                    self.words[(flags + place) as usize] = N::word(1);
                }
            }
        }
        Ok(())
    }
}
