//! `compute_at(s, k_o, to: shared, row_pad: 4)`: computes an intermediate under a loop of its consumer, in registers or shared
//! memory. Only the elements that are read there are computed.
//!
//! This is a promotion ([`super::promote`]) of the temporary that a root would have, except that its elements are computed and not
//! copied. The result is a stage with its own axes, named as in the algorithm, within the nest of its consumer. `s { … }` schedules
//! it there.
//!
//! A run of `compute_at` is applied consumers first ([`consumers_first`]), so that each finds the reads of the stages that it
//! serves. The stage that is placed later encloses the earlier ones.
//!
//! Refused: a stage that is also read outside of the place; registers of one invocation for a stage that the workgroup reads
//! cooperatively; and the cases that a promotion refuses, for example a place that does not exist, or a footprint that is unbounded
//! or does not fit.

use super::attach::Attached;
use super::promote::place::{self, Place};
use super::promote::{Copy, Wanted, add_buffer, as_read, attach, footprint, loops, redirect, value};
use crate::diag::{Error, Errors, SpanId, list};
use crate::expr::{Expr, ExprId, Outside, Read};
use crate::nest::points::points;
use crate::nest::{
    Axis, AxisDef, AxisId, AxisKind, Block, Body, BufferId, Compute, Fate, Node, NodeKind, Phase, Program, Space, Stage, StageId,
    walk,
};
use crate::schedule::algebra::blocked;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{Directive, DirectiveKind, Promote};
use std::collections::HashMap;

/// Sorts every run of `compute_at` so that consumers precede producers.
pub(in crate::schedule) fn consumers_first(program: &Program, directives: &mut [&Directive]) {
    let placed = |d: &Directive| match &d.kind {
        DirectiveKind::ComputeAt(placed) => program.stage_named(&placed.source.text),
        _ => None,
    };
    for run in directives.chunk_by_mut(|a, b| placed(a).is_some() && placed(b).is_some()) {
        let stages: Vec<StageId> = run.iter().filter_map(|d| placed(d)).collect();
        let mut ranks = HashMap::new();
        for stage in &stages {
            rank(program, *stage, &stages, &mut ranks);
        }
        run.sort_by_key(|d| placed(d).map(|stage| (ranks.get(&stage).copied(), std::cmp::Reverse(stage))));
    }
}

/// Returns the length of the longest chain of readers among `others` that begins at a stage.
fn rank(program: &Program, stage: StageId, others: &[StageId], ranks: &mut HashMap<StageId, usize>) -> usize {
    if let Some(rank) = ranks.get(&stage) {
        return *rank;
    }
    let buffers = program.stages[stage].buffers();
    let reads = |other: StageId| {
        let values = program.stages[other].values();
        values.into_iter().flat_map(|value| program.exprs.reads(value)).any(|read| buffers.contains(&read.buffer))
    };
    let readers: Vec<StageId> = others.iter().copied().filter(|other| *other != stage && reads(*other)).collect();
    let found = readers.into_iter().map(|reader| rank(program, reader, others, ranks) + 1).max().unwrap_or(0);
    ranks.insert(stage, found);
    found
}

/// Applies the directive.
pub(in crate::schedule) fn apply(nest: &mut StageNest<'_>, promote: &Promote, span: SpanId, warnings: &mut Errors) -> Applied {
    let name = &promote.source;
    let Some(stage) = nest.program.stage_named(&name.text) else {
        // Any other unknown name was already reported.
        let error = Error::new(name.span, format!("stage `{name}` does not exist yet: `rfactor` defines it further down"));
        return Err(error.help("write this after the `rfactor`"));
    };
    let mut place = place::find(nest, promote)?;
    place.around = true;
    place.inside = place::inside(nest, promote.is_together(), place.depth, true);
    check_readers(nest, stage, &place, promote)?;
    check_reads(nest, stage, name)?;
    blocked::define_alone(nest.program, stage);
    let source = nest.program.stages[stage].buffer;
    let also = nest.program.stages[stage].also.iter().map(|(buffer, _)| *buffer).collect();
    let wanted = Wanted { promote, place, source, also, name: name.text.clone(), span };
    let footprint = footprint::of(nest, &wanted)?;
    for (axis, of) in footprint.axes.iter().zip(nest.program.stages[stage].axes.clone()) {
        nest.program.axes[*axis].name = nest.program.axes[of].name.clone();
    }
    let read = value::of(nest, &wanted, &footprint, warnings)?;
    let Some(read) = as_read(&nest.program.exprs, read).cloned() else { return Ok(()) };
    let read = needed(&footprint, read);
    if matches!(read.outside, Outside::Fill(..)) && !wanted.also.is_empty() {
        let error = Error::new(name.span, format!("`{name}` is padded, and has a state of several components"));
        return Err(error.help("leave it in a dispatch of its own"));
    }
    let mut buffers = Vec::new();
    for component in [source].iter().chain(&wanted.also) {
        buffers.push((*component, add_buffer(nest, &wanted, *component, (&footprint.axes, &footprint.used))?));
    }
    let computed = define(nest, stage, &buffers, &footprint.axes, &read, span);
    let index = footprint.axes.iter().map(|a| nest.program.exprs.axis(*a)).collect();
    let dst = nest.program.results(computed.stage, index);
    let compute = Compute {
        stage: computed.stage,
        phase: Phase::Whole,
        dst,
        value: computed.value,
        finish: computed.finish,
        given: 0,
        preds: Vec::new(),
    };
    let axes = [&footprint.axes[..], &computed.over].concat();
    let block = loops(nest, &axes, compute, span);
    for (component, buffer) in &buffers {
        redirect(nest, &wanted, *buffer, &of_component(nest, &footprint.places, *component));
    }
    let buffer = buffers[0].1;
    attach(nest, &wanted, Copy { buffer, stage: computed.stage, filled: Vec::new(), reordered: false }, (block, Vec::new()))?;
    // The other components are written by the same block, so their scopes enclose it.
    for (_, buffer) in &buffers[1..] {
        let place = &nest.placed.attached[0];
        let life = Attached { buffer: Some(*buffer), before: Vec::new(), after: Vec::new(), ..place.clone() };
        nest.placed.attached.insert(0, life);
    }
    forget(nest.program, stage);
    value::check_identity(nest, &wanted)
}

/// Returns the reads of one component.
fn of_component(nest: &StageNest<'_>, places: &[(ExprId, Vec<ExprId>)], component: BufferId) -> Vec<(ExprId, Vec<ExprId>)> {
    let is_of = |(id, _): &&(ExprId, Vec<ExprId>)| as_read(&nest.program.exprs, *id).is_some_and(|read| read.buffer == component);
    places.iter().filter(is_of).cloned().collect()
}

/// Removes the root's dispatch from the plan. The dispatch keeps its index until the whole schedule is applied.
fn forget(program: &mut Program, stage: StageId) {
    for dispatch in &mut program.plan {
        if crate::nest::path::Path::is_in(&dispatch.body, stage, Phase::Whole) {
            dispatch.body.clear();
        }
    }
}

/// Checks that all readers of the stage are under the place.
fn check_readers(nest: &StageNest<'_>, stage: StageId, place: &Place, promote: &Promote) -> Applied {
    let program = &*nest.program;
    let buffers = &program.stages[stage].buffers();
    let name = |stage: StageId| program.stages[stage].name.clone();
    let (mut here, mut elsewhere) = (vec![nest.stage], Vec::new());
    for attached in &nest.placed.attached {
        let readers = [readers(program, &attached.before, buffers), readers(program, &attached.after, buffers)].concat();
        if !place.encloses(nest.place_of(attached)) {
            elsewhere.extend(readers);
        } else {
            here.extend(&readers);
            // A copy into registers may become part of a cooperative reduction in a later block, so only shared copies are refused
            // here.
            let shared = attached.together && attached.buffer.is_none_or(|b| program.buffers[b].space == Space::Shared);
            if let Some(reader) = readers.first().filter(|_| shared && !promote.is_together()) {
                let what = format!(
                    "`{}` is read by `{}`, which the invocations of a workgroup compute cooperatively",
                    promote.source,
                    name(*reader)
                );
                let error = Error::new(promote.to_span, what);
                return Err(error.note("registers belong to one invocation").help("write `to: shared`"));
            }
        }
    }
    // The plan also contains the attached nests of every nest that is already stored.
    elsewhere.extend(program.plan.iter().flat_map(|dispatch| readers(program, &dispatch.body, buffers)));
    elsewhere.sort();
    elsewhere.dedup();
    let mut others: Vec<String> = elsewhere.into_iter().filter(|reader| !here.contains(reader)).map(name).collect();
    let reads = |values: &[ExprId]| values.iter().flat_map(|v| program.exprs.reads(*v)).any(|r| buffers.contains(&r.buffer));
    if !place.has_result && nest.path.compute.finish.is_some_and(|finish| reads(&[finish])) {
        others.push(name(nest.stage));
    }
    let (name, at) = (&promote.source, &promote.at);
    let Some(first) = others.first() else { return Ok(()) };
    let error = Error::new(name.span, format!("`{name}` is also read by {}, outside of `{at}`", list(&others)));
    let error = error.note("a stage is computed in one place, and all of its readers must be under it");
    let help = match *first == program.stages[nest.stage].name {
        true => format!("the places that enclose all readers are {}", list(around_reduction(nest))),
        false => format!(
            "place {} there too, by `compute_at`, or leave this directive out: `{name}` then has a dispatch of its own",
            list(&others)
        ),
    };
    Err(error.help(help))
}

/// Checks that the stage does not read a tensor that this nest or an earlier dispatch updates in place, because the elements that it needs may
/// have been overwritten.
fn check_reads(nest: &StageNest<'_>, stage: StageId, name: &Name) -> Applied {
    let program = &*nest.program;
    let updates = |block: &Block, buffer: BufferId| {
        let writes = |node: &Node| matches!(&node.kind, NodeKind::Compute(c) if c.dst.iter().any(|to| to.buffer == buffer));
        walk::nodes(block).any(writes)
    };
    let reads = program.stages[stage].values().into_iter().flat_map(|value| program.exprs.reads(value)).map(|read| read.buffer);
    let mut updated = reads.filter(|buffer| program.buffers[*buffer].space == Space::Update);
    let lost = updated.find_map(|buffer| {
        let place = program.plan.iter().take(nest.dispatch + 1).position(|dispatch| updates(&dispatch.body, buffer))?;
        Some((&program.buffers[buffer].name, place))
    });
    let Some((updated, place)) = lost else { return Ok(()) };
    let by = if place == nest.dispatch { "this nest" } else { "an earlier dispatch" };
    let error = Error::new(name.span, format!("`{name}` reads `{updated}`, which {by} updates in place"));
    Err(error.help(format!("leave this out: `{name}` has a dispatch of its own before it")))
}

/// Returns the stages of a block that read one of `buffers`.
pub(in crate::schedule) fn readers(program: &Program, block: &Block, buffers: &[BufferId]) -> Vec<StageId> {
    let reader = |node: &Node| {
        let NodeKind::Compute(compute) = &node.kind else { return None };
        let reads = compute.values().flat_map(|v| program.exprs.reads(v)).any(|r| buffers.contains(&r.buffer));
        reads.then_some(compute.stage)
    };
    walk::nodes(block).filter_map(reader).collect()
}

/// Returns the names of the places outside of the stage's reduction.
fn around_reduction(nest: &StageNest<'_>) -> Vec<String> {
    let outer = nest.path.axes().take_while(|axis| !nest.is_reduction(*axis));
    let mut places = vec!["workgroup".to_owned()];
    places.extend(outer.map(|axis| nest.name(axis).to_owned()));
    places
}

/// Drops the clamps of a read, except those that the algorithm asks for. Out of a tile's bounds any value is valid, because it is
/// not used, and the reads within it are kept in bounds.
fn needed(footprint: &footprint::Footprint, read: Read) -> Read {
    let outside = match (&footprint.outside, read.outside) {
        (Outside::Clamp(sides), Outside::Clamp(_)) => Outside::Clamp(sides.clone()),
        (_, Outside::Clamp(_)) => Outside::Never,
        (_, other) => other,
    };
    Read { outside, ..read }
}

/// The stage that computes an intermediate under its place.
struct Computed {
    stage: StageId,
    value: Vec<ExprId>,
    finish: Option<ExprId>,
    over: Vec<AxisId>,
}

/// Defines the stage that computes the elements of `read`, over the axes of a local buffer. `buffers` pairs each component's buffer
/// with its local buffer.
fn define(
    nest: &mut StageNest<'_>,
    of: StageId,
    buffers: &[(BufferId, BufferId)],
    axes: &[AxisId],
    read: &Read,
    span: SpanId,
) -> Computed {
    let program = &mut *nest.program;
    let old = program.stages[of].clone();
    let temporary = program.buffers[old.buffer].clone();
    let (kept, inside) = points(&program.exprs, &old.axes, &temporary, read);
    let mut points = match &read.outside {
        // The values that are computed at filled points are not used.
        Outside::Fill(..) => old.axes.iter().copied().zip(read.index.iter().copied()).collect(),
        _ => kept.clone(),
    };
    let (name, body) = (old.name.clone(), old.body.clone());
    let buffer = buffers[0].1;
    let stage = program.stages.push(Stage { name, buffer, axes: axes.to_vec(), body, also: Vec::new(), span });
    program.notes.hosts.insert(stage, nest.stage);
    let element = program.exprs.add(Expr::Read(read.clone()), temporary.dtype);
    program.notes.placed.insert(stage, element);
    let fill = |program: &mut Program, value: ExprId| match (&read.outside, inside) {
        (Outside::Fill(fill, _), Some(inside)) => program.exprs.select(inside, value, *fill),
        _ => value,
    };
    match old.body {
        Body::Map(value) => {
            let value = program.at_points(value, &points);
            let value = fill(program, value);
            program.stages[stage].body = Body::Map(value);
            Computed { stage, value: vec![value], finish: None, over: Vec::new() }
        }
        Body::Reduce { monoid, over, lift, finish } => {
            let mut own = Vec::new();
            for axis in over {
                let Axis { name, extent, .. } = program.axes[axis].clone();
                // The value at a padded point is discarded but still computed. Ranges that depend on the index are taken at the
                // nearest point of the stage, because the index itself may be far out of bounds.
                let mut ends = kept.clone();
                ends.extend(points.iter().filter(|(axis, _)| !kept.contains_key(*axis)));
                let extent = program.at_points(extent, &ends);
                let (def, kind) = (AxisDef::Root(stage), AxisKind::Reduction);
                own.push(program.axes.push(Axis { name, extent, kind, def, fate: Fate::Live, span }));
                let here = program.exprs.axis(own[own.len() - 1]);
                points.insert(axis, here);
            }
            let lift: Vec<ExprId> = lift.into_iter().map(|item| program.at_points(item, &points)).collect();
            let finish = program.at_points(finish, &points);
            let finish = fill(program, finish);
            for ((_, value), (_, buffer)) in old.also.iter().zip(&buffers[1..]) {
                let value = program.at_points(*value, &points);
                program.stages[stage].also.push((*buffer, value));
            }
            program.stages[stage].body = Body::Reduce { monoid, over: own.clone(), lift: lift.clone(), finish };
            Computed { stage, value: lift, finish: Some(finish), over: own }
        }
    }
}
