//! Computes the size of a workgroup from the extents of the loops bound to its invocations. With loops bound to subgroups or lanes, the
//! workgroup is one row of whole subgroups.
//!
//! All stages of a dispatch share this size. If a stage has fewer values than there are invocations, a predicate excludes the inactive
//! ones. They still execute the loops, because barriers need all invocations.

use crate::nest::path::Path;
use crate::nest::walk::{self, Around};
use crate::nest::{AxisId, Block, BufferId, Exec, How, Level, Loop, NodeKind, Phase, Pred, Program, Slot, StageId, Tail};
use crate::profile::Profile;
use std::collections::HashMap;

/// Sets the local size of every dispatch.
pub fn run(program: &mut Program, profile: &Profile) {
    for at in 0..program.plan.len() {
        program.plan[at].local = size(program, &program.plan[at].body, profile.subgroup);
    }
    predicate_inactive(program, profile);
}

/// Returns the size that the loops of a nest require, in x, y and z. `subgroup` is the size of subgroups.
pub fn size(program: &Program, block: &Block, subgroup: Option<u32>) -> [u32; 3] {
    WorkgroupSize::of(program, block).size(subgroup)
}

/// The workgroup size that loops require.
struct WorkgroupSize {
    threads: [u32; 3],
    linear: u32,
    subgroups: [u32; 3],
    lanes: bool,
}

impl WorkgroupSize {
    fn of(program: &Program, block: &Block) -> WorkgroupSize {
        let mut asked = WorkgroupSize { threads: [1; 3], linear: 1, subgroups: [1; 3], lanes: false };
        asked.measure(program, block);
        asked
    }

    fn size(&self, subgroup: Option<u32>) -> [u32; 3] {
        let count = self.subgroups.into_iter().fold(1u32, u32::saturating_mul);
        match subgroup {
            Some(size) if self.lanes || count > 1 => [count.saturating_mul(size), 1, 1],
            _ => {
                // A loop bound to the linear index uses all invocations. If there are too few, x is increased.
                let [x, y, z] = self.threads;
                [x.max(self.linear.div_ceil(y.saturating_mul(z).max(1))), y, z]
            }
        }
    }

    fn measure(&mut self, program: &Program, block: &Block) {
        for node in walk::nodes(block) {
            if let NodeKind::Loop(looped) = &node.kind {
                self.take(program, looped);
            }
        }
    }

    fn take(&mut self, program: &Program, looped: &Loop) {
        // Matrices need whole subgroups.
        self.lanes |= matches!(looped.exec, Exec::Matrix(_) | Exec::Bind(Level::Lane, _));
        let Exec::Bind(level, slot) = looped.exec else { return };
        let place = match (level, slot) {
            (Level::Workgroup | Level::Lane, _) => return,
            (Level::Thread, Slot::Linear) => &mut self.linear,
            (Level::Thread, _) => &mut self.threads[slot.index()],
            (Level::Subgroup, _) => &mut self.subgroups[slot.index()],
        };
        let extent = program.exprs.as_int(program.axes[looped.axis].extent);
        *place = extent.and_then(|e| u32::try_from(e).ok()).unwrap_or(1).max(*place);
    }

    /// Returns the number of invocations (or subgroups) that a loop is bound to.
    fn width(&self, level: Level, slot: Slot, subgroup: Option<u32>) -> Option<u32> {
        let all = |counts: [u32; 3]| counts.into_iter().fold(1, u32::saturating_mul);
        Some(match (level, slot) {
            (Level::Workgroup, _) => return None,
            (Level::Lane, _) => subgroup?,
            (Level::Thread, Slot::Linear) => all(self.size(subgroup)),
            (Level::Thread, _) => self.size(subgroup)[slot.index()],
            (Level::Subgroup, Slot::Linear) => all(self.subgroups),
            (Level::Subgroup, _) => self.subgroups[slot.index()],
        })
    }
}

/// Returns the invocation coordinates that no loop around a stage's whole compute is bound to. All invocations along such a coordinate
/// execute it in the same way.
pub fn lacks(program: &Program, block: &Block, stage: StageId, subgroup: Option<u32>) -> Vec<(Level, Slot)> {
    let Some(path) = Path::open(block, stage, Phase::Whole) else { return Vec::new() };
    let loops = path.frames.iter().filter_map(|f| Some(f.as_loop()?.1));
    uncounted(program, block, loops, subgroup).into_iter().map(|(level, slot, _)| (level, slot)).collect()
}

/// Returns the invocation coordinates that none of these loops is bound to, each with the number of invocations along it.
pub fn uncounted(
    program: &Program,
    block: &Block,
    loops: impl Iterator<Item = Exec>,
    subgroup: Option<u32>,
) -> Vec<(Level, Slot, u32)> {
    let asked = WorkgroupSize::of(program, block);
    let counted = loops.filter_map(|exec| match exec {
        Exec::Bind(level, slot) => Some((level, slot)),
        // The lanes of a subgroup compute matrices together.
        Exec::Matrix(_) => Some((Level::Lane, Slot::X)),
        _ => None,
    });
    let counted: Vec<(Level, Slot)> = counted.collect();
    // Subgroups and lanes are in one row.
    let in_row = asked.lanes || asked.subgroups != [1; 3];
    let (level, row) = if in_row { (Level::Subgroup, Slot::X) } else { (Level::Thread, Slot::Linear) };
    let is_counted = |(level, slot): (Level, Slot)| {
        let counts = |(l, s): &(Level, Slot)| {
            *l == level && (*s == slot || *s == Slot::Linear) || *l == Level::Thread && (*s == row || *s == Slot::Linear)
        };
        counted.iter().any(counts)
    };
    let lane = in_row.then_some((Level::Lane, Slot::X));
    let all = [Slot::X, Slot::Y, Slot::Z].map(|slot| (level, slot)).into_iter().chain(lane);
    all.filter(|place| !is_counted(*place))
        .filter_map(|(level, slot)| Some((level, slot, asked.width(level, slot, subgroup)?)))
        .filter(|(_, _, width)| *width != 1)
        .collect()
}

/// Adds predicates on axes that are bound to more invocations than they have values.
pub fn predicate_inactive(program: &mut Program, profile: &Profile) {
    for at in 0..program.plan.len() {
        let asked = WorkgroupSize::of(program, &program.plan[at].body);
        let mut body = std::mem::take(&mut program.plan[at].body);
        predicate(program, &mut body, (&asked, profile.subgroup));
        program.plan[at].body = body;
    }
}

fn predicate(program: &Program, block: &mut Block, (asked, subgroup): (&WorkgroupSize, Option<u32>)) {
    // The enclosing loops that run in fewer invocations than the workgroup has.
    let is_shorter = |l: &&Around| {
        let Exec::Bind(level, slot) = l.exec else { return false };
        let extent = program.exprs.as_int(program.axes[l.axis].extent);
        let width = asked.width(level, slot, subgroup).map(i64::from);
        extent.zip(width).is_some_and(|(n, width)| n < width)
    };
    // All invocations take part in a leaf that they execute together, even if fewer of them run the nest around the buffer's allocation.
    let mut lives: HashMap<BufferId, Vec<AxisId>> = HashMap::new();
    walk::within(block, &mut |node, around| {
        if let NodeKind::Alloc { buffer, .. } = &node.kind
            && program.is_together(*buffer)
        {
            lives.insert(*buffer, around.iter().map(|l| l.axis).collect());
        }
    });
    walk::within_mut(block, &mut |node, around| {
        let mut outside: &[AxisId] = &[];
        let preds = match &mut node.kind {
            NodeKind::Compute(compute) => {
                outside = lives.get(&program.stages[compute.stage].buffer).map_or(&[], Vec::as_slice);
                &mut compute.preds
            }
            NodeKind::AllReduce(reduction) if reduction.how == How::Atomic => &mut reduction.preds,
            _ => return,
        };
        let had: Vec<AxisId> = preds.iter().map(|pred| pred.axis).collect();
        let held = |axis: &AxisId| !had.contains(axis) && !outside.contains(axis);
        let inactive = around.iter().filter(is_shorter).map(|l| l.axis).filter(held);
        preds.extend(inactive.map(|axis| Pred { axis, tail: Tail::Guard }));
    });
}
