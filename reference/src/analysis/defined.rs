//! Checks that each value is defined before it is used, on every path to its use. Later steps rely on this: they reuse the
//! storage of a value once its live range has ended, and they compute results from operands that must not overlap them.

use super::graph::Graph;
use super::operands;
use crate::module::{Block, Module};
use crate::words::{Id, Result, malformed};
use spirv::Op;
use std::collections::{HashMap, HashSet};

/// Checks a module. Unreachable blocks are not checked, because they never run.
pub(crate) fn check(module: &Module, graph: &Graph) -> Result<()> {
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, above) in graph.above.iter().enumerate() {
        below.entry(above.unwrap_or(usize::MAX)).or_default().push(place);
    }
    let local: HashSet<Id> = module.result_types.keys().copied().collect();
    let mut known = DefinedValues { module, graph, local, here: HashSet::new() };
    // This walks down the dominator tree. The values that a block defines are known in the blocks that it dominates.
    let mut open = vec![(0, false)];
    while let Some((place, done)) = open.pop() {
        let block = &module.blocks[graph.order[place]];
        if done {
            for inst in &block.insts {
                known.here.remove(&inst.id);
            }
            continue;
        }
        known.block(block, place)?;
        open.push((place, true));
        open.extend(below.get(&place).into_iter().flatten().map(|place| (*place, false)));
    }
    Ok(())
}

struct DefinedValues<'a> {
    module: &'a Module,
    graph: &'a Graph,
    /// The values that the function defines. All others exist from the beginning.
    local: HashSet<Id>,
    /// The values that are defined at the current point.
    here: HashSet<Id>,
}

impl DefinedValues<'_> {
    fn block(&mut self, block: &Block, place: usize) -> Result<()> {
        for inst in &block.insts {
            // The values of a phi are used at the ends of the preceding blocks. (OpUndef does not have operands.)
            if inst.op != Op::Phi {
                operands(inst).into_iter().try_for_each(|id| self.check(id))?;
            }
            if inst.id != 0 {
                self.here.insert(inst.id);
            }
        }
        operands(&block.end).into_iter().try_for_each(|id| self.check(id))?;
        for next in &self.graph.next[place] {
            let phis = self.module.blocks[self.graph.order[*next]].insts.iter().take_while(|i| i.op == Op::Phi);
            let from_here = phis.flat_map(|phi| phi.args.chunks_exact(2)).filter(|pair| pair[1] == block.label);
            from_here.into_iter().try_for_each(|pair| self.check(pair[0]))?;
        }
        Ok(())
    }

    fn check(&self, id: Id) -> Result<()> {
        match self.local.contains(&id) && !self.here.contains(&id) {
            true => malformed(format!("%{id} is used where it is not defined on every path")),
            false => Ok(()),
        }
    }
}
