//! Finds the loads of registers that were certainly written before, on every path. All other loads are checked as the
//! module runs.

use super::demand::Demand;
use super::graph::Graph;
use super::pointers::{Pointer, Pointers, Root};
use crate::module::Module;
use crate::words::{Id, Inst, Result, unknown};
use spirv::{Op, StorageClass};
use std::collections::{HashMap, HashSet};

/// The loads that must be checked, and the registers that they read.
#[derive(Debug, Default)]
pub(crate) struct Unproved {
    pub(crate) loads: HashSet<Id>,
    pub(crate) variables: HashSet<Id>,
}

/// A bit for each plane of each register.
type Bits = Vec<u64>;

/// The limit of the 64-bit words that the bits of all blocks take.
const MOST_WORDS: usize = 1 << 23;

struct Flow<'a> {
    module: &'a Module,
    pointers: &'a Pointers,
    /// The first bit of each register that does not have an initial value.
    bits: HashMap<Id, u32>,
}

/// Analyses a module.
pub(crate) fn unproved(module: &Module, graph: &Graph, pointers: &Pointers, demand: &Demand) -> Result<Unproved> {
    let mut flow = Flow { module, pointers, bits: HashMap::new() };
    let mut count = 0u32;
    for (id, v) in &module.variables {
        if matches!(v.class, StorageClass::Function | StorageClass::Private) && v.initializer.is_none() {
            flow.bits.insert(*id, count);
            count = count.saturating_add(module.types.planes(v.of)?);
        }
    }
    let words = count.div_ceil(64) as usize;
    if words.saturating_mul(graph.order.len()) > MOST_WORDS {
        return unknown(format!("a module with {count} scalars in registers and {} blocks", graph.order.len()));
    }
    let before = flow.solve(graph, words)?;
    let mut unproved = Unproved::default();
    for (place, n) in graph.order.iter().enumerate() {
        let mut state = before[place].clone();
        for inst in &module.blocks[*n].insts {
            if inst.op == Op::Load && !flow.proved(inst, &state, demand)? {
                unproved.loads.insert(inst.id);
                if let Root::Variable(id) = pointers.get(module, inst.arg(0)?)?.root {
                    unproved.variables.insert(id);
                }
            }
            flow.apply(inst, &mut state)?;
        }
    }
    Ok(unproved)
}

impl Flow<'_> {
    /// Returns the planes that are certainly written when each block begins.
    fn solve(&self, graph: &Graph, words: usize) -> Result<Vec<Bits>> {
        let mut before: Vec<Bits> = vec![vec![u64::MAX; words]; graph.order.len()];
        let mut after = before.clone();
        if let Some(first) = before.first_mut() {
            first.fill(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (place, n) in graph.order.iter().enumerate() {
                for from in &graph.before[place] {
                    let from = after[*from].clone();
                    before[place].iter_mut().zip(from).for_each(|(a, b)| *a &= b);
                }
                let mut state = before[place].clone();
                for inst in &self.module.blocks[*n].insts {
                    self.apply(inst, &mut state)?;
                }
                changed |= state != after[place];
                after[place] = state;
            }
        }
        Ok(before)
    }

    /// Returns the bits of a pointer's planes, if they are known.
    fn range(&self, pointer: &Pointer) -> Result<Option<std::ops::Range<u32>>> {
        let Root::Variable(id) = pointer.root else { return Ok(None) };
        let Some(first) = self.bits.get(&id).filter(|_| pointer.terms.is_empty()) else { return Ok(None) };
        let from = first + pointer.offset as u32;
        Ok(Some(from..from + self.module.types.planes(pointer.of)?))
    }

    fn apply(&self, inst: &Inst, state: &mut Bits) -> Result<()> {
        if inst.op == Op::Store {
            let range = self.range(&self.pointers.get(self.module, inst.arg(0)?)?)?;
            for bit in range.into_iter().flatten() {
                state[bit as usize / 64] |= 1 << (bit % 64);
            }
        }
        Ok(())
    }

    fn proved(&self, inst: &Inst, state: &Bits, demand: &Demand) -> Result<bool> {
        let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
        let Root::Variable(id) = pointer.root else { return Ok(true) };
        if !self.bits.contains_key(&id) {
            return Ok(true);
        }
        let Some(range) = self.range(&pointer)? else { return Ok(false) };
        let written = |bit: u32| state[bit as usize / 64] >> (bit % 64) & 1 == 1;
        Ok((0..).zip(range).all(|(plane, bit)| written(bit) || !demand.wants(inst.id, plane)))
    }
}
