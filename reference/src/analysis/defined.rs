//! That each value is defined before it is used, on every way to its use: what comes after this relies on it, where it gives a
//! value's place to another one once the value has ended, and where it computes results from operands that lie elsewhere.

use super::graph::Graph;
use super::operands;
use crate::module::{Block, Module};
use crate::words::{Id, Result, malformed};
use spirv::Op;
use std::collections::{HashMap, HashSet};

/// Checks a module. Blocks that no way leads to are not looked at: nothing runs them.
pub(crate) fn check(module: &Module, graph: &Graph) -> Result<()> {
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, above) in graph.above.iter().enumerate() {
        below.entry(above.unwrap_or(usize::MAX)).or_default().push(place);
    }
    let local: HashSet<Id> = module.result_types.keys().copied().collect();
    let mut known = Known { module, graph, local, here: HashSet::new() };
    // Down the tree of dominators: what is defined in a block is known in those below it.
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

struct Known<'a> {
    module: &'a Module,
    graph: &'a Graph,
    /// What the function defines; the rest is there from the beginning.
    local: HashSet<Id>,
    /// What is defined at this place.
    here: HashSet<Id>,
}

impl Known<'_> {
    fn block(&mut self, block: &Block, place: usize) -> Result<()> {
        for inst in &block.insts {
            // A phi's values are those at the ends of the blocks before it. (OpUndef has no operands.)
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
            true => malformed(format!("%{id} is used where it is not defined on every way")),
            false => Ok(()),
        }
    }
}
