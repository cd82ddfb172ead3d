//! Creates the faults that are reported.

use super::{Numbers, Result, Worker};
use crate::code::AccessInfo;
use crate::fault::{Access, Element, Fault, FaultKind, Invocation, Object};
use crate::memory::Conflict;

/// The start of an access and the size of its object, in bytes or planes, and the size of an element.
pub(super) struct Beyond {
    pub(super) at: i64,
    pub(super) limit: i64,
    pub(super) unit: i64,
}

impl<N: Numbers> Worker<'_, N> {
    /// Returns a fault of a lane.
    #[cold]
    pub(super) fn fault<T>(&self, lane: u32, word: u32, kind: FaultKind) -> Result<T> {
        let by = Invocation { local: self.local(lane), workgroup: self.place, piece: self.launch.several(self.piece) };
        Err(Box::new(Fault { by, kind, word, place: self.code.lines.place(word) }))
    }

    /// Reports two accesses that are not ordered. If they are from two workgroups, the later workgroup is blamed,
    /// whichever access came first in time.
    #[cold]
    pub(super) fn race<T>(&self, lane: u32, word: u32, access: Access, at: Element, conflict: Conflict) -> Result<T> {
        let (piece, workgroup) = self.launch.place(conflict.group);
        let other = Invocation { local: self.local(conflict.lane), workgroup, piece: self.launch.several(piece) };
        let own = Invocation { local: self.local(lane), workgroup: self.place, piece: self.launch.several(self.piece) };
        let (by, access, other, other_access) =
            if conflict.group > self.group { (other, conflict.access, own, access) } else { (own, access, other, conflict.access) };
        let kind = FaultKind::Race { access, at, other_access, other: Some(other) };
        Err(Box::new(Fault { by, kind, word, place: self.code.lines.place(word) }))
    }

    /// Reports an access that leaves its object.
    #[cold]
    pub(super) fn outside<T>(&self, lane: u32, info: &AccessInfo, access: Access, of: &Object, beyond: Beyond) -> Result<T> {
        let outside = |at: i64| at < 0 || at >= beyond.limit;
        let first = info.planes.iter().find_map(|part| {
            let at = beyond.at + i64::from(part.offset);
            let last = at + i64::from(part.size) - 1;
            (outside(at) || outside(last)).then_some(at)
        });
        let index = first.unwrap_or(beyond.at).div_euclid(beyond.unit.max(1));
        self.fault(lane, info.word, FaultKind::OutOfBounds { access, at: Element { of: of.clone(), index } })
    }

    pub(super) fn check_written(&mut self, n: u32) -> Result {
        let code = self.code;
        let written = &code.written[n as usize];
        let row = if written.lanes { code.lanes } else { 1 };
        for plane in &written.planes {
            for lane in 0..row {
                let flag = self.integer(written.flags + plane * row + lane);
                if flag == 0 && (!written.lanes || self.mask[lane as usize] != 0) {
                    let lane = if written.lanes { lane } else { self.first() };
                    let of = code.objects[written.object as usize].clone();
                    let at = Element { of, index: i64::from(written.first + plane) };
                    return self.fault(lane, written.word, FaultKind::Unwritten { at });
                }
            }
        }
        Ok(())
    }
}
