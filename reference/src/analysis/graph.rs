//! The order of blocks, and where branches meet again.
//!
//! The order is the structured one: a construct's blocks stand between its header and its merge block, and a loop's
//! continue target after its body. Lanes that have gone different ways run lowest block first, and so meet as early as
//! they can.

use crate::module::Module;
use crate::words::{Id, Result, malformed};
use std::collections::HashMap;

/// The control flow, by places in the order.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The index among the module's blocks of the block at each place.
    pub(crate) order: Vec<usize>,
    pub(crate) places: HashMap<Id, usize>,
    pub(crate) next: Vec<Vec<usize>>,
    pub(crate) before: Vec<Vec<usize>>,
    /// The first block that every way from here to the end goes through; `None`: the end itself.
    meets: Vec<Option<usize>>,
    /// The last block that every way from the entry to here goes through; `None`: there is no such way, or this is the entry.
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

    /// The blocks that some lanes run without others when a branch divides them: those until all ways meet again. And
    /// where they meet.
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

/// Reverse postorder, where merge blocks and continue targets count as successors that are visited first.
fn structured_order(module: &Module, index: &HashMap<Id, usize>) -> Result<Vec<usize>> {
    let successors = |n: usize| -> Result<Vec<usize>> {
        let block = &module.blocks[n];
        let merge = block.merge.into_iter().flat_map(|(merge, next)| [Some(merge), next]).flatten();
        let labels = merge.chain(block.successors());
        let find = |l: Id| index.get(&l).copied().map_or_else(|| malformed(format!("%{l} is no block")), Ok);
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

/// Of each block the first that every way from it to one of the exits goes through, by intersection along the tree of those (Cooper,
/// Harvey and Kennedy); `None`: the way ends there, or there is none. With edges turned round, it is the tree of dominators.
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
        // What is further from the end has the higher rank.
        let later = if rank[a] > rank[b] { &mut a } else { &mut b };
        match up[*later] {
            Some(next) => *later = next,
            None => return a,
        }
    }
    a
}

/// Reverse postorder from the end, which is behind the exits, backwards; the end comes first.
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
