//! Where a sequence of dispatches needs barriers.

use std::collections::HashMap;

/// What was read and written, and since which barrier.
#[derive(Default)]
pub(crate) struct Hazards {
    /// Of each memory, the barriers before its last read and its last write, plus 1; 0: none.
    last: HashMap<u64, (u32, u32)>,
    barriers: u32,
}

impl Hazards {
    /// Whether a barrier must precede a dispatch that uses this memory: `(id, reads, writes)`.
    pub(crate) fn barrier_before(&mut self, uses: impl Iterator<Item = (u64, bool, bool)> + Clone) -> bool {
        let now = self.barriers + 1;
        let clash = |(id, reads, writes): (u64, bool, bool)| {
            let (read, written) = self.last.get(&id).copied().unwrap_or_default();
            ((reads || writes) && written == now) || (writes && read == now)
        };
        let barrier = uses.clone().any(clash);
        self.barriers += u32::from(barrier);
        let now = self.barriers + 1;
        for (id, reads, writes) in uses {
            let (read, written) = self.last.entry(id).or_default();
            if reads {
                *read = now;
            }
            if writes {
                *written = now;
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
