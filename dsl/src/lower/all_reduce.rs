//! Reductions across invocations: all-reduces between an update, of which each invocation does a part, and the finish.
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
//! The loops bound to invocations move inside the accumulator's life: a result is not theirs. Every invocation then has the
//! result, and if it goes to memory, one writes it: the loop over an axis of one value holds the others back.

use super::accumulate::{is_of, wrap};
use crate::diag::SpanId;
use crate::expr::{Expr, ExprId};
use crate::nest::path::{Frame, Path};
use crate::nest::walk;
use crate::nest::{
    Access, AllReduce, Axis, AxisDef, AxisId, AxisKind, Block, Body, Buffer, BufferId, Exec, Fate, How, Level, Node, NodeKind,
    Pred, Program, Scope, Space, StageId, Tail,
};

/// Moves the loops over a reduction's axes that are bound to invocations from around a reduction inside, where its own loops begin
/// at `place`, and gives what is inside then. What stands beside such a loop stays outside. What stands further in and names its axis
/// (it fills the registers of each invocation) comes along, and so does what reads those.
pub(super) fn inside(program: &Program, path: &mut Path, place: usize, over: &[AxisId]) -> Vec<Frame> {
    let mut inside = path.frames.split_off(place);
    let (mut team, mut bound, mut filled) = (Vec::new(), Vec::new(), Vec::new());
    // Siblings that come along, and those of a loop that is gone, for the next one that stays.
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
    // Nothing stays behind the last loop around: there, what is left stands beside the first one inside.
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

/// Puts the siblings of an inner frame between those of the outer ones.
fn nest_in((before, after): &mut (Block, Block), (inner, mut behind): (Block, Block)) {
    before.extend(inner);
    behind.append(after);
    *after = behind;
}

/// Takes predicates off what leaves the loops over these axes, which held inactive invocations back: it is the same for all.
fn release(block: &mut Block, axes: &[AxisId]) {
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.preds.retain(|pred| !axes.contains(&pred.axis));
        }
    });
}

/// Whether a node, or one inside it, names what is made of one of these axes, in an index, a value or an extent, or reads one of these
/// buffers.
fn depends_on(program: &Program, node: &Node, axes: &[AxisId], filled: &[BufferId]) -> bool {
    walk::nodes(std::slice::from_ref(node)).any(|node| names(program, node, axes, filled))
}

fn names(program: &Program, node: &Node, axes: &[AxisId], filled: &[BufferId]) -> bool {
    if let NodeKind::AllReduce(c) = &node.kind
        && c.src.iter().any(|place| filled.contains(&place.buffer))
    {
        return true;
    }
    let named: Vec<ExprId> = match &node.kind {
        NodeKind::Loop(l) => vec![l.end.unwrap_or(program.axes[l.axis].extent)],
        NodeKind::Compute(c) => c.values().chain(c.dst.iter().flat_map(|place| place.index.iter().copied())).collect(),
        NodeKind::Copy(c) => c.version.into_iter().chain([c.value]).collect(),
        NodeKind::AllReduce(c) => c.src.iter().chain(&c.dst).flat_map(|place| &place.index).copied().collect(),
        NodeKind::Alloc { .. } | NodeKind::Branch { .. } | NodeKind::Barrier { .. } => Vec::new(),
    };
    let is_one = |e: &Expr| match e {
        Expr::Axis(axis) => axes.iter().any(|of| program.passes(*axis, *of)),
        Expr::Read(read) => filled.contains(&read.buffer),
        _ => false,
    };
    named.iter().any(|e| program.exprs.any(*e, &mut |e| is_one(e)))
}

/// A reduction whose parts are to become one.
pub(super) struct Distributed<'a> {
    pub(super) program: &'a mut Program,
    pub(super) stage: StageId,
    /// The loops around the update.
    pub(super) around: &'a [Frame],
    /// Those within the accumulator's life over axes that it has elements for.
    pub(super) held: &'a [Frame],
    /// Where the result goes.
    pub(super) dst: &'a [Access],
    pub(super) span: SpanId,
}

/// What the parts became.
pub(super) struct Parts {
    /// The registers that hold it, if they are not the accumulator.
    pub(super) registers: Vec<BufferId>,
    /// The places of the state.
    pub(super) places: Vec<Access>,
    /// The loops that hold all but one invocation back.
    pub(super) once: Vec<Frame>,
    /// Whether the result is where it belongs: atomics have no finish.
    pub(super) stored: bool,
}

impl Distributed<'_> {
    /// Adds the all-reduces that the reduction needs. `preds` are those of the finish, and get those of the loops of one value.
    pub(super) fn add(&mut self, places: Vec<Access>, preds: &mut Vec<Pred>, body: &mut Block) -> Parts {
        let mut parts = Parts { registers: Vec::new(), places, once: Vec::new(), stored: false };
        let (atomic, team): (Vec<Frame>, Vec<Frame>) =
            self.distributed().into_iter().partition(|f| self.how(f) == Some(How::Atomic));
        if let Some(how) = team.first().and_then(|f| self.how(f)) {
            self.within_workgroup(how, &team, &mut parts, body);
            if self.dst.iter().any(|place| self.is_memory(place.buffer)) {
                parts.once = self.once(&team, preds);
            }
            // What all have read of a tensor in place, one is about to write.
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

    /// The loops over distributed axes of the reduction. (Around a stage within another's nest are those of the other's.)
    fn distributed(&self) -> Vec<Frame> {
        let Body::Reduce { over, .. } = &self.program.stages[self.stage].body else { return Vec::new() };
        let alone = !self.program.hosts.contains_key(&self.stage);
        let own = |f: &Frame| alone || f.as_loop().is_some_and(|(axis, _)| is_of(self.program, axis, over));
        self.around.iter().filter(|f| own(f) && self.how(f).is_some()).cloned().collect()
    }

    fn how(&self, frame: &Frame) -> Option<How> {
        let (axis, _) = frame.as_loop()?;
        self.program.strategies.get(&axis).copied()
    }

    fn is_memory(&self, buffer: BufferId) -> bool {
        let space = &self.program.buffers[buffer].space;
        space.is_global() || *space == Space::Shared
    }

    /// Within a workgroup: the state of the accumulator's invocations, in registers of each; or one value for each row of its matrices.
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

    /// A place like one of the accumulator, in a buffer without the dimensions of some axes: the columns of matrices.
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

    /// Whether the items read a buffer.
    fn reads(&self, buffer: BufferId) -> bool {
        let Body::Reduce { lift, .. } = &self.program.stages[self.stage].body else { return false };
        lift.iter().any(|item| self.program.exprs.reads(*item).iter().any(|read| read.buffer == buffer))
    }

    /// The accumulator's loops: atomics are on one element each.
    fn written_out(&self) -> Vec<Frame> {
        let one = |frame: &Frame| match frame.as_loop() {
            Some((axis, Exec::Lanes)) => Frame::looped(axis, Exec::Unroll, frame.span),
            _ => frame.clone(),
        };
        self.held.iter().map(one).collect()
    }

    /// Registers like the accumulator's.
    fn like(&mut self, acc: BufferId) -> BufferId {
        let Buffer { name, dtype, shape, space, span, .. } = self.program.buffers[acc].clone();
        let name = match name.rsplit_once("_acc") {
            Some((stage, component)) => format!("{stage}_all{component}"),
            None => name,
        };
        self.program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span })
    }

    /// Loops that hold all invocations of a team back but one.
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
