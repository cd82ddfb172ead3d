//! Pointwise intermediates become part of what reads them.
//!
//! It stands between the check and the naive nest, and is the default; a schedule that places such a stage keeps it. The
//! stage's axes are replaced by the indices of the read. A read that may lie outside takes the nearest point of the
//! stage, and for padding chooses the fill there: so the stage's own reads stay inside as they were proved. Where that
//! cannot be seen at the new place, they are clamped.

use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::points::points;
use crate::nest::{AxisId, Body, Buffer, BufferId, Program, Space, Stage, StageId};
use std::collections::HashMap;

/// Substitutes every pointwise intermediate into its readers, and gives them in order of definition. They stay in
/// [`Program::stages`], read by no other stage: they need no dispatch.
pub fn inline(program: &mut Program) -> Vec<StageId> {
    inline_those(program, &|_, _| true)
}

/// How deep a value that becomes part of others may nest. A deeper one is stored: chains of stages have no end, and the
/// stack of those who walk expressions has one.
const DEEPEST: u32 = 256;

/// [`inline`] of those pointwise intermediates that `take` accepts, and that do not nest too deep.
pub fn inline_those(program: &mut Program, take: &dyn Fn(&Program, StageId) -> bool) -> Vec<StageId> {
    let pointwise = |p: &Program, id: StageId| {
        let stage = &p.stages[id];
        matches!(stage.body, Body::Map(_)) && p.buffers[stage.buffer].space == Space::Temporary && take(p, id)
    };
    let (mut inlined, mut found) = (Vec::new(), HashMap::new());
    for id in program.stages.ids() {
        let mut stage = program.stages[id].clone();
        stage.values_mut().into_iter().for_each(|value| *value = substitute(program, *value, &found));
        let changed = program.stages[id].values() != stage.values();
        program.stages[id] = stage;
        if changed {
            keep_inside(program, id);
        }
        // Stages read earlier ones only, so what is substituted has nothing left to substitute.
        if pointwise(program, id) && !is_deep(program, id) {
            inlined.push(id);
            found.insert(program.stages[id].buffer, id);
        }
    }
    inlined
}

/// Lets reads that are not proved inside at their new place take the nearest element. They are inside wherever their value
/// counts, as they were proved for all points of their stage; but outside of it, and of a stage without points, it is the
/// fill that counts.
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

/// An expression at points of some axes, whose reads stay inside.
fn kept_inside(program: &mut Program, value: ExprId, axes: &[AxisId]) -> ExprId {
    let mut value = value;
    // Reads within indices first: what they are part of is another read then.
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

/// The reads that are not proved inside, each with what it then does outside.
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
            // What is clamped already is worth no proof: later ones, on other axes, need not find it.
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

/// The value with the reads of inlined stages replaced, those in indices too.
fn substitute(program: &mut Program, value: ExprId, found: &HashMap<BufferId, StageId>) -> ExprId {
    let Program { exprs, stages, buffers, .. } = program;
    if found.is_empty() {
        return value;
    }
    rewrite(exprs, value, &mut |exprs, read| {
        let stage: &Stage = &stages[*found.get(&read.buffer)?];
        let Body::Map(body) = stage.body else { return None };
        Some(at(exprs, &stage.axes, body, &buffers[read.buffer], read))
    })
}

/// Whether a pointwise stage's value, with what it reads in its place, nests too deep.
fn is_deep(program: &Program, id: StageId) -> bool {
    matches!(program.stages[id].body, Body::Map(value) if program.exprs.depth(value) > DEEPEST)
}

/// The expression with reads replaced, innermost first: `f` sees reads whose indices are done.
pub(crate) fn rewrite(exprs: &Exprs, value: ExprId, f: &mut dyn FnMut(&Exprs, &Read) -> Option<ExprId>) -> ExprId {
    let mut done: HashMap<ExprId, ExprId> = HashMap::new();
    let mut open = vec![value];
    while let Some(id) = open.last().copied() {
        let waiting: Vec<ExprId> = exprs.get(id).operands().into_iter().filter(|o| !done.contains_key(o)).collect();
        if !waiting.is_empty() && !done.contains_key(&id) {
            open.extend(waiting);
            continue;
        }
        open.pop();
        if done.contains_key(&id) {
            continue;
        }
        let mapped = exprs.get(id).map(&mut |o| done.get(&o).copied().unwrap_or(o));
        let new = match &mapped {
            Expr::Read(read) => f(exprs, read),
            _ => None,
        };
        let new = new.unwrap_or_else(|| rebuild(exprs, mapped, id));
        done.insert(id, new);
    }
    done.get(&value).copied().unwrap_or(value)
}

/// The expression of new operands, with index arithmetic folded.
fn rebuild(exprs: &Exprs, mapped: Expr, old: ExprId) -> ExprId {
    match mapped {
        Expr::Binary(op, a, b) => exprs.binary(op, a, b),
        Expr::Unary(op, a) => exprs.unary(op, a),
        other => {
            let dtype = exprs.dtype(old);
            exprs.add(other, dtype)
        }
    }
}

/// A stage's value where it is read.
fn at(exprs: &Exprs, axes: &[AxisId], body: ExprId, buffer: &Buffer, read: &Read) -> ExprId {
    let (points, inside) = points(exprs, axes, buffer, read);
    let value = exprs.replace(body, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(axis) => points.get(axis).copied(),
        _ => None,
    });
    // What is read is data, as it is where the stage is stored.
    let value = exprs.cast(buffer.dtype, value);
    match (&read.outside, inside) {
        (Outside::Fill(fill, _), Some(inside)) => exprs.select(inside, value, *fill),
        _ => value,
    }
}
