//! Pointwise intermediates that are stored, because inlining them would compute their elements again and again.
//!
//! A product reads each element of a factor many times. If an intermediate with functions were inlined there, as the exponentials
//! of attention would be, each read would compute it again. A stencil reads an intermediate at several places. Inlining replaces
//! each of these reads by all reads of the intermediate, which can be too many.

use super::draft::Line;
use super::form::Nest;
use super::pointwise::UNROLLED;
use super::product;
use super::stencils::Chosen;
use crate::algorithm::inline::inline_those;
use crate::expr::{Expr, ExprId, Read};
use crate::nest::{AxisId, Body, BufferId, Program, StageId};
use crate::schedule::resolve::ResolvedSchedule;
use std::collections::HashSet;

/// The number of reads from which on an intermediate is stored: its own reads times the places at which a stage reads it.
const READS: usize = 64;

/// The most elements of a table.
const TABLE: i64 = 1 << 16;

/// Returns the intermediates that are stored, each with the reason, of those that the schedule does not place.
pub(super) fn of(program: &Program, resolved: &ResolvedSchedule, chosen: &Chosen) -> Vec<(StageId, &'static str)> {
    let mut factors = factors(program, resolved);
    let placed: Vec<StageId> = chosen.placed().collect();
    factors.retain(|stage| !placed.contains(stage));
    let tables = tables(program, resolved);
    factors.retain(|stage| !tables.contains(stage));
    let is_kept =
        |stage| factors.contains(&stage) || tables.contains(&stage) || placed.contains(&stage) || chosen.stored().contains(&stage);
    let mut stencils = stencils(program, resolved, &is_kept);
    stencils.extend(chosen.stored());
    stencils.sort_unstable();
    let tables = tables.into_iter().map(|stage| (stage, "more elements read it than it has"));
    let factors = factors.into_iter().map(|stage| (stage, "a product reads each element many times"));
    let stencils = stencils.into_iter().map(|stage| (stage, "a stencil reads each element several times"));
    tables.chain(factors).chain(stencils).collect()
}

/// Returns the intermediates with a function that have few elements, if a stage reads them at positions that depend on data.
pub(super) fn tables(program: &Program, resolved: &ResolvedSchedule) -> Vec<StageId> {
    let is_table = |stage: &StageId| {
        let extent = |axis: &AxisId| program.exprs.as_int(program.axes[*axis].extent);
        let points = program.stages[*stage].axes.iter().try_fold(1i64, |all, axis| all.checked_mul(extent(axis)?));
        let buffer = program.stages[*stage].buffer;
        let by_data = |read: &Read| read.buffer == buffer && read.index.iter().any(|index| !program.exprs.reads(*index).is_empty());
        let reads = |reader: StageId| program.stages[reader].values().into_iter().flat_map(|value| program.exprs.reads(value));
        points.is_some_and(|points| (2..=TABLE).contains(&points))
            && !resolved.places(*stage)
            && is_expensive(program, *stage)
            && program.stages.ids().any(|reader| reads(reader).any(|read| by_data(&read)))
    };
    program.stages.ids().filter(is_table).collect()
}

/// Returns the factors of products whose elements are expensive.
fn factors(program: &Program, resolved: &ResolvedSchedule) -> Vec<StageId> {
    let stages: Vec<StageId> = program.stages.ids().collect();
    let reductions = stages.iter().filter(|stage| matches!(program.stages[**stage].body, Body::Reduce { .. }));
    let mut found = Vec::new();
    for stage in reductions {
        let nest = Nest::of(program, *stage);
        let Some(product) = product::of(&nest, program) else { continue };
        for buffer in product.factors() {
            let made = program.definition(buffer).filter(|made| is_expensive(program, *made) && !resolved.places(*made));
            found.extend(made.filter(|made| !found.contains(made)));
        }
    }
    found
}

/// Finds intermediates which a stage reads at several places, so that inlining them would make too many reads. An intermediate is judged
/// after the earlier ones were inlined into it, so that an element counts once if several of its reads share it.
fn stencils(program: &Program, resolved: &ResolvedSchedule, is_kept: &dyn Fn(StageId) -> bool) -> Vec<StageId> {
    let most_places = |program: &Program, stage: StageId| {
        let buffer = program.stages[stage].buffer;
        program.stages.ids().map(|reader| places(program, reader, buffer)).max().unwrap_or(0)
    };
    let is_open = |stage: &StageId| {
        let is_map = matches!(program.stages[*stage].body, Body::Map(_));
        is_map && !program.is_result(*stage) && !is_kept(*stage) && !resolved.places(*stage)
    };
    let open: Vec<StageId> = program.stages.ids().filter(is_open).collect();
    if open.iter().all(|stage| most_places(program, *stage) < 2) {
        return Vec::new();
    }
    let mut program = program.clone();
    let mut found = Vec::new();
    for stage in open {
        let Body::Map(value) = program.stages[stage].body else { continue };
        let places = most_places(&program, stage);
        let global = |read: &Read| program.buffers[read.buffer].space.is_global();
        let reads = program.exprs.reads(value).iter().filter(|read| global(read)).count();
        if places > 1 && places * reads >= READS {
            found.push(stage);
        } else {
            inline_those(&mut program, &|_, other| other == stage);
        }
    }
    found
}

/// Returns the number of elements of a buffer that a stage reads for one of its own, or for a window of literal size.
fn places(program: &Program, reader: StageId, buffer: BufferId) -> usize {
    let stage = &program.stages[reader];
    let reads = stage.values().into_iter().flat_map(|value| program.exprs.reads(value));
    let at: HashSet<Vec<ExprId>> = reads.filter(|read| read.buffer == buffer).map(|read| read.index.to_vec()).collect();
    let items = match &stage.body {
        Body::Map(_) => Some(1),
        Body::Reduce { over, .. } => {
            let extent = |axis: &AxisId| program.exprs.as_int(program.axes[*axis].extent);
            over.iter().try_fold(1i64, |all, axis| all.checked_mul(extent(axis)?)).filter(|items| *items <= UNROLLED)
        }
    };
    at.len() * items.and_then(|items| usize::try_from(items).ok()).unwrap_or(1)
}

/// True if one of the readers of a stage is accepted by `is`.
pub(super) fn is_read_by(program: &Program, stage: StageId, is: &dyn Fn(StageId) -> bool) -> bool {
    let buffer = program.stages[stage].buffer;
    let reads = |reader: &StageId| {
        let values = program.stages[*reader].values();
        values.into_iter().any(|value| program.exprs.reads(value).iter().any(|read| read.buffer == buffer))
    };
    program.stages.ids().filter(reads).any(is)
}

/// Returns the directive that stores an intermediate.
pub(super) fn line(name: &str, why: &str) -> Line {
    Line::new(format!("root({name})"), why)
}

/// True if an intermediate is pointwise, and one of the stages that it inlines has a function.
fn is_expensive(program: &Program, stage: StageId) -> bool {
    let Body::Map(value) = program.stages[stage].body else { return false };
    if program.is_result(stage) {
        return false;
    }
    let function = |e: &Expr| match e {
        Expr::Unary(op, _) => op.is_function(),
        Expr::Binary(op, ..) => op.is_function(),
        _ => false,
    };
    let inlined =
        program.exprs.reads(value).into_iter().filter_map(|read| program.definition(read.buffer)).filter(|of| *of != stage);
    program.exprs.any(value, &mut |e| function(e)) || inlined.into_iter().any(|of| of < stage && is_expensive(program, of))
}
