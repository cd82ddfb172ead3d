//! Faults as they are reported.

use super::{Result, Worker};
use crate::code::AccessInfo;
use crate::fault::{Access, Element, Fault, FaultKind, Invocation, Object};
use crate::memory::Conflict;

impl Worker<'_> {
    /// A fault of a lane.
    #[cold]
    pub(super) fn fault<T>(&self, lane: u32, word: u32, kind: FaultKind) -> Result<T> {
        let by = Invocation { local: self.local(lane), workgroup: self.place, piece: self.launch.several(self.piece) };
        Err(Box::new(Fault { by, kind, word }))
    }

    /// Two accesses that nothing orders. Of two workgroups the later one is to blame, whichever came first in time.
    #[cold]
    pub(super) fn race<T>(&self, lane: u32, word: u32, access: Access, at: Element, conflict: Conflict) -> Result<T> {
        let (piece, workgroup) = self.launch.place(conflict.group);
        let other = Invocation { local: self.local(conflict.lane), workgroup, piece: self.launch.several(piece) };
        let own = Invocation { local: self.local(lane), workgroup: self.place, piece: self.launch.several(self.piece) };
        let (by, access, other, other_access) =
            if conflict.group > self.group { (other, conflict.access, own, access) } else { (own, access, other, conflict.access) };
        Err(Box::new(Fault { by, kind: FaultKind::Race { access, at, other_access, other }, word }))
    }

    /// An access that leaves its object: `place` is where its first part should have been, `limit` what there is, both in
    /// units of `unit` to an element.
    #[cold]
    pub(super) fn outside<T>(&self, lane: u32, info: &AccessInfo, access: Access, of: &Object, place: i64, limit: i64, unit: i64) -> Result<T> {
        let outside = |at: i64| at < 0 || at >= limit;
        let size = |half: bool| if unit == 1 && info.extent == info.planes.len() as u32 { 1 } else if half { 2 } else { 4 };
        let mut first = place;
        for part in &info.planes {
            let at = place + i64::from(part.offset);
            if outside(at) || outside(at + size(part.half) - 1) {
                first = at;
                break;
            }
        }
        let at = Element { of: of.clone(), index: first.div_euclid(unit.max(1)) };
        self.fault(lane, info.word, FaultKind::OutOfBounds { access, at })
    }

    pub(super) fn check_written(&mut self, n: u32) -> Result {
        let code = self.code;
        let written = &code.written[n as usize];
        let row = if written.lanes { code.lanes } else { 1 };
        for plane in &written.planes {
            for lane in 0..row {
                let flag = self.words[(written.flags + plane * row + lane) as usize];
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
