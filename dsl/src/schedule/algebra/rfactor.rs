//! `rfactor(k_o => part)`: splits a reduction into two dispatches. The first, for the new stage `part`, computes a partial result
//! for each value of `k_o`, which is a parallel axis there. The second reduces the partial results. The state is passed in
//! temporaries, one for each component (for example, the value and the index of argmax), with `k_o` as the outermost dimension.
//!
//! The partial stage takes the reduction's axes as they were split, fused and ordered, and is scheduled by its block, `part { … }`.
//! Later directives of the original stage schedule the final reduction, over an axis that is also called `k_o`. If `k_o` runs out
//! of bounds, the partial result of an empty range is the identity.
//!
//! Refused: an axis that is not a reduction's; an axis that is distributed or unrolled; parallel axes that other directives have
//! already rewritten (these directives must follow `rfactor`, because the two stages have separate schedules); a reduction that is
//! already distributed; a nest that was peeled.

use super::renamed::Renamed;
use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::{Expr, ExprId};
use crate::nest::path::{Frame, Head, Path};
use crate::nest::{
    Axis, AxisDef, AxisId, AxisKind, Body, Buffer, BufferId, Compute, Dispatch, Exec, Fate, Phase, Space, Stage, StageId, State,
};
use crate::schedule::invocations::atomics;
use crate::schedule::loops::split;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use std::collections::HashSet;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, name: &Name, into: &Name, span: SpanId) -> Applied {
    let axis = nest.axis(name)?;
    check(nest, axis, name, into)?;
    let axis = outermost(nest, axis, name, span)?;
    let stage = StageId::new(nest.program.stages.len());
    let (renamed, buffers) = (own_axes(nest, stage, span), temporaries(nest, axis, into, span));
    let part = Partial { stage, renamed, buffers, span };
    let kept = take_reduction(nest, axis, &part);
    part.add(nest, axis, kept, into);
    reduce_parts(nest, axis, &part);
    let stage = &nest.program.stages[nest.stage].name;
    let what = format!("`{into}` has the partial result of `{stage}` for each `{name}`, and the identity for an empty range");
    nest.program.owe(what, State::Proved, span);
    Ok(())
}

/// Checks that the rules of the directive hold.
fn check(nest: &StageNest<'_>, axis: AxisId, name: &Name, into: &Name) -> Applied {
    if !nest.is_reduction(axis) {
        let error = Error::new(name.span, format!("`{name}` is a parallel axis: each of its values has its own result"));
        let reduction = nest.path.axes().find(|a| nest.is_reduction(*a)).map(|a| nest.name(a));
        return Err(match reduction {
            Some(k) => error.help(format!("split the reduction: `tile({k}: 1024 => {k}_o); rfactor({k}_o => {into})`")),
            None => error.note(format!("`{}` is not a reduction", nest.program.stages[nest.stage].name)),
        });
    }
    split::plain(nest, axis, name.span)?;
    let Body::Reduce { over, .. } = &nest.program.stages[nest.stage].body else { return Ok(()) };
    if over.iter().any(|a| !matches!(nest.program.axes[*a].def, AxisDef::Root(_))) {
        let stage = &nest.program.stages[nest.stage].name;
        let error = Error::new(name.span, format!("`{stage}` already is a part of a reduction"));
        return Err(error.help("split the final reduction again, or change the first split"));
    }
    nest.check_plain(name.span, "`rfactor`")?;
    if nest.program.is_taken(&into.text) {
        let error = Error::new(into.span, format!("the name `{into}` is already used"));
        return Err(error.help("choose another name for the partial stage"));
    }
    let roots = nest.program.stages[nest.stage].axes.clone();
    for root in roots {
        if let Some(made) = rewritten(nest, root) {
            let error = Error::new(name.span, format!("`{}` was rewritten before `rfactor`", nest.name(root)));
            let error = error.note_at(made, "here");
            return Err(error.help(format!(
                "move that after `rfactor`, for the final reduction, or into `{into} {{ … }}`, for the partial one"
            )));
        }
    }
    let bound = nest.path.frames.iter().find(|f| f.as_loop().is_some_and(|(a, e)| nest.is_reduction(a) && is_bound(e)));
    if let Some(frame) = bound {
        let other = frame.as_loop().map_or("", |(a, _)| nest.name(a));
        let error = Error::new(name.span, format!("`{other}` of the same reduction is already distributed"));
        return Err(error.note_at(frame.span, "here").help(format!("distribute it in `{into} {{ … }}`")));
    }
    Ok(())
}

fn is_bound(exec: Exec) -> bool {
    matches!(exec, Exec::Bind(..))
}

/// Returns the directive that split, fused, distributed or unrolled an axis.
fn rewritten(nest: &StageNest<'_>, axis: AxisId) -> Option<SpanId> {
    match &nest.program.axes[axis].fate {
        Fate::Split(split) => Some(split.span),
        Fate::Fused { span, .. } => Some(*span),
        Fate::Live => {
            let frame = &nest.path.frames[nest.path.position(axis)?];
            (frame.as_loop() != Some((axis, Exec::Serial))).then_some(frame.span)
        }
    }
}

/// Moves the loop over the axis outside all others. An axis whose extent depends on others takes its hull, even if the others have
/// extent 1 and no loop, because partial results form a box.
fn outermost(nest: &mut StageNest<'_>, axis: AxisId, name: &Name, span: SpanId) -> Result<AxisId, Error> {
    let Some(at) = nest.path.position(axis) else { return Ok(axis) };
    let frame = nest.path.remove(at);
    nest.path.frames.insert(0, frame);
    nest.take_hulls(span)?;
    let mut axis = nest.axis(name).unwrap_or(axis);
    let extent = nest.program.axes[axis].extent;
    let on_loops = nest.on_loops(extent);
    if on_loops != extent {
        axis = nest.hull(axis, on_loops, span);
        nest.path.frames[0].head = Head::Loop { axis, exec: Exec::Serial };
    }
    nest.refresh();
    Ok(axis)
}

/// Returns the parallel axes of the partial stage, as copies of this stage's axes. If these axes are parts of an axis of another
/// stage, the reduced value names the whole axis, so the partial stage gets its own copy of the whole.
fn own_axes(nest: &mut StageNest<'_>, part: StageId, span: SpanId) -> Renamed {
    let program = &mut *nest.program;
    let over = match &program.stages[nest.stage].body {
        Body::Reduce { over, .. } => over.as_slice(),
        Body::Map(_) => &[],
    };
    let family: Vec<AxisId> = program.family(nest.stage).into_iter().filter(|axis| !over.contains(axis)).collect();
    let made: Vec<AxisId> = family.iter().map(|axis| program.axes.push(program.axes[*axis].clone())).collect();
    let renamed = Renamed { axes: family.into_iter().zip(made.iter().copied()).collect() };
    for axis in made {
        let old = program.axes[axis].clone();
        let own = renamed.remade(program, old, [nest.stage, part]);
        // The whole axis belongs to another stage, but its copy belongs to the partial stage.
        let def = if let AxisDef::Root(_) = own.def { AxisDef::Root(part) } else { own.def };
        program.axes[axis] = Axis { def, span, ..own };
    }
    renamed
}

/// Adds a temporary for each component of the state.
fn temporaries(nest: &mut StageNest<'_>, axis: AxisId, into: &Name, span: SpanId) -> Vec<BufferId> {
    let program = &mut *nest.program;
    let Body::Reduce { monoid, .. } = &program.stages[nest.stage].body else { return Vec::new() };
    let identity = monoid.identity.clone();
    let parallel = program.stages[nest.stage].axes.iter();
    let shape: Vec<ExprId> = [axis].iter().chain(parallel).map(|a| program.axes[*a].extent).collect();
    let mut buffers = Vec::new();
    for (n, identity) in identity.into_iter().enumerate() {
        let name = if n == 0 { into.text.clone() } else { atomics::unused(program, &format!("{into}_{n}")) };
        let (dtype, shape, space) = (program.exprs.dtype(identity), shape.clone(), Space::Temporary);
        buffers.push(program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span }));
    }
    buffers
}

/// Moves the reduction's axes to the partial stage, where `axis` becomes parallel. Returns the axes that are still reduced there.
fn take_reduction(nest: &mut StageNest<'_>, axis: AxisId, part: &Partial) -> Vec<AxisId> {
    let (program, stage) = (&mut *nest.program, nest.stage);
    let Body::Reduce { over, .. } = program.stages[stage].body.clone() else { return Vec::new() };
    let (mut open, mut seen, mut kept) = (over, HashSet::new(), Vec::new());
    open.reverse();
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        if program.axes[at].def == AxisDef::Root(stage) {
            program.axes[at].def = AxisDef::Root(part.stage);
        }
        // The extent may depend on a parallel axis.
        program.axes[at].extent = part.renamed.expr(program, program.axes[at].extent);
        match program.axes[at].fate.clone() {
            Fate::Split(split) => open.extend(split.parts.into_iter().rev()),
            Fate::Fused { into, .. } => open.push(into),
            Fate::Live if at == axis => {}
            Fate::Live => kept.push(at),
        }
    }
    program.axes[axis].kind = AxisKind::Parallel;
    kept
}

/// The stage of partial results.
struct Partial {
    stage: StageId,
    /// Maps this stage's parallel axes to the axes of the partial stage.
    renamed: Renamed,
    /// The temporaries for the components of its state.
    buffers: Vec<BufferId>,
    span: SpanId,
}

impl Partial {
    /// Adds the stage, and its dispatch before this stage's dispatch. The loops of the reduction stay unchanged, innermost.
    fn add(&self, nest: &mut StageNest<'_>, axis: AxisId, over: Vec<AxisId>, into: &Name) {
        let (stage, span) = (nest.program.stages[nest.stage].clone(), self.span);
        let program = &mut *nest.program;
        let (Body::Reduce { monoid, lift, .. }, [buffer, also @ ..]) = (stage.body, self.buffers.as_slice()) else { return };
        let value: Vec<ExprId> = lift.into_iter().map(|e| self.renamed.expr(program, e)).collect();
        let state = |n: usize| {
            let dtype = program.exprs.dtype(monoid.identity[n]);
            program.exprs.add(Expr::State(n as u32), dtype)
        };
        let finish = state(0);
        let also = also.iter().enumerate().map(|(n, buffer)| (*buffer, state(n + 1))).collect();
        let own = stage.axes.iter().filter_map(|a| self.renamed.axes.get(a).copied());
        let axes: Vec<AxisId> = [axis].into_iter().chain(own).collect();
        let (name, body) = (into.text.clone(), Body::Reduce { monoid, over, lift: value.clone(), finish });
        let id = program.stages.push(Stage { name: name.clone(), buffer: *buffer, axes: axes.clone(), body, also, span });

        let index = axes.iter().map(|a| program.exprs.axis(*a)).collect();
        let (dst, preds) = (program.results(id, index), program.stage_predicates(id));
        let compute = Compute { stage: id, phase: Phase::Whole, dst, value, finish: Some(finish), given: 0, preds };
        let reduces = |f: &&Frame| f.as_loop().is_some_and(|(a, _)| program.axes[a].kind == AxisKind::Reduction);
        let reduction = nest.path.frames.iter().filter(reduces).cloned();
        let parallel = axes.iter().filter(|a| !program.is_single(**a)).map(|a| Frame::looped(*a, Exec::Serial, span));
        let frames: Vec<Frame> = parallel.chain(reduction).collect();
        let body = Path { frames, before: Vec::new(), compute, span, after: Vec::new() }.close();
        program.plan.insert(nest.dispatch, Dispatch { name, local: [1; 3], body });
        nest.dispatch += 1;
    }
}

/// Makes this stage reduce the partial results, over an axis with the name of `axis`.
fn reduce_parts(nest: &mut StageNest<'_>, axis: AxisId, part: &Partial) {
    let program = &mut *nest.program;
    let Axis { name, extent, .. } = program.axes[axis].clone();
    let def = AxisDef::Root(nest.stage);
    let k = program.axes.push(Axis { name, extent, kind: AxisKind::Reduction, def, fate: Fate::Live, span: part.span });
    let index: Vec<AxisId> = [k].into_iter().chain(program.stages[nest.stage].axes.iter().copied()).collect();
    let index: Vec<ExprId> = index.into_iter().map(|a| program.exprs.axis(a)).collect();
    let mut value = Vec::new();
    for buffer in &part.buffers {
        let dtype = program.buffers[*buffer].dtype;
        value.push(program.exprs.read(*buffer, dtype, index.iter().copied()));
    }
    if let Body::Reduce { over, lift, .. } = &mut program.stages[nest.stage].body {
        (*over, *lift) = (vec![k], value.clone());
    }
    nest.path.compute.value = value;
    nest.path.frames.retain(|f| f.as_loop().is_some_and(|(a, _)| program.stages[nest.stage].axes.contains(&a)));
    if !program.is_single(k) {
        nest.path.frames.push(Frame::looped(k, Exec::Serial, part.span));
    }
    nest.axes = program.family(nest.stage);
    nest.refresh();
}
