//! The order of blocks, and the points where branches join again.
//!
//! The order is the structured one: the blocks of a construct are between its header and its merge block, and a loop's continue
//! target follows its body. If lanes have taken different branches, the lowest block runs first, so that lanes join as early as
//! possible.

use crate::module::Module;
use crate::words::{Id, Result, malformed};
use std::collections::HashMap;

/// The control flow. Blocks are identified by their places in the order.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The index in the module's list of the block at each place.
    pub(crate) order: Vec<usize>,
    pub(crate) places: HashMap<Id, usize>,
    pub(crate) next: Vec<Vec<usize>>,
    pub(crate) before: Vec<Vec<usize>>,
    /// The immediate postdominator of each block: the first block on every path from it to the end. `None`: it is the end itself.
    meets: Vec<Option<usize>>,
    /// The immediate dominator of each block: the last block on every path from the entry to it. `None`: the block is unreachable,
    /// or the entry.
    pub(crate) above: Vec<Option<usize>>,
}

impl Graph {
    pub(crate) fn new(module: &Module) -> Result<Graph> {
        let index: HashMap<Id, usize> = module.blocks.iter().enumerate().map(|(n, b)| (b.label, n)).collect();
        let order = structured_order(module, &index)?;
        let places: HashMap<Id, usize> = order.iter().enumerate().map(|(place, n)| (module.blocks[*n].label, place)).collect();
        let mut next = Vec::with_capacity(order.len());
        let mut before = vec![Vec::new(); order.len()];
        for (place, n) in order.iter().enumerate() {
            let to: Vec<usize> = module.blocks[*n].successors().iter().filter_map(|l| places.get(l).copied()).collect();
            to.iter().for_each(|t| before[*t].push(place));
            next.push(to);
        }
        let exits: Vec<usize> = (0..order.len()).filter(|place| next[*place].is_empty()).collect();
        let (meets, above) = (tree(&next, &before, &exits), tree(&before, &next, &[0]));
        Ok(Graph { order, places, next, before, meets, above })
    }

    /// Returns the blocks that some lanes may run without others if a branch divides them, up to the point where all paths join.
    /// Also returns that point.
    pub(crate) fn influence(&self, branch: usize) -> (Vec<usize>, Option<usize>) {
        let meet = self.meets[branch];
        let mut seen = vec![false; self.order.len()];
        let mut open: Vec<usize> = self.next[branch].clone();
        let mut region = Vec::new();
        while let Some(place) = open.pop() {
            if Some(place) != meet && !std::mem::replace(&mut seen[place], true) {
                region.push(place);
                open.extend(&self.next[place]);
            }
        }
        (region, meet)
    }
}

/// Returns the blocks in reverse postorder. Merge blocks and continue targets count as successors that are visited first.
fn structured_order(module: &Module, index: &HashMap<Id, usize>) -> Result<Vec<usize>> {
    let successors = |n: usize| -> Result<Vec<usize>> {
        let block = &module.blocks[n];
        let merge = block.merge.into_iter().flat_map(|(merge, next)| [Some(merge), next]).flatten();
        let labels = merge.chain(block.successors());
        let find = |l: Id| index.get(&l).copied().map_or_else(|| malformed(format!("%{l} is not a block")), Ok);
        labels.map(find).collect()
    };
    let mut seen = vec![false; module.blocks.len()];
    let mut order = Vec::new();
    let mut open = vec![(0, successors(0)?, 0)];
    seen[0] = true;
    while let Some((n, list, at)) = open.last_mut() {
        match list.get(*at) {
            Some(&to) => {
                *at += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    open.push((to, successors(to)?, 0));
                }
            }
            None => {
                order.push(*n);
                open.pop();
            }
        }
    }
    order.reverse();
    Ok(order)
}

/// Returns the immediate postdominator of each block, by intersection along the tree of postdominators (Cooper, Harvey and Kennedy).
/// `None`: the block is an exit, or does not reach one. With reversed edges, the result is the tree of dominators.
fn tree(next: &[Vec<usize>], before: &[Vec<usize>], exits: &[usize]) -> Vec<Option<usize>> {
    let end = next.len();
    let order = backward_order(before, exits);
    let mut rank = vec![usize::MAX; end + 1];
    order.iter().enumerate().for_each(|(n, place)| rank[*place] = n);
    let mut up: Vec<Option<usize>> = vec![None; end + 1];
    up[end] = Some(end);
    let mut is_exit = vec![false; end];
    exits.iter().for_each(|exit| is_exit[*exit] = true);
    let mut changed = true;
    while changed {
        changed = false;
        for &place in order.iter().skip(1) {
            let ways = next[place].iter().copied().chain(is_exit[place].then_some(end));
            let mut best = None;
            for to in ways.filter(|to| up[*to].is_some()) {
                best = Some(best.map_or(to, |b| intersect(&up, &rank, b, to)));
            }
            if best.is_some() && up[place] != best {
                up[place] = best;
                changed = true;
            }
        }
    }
    up.truncate(end);
    up.into_iter().map(|p| p.filter(|p| *p != end)).collect()
}

fn intersect(up: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        // A block that is farther from the end has a higher rank.
        let later = if rank[a] > rank[b] { &mut a } else { &mut b };
        match up[*later] {
            Some(next) => *later = next,
            None => return a,
        }
    }
    a
}

/// Returns the blocks in reverse postorder of the reversed graph. It starts with a virtual end, which follows all exits.
fn backward_order(before: &[Vec<usize>], exits: &[usize]) -> Vec<usize> {
    let end = before.len();
    let mut seen = vec![false; end + 1];
    let mut order = Vec::new();
    let mut open = vec![(end, 0)];
    seen[end] = true;
    while let Some((place, at)) = open.last_mut() {
        let list = if *place == end { exits } else { &before[*place] };
        match list.get(*at) {
            Some(&to) => {
                *at += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    open.push((to, 0));
                }
            }
            None => {
                order.push(*place);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}
