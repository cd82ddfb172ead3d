//! The ends of blocks, and barriers.
//!
//! A phi is written by the preceding blocks: before the jump, or in an extra block on the edge.

use super::Lower;
use super::slots::Value;
use crate::code::{Barrier, Block, End, Op, Order, Switch};
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::MemorySemantics;

/// A block whose position is not known yet. Ends name drafts by number: first the module's blocks, then those on edges.
pub(super) struct Draft {
    /// The order of the blocks. A block on an edge directly precedes the block that the edge leads to.
    key: usize,
    /// The number of the draft.
    number: u32,
    block: Block,
}

impl Lower<'_> {
    /// Translates the end of a block whose operations begin at `first`.
    pub(super) fn end(&mut self, inst: &Inst, first: usize, count: u32) -> Result<()> {
        use spirv::Op;
        let from = self.place;
        // The draft is added here, so that it precedes the drafts of its edges.
        let draft = self.blocks.len();
        let block = Block { first: first as u32, last: 0, end: End::Return, count, word: inst.word };
        self.blocks.push(Draft { key: 2 * from + 1, number: from as u32, block });
        let end = match inst.op {
            Op::Branch => {
                let to = self.target(inst.arg(0)?)?;
                self.phis(to)?;
                self.blocks[draft].block.last = self.code.ops.len() as u32;
                End::Jump(to as u32)
            }
            Op::BranchConditional => {
                let condition = self.value(inst.arg(0)?)?;
                self.check_planes(inst.arg(0)?, 1)?;
                self.check_undefined(inst);
                self.blocks[draft].block.last = self.code.ops.len() as u32;
                let (yes, no) = (self.edge(inst.arg(1)?)?, self.edge(inst.arg(2)?)?);
                match condition.lanes {
                    true => End::Divide { condition: condition.at, yes, no },
                    false => End::Branch { condition: condition.at, yes, no },
                }
            }
            Op::Switch => {
                let selector = self.value(inst.arg(0)?)?;
                self.check_planes(inst.arg(0)?, 1)?;
                self.check_undefined(inst);
                self.blocks[draft].block.last = self.code.ops.len() as u32;
                let default = self.edge(inst.arg(1)?)?;
                let mut cases = Vec::new();
                for pair in inst.from(2).chunks_exact(2) {
                    cases.push((pair[0], self.edge(pair[1])?));
                }
                self.code.switches.push(Switch { selector: selector.at, lanes: selector.lanes, default, cases });
                End::Switch(self.code.switches.len() as u32 - 1)
            }
            Op::Return | Op::Unreachable => {
                self.blocks[draft].block.last = self.code.ops.len() as u32;
                End::Return
            }
            op => return unknown(format!("Op{op:?}")),
        };
        self.blocks[draft].block.end = end;
        Ok(())
    }

    fn check_undefined(&mut self, inst: &Inst) {
        if let Some(id) = self.undefined_operand(inst) {
            self.code.undefined.push((format!("%{id}, in Op{:?}", inst.op), inst.word));
            let at = self.code.undefined.len() as u32 - 1;
            self.op(Op::Undefined(at));
        }
    }

    fn target(&self, label: Id) -> Result<usize> {
        self.graph.places.get(&label).copied().map_or_else(|| malformed(format!("%{label} is not a block")), Ok)
    }

    fn has_phis(&self, place: usize) -> bool {
        self.module.blocks[self.graph.order[place]].insts.first().is_some_and(|i| i.op == spirv::Op::Phi)
    }

    /// Returns the target of a branch to a block. If the block has phis, the target is an extra block that writes them.
    fn edge(&mut self, label: Id) -> Result<u32> {
        let to = self.target(label)?;
        if !self.has_phis(to) {
            return Ok(to as u32);
        }
        let first = self.code.ops.len() as u32;
        self.phis(to)?;
        let block = Block { first, last: self.code.ops.len() as u32, end: End::Jump(to as u32), count: 0, word: 0 };
        let number = (self.graph.order.len() + self.blocks.len()) as u32;
        self.blocks.push(Draft { key: 2 * to, number, block });
        Ok(number)
    }

    /// Writes the phis of a block for lanes that come from the current block. All of them are read before any is written,
    /// because one may be the source of another.
    fn phis(&mut self, to: usize) -> Result<()> {
        let from = self.module.blocks[self.graph.order[self.place]].label;
        let block = &self.module.blocks[self.graph.order[to]];
        let mut moves: Vec<(Value, u32)> = Vec::new();
        for phi in block.insts.iter().take_while(|i| i.op == spirv::Op::Phi) {
            let Some(source) = phi.args.chunks_exact(2).find(|p| p[1] == from).map(|p| p[0]) else {
                return malformed(format!("the phi %{} does not have a value for %{from}", phi.id));
            };
            if self.module.undefined.contains_key(&source) {
                self.code.undefined.push((format!("%{source}, in OpPhi"), phi.word));
                let at = self.code.undefined.len() as u32 - 1;
                self.op(Op::Undefined(at));
            }
            let value = self.define(phi)?;
            self.check_planes(source, value.planes)?;
            let src = self.operand(source, value.lanes)?;
            let copy = self.temporary(value.planes, value.lanes)?;
            self.op(Op::Copy { dst: copy.at, src, len: value.planes * self.row(value.lanes) });
            moves.push((value, copy.at));
        }
        for (value, src) in moves {
            if value.lanes {
                self.op(Op::Masked { dst: value.at, src, planes: value.planes });
            } else {
                self.op(Op::Copy { dst: value.at, src, len: value.planes });
            }
        }
        Ok(())
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<()> {
        let scope = |at| self.module.literal(inst.arg(at)?);
        let (execution, memory, semantics) = (scope(0)?, scope(1)?, MemorySemantics::from_bits_retain(scope(2)?));
        let subgroup = match execution {
            2 => false,
            3 => true,
            other => return unknown(format!("barriers of the scope number {other}")),
        };
        let orders = MemorySemantics::ACQUIRE
            | MemorySemantics::RELEASE
            | MemorySemantics::ACQUIRE_RELEASE
            | MemorySemantics::SEQUENTIALLY_CONSISTENT;
        let reach = match memory {
            _ if !semantics.intersects(orders) => Order::Nobody,
            // The scopes are all devices, the device, the workgroup and the queue family.
            0 | 1 | 2 | 5 if !subgroup => Order::Workgroup,
            0 | 1 | 2 | 3 | 5 => Order::Subgroup,
            _ => Order::Nobody,
        };
        // In the Vulkan memory model, a barrier must itself state that writes become available and visible to other
        // invocations.
        let shown = MemorySemantics::MAKE_AVAILABLE | MemorySemantics::MAKE_VISIBLE;
        let reach = if self.module.vulkan && !semantics.contains(shown) { Order::Nobody } else { reach };
        let of = |bit| if semantics.contains(bit) { reach } else { Order::Nobody };
        let (shared, global) = (of(MemorySemantics::WORKGROUP_MEMORY), of(MemorySemantics::UNIFORM_MEMORY));
        self.code.barriers.push(Barrier { subgroup, shared, global, word: inst.word });
        let at = self.code.barriers.len() as u32 - 1;
        self.op(Op::Barrier(at));
        Ok(())
    }

    /// Sorts the blocks, and grows the file to its size.
    pub(super) fn finish(&mut self) {
        let mut drafts = std::mem::take(&mut self.blocks);
        drafts.sort_by_key(|d| d.key);
        let mut places = vec![0; self.graph.order.len() + drafts.len()];
        for (place, draft) in (0..).zip(&drafts) {
            places[draft.number as usize] = place;
        }
        let to = |number: u32| places[number as usize];
        for switch in &mut self.code.switches {
            switch.default = to(switch.default);
            switch.cases.iter_mut().for_each(|(_, target)| *target = to(*target));
        }
        self.code.blocks = drafts.into_iter().map(|d| Block { end: moved(d.block.end, &to), ..d.block }).collect();
        self.code.image.resize(self.slots.words() as usize, 0);
    }
}

fn moved(end: End, to: &dyn Fn(u32) -> u32) -> End {
    match end {
        End::Jump(target) => End::Jump(to(target)),
        End::Branch { condition, yes, no } => End::Branch { condition, yes: to(yes), no: to(no) },
        End::Divide { condition, yes, no } => End::Divide { condition, yes: to(yes), no: to(no) },
        other => other,
    }
}
