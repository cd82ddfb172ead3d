//! The size of a workgroup: the extents of the loops bound to its invocations.
//!
//! Stages of one dispatch share it. Where one of them has fewer values than there are invocations, a predicate holds the
//! surplus ones back: they run along, as barriers need them to.

use crate::nest::{AxisId, Block, Exec, Level, NodeKind, Pred, Program, Slot, Tail};

/// Sets every dispatch's local size.
pub fn run(program: &mut Program) {
    for at in 0..program.plan.len() {
        program.plan[at].local = size(program, &program.plan[at].body);
    }
    predicate_surplus(program);
}

/// The size that the loops of a nest ask for, in x, y and z.
pub fn size(program: &Program, block: &Block) -> [u32; 3] {
    let (mut local, mut linear) = ([1; 3], 1);
    measure(program, block, &mut local, &mut linear);
    // What is bound to the linear index takes all invocations that there are; if those are too few, x has more.
    let row = local[1].saturating_mul(local[2]);
    local[0] = local[0].max(linear.div_ceil(row.max(1)));
    local
}

fn measure(program: &Program, block: &Block, local: &mut [u32; 3], linear: &mut u32) {
    for node in block {
        if let NodeKind::Loop(l) = &node.kind
            && let Exec::Bind(Level::Thread, slot) = l.exec
        {
            let extent = program.exprs.as_int(program.axes[l.axis].extent);
            let extent = extent.and_then(|e| u32::try_from(e).ok()).unwrap_or(1);
            let place = match slot {
                Slot::X => &mut local[0],
                Slot::Y => &mut local[1],
                Slot::Z => &mut local[2],
                Slot::Linear => &mut *linear,
            };
            *place = extent.max(*place);
        }
        node.blocks().for_each(|b| measure(program, b, local, linear));
    }
}

/// Adds predicates on axes that are bound to more invocations than they have values.
pub fn predicate_surplus(program: &mut Program) {
    for at in 0..program.plan.len() {
        let local = size(program, &program.plan[at].body);
        let mut body = std::mem::take(&mut program.plan[at].body);
        predicate(program, &mut body, local, &mut Vec::new());
        program.plan[at].body = body;
    }
}

fn predicate(program: &Program, block: &mut Block, local: [u32; 3], surplus: &mut Vec<AxisId>) {
    for node in block {
        if let NodeKind::Compute(compute) = &mut node.kind {
            for axis in surplus.iter().filter(|a| !compute.preds.iter().any(|p| p.axis == **a)).collect::<Vec<_>>() {
                compute.preds.push(Pred { axis: *axis, tail: Tail::Guard });
            }
        }
        let fewer = match &node.kind {
            NodeKind::Loop(l) => match l.exec {
                Exec::Bind(Level::Thread, slot) => {
                    let extent = program.exprs.as_int(program.axes[l.axis].extent);
                    let invocations = match slot {
                        Slot::X => local[0],
                        Slot::Y => local[1],
                        Slot::Z => local[2],
                        Slot::Linear => local.iter().product(),
                    };
                    extent.is_some_and(|n| n < i64::from(invocations)).then_some(l.axis)
                }
                _ => None,
            },
            _ => None,
        };
        surplus.extend(fewer);
        node.blocks_mut().for_each(|b| predicate(program, b, local, surplus));
        if fewer.is_some() {
            surplus.pop();
        }
    }
}
