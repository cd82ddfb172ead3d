//! `promote(input => x[ic], at: ow, to: register, vector: 8)`: copies the elements that are read under a place of the nest.
//!
//! The copy is a stage ([`crate::nest::Body::Map`] on [`crate::nest::AxisDef::Made`] axes) attached at the place
//! ([`super::attach`]). The nest then reads the copy instead of the tensor. Without a list, the copy has the tensor's dimensions,
//! and in each of them the range that is read. With a list, the listed axes index it, and it holds the elements at their values
//! ([`footprint`]). The promotion of a result is the reverse: the result is computed into the copy, and a following stage writes it
//! back ([`output`]).
//!
//! For a copy to shared memory, or to registers that its block distributes ([`super::copies`]), axes bound to invocations have
//! their whole range. For a copy to each invocation's registers, they are fixed.
//!
//! Refused: a place that encloses no such read, or several incompatible ones; indices that depend on data; an extent without a
//! literal bound; a list that leaves out an axis; a shared copy under the loops of one invocation, or one that does not fit; a fill
//! that differs from the tensor's own padding, or that is not the identity where a rounded-up axis needs it.

mod block;
mod clamps;
mod distance;
pub(in crate::schedule) mod epilogue;
pub(super) mod footprint;
mod listed;
mod memory;
mod output;
pub(in crate::schedule) mod place;
pub(in crate::schedule) mod value;

pub(in crate::schedule) use memory::{check_widened, read_together};
pub(in crate::schedule) use place::varying as place_varying;

use super::attach::Attached;
use super::compute_at::readers as readers_in;
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::expr::{Expr, ExprId};
use crate::nest::{
    Access, Axis, AxisDef, AxisId, AxisKind, Block, Body, Buffer, BufferId, Compute, Exec, Fate, Loop, Node, NodeKind, Phase,
    Program, Space, Stage, StageId,
};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{Memory, Promote};
use place::Place;

/// A copy, as later steps of the schedule see it.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The stage that writes it, or writes it back.
    pub stage: StageId,
    /// The copy.
    pub buffer: BufferId,
    /// The axes beyond whose ends it holds a fill, with the value of the fill.
    pub filled: Vec<(AxisId, f64)>,
    /// True if the listed axes have another order than the tensor's dimensions.
    pub reordered: bool,
    /// True if its elements are computed, and not copied.
    pub computed: bool,
    /// The number of elements at a time and its place, if `vector` states it.
    pub vector: Option<(i64, SpanId)>,
    /// The directive.
    pub span: SpanId,
}

impl Copied {
    /// Returns a buffer that a stage computes element by element.
    pub(in crate::schedule) fn computed(stage: StageId, buffer: BufferId, span: SpanId) -> Copied {
        Copied { stage, buffer, filled: Vec::new(), reordered: false, computed: true, vector: None, span }
    }

    /// Returns the name of its block in a schedule.
    pub(in crate::schedule) fn name<'p>(&self, program: &'p Program) -> &'p str {
        if self.computed { &program.stages[self.stage].name } else { &program.buffers[self.buffer].name }
    }
}

/// The copy that a directive requests, before it is made.
pub(in crate::schedule) struct Wanted<'p> {
    pub(in crate::schedule) promote: &'p Promote,
    pub(in crate::schedule) place: Place,
    pub(in crate::schedule) source: BufferId,
    /// The other components of the source's state, which have the same layout.
    pub(in crate::schedule) also: Vec<BufferId>,
    pub(in crate::schedule) name: String,
    pub(in crate::schedule) span: SpanId,
}

/// The copy that was made.
pub(in crate::schedule) struct Copy {
    pub(in crate::schedule) buffer: BufferId,
    pub(in crate::schedule) stage: StageId,
    pub(in crate::schedule) filled: Vec<(AxisId, f64)>,
    pub(super) reordered: bool,
}

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, promote: &Promote, span: SpanId, warnings: &mut crate::diag::Errors) -> Applied {
    if nest.is_copy() {
        let error =
            Error::new(span, format!("`{}` is a copy, and reads each element only once", nest.program.stages[nest.stage].name));
        return Err(error.help("promote where the copy is read: outside its block"));
    }
    let mut place = place::find(nest, promote)?;
    let name = unused_name(nest, promote)?;
    if let Some(source) = output::source(nest, promote)? {
        return output::apply(nest, Wanted { promote, place, source, also: Vec::new(), name, span });
    }
    // A stage that is placed at the same loop reads the copy, too, so the copy encloses it.
    let around = Place { around: true, ..place.clone() };
    let beside = |a: &Attached| {
        let depth = nest.place_of(a);
        depth == place.depth && around.serves(a, depth) && footprint::block_reads(nest, &a.before, &promote.source.text)
    };
    if nest.placed.attached.iter().any(beside) {
        place.inside = place::inside(nest, promote.is_together(), place.depth, true);
        place.around = true;
    }
    if promote.to == Memory::Register && nest.has_matrices() {
        let error = Error::new(promote.to_span, format!("`{}` is read by matrix units, which load from memory", promote.source));
        return Err(error.help("write `to: shared`, and promote before `mma` or `fragment`"));
    }
    let source = source(nest, promote, &place)?;
    if promote.to == Memory::Shared && nest.program.buffers[source].space == Space::Register {
        let name = &promote.source;
        let error = Error::new(
            name.span,
            format!("`{name}` is in the registers of one invocation, and the other invocations cannot copy it from there"),
        );
        return Err(error.help(format!("promote the source of `{name}`, or copy to registers")));
    }
    let from_fragment = matches!(nest.program.buffers[source].space, Space::Fragment { .. });
    if nest.program.notes.dealt.contains(&source) && !(from_fragment && promote.to == Memory::Shared) {
        let name = &promote.source;
        let what = match nest.program.buffers[source].space {
            Space::Fragment { .. } => "fragments of subgroups",
            _ => "the registers of several invocations",
        };
        let error = Error::new(name.span, format!("`{name}` is distributed across {what}, and cannot be copied from there"));
        return Err(error.help(format!("promote the source of `{name}`, or place `{name}` with `to: shared`")));
    }
    let wanted = Wanted { promote, place, source, also: Vec::new(), name, span };
    let footprint = footprint::of(nest, &wanted)?;
    let value = value::of(nest, &wanted, &footprint, warnings)?;
    let buffer = add_buffer(nest, &wanted, source, (&footprint.axes, &footprint.used))?;
    let index: Vec<ExprId> = footprint.axes.iter().map(|a| nest.program.exprs.axis(*a)).collect();
    let dst = Access { buffer, index };
    let stage = add_stage(nest, &wanted, buffer, &footprint.axes, value);
    let block = loops(
        nest,
        &footprint.axes,
        Compute { stage, phase: Phase::Whole, dst: vec![dst], value: vec![value], finish: None, given: 0, preds: vec![] },
        span,
    );
    let filled = value::filled_axes(nest, &wanted, &footprint);
    value::inherit_finite(nest.program, wanted.source, buffer, value);
    redirect(nest, &wanted, buffer, &footprint.places);
    let reordered = is_reordered(nest, &footprint);
    attach(nest, &wanted, Copy { buffer, stage, filled, reordered }, (block, Vec::new()))?;
    value::check_identity(nest, &wanted)
}

impl StageNest<'_> {
    /// True if the stage is a copy that `promote` made.
    pub(super) fn is_copy(&self) -> bool {
        self.is_hosted() && is_copy(self.program, self.stage)
    }
}

/// True if a stage in a nest copies elements. A stage that `compute_at` placed computes elements instead, and may read each several
/// times.
fn is_copy(program: &Program, stage: StageId) -> bool {
    program.stages[stage].is_copy(program) && !program.notes.placed.contains_key(&stage)
}

/// Returns the name of the copy, if it is unused.
fn unused_name(nest: &StageNest<'_>, promote: &Promote) -> Result<String, Error> {
    let Name { text: name, span } = promote.copy_name();
    let program = &*nest.program;
    let buffer = program.buffers.values().find(|b| b.name == name).map(|b| b.span);
    let stage = program.stages.values().find(|s| s.name == name).map(|s| s.span);
    match buffer.or(stage) {
        None => Ok(name),
        Some(other) => {
            let error = Error::new(span, format!("the name `{name}` is already used")).note_at(other, "by the definition here");
            Err(error.help(format!("choose another name: `promote({} => another_name, …)`", promote.source)))
        }
    }
}

/// Finds the tensor or copy that the directive names, among those that are read under the place.
fn source(nest: &StageNest<'_>, promote: &Promote, place: &Place) -> Result<BufferId, Error> {
    let name = &promote.source;
    let read: Vec<BufferId> = footprint::reads(nest, place).iter().map(|(_, read)| read.buffer).collect();
    let names = || read.iter().map(|b| nest.program.buffers[*b].name.as_str());
    if let Some(buffer) = read.iter().find(|b| nest.program.buffers[**b].name == name.text) {
        return Ok(*buffer);
    }
    let here = match names().next() {
        None => "no tensor is read there".to_owned(),
        Some(_) => {
            let mut names: Vec<&str> = names().collect();
            names.dedup();
            format!("the place reads {}", list(names))
        }
    };
    if !nest.program.buffers.values().any(|b| b.name == name.text) {
        let error = Error::new(name.span, format!("unknown tensor or copy `{name}`"));
        return Err(error.help(did_you_mean(&name.text, names()).unwrap_or(here)));
    }
    let error = Error::new(name.span, format!("`{name}` is not read under `{}`", promote.at));
    let readers = nest.placed.attached.iter().filter(|a| footprint::block_reads(nest, &a.before, &name.text));
    let of = |stage: &StageId| nest.program.stages[*stage].name.as_str();
    let buffers: Vec<BufferId> = nest.program.buffers.ids().filter(|b| nest.program.buffers[*b].name == name.text).collect();
    let (mut copies, mut computed) = (Vec::new(), None);
    for attached in readers {
        for stage in readers_in(nest.program, &attached.before, &buffers) {
            match is_copy(nest.program, stage) {
                true => copies.push(stage),
                false => computed = computed.or(Some((stage, attached))),
            }
        }
    }
    if let Some((stage, attached)) = computed {
        return Err(beyond(nest, (promote, place), of(&stage), attached, error));
    }
    let Some(copy) = copies.first() else { return Err(error.help(here)) };
    let error = error.note(format!("it is read by the copy {}", list(copies.iter().map(of))));
    Err(error.help(format!("promote from the copy: `promote({} => …)`", of(copy))))
}

/// Explains why a stage that `compute_at` placed in the nest does not read the copy.
fn beyond(nest: &StageNest<'_>, (promote, place): (&Promote, &Place), stage: &str, attached: &Attached, error: Error) -> Error {
    let error = error.note_at(attached.span, format!("`{stage}`, which is computed here, reads it"));
    if place.private && attached.together && nest.place_of(attached) >= place.depth {
        let error = error.note("the invocations of the workgroup compute it cooperatively, and registers belong to one invocation");
        return error.help("write `to: shared`");
    }
    error.help(format!("promote `{}` at the place of `{stage}`, or further out", promote.source))
}

/// Adds a dimension of a copy.
fn made_axis(nest: &mut StageNest<'_>, name: &str, extent: i64, span: SpanId) -> AxisId {
    let extent = nest.program.exprs.int(extent);
    let (name, kind) = (name.to_owned(), AxisKind::Parallel);
    nest.program.axes.push(Axis { name, extent, kind, def: AxisDef::Made, fate: Fate::Live, span })
}

/// Adds the buffer for the reads of a source: the directive's source, or another component of its state. `used` are the nest's axes
/// that determine its size.
pub(super) fn add_buffer(
    nest: &mut StageNest<'_>,
    wanted: &Wanted<'_>,
    source: BufferId,
    (axes, used): (&[AxisId], &[AxisId]),
) -> Result<BufferId, Error> {
    let to = wanted.promote.to;
    let (row_pad, swizzle) = memory::layout(nest, wanted, axes)?;
    let shape = axes.iter().map(|a| nest.program.axes[*a].extent).collect();
    let space = match to {
        Memory::Shared => Space::Shared,
        Memory::Register => Space::Register,
        // The sides of the matrices are determined later by its block.
        Memory::Fragment => Space::Fragment { rows: 0, columns: 0, spread: false },
    };
    let of = &nest.program.buffers[source];
    let (name, dtype) = (if source == wanted.source { wanted.name.clone() } else { of.name.clone() }, of.dtype);
    let buffer = Buffer { name, dtype, shape, space, row_pad, swizzle, versions: 1, span: wanted.span };
    let buffer = nest.program.buffers.push(buffer);
    if wanted.promote.dealt {
        nest.program.notes.dealt.insert(buffer);
    }
    memory::check(nest, wanted, buffer, used)?;
    Ok(buffer)
}

fn add_stage(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, buffer: BufferId, axes: &[AxisId], value: ExprId) -> StageId {
    let (name, body) = (wanted.name.clone(), Body::Map(value));
    let stage = nest.program.stages.push(Stage { name, buffer, axes: axes.to_vec(), body, also: Vec::new(), span: wanted.span });
    nest.program.notes.hosts.insert(stage, nest.stage);
    stage
}

/// Wraps a compute node in plain loops. Axes of extent 1 get no loop.
pub(in crate::schedule) fn loops(nest: &StageNest<'_>, axes: &[AxisId], compute: Compute, span: SpanId) -> Block {
    let leaf = vec![Node::new(NodeKind::Compute(compute), span)];
    axes.iter()
        .rev()
        .filter(|a| !nest.program.is_single(**a))
        .fold(leaf, |body, axis| vec![Node::new(NodeKind::Loop(Loop::new(*axis, Exec::Serial, body)), span)])
}

/// Redirects the nest's reads to the copy.
pub(super) fn redirect(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, buffer: BufferId, places: &[(ExprId, Vec<ExprId>)]) {
    let dtype = nest.program.buffers[buffer].dtype;
    let mut new = std::collections::HashMap::new();
    for (read, index) in places {
        new.insert(*read, nest.program.exprs.read(buffer, dtype, index.iter().copied()));
    }
    let mut moved = |value: &mut ExprId| *value = nest.program.exprs.replace(*value, &mut |_, id| new.get(&id).copied());
    nest.path.compute.value.iter_mut().for_each(&mut moved);
    // Data choose the elements that a scattered reduction updates.
    nest.path.compute.dst.iter_mut().flat_map(|to| &mut to.index).for_each(&mut moved);
    nest.path.compute.finish.iter_mut().filter(|_| wanted.place.has_result).for_each(&mut moved);
    let deep = |a: &Attached, nest: &StageNest<'_>| wanted.place.serves(a, nest.place_of(a));
    let mut attached = std::mem::take(&mut nest.placed.attached);
    for a in &mut attached {
        if deep(a, nest) {
            let mut moved = |value: &mut ExprId| *value = nest.program.exprs.replace(*value, &mut |_, id| new.get(&id).copied());
            footprint::values_mut(&nest.program.exprs, &mut a.before, &mut moved);
            footprint::values_mut(&nest.program.exprs, &mut a.after, &mut moved);
        }
    }
    nest.placed.attached = attached;
}

/// True if the last axis of the copy is not the axis along which the source is contiguous.
fn is_reordered(nest: &StageNest<'_>, footprint: &footprint::Footprint) -> bool {
    let (Some(last), Some(index)) = (footprint.axes.last(), footprint.index.last()) else { return false };
    nest.program.exprs.linear(*index).axes.get(last) != Some(&1)
}

/// Attaches the copy's stage at its place.
pub(in crate::schedule) fn attach(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, copy: Copy, beside: (Block, Block)) -> Applied {
    let Wanted { promote, place, span, .. } = wanted;
    let Copy { buffer, stage, filled, reordered } = copy;
    let (before, after) = beside;
    let together = promote.is_together();
    let attached = Attached { buffer: Some(buffer), outer: place.outer.clone(), together, before, after, span: *span };
    match place.around {
        true => nest.placed.attached.insert(0, attached),
        false => nest.placed.attached.push(attached),
    }
    let vector = match &promote.vector {
        Some(expr) => Some((nest.positive(expr, "`vector`")?, expr.span)),
        None => None,
    };
    let computed = promote.computed;
    nest.copies.push(Copied { stage, buffer, filled, reordered, computed, vector, span: *span });
    Ok(())
}

/// Returns the read of an expression, or `None` if it is another kind of expression.
pub(super) fn as_read(exprs: &crate::expr::Exprs, id: ExprId) -> Option<&crate::expr::Read> {
    match exprs.get(id) {
        Expr::Read(read) => Some(read),
        _ => None,
    }
}

/// Prints a `promote` directive for errors.
fn call(name: &Name, rest: &str) -> String {
    format!("promote({name} => {rest}, …)")
}
