//! The record that a module writes its first fault into, and the fault that the host reads from it.
//!
//! The record is a storage buffer of 32-bit words. Its first words are the module's to write and are 0 at first. The host writes the words
//! after them: the chunk of the grid, and the spans of the tensors.

use super::Checked;
use super::races::Clock;
use crate::fault::{Access, Element, Fault, FaultKind, Invocation, Object, SourcePosition, Space};

/// The words of the record.
pub(super) mod word {
    /// 1 once an invocation has reported a fault.
    pub(crate) const CLAIMED: u32 = 0;
    /// The number of the site, from 1 on.
    pub(crate) const SITE: u32 = 1;
    /// The index, or the low word of a byte offset.
    pub(crate) const LOW: u32 = 2;
    /// The high word of a byte offset, or the earlier access of a race as it was recorded.
    pub(crate) const HIGH: u32 = 3;
    /// `LocalInvocationIndex`.
    pub(crate) const LOCAL: u32 = 4;
    /// `WorkgroupId`, in three words.
    pub(crate) const GROUP: u32 = 5;
    /// The first workgroup of the chunk, in three words.
    pub(crate) const BASE: u32 = 8;
    /// The workgroups of the chunk in x and y.
    pub(crate) const SIZE: u32 = 11;
    /// The spans, in two words each.
    pub(crate) const SPANS: u32 = 14;
}

/// A part of a dispatch's grid that is dispatched at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The first workgroup in x, y, z.
    pub base: [u32; 3],
    /// The number of workgroups in x, y, z.
    pub groups: [u32; 3],
}

/// A tensor that a dispatch accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor<'a> {
    /// Its name.
    pub name: &'a str,
    /// The bytes of an element.
    pub element: u32,
    /// The bytes from its first element to the end of its last one.
    pub bytes: u64,
}

/// The number of places in a tensor at which `need` consecutive units begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Span {
    pub(super) buffer: usize,
    /// The bytes of a unit.
    pub(super) unit: u32,
    pub(super) need: u32,
}

impl Span {
    fn of(self, bytes: u64) -> u64 {
        let units = bytes / u64::from(self.unit.max(1));
        (units + 1).saturating_sub(self.need.into())
    }
}

/// An access in the module that is checked.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) word: u32,
    pub(super) place: Option<SourcePosition>,
    pub(super) access: Access,
    pub(super) target: Target,
    /// True if it is a race that is reported, and false for an access out of bounds.
    pub(super) is_race: bool,
}

/// The object that is accessed, and the unit in which its index is counted.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A buffer of the dispatch, and the bytes of a unit. The index is signed.
    Tensor { buffer: usize, unit: u32, is_wide: bool },
    /// An array, in elements of a unit. The units are counted from `first` on.
    Array { object: Object, unit: u32, first: u32 },
}

impl Target {
    fn element(&self, low: u32, high: u32, tensors: &[Tensor<'_>]) -> Element {
        match self {
            Target::Tensor { buffer, unit, is_wide } => {
                let tensor = tensors.get(*buffer);
                let element = i64::from(tensor.map_or(1, |t| t.element).max(1));
                let elements = tensor.map_or(0, |t| t.bytes / element as u64);
                let name = tensor.map_or_else(String::new, |t| t.name.to_owned());
                let units =
                    if *is_wide { (u64::from(high) << 32 | u64::from(low)).cast_signed() } else { low.cast_signed().into() };
                let index = units.saturating_mul((*unit).into()).div_euclid(element);
                Element { of: Object { space: Space::Tensor, name, elements, first: None }, index }
            }
            Target::Array { object, unit, first } => {
                let units = i64::from(low.wrapping_sub(*first).cast_signed());
                Element { of: object.clone(), index: units.saturating_mul((*unit).into()) }
            }
        }
    }
}

impl Checked {
    /// The bytes at the start of a record that the module writes.
    pub const REPORT_BYTES: usize = 4 * word::BASE as usize;

    /// Returns the contents of the record before a chunk of the grid runs. `tensors` are the tensors of the dispatch in order.
    pub fn record(&self, chunk: &Chunk, tensors: &[Tensor<'_>]) -> Vec<u8> {
        let mut words = vec![0; word::SPANS as usize];
        words[word::BASE as usize..][..3].copy_from_slice(&chunk.base);
        words[word::SIZE as usize..][..2].copy_from_slice(&chunk.groups[..2]);
        for span in &self.spans {
            let count = span.of(tensors.get(span.buffer).map_or(0, |t| t.bytes));
            words.extend([count as u32, (count >> 32) as u32]);
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Returns the bytes of the record.
    pub fn record_bytes(&self) -> u64 {
        4 * (u64::from(word::SPANS) + 2 * self.spans.len() as u64)
    }

    /// Returns the fault in the start of a record after its chunk has run, if there is one. `piece` is the part of the dispatch, if its grid is cut into
    /// several.
    pub fn fault(&self, record: &[u8], tensors: &[Tensor<'_>], piece: Option<u32>) -> Option<Box<Fault>> {
        let word = |n: u32| record.get(4 * n as usize..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        if word(word::CLAIMED) == 0 {
            return None;
        }
        let site = self.sites.get((word(word::SITE) as usize).checked_sub(1)?)?;
        let workgroup = [0, 1, 2].map(|axis| word(word::GROUP + axis));
        let invocation = |local| Invocation { local: self.local(local), workgroup, piece };
        let at = site.target.element(word(word::LOW), word(word::HIGH), tensors);
        let by = invocation(word(word::LOCAL));
        let kind = if site.is_race {
            let other = self.clock.one(word(word::HIGH)).map(invocation);
            let other_access = if Clock::writes(word(word::HIGH)) { Access::Write } else { Access::Read };
            FaultKind::Race { access: site.access, at, other_access, other }
        } else {
            FaultKind::OutOfBounds { access: site.access, at }
        };
        Some(Box::new(Fault { by, kind, word: site.word, place: site.place.clone() }))
    }

    /// Returns the `LocalInvocationId` of an index.
    fn local(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.local.map(|n| n.max(1));
        [index % x, index / x % y, index / x / y]
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_span_counts_the_places_at_which_the_units_fit() {
        let span = |unit, need, bytes| Span { buffer: 0, unit, need }.of(bytes);
        assert_eq!(span(4, 1, 40), 10);
        assert_eq!(span(16, 1, 40), 2, "the last vector would be cut off");
        assert_eq!(span(4, 8, 40), 3);
        assert_eq!(span(4, 11, 40), 0);
        assert_eq!(span(1, 16, 1 << 33), (1 << 33) - 15);
        assert_eq!(span(4, 1, 0), 0);
    }
}
