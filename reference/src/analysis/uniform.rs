//! Finds values that are the same in all invocations of a workgroup. They are computed once, and not in every lane.
//!
//! A value is *divergent* if it depends on the invocation, or if lanes that leave a loop at different times leave with different values.
//! A register is divergent if a divergent value is stored in it, or if not all lanes store. Cooperative matrices are always divergent,
//! because each lane holds other elements. A block is *partial* if some lanes may run it without the others.

use super::graph::Graph;
use super::pointers::{Pointers, Root};
use super::{is_atomic, is_chain, is_group, operands};
use crate::module::Module;
use crate::words::{Id, Inst, Result};
use spirv::{BuiltIn, Op, StorageClass};
use std::collections::{HashMap, HashSet};

/// The result of the analysis.
#[derive(Debug)]
pub(crate) struct Uniformity {
    /// True for each divergent value or register, by id.
    pub(crate) divergent: Vec<bool>,
    /// True for each partial block, by place.
    pub(crate) partial: Vec<bool>,
    /// Values that only the lanes that run their block may change. Lanes that have left the loop keep their values.
    pub(crate) kept: HashSet<Id>,
}

struct Search<'a> {
    module: &'a Module,
    graph: &'a Graph,
    pointers: &'a Pointers,
    found: Uniformity,
    /// True for each branch that divides lanes.
    divided: Vec<bool>,
    /// True for each block where divided lanes may join.
    joins: Vec<bool>,
    /// The loops that lanes leave at different times.
    loops: Vec<Vec<usize>>,
    /// The place of the block that defines each value.
    defined: HashMap<Id, usize>,
    changed: bool,
}

/// Analyses a module.
pub(crate) fn uniformity(module: &Module, graph: &Graph, pointers: &Pointers) -> Result<Uniformity> {
    let blocks = graph.order.len();
    let found = Uniformity { divergent: vec![false; module.bound as usize], partial: vec![false; blocks], kept: HashSet::new() };
    let mut defined = HashMap::new();
    for (place, n) in graph.order.iter().enumerate() {
        defined.extend(module.blocks[*n].insts.iter().filter(|i| i.id != 0).map(|i| (i.id, place)));
    }
    let mut search = Search {
        module,
        graph,
        pointers,
        found,
        divided: vec![false; blocks],
        joins: vec![false; blocks],
        loops: Vec::new(),
        defined,
        changed: true,
    };
    // The parameters and values of a function that matrices call are divergent, because it runs on each lane's components.
    for callee in module.others.values() {
        callee.params.iter().chain(callee.insts.iter().map(|inst| &inst.id)).for_each(|id| search.mark(*id));
    }
    for (id, _) in module.variables.iter().filter(|(_, v)| module.types.has_matrices(v.of)) {
        search.mark(*id);
    }
    search.changed = true;
    while std::mem::take(&mut search.changed) {
        search.round()?;
    }
    Ok(search.found)
}

impl Search<'_> {
    fn is(&self, id: Id) -> bool {
        self.found.divergent[id as usize]
    }

    fn mark(&mut self, id: Id) {
        self.changed |= !std::mem::replace(&mut self.found.divergent[id as usize], true);
    }

    fn round(&mut self) -> Result<()> {
        for place in 0..self.graph.order.len() {
            let block = &self.module.blocks[self.graph.order[place]];
            for inst in &block.insts {
                if inst.op == Op::Store {
                    self.store(inst, place)?;
                } else if inst.id != 0 && !self.is(inst.id) && self.diverges(inst, place)? {
                    self.mark(inst.id);
                }
            }
            let condition = operands(&block.end).first().is_some_and(|c| self.is(*c));
            if condition && !self.divided[place] {
                self.divide(place);
            }
        }
        for region in 0..self.loops.len() {
            self.leave(region);
        }
        Ok(())
    }

    /// Marks a branch that lanes take differently.
    fn divide(&mut self, place: usize) {
        self.divided[place] = true;
        self.changed = true;
        let (region, meet) = self.graph.influence(place);
        for block in region.iter().copied() {
            self.found.partial[block] = true;
            self.joins[block] = true;
        }
        if let Some(meet) = meet {
            self.joins[meet] = true;
        }
        if region.contains(&place) {
            self.loops.push(region);
        }
    }

    /// Marks values that are defined in a loop that lanes leave at different times, and that are used outside of it.
    fn leave(&mut self, region: usize) {
        let inside: HashSet<usize> = self.loops[region].iter().copied().collect();
        for place in (0..self.graph.order.len()).filter(|p| !inside.contains(p)) {
            let block = &self.module.blocks[self.graph.order[place]];
            let used = block.insts.iter().chain([&block.end]).flat_map(operands);
            // A pointer does not have a value itself, but the values that it is computed from do.
            let used: Vec<Id> = used.flat_map(|id| std::iter::once(id).chain(self.pointers.made_of(id))).collect();
            for id in used {
                if self.defined.get(&id).is_some_and(|d| inside.contains(d)) && self.found.kept.insert(id) {
                    self.mark(id);
                }
            }
        }
    }

    fn store(&mut self, inst: &Inst, place: usize) -> Result<()> {
        let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
        let Root::Variable(variable) = pointer.root else { return Ok(()) };
        let differs = self.is(inst.arg(1)?) || pointer.terms.iter().any(|t| self.is(t.index)) || self.found.partial[place];
        if differs && matches!(pointer.class, StorageClass::Function | StorageClass::Private) {
            self.mark(variable);
        }
        Ok(())
    }

    fn diverges(&self, inst: &Inst, place: usize) -> Result<bool> {
        let any = || operands(inst).iter().any(|id| self.is(*id));
        if self.module.types.has_matrices(inst.ty) {
            return Ok(true);
        }
        Ok(match inst.op {
            Op::Variable => false,
            Op::Load => {
                let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
                let root = match pointer.root {
                    Root::Variable(id) if pointer.class == StorageClass::Input => {
                        !self.module.variables.get(&id).and_then(|v| v.builtin).is_some_and(is_uniform)
                    }
                    Root::Variable(id) | Root::Address(id) => self.is(id),
                };
                root || pointer.terms.iter().any(|t| self.is(t.index))
            }
            Op::Phi => any() || self.joins[place],
            // The instructions of a function work on rows of lanes.
            Op::FunctionCall => true,
            // The variable at the root of a chain does not determine whether the chain is divergent.
            op if is_chain(op) => {
                inst.from(1).iter().any(|id| self.is(*id)) || {
                    let base = inst.arg(0)?;
                    !self.module.variables.contains_key(&base) && self.is(base)
                }
            }
            op => is_group(op) || is_atomic(op) || any(),
        })
    }
}

/// True if a built-in is the same in all invocations of a workgroup.
pub(crate) fn is_uniform(builtin: BuiltIn) -> bool {
    use BuiltIn::*;
    matches!(builtin, WorkgroupId | NumWorkgroups | NumSubgroups | SubgroupSize | WorkgroupSize)
}
