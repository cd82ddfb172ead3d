//! The epilogue of a promoted result of matrix units: the copy holds the sums, and the epilogue is computed when the copy is
//! written back.
//!
//! So any epilogue is possible. For example, one can read out of the result's bounds, because the write-back has predicates and
//! matrices do not. The stage's own result becomes the sum, in the sum's type; the stage that writes back takes over the epilogue.

use super::check_widened;
use crate::diag::{Error, SpanId};
use crate::expr::{Expr, ExprId};
use crate::nest::{Body, NodeKind, Space, StageId, State, walk};
use crate::schedule::{Applied, StageNest};
use std::collections::HashMap;

/// Moves the epilogue of a stage whose result is promoted to the stage that writes it back.
pub(in crate::schedule) fn with_write_back(nest: &mut StageNest<'_>, span: SpanId) -> Applied {
    let ([dst], Some(finish)) = (&nest.path.compute.dst[..], nest.path.compute.finish) else { return Ok(()) };
    let copy = dst.buffer;
    let written_back = nest.copies.iter().find(|c| c.buffer == copy && nest.program.buffers[copy].space == Space::Shared);
    let Some(stage) = written_back.map(|copied| copied.stage) else { return Ok(()) };
    let Body::Reduce { monoid, .. } = &nest.program.stages[nest.stage].body else { return Ok(()) };
    // The epilogue of several components is computed in fragments, because the copy has room for one of them.
    let [identity] = monoid.identity[..] else { return Ok(()) };
    let dtype = nest.program.exprs.dtype(identity);
    let sum = nest.program.exprs.add(Expr::State(0), dtype);
    if finish == sum {
        return Ok(());
    }
    check_reads(nest, finish, span)?;
    nest.program.buffers[copy].dtype = dtype;
    check_widened(nest, copy, span)?;
    let value = value_of(nest, stage, finish, sum);
    nest.program.stages[stage].body = Body::Map(value);
    for attached in &mut nest.placed.attached {
        for block in [&mut attached.before, &mut attached.after] {
            walk::each_mut(block, &mut |node| {
                if let NodeKind::Compute(compute) = &mut node.kind
                    && compute.stage == stage
                {
                    compute.value = vec![value];
                }
            });
        }
    }
    if let Body::Reduce { finish, .. } = &mut nest.program.stages[nest.stage].body {
        *finish = sum;
    }
    nest.path.compute.finish = Some(sum);
    let (name, copy) = (&nest.program.stages[nest.stage].name, &nest.program.buffers[copy].name);
    let what = format!("`{copy}` holds sums, and the epilogue of `{name}` is computed when they are written back");
    nest.program.owe(what, State::Proved, span);
    Ok(())
}

/// Checks that other buffers which the finish reads are accessible where the result is written back.
fn check_reads(nest: &StageNest<'_>, finish: ExprId, span: SpanId) -> Applied {
    let local = |buffer| matches!(nest.program.buffers[buffer].space, Space::Shared | Space::Register | Space::Fragment { .. });
    let Some(read) = nest.program.exprs.reads(finish).into_iter().find(|read| local(read.buffer)) else { return Ok(()) };
    let (copy, stage) = (&nest.program.buffers[read.buffer], &nest.program.stages[nest.stage].name);
    let error = Error::new(span, format!("the epilogue of `{stage}` reads `{}`, which is local", copy.name));
    let error = error.note_at(copy.span, "it is made here").note("the epilogue is computed where the result is written back");
    Err(error.help(format!("leave out the directive that makes `{}`", copy.name)))
}

/// Returns the epilogue over the axes of the stage that writes back, with the copy in place of the sum.
fn value_of(nest: &StageNest<'_>, stage: StageId, finish: ExprId, sum: ExprId) -> ExprId {
    let (program, exprs) = (&*nest.program, &nest.program.exprs);
    let Body::Map(copied) = program.stages[stage].body else { return finish };
    let read = match exprs.get(copied) {
        Expr::Read(read) => exprs.read(read.buffer, exprs.dtype(sum), read.index.iter().copied()),
        _ => copied,
    };
    let axes = program.stages[nest.stage].axes.iter().zip(&program.stages[stage].axes);
    let axes: HashMap<_, _> = axes.map(|(own, other)| (*own, exprs.axis(*other))).collect();
    exprs.replace(finish, &mut |exprs, id| match exprs.get(id) {
        Expr::State(0) => Some(read),
        Expr::Axis(axis) => axes.get(axis).copied(),
        _ => None,
    })
}
