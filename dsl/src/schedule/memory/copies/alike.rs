//! The schedule of a copy in fragments without a block: it gets the subgroups and the matrices of its reader.
//!
//! Refused: a reduction, because only its block can say how it is computed; a copy that no stage on matrix units reads, or whose
//! reader does not read whole matrices of it.

use crate::diag::Error;
use crate::expr::ExprId;
use crate::nest::path::{Frame, Head};
use crate::nest::walk::{self, Around};
use crate::nest::{AxisId, Body, Exec, Level, NodeKind, Program};
use crate::schedule::loops::split;
use crate::schedule::memory::promote::Copied;
use crate::schedule::{Applied, StageNest};
use std::collections::HashSet;

/// The part of an index that one loop contributes: the loop's extent, and how it is executed.
struct Part {
    extent: i64,
    exec: Exec,
}

/// Gives the copy the loops in which it is read.
pub(super) fn as_read(nest: &mut StageNest<'_>, copy: &Copied) -> Applied {
    if let Body::Reduce { .. } = nest.program.stages[copy.stage].body {
        let name = &nest.program.buffers[copy.buffer].name;
        let error = Error::new(copy.span, format!("`{name}` is a reduction in fragments, but no block says how it is computed"));
        return Err(error.help(format!("write `{name} {{ … mma(…); }}` for a sum of products, or `{name} {{ … fragment(…); }}`")));
    }
    let refuse = |nest: &StageNest<'_>, what: &str| {
        let name = &nest.program.buffers[copy.buffer].name;
        let error = Error::new(copy.span, format!("`{name}` is in fragments, but {what}"));
        Err(error.help(format!(
            "say which matrices it has in its block, `{name} {{ tile(…) => subgroup(x); fragment(…, …, 16 x 16); }}`"
        )))
    };
    let Some((index, around)) = reader(nest.program, copy) else {
        return refuse(nest, "no stage on matrix units reads it, so its matrices are not determined");
    };
    let mut sides = Vec::new();
    for (axis, at) in nest.program.stages[copy.stage].axes.clone().into_iter().zip(index) {
        if nest.program.is_single(axis) {
            continue;
        }
        let whole = nest.program.exprs.as_int(nest.program.axes[axis].extent);
        let Some(parts) = parts(nest.program, at, &around).filter(|parts| whole == Some(parts.iter().map(|p| p.extent).product()))
        else {
            return refuse(nest, "its reader does not read whole matrices of it");
        };
        let factors: Vec<_> = parts.iter().map(|part| Some((part.extent, copy.span))).collect();
        let base = nest.name(axis).to_owned();
        let mut names = Vec::new();
        for part in &parts {
            let word = match part.exec {
                Exec::Bind(..) => "subgroup",
                Exec::Matrix(_) => "matrix",
                _ => "o",
            };
            names.push(nest.unused(&format!("{base}_{word}")));
        }
        let made = split::split(nest, axis, copy.span, &factors, None, &names, copy.span)?;
        for (part, axis) in parts.iter().zip(made) {
            let Some(at) = nest.path.position(axis) else { continue };
            if let Exec::Matrix(side) = part.exec {
                sides.push((side, nest.path.remove(at)));
            } else {
                nest.path.frames[at].head = Head::Loop { axis, exec: part.exec };
            }
        }
    }
    sides.sort_by_key(|(side, _)| *side);
    for (side, frame) in sides {
        if let Some((axis, _)) = frame.as_loop() {
            nest.path.frames.push(Frame::looped(axis, Exec::Matrix(side), copy.span));
        }
    }
    Ok(())
}

/// Returns the index of the first read of the copy, and the loops around it.
fn reader(program: &Program, copy: &Copied) -> Option<(Vec<ExprId>, Vec<Around>)> {
    let mut found = None;
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, around| {
            let NodeKind::Compute(compute) = &node.kind else { return };
            let mut reads = compute.values().flat_map(|value| program.exprs.reads(value));
            if let (None, Some(read)) = (&found, reads.find(|read| read.buffer == copy.buffer)) {
                found = Some((read.index.to_vec(), around.to_vec()));
            }
        });
    }
    found
}

/// Decomposes an index into the parts of its loops, outermost first.
fn parts(program: &Program, index: ExprId, around: &[Around]) -> Option<Vec<Part>> {
    let bound: HashSet<AxisId> = around.iter().map(|l| l.axis).collect();
    let sum = program.exprs.linear(program.over_leaves(index, &bound));
    let mut parts = Vec::new();
    for (axis, times) in &sum.axes {
        let extent = program.exprs.as_int(program.axes[*axis].extent)?;
        let exec = match around.iter().find(|l| l.axis == *axis)?.exec {
            exec @ (Exec::Matrix(_) | Exec::Bind(Level::Subgroup, _)) => exec,
            Exec::Serial | Exec::Unroll => Exec::Unroll,
            _ => return None,
        };
        if extent > 1 {
            parts.push((*times, Part { extent, exec }));
        }
    }
    parts.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    (sum.rest.is_empty() && sum.constant == 0).then(|| parts.into_iter().map(|(_, part)| part).collect())
}
