//! The registers that an invocation holds at the same time: its buffers in registers, its share of its subgroup's matrices, and its share
//! of the matrices that products load.
//!
//! A loaded matrix is held from its load, which is placed in the deepest loop that it depends on, to its last use. If it is used again in
//! each iteration of a loop that it does not depend on, all matrices that the loops inside need are held at once; otherwise one is.
//!
//! A buffer and its copy, such as an accumulator and the result that it finishes, take the registers of one of them, because drivers do not
//! copy registers. Registers for temporary values are not counted. So the figures are lower bounds.

use super::count::note_writes;
use std::collections::{HashMap, HashSet};
use tilewright_dsl::expr::{Expr, ExprId, Read};
use tilewright_dsl::nest::{AxisId, Block, Body, BufferId, Compute, Exec, Loop, NodeKind, Phase, Program, Space, walk};
use tilewright_dsl::profile::Profile;

/// The 32-bit registers of an invocation, at the point where it holds most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The registers of buffers.
    pub variables: u32,
    /// The registers of a subgroup's persistent matrices, such as accumulators of products.
    pub accumulators: u32,
    /// The registers of loaded matrices.
    pub operands: u32,
}

impl Registers {
    /// Returns the total number of registers.
    pub fn total(&self) -> u32 {
        self.variables.saturating_add(self.accumulators).saturating_add(self.operands)
    }
}

/// Returns the registers of a dispatch's invocations.
pub(super) fn registers(program: &Program, profile: &Profile, body: &Block) -> Registers {
    let mut written = HashMap::new();
    note_writes(body, &mut written);
    let owned = owned(program, body);
    let same = copies(program, body);
    let mut held =
        Held { program, profile, owned, written, same, open: Vec::new(), counted: Vec::new(), most: Registers::default() };
    held.walk(body, Registers::default());
    held.most
}

/// Returns, for each buffer in registers or matrices, which dimensions are distributed across invocations or subgroups. These take no space
/// in one invocation.
fn owned(program: &Program, body: &Block) -> HashMap<BufferId, Vec<bool>> {
    let mut owned = HashMap::new();
    walk::within(body, &mut |node, around| {
        let NodeKind::Compute(compute) = &node.kind else { return };
        let is_owner = |id: &ExprId| match program.exprs.get(*id) {
            Expr::Axis(axis) => around.iter().any(|l| l.axis == *axis && matches!(l.exec, Exec::Bind(..))),
            _ => false,
        };
        for place in compute.written() {
            let versions = place.index.len().saturating_sub(program.buffers[place.buffer].shape.len());
            owned.entry(place.buffer).or_insert_with(|| place.index[versions..].iter().map(is_owner).collect());
        }
    });
    owned
}

/// Returns the buffers in registers or matrices that are copies of others, each with a representative of all of its copies.
fn copies(program: &Program, body: &Block) -> HashMap<BufferId, BufferId> {
    let mut same: HashMap<BufferId, BufferId> = HashMap::new();
    let is_held = |buffer: BufferId| matches!(program.buffers[buffer].space, Space::Register | Space::Fragment { .. });
    for node in walk::nodes(body) {
        let NodeKind::Compute(compute) = &node.kind else { continue };
        for (n, (to, value)) in compute.dst.iter().zip(&compute.value).enumerate().skip(compute.given) {
            let Expr::Read(from) = program.exprs.get(*value) else { continue };
            if [to.buffer, from.buffer].into_iter().all(is_held) && stores_operand(program, compute, n) {
                let [to, from] = [to.buffer, from.buffer].map(|buffer| *same.get(&buffer).unwrap_or(&buffer));
                same.values_mut().filter(|of| **of == to).for_each(|of| *of = from);
                same.insert(to, from);
            }
        }
    }
    same
}

/// True if a compute stores its operand for a component unchanged.
fn stores_operand(program: &Program, compute: &Compute, n: usize) -> bool {
    match (&program.stages[compute.stage].body, compute.phase) {
        (Body::Reduce { monoid, .. }, Phase::Update | Phase::Atomic) => {
            matches!(program.exprs.get(monoid.combine[n]), Expr::Item(of) if *of as usize == n)
        }
        (Body::Map(_), Phase::Update | Phase::Atomic) => false,
        _ => true,
    }
}

struct Held<'p> {
    program: &'p Program,
    profile: &'p Profile,
    owned: HashMap<BufferId, Vec<bool>>,
    /// The loops around the writes of each buffer.
    written: HashMap<BufferId, HashSet<AxisId>>,
    /// The representatives of copies.
    same: HashMap<BufferId, BufferId>,
    open: Vec<(AxisId, Exec)>,
    /// The representatives of the buffers in whose scopes the walk is.
    counted: Vec<BufferId>,
    most: Registers,
}

impl Held<'_> {
    fn walk(&mut self, block: &Block, live: Registers) {
        for node in block {
            match &node.kind {
                NodeKind::Alloc { buffer, body } => {
                    let of = *self.same.get(buffer).unwrap_or(buffer);
                    let live = if self.counted.contains(&of) { live } else { self.with(*buffer, live) };
                    self.counted.push(of);
                    self.note(live);
                    self.walk(body, live);
                    self.counted.pop();
                }
                NodeKind::Loop(Loop { axis, exec, body, .. }) => {
                    self.open.push((*axis, *exec));
                    self.walk(body, live);
                    self.open.pop();
                }
                NodeKind::Compute(compute) => {
                    let operands = self.operands(compute);
                    self.note(Registers { operands, ..live });
                }
                NodeKind::Branch { then, other, .. } => [then, other].into_iter().for_each(|side| self.walk(side, live)),
                NodeKind::AllReduce(_) | NodeKind::Barrier { .. } => {}
            }
        }
    }

    fn note(&mut self, live: Registers) {
        if live.total() > self.most.total() {
            self.most = live;
        }
    }

    /// Returns the registers that are held inside a buffer's scope.
    fn with(&self, buffer: BufferId, live: Registers) -> Registers {
        let words = |bytes: u64| u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX);
        match self.program.buffers[buffer].space {
            Space::Register => {
                let more = words(self.elements(buffer) * self.bytes(buffer));
                Registers { variables: live.variables.saturating_add(more), ..live }
            }
            Space::Fragment { rows, columns, spread } => {
                let one = u64::from(rows) * u64::from(columns);
                // If all columns are equal, the buffer counts one column.
                let counted = if spread { u64::from(rows) } else { one };
                let count = self.elements(buffer) / counted.max(1);
                let more = u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(self.of_matrix(buffer, one));
                Registers { accumulators: live.accumulators.saturating_add(more), ..live }
            }
            _ => live,
        }
    }

    /// Returns an invocation's registers for a matrix of so many elements.
    fn of_matrix(&self, buffer: BufferId, elements: u64) -> u32 {
        let bytes = elements * self.bytes(buffer);
        let share = bytes.div_ceil(u64::from(self.profile.subgroup.unwrap_or(1)));
        u32::try_from(share.div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn bytes(&self, buffer: BufferId) -> u64 {
        u64::try_from(self.program.element_bytes(buffer, self.profile)).unwrap_or(0)
    }

    /// Returns the elements of a local buffer that one invocation or subgroup holds.
    fn elements(&self, buffer: BufferId) -> u64 {
        let b = &self.program.buffers[buffer];
        let owned = self.owned.get(&buffer);
        let kept = b.shape.iter().enumerate().filter(|(d, _)| owned.is_none_or(|o| o.get(*d) != Some(&true)));
        let extents = kept.map(|(_, extent)| self.program.exprs.as_int(*extent).and_then(|n| u64::try_from(n).ok()).unwrap_or(0));
        extents.fold(u64::from(b.versions.max(1)), u64::saturating_mul)
    }

    /// Returns the registers of the matrices that a compute loads.
    fn operands(&self, compute: &Compute) -> u32 {
        let sides: Vec<AxisId> =
            self.open.iter().filter(|(_, exec)| matches!(exec, Exec::Matrix(_))).map(|(axis, _)| *axis).collect();
        if sides.is_empty() {
            return 0;
        }
        let reads = compute.value.iter().flat_map(|value| self.program.exprs.reads(*value));
        let is_loaded = |buffer: BufferId| !matches!(self.program.buffers[buffer].space, Space::Register | Space::Fragment { .. });
        let mut seen = Vec::new();
        reads
            .filter(|read| is_loaded(read.buffer))
            .filter(|read| {
                let is_new = !seen.contains(read);
                seen.push(read.clone());
                is_new
            })
            .map(|read| {
                let depends = |axis: &AxisId| self.depends(&read, *axis);
                if !sides.iter().any(depends) {
                    return 0;
                }
                // A factor has two of the three sides. A row or column that an epilogue reads is as large as the result.
                let is_side = |axis: &&AxisId| compute.phase != Phase::Update || depends(axis);
                let elements = sides.iter().filter(is_side).map(|axis| self.literal(*axis)).product();
                self.of_matrix(read.buffer, elements).saturating_mul(self.held(&read))
            })
            .fold(0, u32::saturating_add)
    }

    /// Returns the number of values of a read that are held at the same time.
    fn held(&self, read: &Read) -> u32 {
        let on = |n: &usize| self.depends(read, self.open[*n].0);
        let is_serial = |n: &usize| self.open[*n].1 == Exec::Serial;
        let all = 0..self.open.len();
        let from = all.clone().rev().find(|n| is_serial(n) && on(n)).map_or(0, |n| n + 1);
        let again = all.clone().skip(from).find(|n| matches!(self.open[*n].1, Exec::Serial | Exec::Unroll) && !on(n));
        let Some(again) = again else { return 1 };
        let inside = all.skip(again).filter(|n| self.open[*n].1 == Exec::Unroll && on(n));
        inside.fold(1, |held, n| held.saturating_mul(u32::try_from(self.literal(self.open[n].0)).unwrap_or(u32::MAX)))
    }

    /// True if a read gives a different element, or a newly written one, in each iteration of a loop.
    fn depends(&self, read: &Read, axis: AxisId) -> bool {
        if self.written.get(&read.buffer).is_some_and(|loops| loops.contains(&axis)) {
            return true;
        }
        read.index.iter().any(|e| self.program.exprs.uses_axis(*e, &mut |a| self.program.is_made_of(a, axis)))
    }

    fn literal(&self, axis: AxisId) -> u64 {
        self.program.exprs.as_int(self.program.axes[axis].extent).and_then(|n| u64::try_from(n).ok()).unwrap_or(1)
    }
}
