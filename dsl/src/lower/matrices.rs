//! That matrices are whole where subgroups compute with them: the end of an axis cuts none, and all subgroups have as many.
//!
//! A guard is a predicate on each element, and a matrix has one for none of them. So copies in shared memory are filled past the end before
//! matrices are loaded from them, and results go through a copy in shared memory, whose write-back is guarded.

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

/// What a predicate would cut.
fn cut(program: &Program, compute: &Compute, pred: &Pred, around: &[Around], span: SpanId) -> Option<Error> {
    let axis = &program.axes[pred.axis];
    let (name, stage) = (&axis.name, &program.stages[compute.stage].name);
    if axis.fate == Fate::Live {
        let error = Error::new(span, format!("not all subgroups of the workgroup would multiply matrices of `{stage}`"));
        let error = error.note(format!("`{name}` is bound to fewer than another stage of the dispatch asks for"));
        return Some(error.help("give all stages of the dispatch as many subgroups"));
    }
    // Along a side, the axis itself can end, or where it ends can differ.
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
        let error = Error::new(span, format!("the end of `{name}`, at {text}, cuts matrices that are summed"));
        let help = format!("write `round_up` behind the tile of `{name}`, and promote what is read with `fill: 0.0`");
        return Some(error.help(format!("{help}, or state that the tile divides {text}")));
    }
    if stores && compute.phase != Phase::Update {
        let error = Error::new(span, format!("the end of `{name}`, at {text}, cuts matrices that are stored"));
        let result = &program.buffers[compute.dst[0].buffer];
        if result.space == Space::Shared {
            // A copy of the result has whole tiles, unless the axis is shorter or what is read past its ends is not there.
            let error = error.note_at(result.span, format!("`{}` is no longer than that, or the factors are not", result.name));
            let help = format!("promote what is read at `{name}` with `fill: 0.0`");
            return Some(error.help(format!("{help}, or choose a tile and matrices that divide {text}")));
        }
        let help = format!("promote the result, `promote({0} => {0}_s, at: workgroup, to: shared);`", result.name);
        return Some(error.help(format!("{help}, or state that the tile divides {text}")));
    }
    None
}
