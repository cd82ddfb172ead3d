//! Reductions across invocations: inserts all-reduces between the update, in which each invocation computes a partial result, and the
//! finish.
//!
//! ```text
//! init acc                                        init acc
//! thread x: k in 0..64                            thread x: k in 0..64
//!   for k_o … { update acc }                        for k_o … { update acc }
//! all-reduce all = acc over k, by tree            all-reduce all = acc over k, by tree
//! thread x: k_once in 0..1                        thread x: k_once in 0..1
//!   finish y = all  where k_once < 1                all-reduce y = all over k_workgroup, by atomic  where k_once < 1
//! ```
//!
//! The loops bound to invocations move inside the accumulator's scope, because the result does not depend on them. After the all-reduce,
//! every invocation has the result. If the result is stored to memory, only one invocation writes it: a loop over an axis of one value
//! excludes the others.

use super::accumulate::{is_of, wrap};
use crate::diag::SpanId;
use crate::expr::ExprId;
use crate::nest::path::{Frame, Path};
use crate::nest::walk;
use crate::nest::{
    Access, Accessed, AllReduce, Axis, AxisDef, AxisId, AxisKind, Block, Body, Buffer, BufferId, Exec, Fate, How, Level, Node,
    NodeKind, Pred, Program, Scope, Space, StageId, Tail,
};

/// Moves the loops over a reduction's axes that are bound to invocations inside the reduction, where its own loops begin at `place`.
/// Returns the frames that are inside afterwards. The siblings of such a loop stay outside. However, siblings further in that depend on its
/// axis (they fill the registers of each invocation) move along, as do the readers of those registers.
pub(super) fn inside(program: &Program, path: &mut Path, place: usize, over: &[AxisId]) -> Vec<Frame> {
    let mut inside = path.frames.split_off(place);
    let (mut team, mut bound, mut filled) = (Vec::new(), Vec::new(), Vec::new());
    // The siblings that move along, and the siblings of a removed loop, which go to the next loop that stays.
    let (mut along, mut left) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for mut frame in std::mem::take(&mut path.frames) {
        let mut beside = (std::mem::take(&mut frame.before), std::mem::take(&mut frame.after));
        let comes = [&beside.0, &beside.1].into_iter().flatten().any(|node| depends_on(program, node, &bound, &filled));
        for block in [&mut beside.0, &mut beside.1] {
            if comes { filled.extend(walk::nodes(block).flat_map(Node::writes)) } else { release(block, &bound) }
        }
        nest_in(if comes { &mut along } else { &mut left }, beside);
        let of_team = |axis: &AxisId| is_of(program, *axis, over) && frame.level().is_some_and(|(l, _)| l != Level::Workgroup);
        match frame.as_loop().map(|(axis, _)| axis).filter(of_team) {
            Some(axis) => {
                bound.push(axis);
                team.push(frame);
            }
            None => {
                (frame.before, frame.after) = std::mem::take(&mut left);
                path.frames.push(frame);
            }
        }
    }
    let (before, after) = match inside.first_mut() {
        Some(first) => (&mut first.before, &mut first.after),
        None => (&mut path.before, &mut path.after),
    };
    nest_in(&mut along, (std::mem::take(before), std::mem::take(after)));
    // The last frames have no loop around that keeps their siblings. These siblings go to the first frame inside.
    if team.is_empty() {
        nest_in(&mut left, std::mem::take(&mut along));
        (*before, *after) = left;
        return inside;
    }
    (*before, *after) = along;
    (team[0].before, team[0].after) = left;
    team.extend(inside);
    team
}

/// Nests an inner frame's siblings between the outer frames' siblings.
fn nest_in((before, after): &mut (Block, Block), (inner, mut behind): (Block, Block)) {
    before.extend(inner);
    behind.append(after);
    *after = behind;
}

/// Removes the predicates on these axes from a block that leaves their loops. The predicates excluded inactive invocations, and the block
/// is now the same for all invocations.
fn release(block: &mut Block, axes: &[AxisId]) {
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.preds.retain(|pred| !axes.contains(&pred.axis));
        }
    });
}

/// True if a node, or a node inside it, depends on one of these axes in an index, a value or an extent, or reads one of these buffers.
fn depends_on(program: &Program, node: &Node, axes: &[AxisId], filled: &[BufferId]) -> bool {
    walk::nodes(std::slice::from_ref(node)).any(|node| names(program, node, axes, filled))
}

fn names(program: &Program, node: &Node, axes: &[AxisId], filled: &[BufferId]) -> bool {
    let made = |axis: AxisId| axes.iter().any(|of| program.passes(axis, *of));
    let end = match &node.kind {
        NodeKind::Loop(looped) if looped.end.is_none() => Some(program.axes[looped.axis].extent),
        _ => None,
    };
    let named = node.exprs().into_iter().map(|(e, _)| e).chain(end);
    let is_read = |access: &Accessed| access.takes_result() && filled.contains(&access.place.buffer);
    named.into_iter().any(|e| program.exprs.uses_axis(e, &mut |axis| made(axis)))
        || node.accesses(&program.exprs).iter().any(is_read)
}

/// A distributed reduction, whose partial results will be combined.
pub(super) struct Distributed<'a> {
    pub(super) program: &'a mut Program,
    pub(super) stage: StageId,
    /// The loops around the update.
    pub(super) around: &'a [Frame],
    /// The loops inside the accumulator's scope over axes that index the accumulator.
    pub(super) held: &'a [Frame],
    /// The destination of the result.
    pub(super) dst: &'a [Access],
    pub(super) span: SpanId,
}

/// The result of combining the partial results.
pub(super) struct Parts {
    /// The registers that hold the result, if they are not the accumulator.
    pub(super) registers: Vec<BufferId>,
    /// The elements that hold the state.
    pub(super) places: Vec<Access>,
    /// The loops that exclude all but one invocation.
    pub(super) once: Vec<Frame>,
    /// True if the result is already stored: atomics need no finish.
    pub(super) stored: bool,
}

impl Distributed<'_> {
    /// Adds the all-reduces of the reduction. `preds` are the predicates of the finish. The predicates of the loops of one value are added
    /// to them.
    pub(super) fn add(&mut self, places: Vec<Access>, preds: &mut Vec<Pred>, body: &mut Block) -> Parts {
        let mut parts = Parts { registers: Vec::new(), places, once: Vec::new(), stored: false };
        let (atomic, team): (Vec<Frame>, Vec<Frame>) =
            self.distributed().into_iter().partition(|f| self.how(f) == Some(How::Atomic));
        if let Some(how) = team.first().and_then(|f| self.how(f)) {
            self.within_workgroup(how, &team, &mut parts, body);
            if self.dst.iter().any(|place| self.is_memory(place.buffer)) {
                parts.once = self.once(&team, preds);
            }
            // One invocation is about to write a tensor in place that all invocations have read.
            if self.dst.iter().any(|place| self.reads(place.buffer)) {
                body.push(Node::barrier(Scope::Workgroup, self.span));
            }
        }
        if !atomic.is_empty() {
            let reduction = self.node(How::Atomic, Scope::Device, &atomic, (&parts.places, self.dst));
            let reduction = AllReduce { preds: preds.clone(), ..reduction };
            let node = wrap(&self.written_out(), self.span, NodeKind::AllReduce(reduction));
            body.extend(super::accumulate::close(std::mem::take(&mut parts.once), node));
            parts.stored = true;
        }
        parts
    }

    /// Returns the loops over distributed axes of the reduction. (A stage nested in another one's nest is also inside the other stage's
    /// distributed loops.)
    fn distributed(&self) -> Vec<Frame> {
        let Body::Reduce { over, .. } = &self.program.stages[self.stage].body else { return Vec::new() };
        let alone = !self.program.notes.hosts.contains_key(&self.stage);
        let own = |f: &Frame| alone || f.as_loop().is_some_and(|(axis, _)| is_of(self.program, axis, over));
        self.around.iter().filter(|f| own(f) && self.how(f).is_some()).cloned().collect()
    }

    fn how(&self, frame: &Frame) -> Option<How> {
        let (axis, _) = frame.as_loop()?;
        self.program.notes.strategies.get(&axis).copied()
    }

    fn is_memory(&self, buffer: BufferId) -> bool {
        let space = &self.program.buffers[buffer].space;
        space.is_global() || *space == Space::Shared
    }

    /// Combines the partial results within a workgroup. Each invocation gets the state in its registers, or, for matrices, one value for
    /// each row.
    fn within_workgroup(&mut self, how: How, team: &[Frame], parts: &mut Parts, body: &mut Block) {
        let over: Vec<ExprId> = team.iter().filter_map(|f| f.as_loop().map(|(axis, _)| self.program.exprs.axis(axis))).collect();
        let all: Vec<Access> = parts.places.iter().map(|place| self.without(place, &over)).collect();
        let of_subgroup =
            |f: &Frame| matches!(f.level(), Some((Level::Lane, _))) || matches!(f.as_loop(), Some((_, Exec::Matrix(_))));
        let scope = if team.iter().all(of_subgroup) { Scope::Subgroup } else { Scope::Workgroup };
        let reduction = self.node(how, scope, team, (&parts.places, &all));
        body.extend(wrap(self.held, self.span, NodeKind::AllReduce(reduction)));
        (parts.registers, parts.places) = (all.iter().map(|place| place.buffer).collect(), all);
    }

    /// Returns an access like one of the accumulator, in a new buffer without the dimensions of some axes (the columns of matrices).
    fn without(&mut self, place: &Access, over: &[ExprId]) -> Access {
        let buffer = self.like(place.buffer);
        let stays: Vec<bool> = place.index.iter().map(|index| !over.contains(index)).collect();
        let of = &mut self.program.buffers[buffer];
        if let (Space::Fragment { spread, .. }, true) = (&mut of.space, stays.contains(&false)) {
            *spread = true;
        }
        let mut kept = stays.iter();
        of.shape.retain(|_| kept.next() == Some(&true));
        let index = place.index.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(index, _)| *index).collect();
        Access { buffer, index }
    }

    fn node(&self, how: How, scope: Scope, over: &[Frame], (src, dst): (&[Access], &[Access])) -> AllReduce {
        let over = over.iter().filter_map(|f| f.as_loop().map(|(axis, _)| axis)).collect();
        AllReduce { stage: self.stage, scope, how, src: src.to_vec(), dst: dst.to_vec(), over, preds: Vec::new(), scratch: None }
    }

    /// True if the items read a buffer.
    fn reads(&self, buffer: BufferId) -> bool {
        let Body::Reduce { lift, .. } = &self.program.stages[self.stage].body else { return false };
        lift.iter().any(|item| self.program.exprs.reads(*item).iter().any(|read| read.buffer == buffer))
    }

    /// Returns the accumulator's loops with lanes unrolled, because an atomic updates one element.
    fn written_out(&self) -> Vec<Frame> {
        let one = |frame: &Frame| match frame.as_loop() {
            Some((axis, Exec::Lanes)) => Frame::looped(axis, Exec::Unroll, frame.span),
            _ => frame.clone(),
        };
        self.held.iter().map(one).collect()
    }

    /// Creates registers like the accumulator's.
    fn like(&mut self, acc: BufferId) -> BufferId {
        let Buffer { name, dtype, shape, space, span, .. } = self.program.buffers[acc].clone();
        let name = match name.rsplit_once("_acc") {
            Some((stage, component)) => format!("{stage}_all{component}"),
            None => name,
        };
        self.program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span })
    }

    /// Returns loops that exclude all invocations of a team but one.
    fn once(&mut self, team: &[Frame], preds: &mut Vec<Pred>) -> Vec<Frame> {
        let bound: Vec<(AxisId, Exec, SpanId)> = team.iter().filter_map(|f| f.as_loop().map(|(a, e)| (a, e, f.span))).collect();
        let mut frames = Vec::new();
        for (axis, exec, span) in bound {
            let (name, extent): (String, ExprId) = (format!("{}_once", self.program.axes[axis].name), self.program.exprs.int(1));
            let axis = Axis { name, extent, kind: AxisKind::Parallel, def: AxisDef::Made, fate: Fate::Live, span };
            let axis = self.program.axes.push(axis);
            preds.push(Pred { axis, tail: Tail::Guard });
            frames.push(Frame::looped(axis, exec, span));
        }
        frames
    }
}
