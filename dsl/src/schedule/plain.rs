//! The plain schedule, for stages without directives that the planner ([`crate::plan`]) does not plan. It is correct everywhere and
//! tuned for no device: all parallel axes are fused and run over 64 invocations per workgroup, and the reduction is a loop in each
//! invocation. The rows of transforms (`Notes::rows`) are unrolled, so that each copy computes one row and shared terms are
//! computed once.

use super::{Applied, StageNest};
use crate::diag::SpanId;
use crate::nest::path::Frame;
use crate::nest::{AxisId, Exec, Level, Slot};
use crate::schedule::invocations::distribute;
use crate::schedule::loops::{fuse, split};
use crate::syntax::schedule::Target;

/// The number of invocations of a workgroup: half of the minimum that Vulkan guarantees, and a multiple of every subgroup size.
const INVOCATIONS: i64 = 64;

/// Schedules a stage without directives.
pub(super) fn apply(nest: &mut StageNest<'_>, blame: SpanId) -> Applied {
    let rows: Vec<AxisId> = nest.path.axes().filter(|a| nest.program.notes.rows.contains(a)).collect();
    let parallel: Vec<AxisId> = nest.path.axes().filter(|a| !nest.is_reduction(*a) && !rows.contains(a)).collect();
    write_out(nest, &rows, blame);
    let axis = match parallel.as_slice() {
        [] => {
            nest.refresh();
            return Ok(());
        }
        [one] => *one,
        several => fuse::fuse(nest, several, nest.unused("points"), blame)?,
    };
    let count = i64::from(nest.profile.invocations.min(nest.profile.local[0])).min(INVOCATIONS);
    let names = [nest.unused("points_workgroup"), nest.unused("points_thread")];
    let have = nest.program.exprs.as_int(nest.program.axes[axis].extent);
    let threads = have.map_or(count, |have| count.min(have.max(1)));
    let parts = split::split(nest, axis, blame, &[None, Some((threads, blame))], None, &names, blame)?;
    for (part, level) in parts.into_iter().zip([Level::Workgroup, Level::Thread]) {
        let target = Target { level, slots: vec![(Slot::X, blame)], down: vec![false], span: blame };
        distribute::bind(nest, &[part], &target, None, blame)?;
    }
    Ok(())
}

/// Moves the loops over `axes` inside all others, and unrolls them.
fn write_out(nest: &mut StageNest<'_>, axes: &[AxisId], blame: SpanId) {
    for axis in axes {
        let Some(at) = nest.path.position(*axis) else { continue };
        nest.path.remove(at);
        nest.path.frames.push(Frame::looped(*axis, Exec::Unroll, blame));
    }
}
