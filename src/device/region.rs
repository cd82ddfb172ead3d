//! The bytes of a memory that a tensor occupies: contiguous runs at the points of a grid.

/// A set of bytes in a piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The offset of the first byte.
    pub(crate) start: u64,
    /// The number of contiguous bytes in a run; 0 if the region is empty.
    pub(crate) run: u64,
    /// The dimensions of the grid at whose points there are runs, outermost first. Empty if there is one run.
    pub(crate) steps: Vec<StridedDim>,
}

/// A dimension of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StridedDim {
    /// The number of points, at least two.
    pub(crate) count: u64,
    /// The stride in bytes.
    pub(crate) bytes: u64,
}

impl Region {
    /// Returns a region of contiguous bytes.
    pub(crate) fn dense(start: u64, bytes: u64) -> Region {
        Region { start, run: bytes, steps: Vec::new() }
    }

    /// Returns the region of a tensor with elements of `each` bytes, given its first element and its strides, in elements.
    pub(crate) fn of(first: usize, shape: &[usize], strides: &[usize], each: u32) -> Region {
        let each = u64::from(each);
        let mut region = Region { start: first as u64 * each, run: each, steps: Vec::new() };
        if shape.contains(&0) {
            return Region { run: 0, ..region };
        }
        for (count, stride) in shape.iter().zip(strides).rev().filter(|(count, _)| **count > 1) {
            let (count, bytes) = (*count as u64, *stride as u64 * each);
            match region.steps.last_mut() {
                None if bytes == region.run => region.run *= count,
                Some(inner) if bytes == inner.count * inner.bytes => inner.count *= count,
                _ => region.steps.push(StridedDim { count, bytes }),
            }
        }
        region.steps.reverse();
        region
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.run == 0
    }

    /// Returns the number of bytes from the first to the last, including gaps that are not the tensor's.
    pub(crate) fn bytes(&self) -> u64 {
        self.steps.iter().fold(self.run, |all, step| all + (step.count - 1) * step.bytes)
    }

    /// Returns the offset behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes()
    }

    /// Returns the offset of each run, in the order of the tensor's elements.
    pub(crate) fn runs(&self) -> impl Iterator<Item = u64> + '_ {
        let count = if self.is_empty() { 0 } else { self.steps.iter().fold(1, |n, step| n * step.count) };
        let mut index = vec![0u64; self.steps.len()];
        (0..count).map(move |_| {
            let at = self.steps.iter().zip(&index).fold(self.start, |at, (step, n)| at + n * step.bytes);
            for (n, step) in index.iter_mut().zip(&self.steps).rev() {
                *n += 1;
                if *n < step.count {
                    break;
                }
                *n = 0;
            }
            at
        })
    }

    /// Returns true if two regions of one memory may share a byte. Cases that would need a search count as sharing.
    pub(crate) fn overlaps(&self, other: &Region) -> bool {
        if self.is_empty() || other.is_empty() || self.end() <= other.start || other.end() <= self.start {
            return false;
        }
        !self.are_boxes_apart(other)
    }

    /// Returns true if both regions are boxes in a common grid and are disjoint in one of its dimensions.
    fn are_boxes_apart(&self, other: &Region) -> bool {
        let mut radices: Vec<u64> = self.steps.iter().chain(&other.steps).map(|step| step.bytes).chain([1]).collect();
        radices.sort_unstable_by(|a, b| b.cmp(a));
        radices.dedup();
        if radices.windows(2).any(|pair| matches!(pair, [wide, narrow] if wide % narrow != 0)) {
            return false;
        }
        match (self.coordinates(&radices), other.coordinates(&radices)) {
            (Some(ours), Some(theirs)) => ours.iter().zip(&theirs).any(|(a, b)| a.0 + a.1 <= b.0 || b.0 + b.1 <= a.0),
            _ => false,
        }
    }

    /// Returns the first coordinate and the extent of the region in each dimension of a grid, whose widest step comes first. `None`
    /// if the region is not a box of that grid.
    fn coordinates(&self, radices: &[u64]) -> Option<Vec<(u64, u64)>> {
        let (mut rest, mut room, mut found) = (self.start, u64::MAX, Vec::new());
        for radix in radices {
            let mut along = self.steps.iter().filter(|step| step.bytes == *radix).map(|step| step.count);
            let own = if *radix == 1 { Some(self.run) } else { None };
            let count = along.next().or(own).unwrap_or(1);
            let first = rest / radix;
            if along.next().is_some() || (own.is_some() && count != self.run) || first + count > room / radix {
                return None;
            }
            found.push((first, count));
            (rest, room) = (rest % radix, *radix);
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: usize, shape: &[usize], strides: &[usize]) -> Region {
        Region::of(first, shape, strides, 4)
    }

    #[test]
    fn what_lies_side_by_side_is_one_run() {
        assert_eq!(of(3, &[2, 5], &[5, 1]), Region::dense(12, 40));
        assert_eq!(of(0, &[1, 1, 5], &[77, 3, 1]), Region::dense(0, 20));
        assert_eq!(of(1, &[2, 3, 4], &[24, 8, 1]), Region { start: 4, run: 16, steps: vec![StridedDim { count: 6, bytes: 32 }] });
        let across = of(0, &[3, 2], &[1, 3]);
        assert_eq!(across.runs().collect::<Vec<_>>(), [0, 12, 4, 16, 8, 20]);
        assert_eq!((across.bytes(), across.end()), (24, 24));
        assert!(of(9, &[3, 0], &[1, 1]).is_empty());
        assert_eq!(of(9, &[3, 0], &[1, 1]).runs().count(), 0);
    }

    #[test]
    fn parts_of_a_tensor_that_are_apart_do_not_overlap() {
        // Parts of a tensor of shape [6, 8]: columns, rows, and both.
        let (left, right) = (of(0, &[6, 4], &[8, 1]), of(4, &[6, 4], &[8, 1]));
        assert!(!left.overlaps(&right) && !right.overlaps(&left));
        assert!(left.overlaps(&of(3, &[6, 2], &[8, 1])));
        let (even, odd) = (of(0, &[3, 8], &[16, 1]), of(8, &[3, 8], &[16, 1]));
        assert!(!even.overlaps(&odd));
        assert!(even.overlaps(&left) && !even.overlaps(&of(8, &[8], &[1])));
        assert!(!of(0, &[24], &[2]).overlaps(&of(1, &[24], &[2])), "every second element, and the others");
        assert!(!of(0, &[8], &[1]).overlaps(&of(8, &[8], &[1])));
        // A region that extends over the end of a row is not a box.
        assert!(left.overlaps(&of(6, &[5, 4], &[8, 1])));
        // Steps of 2 and of 3 elements share some elements.
        assert!(of(0, &[10], &[2]).overlaps(&of(1, &[10], &[3])));
    }

    /// Compares with the sets of bytes: regions that do not overlap by the answer are disjoint.
    #[test]
    fn no_two_regions_that_overlap_are_said_to_be_apart() {
        let regions: Vec<Region> = (0..4)
            .flat_map(|first| [[2usize, 3], [3, 1], [1, 4], [2, 2]].map(|shape| (first, shape)))
            .flat_map(|(first, shape)| [[8usize, 1], [1, 8], [4, 2], [6, 2], [3, 1]].map(|strides| of(first, &shape, &strides)))
            .collect();
        let bytes = |r: &Region| r.runs().flat_map(|at| at..at + r.run).collect::<std::collections::HashSet<u64>>();
        for a in &regions {
            for b in &regions {
                assert!(a.overlaps(b) || bytes(a).is_disjoint(&bytes(b)), "{a:?} {b:?}");
            }
        }
    }
}
