//! Checks that subgroups compute with whole matrices: no axis ends within a matrix, and all subgroups compute equally many matrices.
//!
//! A guard is a predicate on each element, but the elements of a matrix cannot be guarded separately. So copies in shared memory are filled
//! past the end before matrices are loaded from them. Results go through a copy in shared memory, and its write-back is guarded.

use crate::diag::{Error, Errors, SpanId};
use crate::nest::walk::{self, Around};
use crate::nest::{Access, AxisKind, Compute, Exec, Fate, NodeKind, Phase, Pred, Program, Space, Tail};

/// Checks every dispatch.
pub(super) fn check(program: &Program) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, around| {
            let side = around.iter().find(|l| matches!(l.exec, Exec::Matrix(_)));
            if let (NodeKind::Compute(compute), Some(side)) = (&node.kind, side) {
                let wrong = compute.preds.iter().find_map(|pred| cut(program, compute, pred, around, side.span));
                wrong.into_iter().for_each(|error| errors.push(error));
            }
        });
    }
    errors.into_result()
}

/// Returns an error if a predicate would cut a matrix or exclude a subgroup.
fn cut(program: &Program, compute: &Compute, pred: &Pred, around: &[Around], span: SpanId) -> Option<Error> {
    let axis = &program.axes[pred.axis];
    let (name, stage) = (&axis.name, &program.stages[compute.stage].name);
    if axis.fate == Fate::Live {
        let error = Error::new(span, format!("not all subgroups of the workgroup would multiply matrices of `{stage}`"));
        let error = error.note(format!("`{name}` is bound to fewer subgroups than another stage of the dispatch needs"));
        return Some(error.help("distribute all stages of the dispatch to the same number of subgroups"));
    }
    // Either the axis ends along a side, or its extent varies along it.
    let differs = |side| {
        program.is_made_of(pred.axis, side) || program.exprs.uses_axis(axis.extent, &mut |named| program.is_made_of(named, side))
    };
    if !around.iter().any(|l| matches!(l.exec, Exec::Matrix(_)) && differs(l.axis)) {
        return None;
    }
    let text = crate::nest::print::expr(program, axis.extent);
    let is_private = |to: &Access| matches!(program.buffers[to.buffer].space, Space::Register | Space::Fragment { .. });
    let stores = !compute.dst.iter().all(is_private);
    if compute.phase != Phase::Finish && axis.kind == AxisKind::Reduction && pred.tail != Tail::RoundUp {
        let error = Error::new(span, format!("`{name}` ends at {text}, which may be within a matrix that is summed"));
        let help = format!("write `round_up` after the tile of `{name}` and promote the operands with `fill: 0.0`");
        return Some(error.help(format!("{help}, or state that the tile divides {text}")));
    }
    if stores && compute.phase != Phase::Update {
        let error = Error::new(span, format!("`{name}` ends at {text}, which may be within a matrix that is stored"));
        let result = &program.buffers[compute.dst[0].buffer];
        if result.space == Space::Shared {
            // A copy of the result consists of whole tiles, unless the axis is shorter, or the operands are not filled past its end.
            let error = error
                .note_at(result.span, format!("`{}` ends there too, or the operands are not filled past that end", result.name));
            let help = format!("promote the operands at `{name}` with `fill: 0.0`");
            return Some(error.help(format!("{help}, or choose a tile and matrices that divide {text}")));
        }
        let help = format!("promote the result, `promote({0} => {0}_s, at: workgroup, to: shared);`", result.name);
        return Some(error.help(format!("{help}, or state that the tile divides {text}")));
    }
    None
}
