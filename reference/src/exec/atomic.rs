//! Atomic operations, executed lane by lane in memory that other threads see.

use super::access::ByteMemory;
use super::{Numbers, Result, Worker};
use crate::code::{AccessInfo, Atomic, AtomicOp, Root};
use crate::fault::{Access, Element, FaultKind, Object};
use crate::form::Form;
use crate::memory::Conflict;
use crate::memory::{shadow::Shadow, shared, trail};
use crate::run::BoundTensor;

impl<N: Numbers> Worker<'_, N> {
    pub(super) fn atomic(&mut self, n: u32) -> Result {
        let code = self.code;
        let atomic = code.atomics[n as usize];
        let info = &code.accesses[atomic.access as usize];
        self.offsets(info, Access::Atomic)?;
        for lane in 0..code.lanes {
            if self.mask[lane as usize] == 0 {
                continue;
            }
            let old = match info.root {
                Root::Shared { first, object } => self.atomic_shared(&atomic, info, first, &code.objects[object as usize], lane)?,
                _ => self.atomic_bytes(&atomic, info, lane)?,
            };
            self.words[(info.slot + lane) as usize] = old;
        }
        Ok(())
    }

    /// Returns the new value of a word, or `None` if it does not change.
    fn changed(&self, atomic: &Atomic, lane: u32, old: N::Word) -> Option<N::Word> {
        let value = || self.words[(atomic.value + lane) as usize];
        match atomic.op {
            AtomicOp::Load => None,
            AtomicOp::Store | AtomicOp::Exchange => Some(value()),
            AtomicOp::CompareExchange => (self.words[(atomic.comparator + lane) as usize] == old).then(value),
            AtomicOp::Combine(combine) => Some(self.numbers.combine(combine, old, value())),
        }
    }

    fn atomic_shared(&mut self, atomic: &Atomic, info: &AccessInfo, first: u32, object: &Object, lane: u32) -> Result<N::Word> {
        let at = self.inside(info, object, if info.apart { lane as usize } else { 0 }, lane, Access::Atomic)?;
        let cell = first as usize + at;
        let element = || Element { of: object.clone(), index: at as i64 };
        if atomic.op != AtomicOp::Store && !self.shared.is_written(cell, &self.shared_clock) {
            return self.fault(lane, info.word, FaultKind::Unwritten { at: element() });
        }
        let old = self.shared.load(cell);
        let new = self.changed(atomic, lane, old).unwrap_or(old);
        let who = shared::Who { clock: &self.shared_clock, lane, group: self.group };
        let conflict = match atomic.op {
            AtomicOp::Load => self.shared.atomic_load(cell, who),
            _ => self.shared.update(cell, new, who),
        };
        conflict.map_or(Ok(old), |conflict| self.race(lane, info.word, Access::Atomic, element(), conflict))
    }

    fn atomic_bytes(&self, atomic: &Atomic, info: &AccessInfo, lane: u32) -> Result<N::Word> {
        let (place, base) = self.bytes(info, lane, Access::Atomic)?;
        let at = self.offsets[if info.apart { lane as usize } else { 0 }] + base;
        let bound = match place {
            ByteMemory::Tensor(bound) => bound,
            ByteMemory::Block(..) => return self.read_only(info, lane, Element { of: super::access::parameters(0), index: at }),
        };
        if !bound.holds(at, info.extent, info.align) {
            return self.bad_tensor(lane, info, Access::Atomic, bound, at).map(|()| N::Word::default());
        }
        let Some(shadow) = &bound.shadow else { return self.read_only(info, lane, bound.element(at)) };
        let byte = bound.start + at as usize;
        if atomic.op != AtomicOp::Store && !bound.complete && bound.memory.flags(byte / 4) != 0xf {
            return self.fault(lane, info.word, FaultKind::Unwritten { at: bound.element(at) });
        }
        if let Some((element, conflict)) = self.conflict(atomic, bound, shadow, at as usize, lane) {
            let at = Element { of: bound.object.clone(), index: element as i64 };
            return self.race(lane, info.word, Access::Atomic, at, conflict);
        }
        if atomic.op == AtomicOp::Store {
            self.numbers.store(bound.memory, byte, Form::Word, self.words[(atomic.value + lane) as usize]);
            return Ok(N::Word::default());
        }
        Ok(self.numbers.update(bound.memory, byte, |old| self.changed(atomic, lane, old)))
    }

    fn conflict(
        &self,
        atomic: &Atomic,
        bound: &BoundTensor<'_>,
        shadow: &Shadow,
        at: usize,
        lane: u32,
    ) -> Option<(usize, Conflict)> {
        let who = trail::Who { group: self.group, clock: &self.global_clock, private: false };
        super::tensor::elements(at, Form::Word, bound.size).find_map(|element| {
            let conflict = match atomic.op {
                AtomicOp::Load => shadow.atomic_load(element, &who, lane),
                _ => shadow.update(element, &who, lane),
            };
            Some((element, conflict?))
        })
    }

    fn read_only<T>(&self, info: &AccessInfo, lane: u32, at: Element) -> Result<T> {
        self.fault(lane, info.word, FaultKind::ReadOnly { at })
    }
}
