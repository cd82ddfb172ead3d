//! Substitutes pointwise intermediates into their readers.
//!
//! It runs after the check and before the naive nest, and is the default. A schedule that places a pointwise stage keeps it.
//! The stage's axes are replaced by the indices of the read. If the read may be out of bounds, the indices are clamped to the
//! nearest point of the stage, and for padding the fill is selected there. So the stage's own reads stay in bounds as they were
//! proved. Reads that cannot be proved in bounds at their new place are clamped.
//!
//! An intermediate that reads an argument which is updated is not substituted into readers after the update ([`Why::Updated`]), because
//! they would read the new values.
//!
//! A stage that reads another at three places contains it three times, so each stage of a chain could double the size of the
//! next. Two rules bound that. First, indices are normalized, so that reads of the same element become one read, even if their
//! indices were written differently. Second, a stage that would make one of its readers too large is stored ([`MOST`]).

mod growth;

use super::updates::overwritten;
use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::points::points;
use crate::nest::{AxisId, Body, BufferId, Program, Space, Stage, StageId};
use crate::table::Map;
use growth::Growth;
use std::collections::HashMap;

/// The most parts of a reader with a stage substituted into it, each counted once. [`TIMES`] the parts of both as written are
/// allowed, too.
pub const MOST: usize = 2_000;

/// The factor by which substitution may exceed the parts of both as written; see [`MOST`].
const TIMES: usize = 4;

/// The maximum depth of a value that is substituted. A deeper value is stored, because a chain of stages can be arbitrarily
/// long, but the stack of recursive walks over expressions is limited.
const DEEPEST: u32 = 256;

/// The outcome of inlining pointwise intermediates.
#[derive(Debug, Default)]
pub struct Inlined {
    /// The intermediates that are part of their readers, in order of definition.
    pub stages: Vec<StageId>,
    /// The intermediates that are stored instead.
    pub stored: Vec<Stored>,
}

/// A pointwise intermediate that is stored instead of being substituted.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// The intermediate.
    pub stage: StageId,
    /// The stage that reads it.
    pub reader: StageId,
    /// The reason.
    pub why: Why,
}

/// The reason for which a pointwise intermediate is stored.
#[derive(Clone, Copy, Debug)]
pub enum Why {
    /// The reader would have more than this number of parts.
    Parts(usize),
    /// The intermediate is nested too deeply.
    Deep,
    /// The intermediate reads an argument that is updated before the reader reads it.
    Updated(BufferId),
}

/// Substitutes every pointwise intermediate into its readers, and returns the intermediates in order of definition. They stay in
/// [`Program::stages`], but no stage reads them and they need no dispatch. Intermediates that would make a reader too large are left
/// out.
pub fn inline(program: &mut Program) -> Vec<StageId> {
    inline_those(program, &|_, _| true).stages
}

/// Does the same as [`inline`], for the pointwise intermediates that `take` accepts.
pub fn inline_those(program: &mut Program, take: &dyn Fn(&Program, StageId) -> bool) -> Inlined {
    let mut inlined = Inlined::default();
    let stages: Vec<StageId> = program.stages.ids().collect();
    let written: HashMap<StageId, usize> = stages.iter().map(|id| (*id, parts(program, *id))).collect();
    let mut changed: Vec<StageId> = Vec::new();
    for (n, id) in stages.iter().enumerate() {
        // A stage reads only earlier stages, and these have been substituted already.
        if changed.contains(id) {
            keep_inside(program, *id);
        }
        let stage = &program.stages[*id];
        let Body::Map(value) = stage.body else { continue };
        if program.buffers[stage.buffer].space != Space::Temporary || !take(program, *id) {
            continue;
        }
        let reads = |e: &Expr| matches!(e, Expr::Read(read) if read.buffer == program.stages[*id].buffer);
        let is_reader = |id: &&StageId| program.stages[**id].values().iter().any(|value| program.exprs.any(*value, &mut { reads }));
        let readers: Vec<StageId> = stages[n + 1..].iter().filter(is_reader).copied().collect();
        if let Some(reader) = readers.first().filter(|_| program.exprs.depth(value) > DEEPEST) {
            inlined.stored.push(Stored { stage: *id, reader: *reader, why: Why::Deep });
            continue;
        }
        let within = |reader: &StageId| {
            let most = MOST.max(TIMES * (written[id] + written[reader]));
            let stored = |why| Stored { stage: *id, reader: *reader, why };
            let values = substituted(program, *id, *reader, most).ok_or(stored(Why::Parts(most)))?;
            overwritten(program, *reader, &values).map_or(Ok(values), |buffer| Err(stored(Why::Updated(buffer))))
        };
        match readers.iter().map(within).collect::<Result<Vec<_>, Stored>>() {
            Err(stored) => inlined.stored.push(stored),
            Ok(values) => {
                for (reader, values) in readers.iter().zip(values) {
                    program.stages[*reader].values_mut().into_iter().zip(values).for_each(|(value, new)| *value = new);
                }
                changed.extend(readers);
                inlined.stages.push(*id);
            }
        }
    }
    inlined
}

/// Returns the number of parts of a stage's values.
fn parts(program: &Program, id: StageId) -> usize {
    program.exprs.parts(program.stages[id].values().iter().copied())
}

/// Clamps reads that cannot be proved in bounds at their new place. They are in bounds wherever their value is used, because
/// they were proved for all points of their stage. At other points, and for a stage without points, the fill is used instead of
/// them.
fn keep_inside(program: &mut Program, id: StageId) {
    let mut stage = program.stages[id].clone();
    let axes = stage.axes.clone();
    match &mut stage.body {
        Body::Map(value) => *value = kept_inside(program, *value, &axes),
        Body::Reduce { over, lift, finish, .. } => {
            let all: Vec<AxisId> = axes.iter().chain(over.iter()).copied().collect();
            lift.iter_mut().for_each(|value| *value = kept_inside(program, *value, &all));
            *finish = kept_inside(program, *finish, &axes);
        }
    }
    stage.also.iter_mut().for_each(|(_, value)| *value = kept_inside(program, *value, &axes));
    program.stages[id] = stage;
}

/// Returns an expression at the points of some axes, with its reads clamped if needed.
fn kept_inside(program: &mut Program, value: ExprId, axes: &[AxisId]) -> ExprId {
    let mut value = value;
    // Reads within indices change first. The reads that contain them are then different reads, so the search repeats.
    loop {
        let open = open_reads(program, value, axes);
        if open.is_empty() {
            return value;
        }
        let Program { exprs, buffers, .. } = &mut *program;
        value = rewrite(exprs, value, &mut |exprs, read| {
            let outside = open.get(read)?.clone();
            Some(exprs.add(Expr::Read(Read { outside, ..read.clone() }), buffers[read.buffer].dtype))
        });
    }
}

/// Returns the reads that are not proved in bounds, each with its new treatment of out-of-bounds indices.
fn open_reads(program: &Program, value: ExprId, axes: &[AxisId]) -> HashMap<Read, Outside> {
    let prover = Prover::new(program).within(axes.iter().copied());
    let mut open = HashMap::new();
    for read in program.exprs.reads(value) {
        let mut sides: Sides = match &read.outside {
            Outside::Never => read.index.iter().map(|_| (false, false)).collect(),
            Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.clone(),
        };
        let mut changed = false;
        for ((index, extent), (low, high)) in read.index.iter().zip(&program.buffers[read.buffer].shape).zip(&mut sides) {
            // An index that is clamped already is clamped again without a proof, so that later proofs on other axes do not depend on it.
            let clamped = program.exprs.any(*index, &mut |e| matches!(e, Expr::Binary(Binary::Min | Binary::Max, ..)));
            let wanted = (*low || clamped || !prover.nonneg(*index), *high || clamped || !prover.less(*index, *extent));
            changed |= wanted != (*low, *high);
            (*low, *high) = wanted;
        }
        if changed {
            let outside = match &read.outside {
                Outside::Fill(fill, _) => Outside::Fill(*fill, sides),
                _ => Outside::Clamp(sides),
            };
            open.insert(read, outside);
        }
    }
    open
}

/// Returns a reader's values with a stage substituted for its reads, also for reads in indices. Returns `None` if they would have
/// more parts than `most`, before it makes them.
fn substituted(program: &Program, stage: StageId, reader: StageId, most: usize) -> Option<Vec<ExprId>> {
    let (exprs, stage) = (&program.exprs, &program.stages[stage]);
    let Body::Map(body) = stage.body else { return None };
    let (mut growth, mut done) = (Growth::new(exprs, most), Map::default());
    let mut one = |value: ExprId| {
        exprs.rebuilt(value, &mut done, &mut |exprs, new, old| {
            let new = match &new {
                Expr::Read(read) if read.buffer == stage.buffer => at(&mut growth, program, (stage, body), read)?,
                _ if *exprs.get(old) == new => old,
                _ => exprs.canonical(exprs.remade(new, old)),
            };
            growth.add(new)
        })
    };
    program.stages[reader].values().iter().map(|value| one(*value)).collect()
}

/// Replaces reads in an expression, innermost first: when `f` gets a read, its indices have already been rewritten.
pub(crate) fn rewrite(exprs: &Exprs, value: ExprId, f: &mut dyn FnMut(&Exprs, &Read) -> Option<ExprId>) -> ExprId {
    let new = exprs.rebuilt(value, &mut Map::default(), &mut |exprs, new, old| {
        let read = if let Expr::Read(read) = &new { f(exprs, read) } else { None };
        Some(read.unwrap_or_else(|| exprs.remade(new, old)))
    });
    new.unwrap_or(value)
}

/// Returns a stage's value at the indices of a read.
fn at(growth: &mut Growth<'_>, program: &Program, (stage, body): (&Stage, ExprId), read: &Read) -> Option<ExprId> {
    let (exprs, buffer) = (growth.exprs, &program.buffers[read.buffer]);
    let (points, inside) = points(exprs, &stage.axes, buffer, read);
    let value = exprs.rebuilt(body, &mut Map::default(), &mut |exprs, new, old| {
        let new = match (&new, exprs.get(old)) {
            (Expr::Axis(axis), _) => points.get(axis).copied().unwrap_or(old),
            (new, was) if was == new => old,
            (Expr::Read(new), _) => exprs.remade(Expr::Read(program.with_clamps(new.clone())), old),
            _ => exprs.canonical(exprs.remade(new, old)),
        };
        growth.add(new)
    })?;
    // The value of a read is data, as it would be if the stage were stored.
    let value = exprs.cast(buffer.dtype, value);
    Some(match (&read.outside, inside) {
        (Outside::Fill(fill, _), Some(inside)) => exprs.select(inside, value, *fill),
        _ => value,
    })
}
