//! Ends serial loops over parts of guarded axes at the extent ([`Program::end_of`]). So a tile that is longer than its axis costs no more
//! iterations than the axis has.

use crate::nest::{AxisId, NodeKind, Program, walk};
use std::collections::HashSet;

/// Sets the ends of the loops of every dispatch.
pub(super) fn run(program: &mut Program) {
    for at in 0..program.plan.len() {
        let mut body = std::mem::take(&mut program.plan[at].body);
        walk::within_mut(&mut body, &mut |node, around| {
            if let NodeKind::Loop(l) = &mut node.kind {
                let outside: HashSet<AxisId> = around.iter().map(|around| around.axis).collect();
                l.end = program.end_of(l, &outside);
            }
        });
        program.plan[at].body = body;
    }
}
