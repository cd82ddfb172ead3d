//! Nests with fewer invocation coordinates than a stage or a copy in them uses.
//!
//! All invocations along a missing coordinate would run the nest alike, and write the same elements. So the nest gets a loop over
//! an axis of extent 1 for each missing coordinate, and only the first invocation along that coordinate runs it. The result of a
//! reduction across invocations is written in the same way.

use crate::lower::local;
use crate::nest::path::Frame;
use crate::nest::{AxisId, Exec, Level, Program, Slot};
use crate::profile::Profile;
use crate::schedule::StageNest;
use crate::schedule::memory::promote::Copied;

/// Adds the missing coordinates to the stage of the dispatch in which a copy is made.
pub(super) fn run(program: &mut Program, profile: &Profile, copy: &Copied) {
    let Some(host) =
        std::iter::successors(program.notes.hosts.get(&copy.stage), |host| program.notes.hosts.get(host)).last().copied()
    else {
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

/// Adds an axis of extent 1.
fn one(nest: &mut StageNest<'_>, copy: &Copied) -> AxisId {
    let extent = nest.program.exprs.int(1);
    let name = nest.unused("once");
    nest.made(name, extent, copy.span)
}
