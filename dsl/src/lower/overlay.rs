//! Lets shared buffers use the same memory at different times, if the buffers of a dispatch do not fit beside each other. For example, a
//! result that goes through shared memory takes the place of the operands' copies.
//!
//! The live range of a buffer is the range of leaves from its first access to its last one. It includes every loop within the buffer's
//! scope that contains an access, because the loop can carry elements to its next iteration. Buffers of one dtype become parts of one
//! array. The largest buffers are placed first, each at the lowest element where no buffer with an overlapping live range is.
//!
//! Buffers that fit beside each other keep memory of their own, because each reuse needs a barrier. So do buffers that are the scratch of
//! all-reduces already.

use super::shared_limit;
use crate::launch::DType;
use crate::nest::{AllReduce, Block, BufferId, Exec, Node, NodeKind, Program, Space, walk};
use crate::profile::Profile;
use std::collections::BTreeMap;
use std::ops::Range;

/// The alignment of an overlaid buffer in bytes: the largest vector, and the rows of matrices.
const ALIGNMENT: i64 = 16;

/// Overlays the buffers of every dispatch that needs it.
pub(super) fn run(program: &mut Program, profile: &Profile) {
    for at in 0..program.plan.len() {
        if shared_limit::shared_bytes(program, profile, &program.plan[at].body) > i64::from(profile.shared_bytes) {
            let places = places(program, &program.plan[at].body);
            program.notes.overlaid.extend(places);
        }
    }
}

/// Returns the first element of each overlaid buffer of a dispatch.
fn places(program: &Program, body: &Block) -> Vec<(BufferId, u32)> {
    let mut lives = Lives { program, leaves: 0, found: BTreeMap::new() };
    lives.block(body);
    let mut arrays: BTreeMap<DType, Vec<(BufferId, i64)>> = BTreeMap::new();
    let is_scratch = |buffer: &BufferId| {
        walk::nodes(body)
            .any(|node| matches!(&node.kind, NodeKind::AllReduce(AllReduce { scratch: Some(s), .. }) if s.buffer == *buffer))
    };
    for buffer in lives.found.keys().filter(|buffer| !is_scratch(buffer)) {
        let Some(elements) = program.local_elements(*buffer) else { continue };
        arrays.entry(program.buffers[*buffer].dtype).or_default().push((*buffer, elements));
    }
    arrays.into_iter().flat_map(|(dtype, buffers)| array(dtype, buffers, &lives.found)).collect()
}

/// Places buffers in one array. Returns nothing if the array is not smaller than the buffers together.
fn array(dtype: DType, mut buffers: Vec<(BufferId, i64)>, lives: &BTreeMap<BufferId, Vec<Range<usize>>>) -> Vec<(BufferId, u32)> {
    let step = (ALIGNMENT / i64::from(dtype.bytes())).max(1);
    let total: i64 = buffers.iter().map(|(_, elements)| elements).sum();
    buffers.sort_by_key(|(_, elements)| -elements);
    let meet = |a: BufferId, b: BufferId| {
        let pairs = lives[&a].iter().flat_map(|a| lives[&b].iter().map(move |b| (a, b)));
        pairs.into_iter().any(|(a, b)| a.start < b.end && b.start < a.end)
    };
    let mut placed: Vec<(BufferId, Range<i64>)> = Vec::new();
    for (buffer, elements) in buffers {
        let taken: Vec<&Range<i64>> = placed.iter().filter(|(other, _)| meet(buffer, *other)).map(|(_, range)| range).collect();
        let is_free = |first: &i64| taken.iter().all(|range| range.end <= *first || first + elements <= range.start);
        let ends = taken.iter().map(|range| (range.end + step - 1) / step * step);
        let first = std::iter::once(0).chain(ends).filter(is_free).min().unwrap_or(0);
        placed.push((buffer, first..first + elements));
    }
    let end = placed.iter().map(|(_, range)| range.end).max().unwrap_or(0);
    let places = placed.iter().map(|(buffer, range)| Some((*buffer, u32::try_from(range.start).ok()?)));
    places.collect::<Option<_>>().filter(|_| end < total).unwrap_or_default()
}

/// A range of leaves for each buffer.
type Ranges = BTreeMap<BufferId, Range<usize>>;

/// Returns the smallest range that contains all ranges of a buffer, for each buffer.
fn joined(ranges: impl Iterator<Item = (BufferId, Range<usize>)>) -> Ranges {
    let mut all = Ranges::new();
    for (buffer, range) in ranges {
        let known = all.entry(buffer).or_insert(range.clone());
        *known = known.start.min(range.start)..known.end.max(range.end);
    }
    all
}

/// The live ranges of shared buffers. A buffer that a pass has allocated in several places has several.
struct Lives<'p> {
    program: &'p Program,
    /// The number of leaves before the current node.
    leaves: usize,
    found: BTreeMap<BufferId, Vec<Range<usize>>>,
}

impl Lives<'_> {
    /// Returns the ranges of the buffers that a block accesses and does not allocate.
    fn block(&mut self, block: &Block) -> Ranges {
        joined(block.iter().flat_map(|node| self.node(node)))
    }

    fn node(&mut self, node: &Node) -> Ranges {
        let first = self.leaves;
        if node.blocks().next().is_none() {
            self.leaves += 1;
            let buffers = node.accesses(&self.program.exprs).into_iter().map(|access| access.place.buffer);
            let shared = buffers.filter(|buffer| self.program.buffers[*buffer].space == Space::Shared);
            return shared.map(|buffer| (buffer, first..first + 1)).collect();
        }
        let mut all = joined(node.blocks().flat_map(|block| self.block(block)));
        match &node.kind {
            NodeKind::Loop(looped) if matches!(looped.exec, Exec::Serial | Exec::Unroll) => {
                all.values_mut().for_each(|range| *range = first..self.leaves);
            }
            NodeKind::Alloc { buffer, .. } => {
                if let Some(range) = all.remove(buffer) {
                    self.found.entry(*buffer).or_default().push(range);
                }
            }
            _ => {}
        }
        all
    }
}
