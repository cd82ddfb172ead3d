//! Cooperative copies in the form that lowering makes: every invocation of the workgroup copies its share of a box.

use crate::build::*;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::nest::{AxisId, Block, Body, BufferId, Exec, Phase, Slot, StageId};

/// A copy of a box into a shared buffer.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    /// The shared buffer.
    pub dst: BufferId,
    /// An axis for each of its dimensions.
    pub axes: &'a [AxisId],
    /// The copied value: a read that depends on these axes and on the axes of enclosing loops.
    pub value: ExprId,
}

impl Copied<'_> {
    /// Adds the stage of the copy.
    pub fn stage(&self, b: &mut Builder) -> StageId {
        b.stage(self.dst, self.axes, Body::Map(self.value))
    }

    /// Fuses the box into one row and distributes it across the invocations. In each round, every invocation copies `width` consecutive
    /// elements.
    pub fn dealt(&self, b: &mut Builder, invocations: i64, width: i64) -> Block {
        let stage = self.stage(b);
        let place = b.all(self.axes);
        let name = b.p.buffers[self.dst].name.clone();
        let mut items = self.axes.to_vec();
        let mut lanes = None;
        if width > 1
            && let Some(last) = items.last_mut()
        {
            let parts = b.split(*last, &format!("{name}_vector"), &[(&format!("{name}_lane"), width)]);
            *last = parts[0];
            lanes = Some((parts[1], Exec::Lanes));
        }
        let item = b.fuse(&items, &format!("{name}_item"));
        let dealt = b.split(item, &format!("{name}_round"), &[(&format!("{name}_thread"), invocations)]);
        let write = compute(stage, Phase::Whole, access(self.dst, &place), self.value);
        let write = guarded(write, &[item], &b.p);
        let mut loops = vec![(dealt[0], Exec::Serial), (dealt[1], thread(Slot::Linear))];
        loops.retain(|(axis, _)| !b.p.is_single(*axis));
        loops.extend(lanes);
        nest(&loops, leaf(write))
    }
}
