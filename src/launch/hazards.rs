//! Where a sequence of dispatches needs barriers.

use std::collections::HashSet;

/// What was read and written since the last barrier.
#[derive(Default)]
pub(crate) struct Hazards {
    read: HashSet<u64>,
    written: HashSet<u64>,
}

impl Hazards {
    /// Whether a barrier must precede a dispatch that uses this memory: `(id, reads, writes)`.
    pub(crate) fn barrier_before(&mut self, uses: impl Iterator<Item = (u64, bool, bool)> + Clone) -> bool {
        let clash = |(id, reads, writes): (u64, bool, bool)| {
            ((reads || writes) && self.written.contains(&id)) || (writes && self.read.contains(&id))
        };
        let barrier = uses.clone().any(clash);
        if barrier {
            self.clear();
        }
        for (id, reads, writes) in uses {
            if reads {
                self.read.insert(id);
            }
            if writes {
                self.written.insert(id);
            }
        }
        barrier
    }

    /// After a barrier.
    pub(crate) fn clear(&mut self) {
        self.read.clear();
        self.written.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: (bool, bool) = (true, false);
    const W: (bool, bool) = (false, true);

    fn barriers(steps: &[&[(u64, (bool, bool))]]) -> Vec<bool> {
        let mut hazards = Hazards::default();
        steps.iter().map(|uses| hazards.barrier_before(uses.iter().map(|&(id, (r, w))| (id, r, w)))).collect()
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
