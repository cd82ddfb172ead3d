//! Shared buffers that use the same memory at different times. They are parts of one array for each dtype, in which each begins at an
//! element of its own ([`Notes::overlaid`](super::Notes::overlaid)). Lowering chooses these elements if a dispatch's buffers do not fit
//! beside each other, and the verifier checks that a buffer is dead when another one uses its elements.

use super::{Block, BufferId, NodeKind, Program, Space, walk};
use crate::diag::SpanId;
use crate::launch::DType;
use crate::profile::Profile;
use std::collections::BTreeMap;
use std::ops::Range;

/// Shared memory of a dispatch: one buffer, or the array of overlaid buffers of a dtype.
#[derive(Clone, Debug)]
pub struct SharedPart {
    /// The buffers, each with its bytes and the directive that made it.
    pub buffers: Vec<(BufferId, i64, SpanId)>,
    /// The bytes of the memory.
    pub bytes: i64,
}

impl Program {
    /// Returns the elements that a buffer uses in the array of its dtype. `None` if the buffer has an array of its own.
    pub fn overlaid(&self, buffer: BufferId) -> Option<Range<i64>> {
        let first = i64::from(*self.notes.overlaid.get(&buffer)?);
        Some(first..first.saturating_add(self.local_elements(buffer)?))
    }

    /// True if two different shared buffers have memory in common.
    pub fn overlay(&self, a: BufferId, b: BufferId) -> bool {
        let same = a != b && self.buffers[a].dtype == self.buffers[b].dtype;
        let ranges = self.overlaid(a).zip(self.overlaid(b)).filter(|_| same);
        ranges.is_some_and(|(a, b)| a.start < b.end && b.start < a.end)
    }

    /// Returns the shared memory of the buffers that a nest allocates.
    pub fn shared_parts(&self, body: &Block, profile: &Profile) -> Vec<SharedPart> {
        let mut made: BTreeMap<BufferId, SpanId> = BTreeMap::new();
        for node in walk::nodes(body) {
            if let NodeKind::Alloc { buffer, .. } = node.kind
                && self.buffers[buffer].space == Space::Shared
            {
                made.entry(buffer).or_insert(node.span);
            }
        }
        let (mut parts, mut arrays): (Vec<SharedPart>, BTreeMap<DType, SharedPart>) = (Vec::new(), BTreeMap::new());
        for (buffer, span) in made {
            let bytes = self.local_bytes(buffer, profile).unwrap_or(i64::MAX);
            let Some(range) = self.overlaid(buffer) else {
                parts.push(SharedPart { buffers: vec![(buffer, bytes, span)], bytes });
                continue;
            };
            let array = arrays.entry(self.buffers[buffer].dtype).or_insert(SharedPart { buffers: Vec::new(), bytes: 0 });
            array.buffers.push((buffer, bytes, span));
            array.bytes = array.bytes.max(range.end.saturating_mul(self.element_bytes(buffer, profile)));
        }
        parts.extend(arrays.into_values());
        parts
    }
}
