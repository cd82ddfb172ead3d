//! Lowers reductions to init, update and finish over an accumulator: registers allocated just outside the outermost loop of the reduction
//! and indexed by the parallel axes inside it. If the reduction is distributed, [`super::all_reduce`] combines the partial results between
//! update and finish.
//!
//! A parallel axis inside the reduction's loops must be unrolled or in lanes, because registers need constant indices. Any other one is
//! refused.

use super::all_reduce;
use super::components::First;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Expr, ExprId};
use crate::nest::path::{Frame, Path};
use crate::nest::print;
use crate::nest::{
    Access, AxisDef, AxisId, AxisKind, Block, Body, Buffer, BufferId, Compute, Exec, Fate, How, Loop, Monoid, Node, NodeKind,
    Phase, Pred, Program, Side, Space, StageId, Tail,
};

/// Lowers the reductions of every dispatch, and adds the predicates that maps need.
pub fn run(program: &mut Program) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for stage in program.stages.ids() {
        for at in 0..program.plan.len() {
            let Some(path) = Path::open(&program.plan[at].body, stage, Phase::Whole) else { continue };
            if let Body::Reduce { .. } = program.stages[stage].body
                && let Some(body) = errors.keep(lower(program, stage, path))
            {
                program.plan[at].body = body;
            }
        }
    }
    errors.into_result()
}

/// Lowers the nest of one reduction.
fn lower(program: &mut Program, stage: StageId, mut path: Path) -> Result<Block, Error> {
    let Body::Reduce { monoid, over, .. } = program.stages[stage].body.clone() else { return Ok(path.close()) };
    if program.notes.scattered.contains_key(&stage) {
        return Ok(scattered(program, path, &over));
    }
    let Some(finish) = path.compute.finish else {
        return Err(Error::new(path.span, "the reduction does not have a finish expression").defect(&print::plan(program)));
    };
    let outermost = |f: &Frame| {
        let reduces = |a, e| is_of(program, a, &over) && !matches!(e, Exec::Bind(..));
        f.as_loop().is_some_and(|(a, e)| matches!(e, Exec::Lanes | Exec::Matrix(_)) || reduces(a, e))
    };
    let place = path.frames.iter().position(outermost).unwrap_or(path.frames.len());
    let mut inside = all_reduce::inside(program, &mut path, place, &over);
    let tile = parallel(program, &inside);
    check_tile(program, stage, &inside, &tile)?;
    let held = held(program, &inside);

    let first = First::of(program, &path, &inside, &monoid, &over);
    let places = accumulators(program, stage, &monoid, &held, &first);
    let state: Vec<BufferId> = places.iter().map(|place| place.buffer).collect();

    let compute = |phase, dst: &[Access], value: Vec<ExprId>, preds| Compute {
        stage,
        phase,
        dst: dst.to_vec(),
        value,
        finish: None,
        given: 0,
        preds,
    };
    let guards = against_inactive(program, &path.compute.preds);
    let items = path.compute.value.clone();
    let update = |items: &[ExprId]| {
        let preds = update_predicates(program, stage, items, &over).into_iter().chain(guards.iter().copied()).collect();
        compute(Phase::Update, &places[..items.len()], items.to_vec(), preds)
    };
    let (all, alone) = (Compute { given: first.count, ..update(&items) }, update(&items[..first.count]));
    let mut preds = program.predicates(&program.stages[stage].axes.clone());
    if tile.iter().any(|f| matches!(f.as_loop(), Some((_, Exec::Matrix(_))))) {
        // A copy is written as a whole, because matrices cannot be guarded.
        let named = path.compute.dst.iter().flat_map(|to| to.index.clone()).chain(path.compute.finish);
        preds = program.predicates(&named.flat_map(|e| program.named(e)).collect::<Vec<_>>());
    }
    preds.extend(guards.into_iter().filter(|pred| program.axes[pred.axis].kind == AxisKind::Parallel));

    let span = path.span;
    // The siblings of the reduction's outermost loop.
    let (before, after) = match inside.first_mut() {
        Some(first) => (&mut first.before, &mut first.after),
        None => (&mut path.before, &mut path.after),
    };
    let (before, after) = (std::mem::take(before), std::mem::take(after));
    let around: Vec<Frame> = path.frames.iter().chain(&inside).cloned().collect();
    let dst = std::mem::replace(&mut path.compute, all).dst;
    let init = |count: usize| compute(Phase::Init, &places[..count], monoid.identity[..count].to_vec(), Vec::new());
    let mut body = Vec::new();
    if first.count > 0 {
        let frames = first.without(&held, 0);
        body.extend(wrap(&frames, span, NodeKind::Compute(init(first.count))));
        let own = first.without(&inside[first.at..], 0);
        first.arrange(&mut inside, wrap(&own, span, NodeKind::Compute(alone)));
    }
    let updates = Path { frames: inside, ..path.clone() }.close();
    body.extend(wrap(&held, span, NodeKind::Compute(Compute { given: first.count, ..init(places.len()) })));
    body.extend(updates);
    let mut reduction = all_reduce::Distributed { program, stage, around: &around, held: &held, dst: &dst, span };
    let parts = reduction.add(places, &mut preds, &mut body);
    let state = [state, parts.registers].concat();
    if !parts.stored {
        let value = results(program, stage, finish, &parts.places);
        let finish = wrap(
            &tile,
            span,
            NodeKind::Compute(Compute { stage, phase: Phase::Finish, dst, value, finish: None, given: 0, preds }),
        );
        body.extend(close(parts.once, finish));
    }
    let alloc = |body: Block, buffer: BufferId| vec![Node::new(NodeKind::Alloc { buffer, body }, span)];
    let body = [before, state.into_iter().rev().fold(body, alloc), after].concat();
    Ok(close(path.frames, body))
}

/// Lowers a scattered reduction to one update, whose accumulator is the element in memory.
fn scattered(program: &Program, mut path: Path, over: &[AxisId]) -> Block {
    let is_shared = |axis: AxisId| is_of(program, axis, over) && program.notes.strategies.get(&axis) == Some(&How::Atomic);
    let phase = if path.axes().any(is_shared) { Phase::Atomic } else { Phase::Update };
    // An item past the end is left out as a whole.
    let preds = path.compute.preds.iter().map(|pred| Pred { axis: pred.axis, tail: Tail::Guard }).collect();
    path.compute = Compute { phase, finish: None, preds, ..path.compute };
    path.close()
}

/// True if an axis is computed from the axes of a reduction.
pub(super) fn is_of(program: &Program, axis: AxisId, over: &[AxisId]) -> bool {
    let made = || match &program.axes[axis].def {
        AxisDef::Root(_) | AxisDef::Made => false,
        AxisDef::Part { of, .. } => is_of(program, *of, over),
        AxisDef::Fused(digits) => digits.iter().any(|digit| is_of(program, *digit, over)),
    };
    program.axes[axis].kind == AxisKind::Reduction && (over.contains(&axis) || made())
}

/// Returns the loops over parallel axes.
fn parallel(program: &Program, frames: &[Frame]) -> Vec<Frame> {
    let is = |f: &&Frame| f.as_loop().is_some_and(|(a, _)| program.axes[a].kind == AxisKind::Parallel);
    frames.iter().filter(is).cloned().collect()
}

/// Returns the loops over axes that index the accumulator: parallel axes, and the columns of matrices whose rows are combined later.
fn held(program: &Program, frames: &[Frame]) -> Vec<Frame> {
    let is = |f: &&Frame| match f.as_loop() {
        Some((a, exec)) => program.axes[a].kind == AxisKind::Parallel || matches!(exec, Exec::Matrix(Side::Columns)),
        None => false,
    };
    frames.iter().filter(is).cloned().collect()
}

/// Nests a leaf in loops.
pub(super) fn wrap(frames: &[Frame], span: SpanId, leaf: NodeKind) -> Block {
    frames.iter().rev().fold(vec![Node::new(leaf, span)], |body, frame| match frame.as_loop() {
        Some((axis, exec)) => vec![Node::new(NodeKind::Loop(Loop::new(axis, exec, body)), frame.span)],
        None => body,
    })
}

/// Returns the predicates on axes that are bound to more invocations than they have values.
fn against_inactive(program: &Program, preds: &[Pred]) -> Vec<Pred> {
    preds.iter().copied().filter(|pred| program.axes[pred.axis].fate == Fate::Live).collect()
}

/// Puts frames around a block.
pub(super) fn close(frames: Vec<Frame>, body: Block) -> Block {
    frames.into_iter().rev().fold(body, |body, frame| frame.close(body))
}

/// Checks that the axes of the accumulator are unrolled or in lanes, because registers need constant indices.
fn check_tile(program: &Program, stage: StageId, inside: &[Frame], tile: &[Frame]) -> Result<(), Error> {
    let reduction = |f: &&Frame| f.as_loop().is_some_and(|(a, _)| program.axes[a].kind == AxisKind::Reduction);
    for frame in tile {
        let Some((axis, exec)) = frame.as_loop() else { continue };
        if exec != Exec::Serial {
            continue;
        }
        let name = &program.axes[axis].name;
        let outer = inside.iter().find(reduction).and_then(Frame::as_loop).map_or("", |(a, _)| &program.axes[a].name);
        let stage = &program.stages[stage].name;
        let error = Error::new(frame.span, format!("the accumulator of `{stage}` would be indexed by `{name}` at run time"));
        let error = error
            .note(format!("`{name}` is a loop inside the reduction's loop over `{outer}`, but registers need constant indices"));
        let help = match program.exprs.as_int(program.axes[axis].extent) {
            Some(_) => format!("write `unroll({name})`, or reorder `{name}` outside `{outer}`"),
            None => format!("reorder `{name}` outside `{outer}`, or tile it and unroll the tile"),
        };
        return Err(error.help(help));
    }
    Ok(())
}

/// Creates registers or fragments for each component of the state, indexed by the axes of the tile's loops around the component.
fn accumulators(program: &mut Program, stage: StageId, monoid: &Monoid, whole: &[Frame], first: &First) -> Vec<Access> {
    let (name, span) = (program.stages[stage].name.clone(), program.stages[stage].span);
    let one = |(i, identity): (usize, &ExprId)| {
        let name = if monoid.identity.len() == 1 { format!("{name}_acc") } else { format!("{name}_acc{i}") };
        let dtype = program.exprs.dtype(*identity);
        let tile = first.without(whole, i);
        let axes: Vec<AxisId> = tile.iter().filter_map(|f| f.as_loop().map(|(a, _)| a)).collect();
        let shape = axes.iter().map(|a| program.axes[*a].extent).collect();
        let space = match [Side::Rows, Side::Columns].map(|side| extent_of(program, whole, side)) {
            [Some(rows), Some(columns)] => {
                Space::Fragment { rows, columns, spread: extent_of(program, &tile, Side::Columns).is_none() }
            }
            _ => Space::Register,
        };
        let buffer = program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span });
        Access { buffer, index: axes.iter().map(|a| program.exprs.axis(*a)).collect() }
    };
    monoid.identity.iter().enumerate().map(one).collect()
}

/// Returns the extent of a matrix side that loops are over.
fn extent_of(program: &Program, tile: &[Frame], side: Side) -> Option<u32> {
    let is = |f: &&Frame| f.as_loop().is_some_and(|(_, exec)| exec == Exec::Matrix(side));
    let (axis, _) = tile.iter().find(is)?.as_loop()?;
    u32::try_from(program.exprs.as_int(program.axes[axis].extent)?).ok()
}

/// Returns the predicates of an update: on the reduction's axes, so that items past the end are the identity, and on other axes where reads
/// would be out of bounds. If an axis is a part whose sibling parts belong to another stage, the predicate is on the whole axis.
fn update_predicates(program: &Program, stage: StageId, items: &[ExprId], over: &[AxisId]) -> Vec<Pred> {
    let mut roots: Vec<AxisId> = Vec::new();
    for read in items.iter().flat_map(|item| program.exprs.reads(*item)) {
        for index in &read.index {
            program.exprs.uses_axis(*index, &mut |a| {
                roots.push(a);
                false
            });
        }
    }
    roots.extend(program.reduced_whole(stage));
    roots.extend(over);
    program.predicates(&roots)
}

/// Returns the stored values, with the accumulator's components in place of the state.
fn results(program: &Program, stage: StageId, finish: ExprId, places: &[Access]) -> Vec<ExprId> {
    let mut reads = Vec::new();
    for place in places {
        let dtype = program.buffers[place.buffer].dtype;
        reads.push(program.exprs.read(place.buffer, dtype, place.index.iter().copied()));
    }
    let also: Vec<ExprId> = program.stages[stage].also.iter().map(|(_, value)| *value).collect();
    let stored = [finish].into_iter().chain(also);
    let mut value = |id| {
        program.exprs.replace(id, &mut |exprs, id| match exprs.get(id) {
            Expr::State(n) => reads.get(*n as usize).copied(),
            _ => None,
        })
    };
    stored.map(&mut value).collect()
}
