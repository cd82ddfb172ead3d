//! Collects the facts about a dispatch that must be known before its first instruction: which buffers it reads and
//! writes, which axes are bound to what, and which local buffers are accessed in lanes.

use crate::Resolver;
use crate::Result;
use crate::hash::Map;
use std::collections::BTreeMap;
use tilewright_dsl::expr::{Expr, ExprId, Read};
use tilewright_dsl::launch::{BufferUse, DType};
use tilewright_dsl::lower::launch::Tensors;
use tilewright_dsl::nest::{
    Access, AxisId, Block, BufferId, Compute, Dispatch, Exec, How, Level, Node, NodeKind, Phase, Program, Space,
};

/// A walk over a dispatch.
struct Scan<'p> {
    program: &'p Program,
    /// The uses of buffers, by position among the launch's tensors.
    uses: BTreeMap<u32, (BufferId, BufferUse)>,
    tensors: Tensors,
    /// The axis in lanes here, and the number of lanes.
    lanes: Option<(AxisId, u32)>,
    /// The local buffers that are accessed in lanes, with the number of lanes.
    rows: BTreeMap<u32, (BufferId, u32)>,
    barriers: bool,
    matrices: bool,
    by_subgroup: bool,
}

/// The uses of buffers in a dispatch.
#[derive(Default)]
pub struct Uses {
    /// The buffers in device memory. The binding of each is its position.
    pub global: Vec<(BufferId, BufferUse)>,
    /// True if invocations see each other's writes to device memory after a barrier.
    pub coherent: bool,
    /// True if there are cooperative matrices.
    pub matrices: bool,
    /// The elements of a shared array's vectors, if there is more than 1.
    shared: Map<BufferId, u32>,
    /// The elements of a register's variable, if there is more than 1.
    registers: Map<BufferId, u32>,
    /// The elements of the array that overlaid buffers of a dtype have together.
    overlaid: BTreeMap<DType, u32>,
}

impl Uses {
    /// Returns the binding of a buffer in device memory, and its use.
    pub fn of(&self, buffer: BufferId) -> Option<(u32, BufferUse)> {
        let at = self.global.iter().position(|(b, _)| *b == buffer)?;
        Some((at as u32, self.global[at].1))
    }

    /// The number of elements in each vector of a shared array.
    pub fn shared_group(&self, buffer: BufferId) -> u32 {
        self.shared.get(&buffer).copied().unwrap_or(1)
    }

    /// Returns the number of elements of the array that overlaid buffers of a dtype have together.
    pub fn overlaid_elements(&self, dtype: DType) -> u32 {
        self.overlaid.get(&dtype).copied().unwrap_or(0)
    }

    /// The number of elements in each variable of a register buffer.
    pub fn register_group(&self, buffer: BufferId) -> u32 {
        self.registers.get(&buffer).copied().unwrap_or(1)
    }
}

impl Resolver<'_> {
    /// Scans a dispatch.
    pub(crate) fn scan(&mut self, dispatch: &Dispatch) -> Result<()> {
        let tensors = Tensors::of(self.program);
        let (uses, rows) = (BTreeMap::new(), BTreeMap::new());
        let mut scan =
            Scan { program: self.program, uses, tensors, lanes: None, rows, barriers: false, matrices: false, by_subgroup: false };
        scan.block(&dispatch.body, self);
        // The threads of a subgroup are known only if threads are numbered by subgroup and lane, so the workgroup becomes a row.
        if scan.by_subgroup && self.grid.subgroups.is_empty() && self.grid.local[1..] != [1, 1] {
            self.grid.row = Some(self.fixed_subgroup()?);
        }
        self.uses.global = scan.uses.into_values().collect();
        // Writes must be visible to other invocations only if the same dispatch reads them.
        self.uses.matrices = scan.matrices;
        if scan.matrices {
            self.fixed_subgroup()?;
        }
        self.uses.coherent = scan.barriers && self.uses.global.iter().any(|(_, u)| u.reads && u.writes);
        for (buffer, lanes) in scan.rows.into_values() {
            let b = &self.program.buffers[buffer];
            let Some(row) = b.shape.last().and_then(|e| self.program.exprs.as_int(*e)) else { continue };
            let group = lanes.min(4);
            match b.space {
                Space::Register if row % i64::from(group) == 0 => _ = self.uses.registers.insert(buffer, group),
                Space::Shared if (row + i64::from(b.row_pad)) % i64::from(group) == 0 => {
                    self.uses.shared.insert(buffer, group);
                }
                _ => {}
            }
        }
        self.overlay(dispatch)
    }

    /// Computes the arrays of overlaid buffers. All buffers of an array have vectors of one size: the largest of any of them that divides the
    /// rows of all.
    fn overlay(&mut self, dispatch: &Dispatch) -> Result<()> {
        let program = self.program;
        for part in program.shared_parts(&dispatch.body, self.profile) {
            let buffers = || part.buffers.iter().map(|(buffer, ..)| *buffer);
            let Some(end) = buffers().filter_map(|buffer| program.overlaid(buffer)).map(|range| range.end).max() else { continue };
            let row = |buffer: BufferId| {
                let b = &program.buffers[buffer];
                Some(program.exprs.as_int(*b.shape.last()?)? + i64::from(b.row_pad))
            };
            let widest = buffers().map(|buffer| self.uses.shared_group(buffer)).max().unwrap_or(1);
            let is_common = |group: &u32| buffers().filter_map(row).all(|row| row % i64::from(*group) == 0);
            let group = [4, 2].into_iter().filter(|group| *group <= widest).find(is_common).unwrap_or(1);
            let Ok(elements) = u32::try_from(end) else {
                return Err(self.error(format!("an array of {end} elements does not fit into any shared memory")));
            };
            for buffer in buffers() {
                self.uses.overlaid.insert(program.buffers[buffer].dtype, elements.next_multiple_of(group));
                self.uses.shared.insert(buffer, group);
            }
        }
        Ok(())
    }

    /// True if a read of a buffer has the same result at any time.
    pub(crate) fn is_constant(&self, buffer: BufferId) -> bool {
        match self.program.buffers[buffer].space {
            Space::Constant(_) => true,
            Space::Shared | Space::Register | Space::Fragment { .. } => false,
            _ => self.uses.of(buffer).is_some_and(|(_, usage)| !usage.writes),
        }
    }
}

impl Scan<'_> {
    fn block(&mut self, block: &Block, resolver: &mut Resolver<'_>) {
        block.iter().for_each(|node| self.node(node, resolver));
    }

    fn node(&mut self, node: &Node, resolver: &mut Resolver<'_>) {
        let outer = self.lanes;
        match &node.kind {
            NodeKind::Loop(l) => {
                resolver.note_loop(l.axis);
                l.end.into_iter().for_each(|end| self.expr(end));
                match l.exec {
                    Exec::Lanes | Exec::Dot => {
                        let extent = self.program.exprs.as_int(self.program.axes[l.axis].extent);
                        self.lanes = extent.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 1).map(|n| (l.axis, n));
                    }
                    Exec::Bind(Level::Workgroup, slot) => once(&mut resolver.grid.workgroups, (l.axis, slot)),
                    Exec::Bind(Level::Thread, slot) => once(&mut resolver.grid.threads, (l.axis, slot)),
                    Exec::Bind(level, slot) => once(&mut resolver.grid.subgroups, (l.axis, level, slot)),
                    Exec::Matrix(_) => self.matrices = true,
                    Exec::Serial | Exec::Unroll | Exec::Step(_) => {}
                }
            }
            NodeKind::Compute(c) => self.compute(c),
            NodeKind::Branch { cond, .. } => self.expr(*cond),
            NodeKind::AllReduce(c) => {
                c.src.iter().for_each(|a| self.access(a, true, false));
                c.dst.iter().for_each(|a| self.access(a, c.how == How::Atomic, true));
                self.by_subgroup |= c.how == How::Subgroup;
            }
            NodeKind::Barrier { .. } => self.barriers = true,
            NodeKind::Alloc { .. } => {}
        }
        for block in node.blocks() {
            self.block(block, resolver);
        }
        self.lanes = outer;
    }

    fn compute(&mut self, c: &Compute) {
        c.value.iter().for_each(|v| self.expr(*v));
        c.dst.iter().enumerate().for_each(|(n, a)| self.access(a, matches!(c.phase, Phase::Update | Phase::Atomic), n >= c.given));
        let rows: Vec<_> = c.dst.iter().filter_map(|a| Some((a.buffer, *a.index.last()?))).collect();
        rows.into_iter().for_each(|(buffer, last)| self.row(buffer, last));
    }

    fn access(&mut self, access: &Access, reads: bool, writes: bool) {
        self.touch(access.buffer, reads, writes);
        access.index.iter().for_each(|i| self.expr(*i));
    }

    fn expr(&mut self, id: ExprId) {
        let program = self.program;
        for Read { buffer, index, .. } in program.exprs.reads(id) {
            self.touch(buffer, true, false);
            if let Some(last) = index.last() {
                self.row(buffer, *last);
            }
        }
    }

    fn touch(&mut self, buffer: BufferId, reads: bool, writes: bool) {
        if !self.program.buffers[buffer].space.is_global() {
            return;
        }
        if let Some(tensor) = self.tensors.index(buffer) {
            let usage = BufferUse { tensor, reads: false, writes: false, align: 1 };
            let (_, usage) = self.uses.entry(tensor).or_insert((buffer, usage));
            usage.reads |= reads;
            usage.writes |= writes;
        }
    }

    /// Records a local buffer whose rows are accessed in lanes.
    fn row(&mut self, buffer: BufferId, last: ExprId) {
        use tilewright_dsl::arena::Id as _;
        let Some((axis, lanes)) = self.lanes else { return };
        let local = matches!(self.program.buffers[buffer].space, Space::Register | Space::Shared);
        if local && self.program.exprs.any(last, &mut |e| matches!(e, Expr::Axis(a) if self.program.passes(*a, axis))) {
            let known = self.rows.entry(buffer.index() as u32).or_insert((buffer, lanes));
            known.1 = known.1.min(lanes);
        }
    }
}

fn once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
