//! Updates: definitions of `&mut` arguments. Every read of such an argument precedes its update, so all reads are of the values before the
//! launch.
//!
//! Errors: a read after the update; a read in a `let` that is not an intermediate; a read at another index in the argument's own definition,
//! because another invocation may have written that element.

use super::{Checked, Checker};
use crate::arena::Arena;
use crate::diag::{Error, SpanId};
use crate::expr::{ExprId, Read};
use crate::nest::{AxisDef, Body, BufferId, Program, Space, StageId};
use crate::syntax::Name;
use std::collections::{BTreeSet, HashMap};

impl Checker<'_> {
    /// Checks that a definition may read an argument that is updated: the update comes later, or is this definition.
    pub(super) fn precedes_update(&mut self, tensor: &Name, buffer: BufferId) -> Checked<()> {
        let declared = self.program.buffers[buffer].span;
        if self.definition.buffer.is_none() {
            let error = Error::new(tensor.span, format!("`{tensor}` is updated in place, so only definitions may read it"));
            let error = error.note_at(declared, "it is `&mut` here");
            return self.fail(error.help("define an intermediate with axes, `let old[i]: f32[…] = …;`, before the update"));
        }
        if !self.defined.contains(&buffer) {
            return Ok(());
        }
        let error = Error::new(tensor.span, format!("`{tensor}` is read after its update"));
        let update = self.program.update(buffer).map(|stage| self.program.stages[stage].span);
        let error = error.note_at(update.unwrap_or(declared), "it is updated here");
        self.fail(error.help("move this definition before the update, or define the new values by a `let`, and read that"))
    }

    /// Checks that the definitions of an argument that is updated, and of tensors together with it, read it at the index that is written.
    pub(super) fn place_of_update(&mut self, span: SpanId, tensor: &Name, buffer: BufferId, index: &[ExprId]) -> Checked<()> {
        if self.program.buffers[buffer].space != Space::Update || !self.together.defines(&tensor.text) {
            return Ok(());
        }
        let axes: Vec<ExprId> = self.definition.axes.clone().into_iter().map(|a| self.program.exprs.axis(a)).collect();
        if axes == index {
            return Ok(());
        }
        let names: Vec<&str> = self.definition.axes.iter().map(|a| self.program.axes[*a].name.as_str()).collect();
        let error =
            Error::new(span, format!("`{tensor}` is updated in place, so it may be read only at the index that is written"));
        let names = names.join(", ");
        let help = format!("compute the new values before, `let new[{names}]: … = …; {tensor}[{names}] = new[{names}];`");
        self.fail(error.help(help))
    }

    /// Puts the updates, and the stages that need their results, after all other stages. Each update is put after the stages that read its old
    /// values, also through intermediates that will be inlined. Where this is impossible, because updates read each other's old values in a
    /// circle, or a stage needs a result of the update, the order of the definitions remains. Then such intermediates are stored.
    pub(super) fn order_updates(&mut self) {
        // Axes of wrong definitions belong to stages that do not exist.
        if !self.errors.is_empty() {
            return;
        }
        let program = &mut self.program;
        let producers = producers(program);
        let mut left: Vec<StageId> = Vec::new();
        for stage in program.stages.ids() {
            if !program.updated(stage).is_empty() || producers[&stage].iter().any(|producer| left.contains(producer)) {
                left.push(stage);
            }
        }
        if left.is_empty() {
            return;
        }
        let reads = inlined_reads(program);
        let mut order: Vec<StageId> = program.stages.ids().filter(|stage| !left.contains(stage)).collect();
        while !left.is_empty() {
            let is_ready = |stage: &&StageId| !producers[*stage].iter().any(|producer| left.contains(producer));
            let is_free = |stage: &&StageId| {
                let buffers = program.updated(**stage);
                left.iter().all(|other| other == *stage || buffers.iter().all(|buffer| !reads[other].contains(buffer)))
            };
            let mut ready = left.iter().filter(is_ready);
            // The definitions are in order, so the first of them that is left is ready.
            let Some(next) = ready.clone().find(is_free).or_else(|| ready.next()).copied() else { return };
            left.retain(|stage| *stage != next);
            order.push(next);
        }
        reordered(program, &order);
    }
}

/// Returns the stages whose results each stage reads.
fn producers(program: &Program) -> HashMap<StageId, BTreeSet<StageId>> {
    let of = |stage: StageId| {
        let reads = program.stages[stage].values().into_iter().flat_map(|value| program.exprs.reads(value));
        let stored = reads.filter(|read| program.buffers[read.buffer].space != Space::Update);
        stored.filter_map(|read| program.definition(read.buffer)).filter(|producer| *producer != stage).collect()
    };
    program.stages.ids().map(|stage| (stage, of(stage))).collect()
}

/// Returns the arguments that are updated among the tensors that each stage reads, also through pointwise intermediates.
fn inlined_reads(program: &Program) -> HashMap<StageId, BTreeSet<BufferId>> {
    let mut found: HashMap<StageId, BTreeSet<BufferId>> = HashMap::new();
    for (id, stage) in program.stages.iter() {
        let mut reads = BTreeSet::new();
        for read in stage.values().into_iter().flat_map(|value| program.exprs.reads(value)) {
            match program.definition(read.buffer) {
                _ if program.buffers[read.buffer].space == Space::Update => drop(reads.insert(read.buffer)),
                Some(made) if matches!(program.stages[made].body, Body::Map(_)) => {
                    reads.extend(found.get(&made).into_iter().flatten())
                }
                _ => {}
            }
        }
        found.insert(id, reads);
    }
    found
}

/// Puts the stages into an order.
fn reordered(program: &mut Program, order: &[StageId]) {
    let mut stages = Arena::new();
    let ids: HashMap<StageId, StageId> = order.iter().map(|old| (*old, stages.push(program.stages[*old].clone()))).collect();
    for axis in program.axes.ids() {
        if let AxisDef::Root(stage) = &mut program.axes[axis].def {
            *stage = ids[stage];
        }
    }
    program.stages = stages;
}

/// Returns the argument whose old values a stage cannot use for `values` at its place: the argument is updated earlier, or the stage updates
/// it and reads another element.
pub(super) fn overwritten(program: &Program, stage: StageId, values: &[ExprId]) -> Option<BufferId> {
    if program.buffers.values().all(|buffer| buffer.space != Space::Update) {
        return None;
    }
    let own: Vec<ExprId> = program.stages[stage].axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
    let is_lost = |read: &Read| {
        let update = program.update(read.buffer);
        update.is_some_and(|update| update < stage || update == stage && read.index[..] != own[..])
    };
    values.iter().flat_map(|value| program.exprs.reads(*value)).find(is_lost).map(|read| read.buffer)
}
