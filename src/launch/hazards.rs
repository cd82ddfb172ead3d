//! Decides where a sequence of dispatches needs barriers.

use std::collections::HashMap;
use std::ops::Range;

/// The memory that was read and written since the last barrier.
#[derive(Default)]
pub(crate) struct Hazards {
    /// The accessed bytes of each memory, and whether they were written.
    since: HashMap<u64, Vec<(Range<u64>, bool)>>,
}

/// Bytes of a memory that a dispatch accesses.
#[derive(Clone)]
pub(crate) struct MemoryUse {
    pub(crate) memory: u64,
    /// Includes the gaps between the elements of a view, because an unneeded barrier does no harm.
    pub(crate) bytes: Range<u64>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Hazards {
    /// Returns true if a barrier must precede a dispatch with these accesses, and records the accesses.
    pub(crate) fn barrier_before(&mut self, touches: impl Iterator<Item = MemoryUse> + Clone) -> bool {
        let meets = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        let clash = |touch: MemoryUse| {
            let before = self.since.get(&touch.memory).map_or(&[][..], Vec::as_slice);
            let clashes = |written: bool| touch.writes || (touch.reads && written);
            before.iter().any(|(bytes, written)| clashes(*written) && meets(bytes, &touch.bytes))
        };
        let barrier = touches.clone().any(clash);
        if barrier {
            self.since.clear();
        }
        for MemoryUse { memory, bytes, reads, writes } in touches {
            let known = self.since.entry(memory).or_default();
            if (reads || writes) && !known.iter().any(|(b, written)| *b == bytes && (*written || !writes)) {
                known.push((bytes, writes));
            }
        }
        barrier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: (bool, bool) = (true, false);
    const W: (bool, bool) = (false, true);

    /// A memory, a range of its bytes, and whether they are read and written.
    type Use = (u64, Range<u64>, (bool, bool));

    fn barriers(steps: &[&[(u64, (bool, bool))]]) -> Vec<bool> {
        let whole = |uses: &&[(u64, (bool, bool))]| uses.iter().map(|(id, how)| (*id, 0..8, *how)).collect();
        barriers_of(&steps.iter().map(whole).collect::<Vec<_>>())
    }

    fn barriers_of(steps: &[Vec<Use>]) -> Vec<bool> {
        let mut hazards = Hazards::default();
        let touch = |(memory, bytes, (reads, writes)): &Use| MemoryUse {
            memory: *memory,
            bytes: bytes.clone(),
            reads: *reads,
            writes: *writes,
        };
        steps.iter().map(|uses| hazards.barrier_before(uses.iter().map(touch))).collect()
    }

    #[test]
    fn parts_of_one_memory_that_are_apart_need_none() {
        let steps =
            [vec![(1, 0..8, W)], vec![(1, 8..16, W)], vec![(1, 16..24, W), (1, 4..8, R)], vec![(1, 8..9, R)], vec![(1, 0..9, W)]];
        assert_eq!(barriers_of(&steps), [false, false, true, false, true]);
    }

    #[test]
    fn reads_need_no_barrier() {
        assert_eq!(barriers(&[&[(1, R), (2, W)], &[(1, R), (3, W)]]), [false, false]);
    }

    #[test]
    fn each_hazard_needs_one() {
        assert_eq!(barriers(&[&[(1, W)], &[(1, R)]]), [false, true], "read after write");
        assert_eq!(barriers(&[&[(1, R)], &[(1, W)]]), [false, true], "write after read");
        assert_eq!(barriers(&[&[(1, W)], &[(1, W)]]), [false, true], "write after write");
    }

    #[test]
    fn a_barrier_settles_all_before_it() {
        assert_eq!(barriers(&[&[(1, W)], &[(2, W)], &[(1, R)], &[(2, R)], &[(1, W)]]), [false, false, true, false, true]);
    }
}
