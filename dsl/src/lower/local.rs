//! The size of a workgroup: the extents of the loops bound to its invocations.

use crate::nest::{Block, Exec, Level, NodeKind, Program, Slot};

/// Sets every dispatch's local size.
pub fn run(program: &mut Program) {
    for at in 0..program.plan.len() {
        let mut local = [1; 3];
        measure(program, &program.plan[at].body, &mut local);
        program.plan[at].local = local;
    }
}

fn measure(program: &Program, block: &Block, local: &mut [u32; 3]) {
    for node in block {
        if let NodeKind::Loop(l) = &node.kind
            && let Exec::Bind(Level::Thread, slot) = l.exec
        {
            let extent = program.exprs.as_int(program.axes[l.axis].extent);
            let extent = extent.and_then(|e| u32::try_from(e).ok()).unwrap_or(1);
            let place = match slot {
                Slot::X | Slot::Linear => &mut local[0],
                Slot::Y => &mut local[1],
                Slot::Z => &mut local[2],
            };
            *place = extent.max(*place);
        }
        node.blocks().for_each(|b| measure(program, b, local));
    }
}
