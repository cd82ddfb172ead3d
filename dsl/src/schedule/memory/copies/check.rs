//! Checks of copies after the whole schedule is applied: registers and fragments are indexed by constants, every invocation of the
//! workgroup copies a different part of a cooperative copy, and the stages of a dispatch agree on the shape of the workgroup.

use crate::diag::Error;
use crate::expr::{Expr, ExprId};
use crate::lower::local;
use crate::nest::walk::{self, Around};
use crate::nest::{AxisId, Block, Compute, Exec, Fate, Level, NodeKind, Phase, Program, Slot, Space, StageId, print};
use crate::profile::Profile;
use crate::schedule::memory::promote::Copied;
use crate::schedule::{Applied, block_of};
use std::collections::HashSet;

/// Checks that registers and fragments are indexed by constants, because they are not addressable. An index may not depend on a
/// loop that is not unrolled, or on workgroups. Invocations may index only the dimensions that `owners` has added.
pub(super) fn constant(program: &mut Program, copy: &Copied) -> Applied {
    if !matches!(program.buffers[copy.buffer].space, Space::Register | Space::Fragment { .. }) {
        return Ok(());
    }
    for at in 0..program.plan.len() {
        let body = std::mem::take(&mut program.plan[at].body);
        let mut found = Ok(());
        walk::within(&body, &mut |node, around| {
            if let (NodeKind::Compute(compute), Ok(())) = (&node.kind, &found) {
                found = Search { copy }.compute(program, compute, around);
            }
        });
        program.plan[at].body = body;
        found?;
    }
    Ok(())
}

struct Search<'c> {
    copy: &'c Copied,
}

impl Search<'_> {
    fn compute(&self, program: &mut Program, compute: &Compute, around: &[Around]) -> Applied {
        let owned = program.buffers[self.copy.buffer].shape.len().saturating_sub(program.stages[self.copy.stage].axes.len());
        let mut index: Vec<ExprId> = Vec::new();
        // The finish of a reduction reads its operands under the loops over parallel axes.
        for read in compute.values().flat_map(|value| program.exprs.reads(value)).filter(|r| r.buffer == self.copy.buffer) {
            index.extend(read.index.iter().skip(owned));
        }
        index.extend(compute.dst.iter().filter(|d| d.buffer == self.copy.buffer).flat_map(|d| d.index.iter().skip(owned)));
        let bound: HashSet<AxisId> = around.iter().map(|l| l.axis).collect();
        for e in index {
            self.known(program, e)?;
            // A dimension of a distributed buffer belongs to an invocation if the index is only that invocation's coordinate.
            let owns = |l: &Around| matches!(l.exec, Exec::Bind(level, _) if level != Level::Workgroup);
            let is_owner = |axis: AxisId| around.iter().any(|l| l.axis == axis && owns(l));
            if program.notes.dealt.contains(&self.copy.buffer)
                && matches!(*program.exprs.get(e), Expr::Axis(axis) if is_owner(axis))
            {
                continue;
            }
            let e = program.over_leaves(e, &bound);
            let counts = |l: &&Around| {
                let stays = matches!(l.exec, Exec::Serial | Exec::Bind(..)) && !program.is_single(l.axis);
                stays && program.exprs.any(e, &mut |e| *e == Expr::Axis(l.axis))
            };
            if let Some(Around { axis, exec, .. }) = around.iter().find(counts) {
                return Err(self.at_run_time(program, compute.stage, *axis, *exec));
            }
        }
        Ok(())
    }

    /// Reports an axis that indexes the copy although its loop is not unrolled.
    fn at_run_time(&self, program: &Program, stage: StageId, axis: AxisId, exec: Exec) -> Error {
        let (copy, name) = (&program.buffers[self.copy.buffer].name, &program.axes[axis].name);
        let error = Error::new(self.copy.span, format!("`{copy}` would be indexed by `{name}` at run time"));
        let what = match exec {
            Exec::Bind(Level::Workgroup, _) => "is bound to workgroups",
            Exec::Bind(..) => "is bound to invocations",
            _ => "is a loop",
        };
        let error = error.note(format!("`{name}` {what}, but {} need constant indices", self.memory(program)));
        error.help(match exec {
            Exec::Bind(..) => "write `to: shared`".into(),
            _ => format!("write `{}`", block_of::written(program, owner(program, axis, stage), &format!("unroll({name})"))),
        })
    }

    /// An index of registers cannot depend on sizes or data. An element of a table is allowed at a constant index, because it is a
    /// literal there.
    fn known(&self, program: &Program, index: ExprId) -> Applied {
        let at_run_time = |e: &Expr| match e {
            Expr::Read(read) => !matches!(program.buffers[read.buffer].space, Space::Constant(_)),
            _ => matches!(e, Expr::Dim(_) | Expr::Scalar(_)),
        };
        if !program.exprs.any(index, &mut |e| at_run_time(e)) {
            return Ok(());
        }
        let (copy, text) = (&program.buffers[self.copy.buffer].name, print::expr(program, index));
        let error = Error::new(self.copy.span, format!("`{copy}` would be indexed by `{text}`, which is known only at run time"));
        Err(error.note(format!("{} need constant indices", self.memory(program))).help("write `to: shared`"))
    }

    fn memory(&self, program: &Program) -> &'static str {
        if program.buffers[self.copy.buffer].space == Space::Register { "registers" } else { "fragments" }
    }
}

/// Returns the stage whose loop binds an axis around a stage: the stage itself, or a stage in whose nest it is computed.
fn owner(program: &Program, axis: AxisId, mut stage: StageId) -> StageId {
    while !program.comes_from(axis, &program.root_axes(stage)) {
        let Some(host) = program.notes.hosts.get(&stage) else { break };
        stage = *host;
    }
    stage
}

/// Checks that every invocation of the workgroup copies a different part of a cooperative copy.
pub(super) fn shared_out(program: &mut Program, profile: &Profile, copy: &Copied) -> Applied {
    // Several subgroups may load the same matrices.
    let is_fragment = matches!(program.buffers[copy.buffer].space, Space::Fragment { .. });
    if is_fragment || !program.is_together(copy.buffer) {
        return Ok(());
    }
    let name = &program.buffers[copy.buffer].name;
    for dispatch in &program.plan {
        let Some(loops) = loops_of(&dispatch.body, copy) else { continue };
        let local = local::size(program, &dispatch.body, profile.subgroup);
        if let Some((what, guaranteed)) = profile.too_large(local) {
            return Err(Error::new(copy.span, format!("with `{name}`, {what}"))
                .note(guaranteed)
                .help("make the tile smaller, or distribute fewer axes"));
        }
        if let Some(place) = local::uncounted(program, &dispatch.body, loops.into_iter(), profile.subgroup).first() {
            return Err(all_alike(program, copy, *place));
        }
    }
    Ok(())
}

/// Reports a coordinate along which all invocations would do the same work for a copy.
fn all_alike(program: &Program, copy: &Copied, (level, slot, count): (Level, Slot, u32)) -> Error {
    let (name, word, letter) = (&program.buffers[copy.buffer].name, print::level(level), print::slot(slot));
    let who = match level {
        Level::Subgroup => format!("{count} subgroups in `{letter}`"),
        Level::Lane => format!("{count} lanes"),
        Level::Thread | Level::Workgroup => format!("{count} invocations in `{letter}`"),
    };
    let what = if program.notes.dealt.contains(&copy.buffer) {
        "would all have the same part of"
    } else if program.buffers[copy.buffer].space == Space::Shared {
        if copy.computed { "would all compute the same part of" } else { "would all copy the same part of" }
    } else {
        let error = Error::new(copy.span, format!("{who} do not take part in the reduction of `{name}`"));
        return error.help(format!(
            "distribute the reduction to them too, `{name} {{ distribute(… => {word}({letter}), by: …); }}`, or write `to: shared`"
        ));
    };
    let error = Error::new(copy.span, format!("{who} {what} `{name}`"));
    error.help(format!("distribute an axis of `{name}` to them: `{name} {{ distribute(… => {word}({letter})); }}`"))
}

/// Checks that all subgroups take part in a computation on matrices. Lowering reports the case of sums.
pub(super) fn by_all_subgroups(program: &Program) -> Applied {
    let mut wrong = None;
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, around| {
            let NodeKind::Compute(compute) = &node.kind else { return };
            let side = around.iter().find(|l| matches!(l.exec, Exec::Matrix(_)));
            let Some(side) = side.filter(|_| compute.finish.is_none() && wrong.is_none()) else { return };
            let left_out = compute.preds.iter().find(|pred| program.axes[pred.axis].fate == Fate::Live);
            wrong = left_out.map(|_| (side.span, program.stages[compute.stage].name.clone()));
        });
    }
    let Some((span, stage)) = wrong else { return Ok(()) };
    let error = Error::new(span, format!("not all subgroups of the workgroup would compute matrices of `{stage}`"));
    let error = error.note("another stage of the dispatch needs more subgroups");
    Err(error.help("distribute all stages of the dispatch to the same number of subgroups"))
}

/// Refuses `thread(y)` and `thread(z)` in a dispatch with subgroups, lanes or matrices, because its invocations are one row. A stage's own
/// directives are checked when they are applied. This check compares the stages that are placed in one dispatch.
pub(super) fn in_one_row(program: &Program) -> Applied {
    for dispatch in &program.plan {
        let (mut row, mut column) = (None, None);
        walk::within(&dispatch.body, &mut |node, _| {
            let NodeKind::Loop(looped) = &node.kind else { return };
            match looped.exec {
                Exec::Matrix(_) | Exec::Bind(Level::Lane, _) => row = row.or(Some(node.span)),
                Exec::Bind(Level::Subgroup, _) if !program.is_single(looped.axis) => row = row.or(Some(node.span)),
                Exec::Bind(Level::Thread, slot @ (Slot::Y | Slot::Z)) if !program.is_single(looped.axis) => {
                    column = column.or(Some((node.span, looped.axis, slot)));
                }
                _ => {}
            }
        });
        let (Some(row), Some((span, axis, slot))) = (row, column) else { continue };
        let (name, slot) = (&program.axes[axis].name, print::slot(slot));
        let error = Error::new(span, format!("`{name}` cannot be distributed to `thread({slot})` here"));
        let error = error.note_at(row, "the invocations of this dispatch are one row of subgroups, because of this directive");
        return Err(error.help("distribute one axis to `thread(x)`, or fuse several first"));
    }
    Ok(())
}

/// Returns how the loops around the copy's compute node are executed. Inside the scope of the copy, only the loops within the scope
/// are returned.
fn loops_of(block: &Block, copy: &Copied) -> Option<Vec<Exec>> {
    let (mut found, mut outside) = (None, 0);
    walk::within(block, &mut |node, around| match &node.kind {
        NodeKind::Alloc { buffer, .. } if *buffer == copy.buffer => outside = around.len(),
        NodeKind::Compute(c) if c.stage == copy.stage && c.phase == Phase::Whole && found.is_none() => {
            found = Some(around.iter().skip(outside).map(|l| l.exec).collect());
        }
        _ => {}
    });
    found
}
