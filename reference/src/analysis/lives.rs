//! Finds the last use of each value, so that its registers can be reused. Only values that are used in a single block
//! are considered.

use super::graph::Graph;
use super::operands;
use crate::module::Module;
use crate::words::{Id, Inst};
use spirv::Op;
use std::collections::{HashMap, HashSet};

/// Returns, for each block by its place, the values that end after each of its instructions.
pub(crate) fn ends(module: &Module, graph: &Graph, passes_on: impl Fn(&Inst) -> bool) -> Vec<HashMap<usize, Vec<Id>>> {
    // A value that goes to a phi is used in another block, which may precede its own in the order.
    let all = module.blocks.iter().flat_map(|b| &b.insts);
    let mut abroad: HashSet<Id> = all.filter(|i| i.op == Op::Phi).flat_map(operands).collect();
    let mut list = vec![HashMap::new(); graph.order.len()];
    // Instructions are visited backwards, so that the uses of a value are visited before its operands.
    for (place, n) in graph.order.iter().enumerate().rev() {
        let block = &module.blocks[*n];
        let own: HashMap<Id, usize> = block.insts.iter().enumerate().filter(|(_, i)| i.id != 0).map(|(n, i)| (i.id, n)).collect();
        let mut last: HashMap<Id, usize> = HashMap::new();
        let all: Vec<&Inst> = block.insts.iter().chain([&block.end]).collect();
        for (at, inst) in all.into_iter().enumerate().rev() {
            // A pointer, or a part of a value, extends its operands to its own last use.
            let until = if passes_on(inst) { last.get(&inst.id).copied().unwrap_or(at) } else { at };
            let leaves = passes_on(inst) && abroad.contains(&inst.id);
            for id in operands(inst) {
                if leaves || !own.contains_key(&id) {
                    abroad.insert(id);
                }
                let known = last.entry(id).or_insert(until);
                *known = (*known).max(until);
            }
        }
        for id in own.keys().filter(|id| !abroad.contains(id)) {
            let at = last.get(id).or_else(|| own.get(id)).copied().unwrap_or(0);
            list[place].entry(at).or_insert_with(Vec::new).push(*id);
        }
    }
    list
}
