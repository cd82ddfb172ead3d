//! `clone(g => g_y, reader: y)`: gives a reader of an intermediate an intermediate of its own, with the same values, so that it can be computed
//! elsewhere. For example, one reader computes `g_y` in its tiles, while the other readers load `g` from device memory (Halide's `clone_in`).
//!
//! It rewrites the algebra before nests exist: a new stage has the definition of the intermediate on axes of its own, and the reader reads it.
//! The computed values do not change.
//!
//! Refused: a stage that is not an intermediate; a reader that does not read it; a clone that leaves the intermediate without readers; names
//! that are already used.

use super::new_stages;
use super::renamed::Renamed;
use crate::algorithm::inline::rewrite;
use crate::arena::Id;
use crate::diag::{Error, Errors, SpanId, list};
use crate::expr::Read;
use crate::nest::{Axis, AxisDef, AxisId, Body, BufferId, Fate, Program, Space, StageId, State};
use crate::schedule::stage_names;
use crate::syntax::Name;
use crate::syntax::schedule::{Schedule, StageClone, StatementKind};

/// Applies the clones of a schedule, in its order.
pub(super) fn apply(program: &mut Program, schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for statement in schedule.statements() {
        if let StatementKind::Clone(clone) = &statement.kind {
            errors.keep(one(program, clone, statement.span));
        }
    }
    errors.into_result()
}

fn one(program: &mut Program, clone: &StageClone, span: SpanId) -> Result<(), Error> {
    let StageClone { stage: of, into, readers } = clone;
    new_stages::check_names(program, std::slice::from_ref(into))?;
    let stage = intermediate(program, of)?;
    let buffer = program.stages[stage].buffer;
    let given = given(program, of, readers, buffer)?;
    new_stages::open_before(program, stage, 1);
    // The original and all later stages have the next id now.
    let (original, given) = (StageId::new(stage.index() + 1), given.into_iter().map(|reader| StageId::new(reader.index() + 1)));
    let cloned = define(program, stage, original, into.text.clone(), span);
    for reader in given {
        redirect(program, reader, buffer, cloned);
    }
    if program.checks.finite.contains(&buffer) {
        program.checks.finite.push(cloned);
    }
    program.owe(format!("`{into}` has the definition of `{of}`"), State::Proved, span);
    Ok(())
}

/// Finds an intermediate by name.
fn intermediate(program: &Program, name: &Name) -> Result<StageId, Error> {
    let stage = stage_names::find(program, name)?;
    if program.buffers[program.stages[stage].buffer].space != Space::Temporary {
        let error = Error::new(name.span, format!("`{name}` is not an intermediate, so it cannot be cloned"));
        return Err(error.help("clone a tensor that `let` defines in the kernel"));
    }
    if let Some(error) = stage_names::one_of_several(program, program.stages[stage].buffer, name, "cloned") {
        return Err(error.help("define it a second time in the kernel, for the other reader"));
    }
    Ok(stage)
}

/// Finds the stages that are to read the clone. At least one other stage must still read the intermediate.
fn given(program: &Program, of: &Name, names: &[Name], buffer: BufferId) -> Result<Vec<StageId>, Error> {
    let all: Vec<StageId> = program.stages.ids().filter(|stage| reads(program, *stage, buffer)).collect();
    let listed = || list(all.iter().map(|reader| &program.stages[*reader].name));
    let mut given = Vec::new();
    for name in names {
        let reader = stage_names::find(program, name)?;
        if !all.contains(&reader) {
            let error = Error::new(name.span, format!("`{name}` does not read `{of}`"));
            return Err(if all.is_empty() { error } else { error.help(format!("it is read by {}", listed())) });
        }
        given.push(reader);
    }
    if all.iter().all(|reader| given.contains(reader)) {
        let error = Error::new(of.span, format!("no stage would read `{of}` any more"));
        return Err(error
            .note(format!("it is read by {} only", listed()))
            .help(format!("leave the clone out, and schedule `{of}`")));
    }
    Ok(given)
}

/// True if a stage reads a buffer.
fn reads(program: &Program, stage: StageId, buffer: BufferId) -> bool {
    let values = program.stages[stage].values();
    values.iter().any(|value| program.exprs.reads(*value).iter().any(|read| read.buffer == buffer))
}

/// Defines the clone of a stage on axes of its own, at an id that is reserved for it.
fn define(program: &mut Program, stage: StageId, original: StageId, name: String, span: SpanId) -> BufferId {
    let own: Vec<AxisId> = program.root_axes(original);
    let copies: Vec<AxisId> = own.iter().map(|axis| program.axes.push(program.axes[*axis].clone())).collect();
    let renamed = Renamed { axes: own.into_iter().zip(copies.iter().copied()).collect() };
    for copy in copies {
        let old = program.axes[copy].clone();
        let extent = renamed.expr(program, old.extent);
        program.axes[copy] = Axis { extent, def: AxisDef::Root(stage), fate: Fate::Live, ..old };
    }
    let of = program.stages[original].clone();
    let axes = of.axes.iter().map(|axis| renamed.axis(*axis)).collect();
    let body = match of.body {
        Body::Map(value) => Body::Map(renamed.expr(program, value)),
        Body::Reduce { monoid, over, lift, finish } => Body::Reduce {
            monoid,
            over: over.into_iter().map(|axis| renamed.axis(axis)).collect(),
            lift: lift.into_iter().map(|value| renamed.expr(program, value)).collect(),
            finish: renamed.expr(program, finish),
        },
    };
    let dtype = program.buffers[of.buffer].dtype;
    new_stages::define(program, stage, name, axes, body, (dtype, span))
}

/// Makes a stage read another buffer instead of one.
fn redirect(program: &mut Program, reader: StageId, from: BufferId, to: BufferId) {
    let exprs = &program.exprs;
    let mut values = program.stages[reader].values();
    for value in &mut values {
        *value = rewrite(exprs, *value, &mut |exprs, read| {
            let own = Read { buffer: to, ..read.clone() };
            (read.buffer == from).then(|| exprs.add(crate::expr::Expr::Read(own), program.buffers[from].dtype))
        });
    }
    program.stages[reader].values_mut().into_iter().zip(values).for_each(|(old, new)| *old = new);
}
