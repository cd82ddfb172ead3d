//! A nest in which a stage or a copy takes more invocations than the nest itself is distributed over.
//!
//! All of these would run the nest alike, and write the same elements. So the nest gets a loop over an axis of one value for each
//! coordinate that it lacks, and only the first invocation along that coordinate runs it, as for the result of a reduction across
//! invocations.

use crate::lower::local;
use crate::nest::path::Frame;
use crate::nest::{AxisId, Exec, Level, Program, Slot};
use crate::profile::Profile;
use crate::schedule::StageNest;
use crate::schedule::promote::Copied;

/// Gives the stage of the dispatch in which a copy is made the coordinates that it lacks.
pub(super) fn run(program: &mut Program, profile: &Profile, copy: &Copied) {
    let Some(host) = std::iter::successors(program.hosts.get(&copy.stage), |host| program.hosts.get(host)).last().copied() else {
        return;
    };
    let lacks: Vec<(Level, Slot)> =
        program.plan.iter().flat_map(|dispatch| local::lacks(program, &dispatch.body, host, profile.subgroup)).collect();
    if lacks.is_empty() {
        return;
    }
    let Some(mut nest) = StageNest::open(program, profile, host) else { return };
    for (level, slot) in lacks {
        let axis = one(&mut nest, copy);
        let workgroups = nest.path.frames.iter().take_while(|f| matches!(f.level(), Some((Level::Workgroup, _)))).count();
        nest.path.frames.insert(workgroups, Frame::looped(axis, Exec::Bind(level, slot), copy.span));
    }
    nest.store();
}

/// An axis of one value.
fn one(nest: &mut StageNest<'_>, copy: &Copied) -> AxisId {
    let extent = nest.program.exprs.int(1);
    let name = nest.unused("once");
    nest.made(name, extent, copy.span)
}
