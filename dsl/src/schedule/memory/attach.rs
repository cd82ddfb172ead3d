//! Stages within the nest of another stage: copies, and stages that are placed at one of its loops.
//!
//! While directives rewrite a stage, its path holds only its own loops. The nests of other stages beside the path, in the scopes of
//! their buffers, are *attached*: each [`Attached`] records the loops that must enclose it, and [`Placed::assembled`] puts it back.
//! So directives that split, move or bind loops do not handle attached nests:
//!
//! - an attached nest is placed just inside the innermost loop that is, or was made from, one of its recorded loops;
//! - axes bound to subgroups, lanes and threads are not loops. A computation that the workgroup does cooperatively is placed
//!   outside them: they are moved inward, past the innermost such place. A computation that each invocation does for itself is
//!   placed inside them, as far as its place allows ([`super::copies`] handles the other cases).
//!
//! ```text
//! workgroup x: i_workgroup            the host's loops
//!   for k_o                           … around the place `k_o`
//!     shared a_s                      attached there, cooperative: its scope,
//!       for …: write a_s              its nest (`before`),
//!       thread x: i_thread            the host's thread axes, moved inward,
//!         for k                       and the rest of the host's loops
//!           register a_r              attached at `k`, private
//! ```

use super::compute_at::readers;
use crate::diag::SpanId;
use crate::nest::path::{Frame, Head, Path};
use crate::nest::{AxisDef, AxisId, Block, BufferId, Exec, Node, NodeKind, Phase, Program, Space, StageId};
use crate::schedule::StageNest;
use crate::schedule::invocations::is_invocation;
use std::collections::HashSet;

/// Nests that are attached to a nest at one place.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The buffer whose scope begins there.
    pub buffer: Option<BufferId>,
    /// The host's loops around it, except those bound to invocations.
    pub outer: Vec<AxisId>,
    /// True if the invocations of a workgroup compute it cooperatively.
    pub together: bool,
    /// The nodes that run before the rest of the host's nest.
    pub before: Block,
    /// The nodes that run after the rest of the host's nest.
    pub after: Block,
    /// The directive that made it.
    pub span: SpanId,
}

/// The nodes around a stage's own loops, beside them, and within them.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    /// The nodes of the host's nest around the own loops, if the stage is computed within another nest.
    pub around: Vec<Frame>,
    /// The host's invocation loops, if each of these invocations computes the stage for itself, and the loops are placed further
    /// in.
    pub owners: Vec<Frame>,
    /// The nodes before and after the stage in its block.
    pub beside: (Block, Block),
    /// The stages that are attached within its own loops.
    pub attached: Vec<Attached>,
}

/// The order in which a nest's loops are assembled.
struct Order<'f> {
    /// The loops that are not over invocations, outermost first.
    plain: Vec<&'f Frame>,
    /// The loops over invocations, each with the number of plain loops around it.
    threads: Vec<(usize, &'f Frame)>,
    /// The place of each attachment: the number of plain loops around it.
    places: Vec<usize>,
}

impl Placed {
    /// Removes from a stage's path every node that is not its own, and returns these nodes.
    pub(in crate::schedule) fn open(program: &Program, stage: StageId, roots: &[AxisId], path: &mut Path) -> Placed {
        let mut placed = Placed::default();
        if program.notes.hosts.contains_key(&stage) {
            let own = |f: &Frame| f.as_loop().is_some_and(|(a, _)| program.roots(a).iter().all(|r| roots.contains(r)));
            let first = path.frames.iter().position(own).unwrap_or(path.frames.len());
            let own = path.frames.split_off(first);
            placed.around = std::mem::replace(&mut path.frames, own);
            let (before, after) = match path.frames.first_mut() {
                Some(frame) => (&mut frame.before, &mut frame.after),
                None => (&mut path.before, &mut path.after),
            };
            placed.beside = (std::mem::take(before), std::mem::take(after));
            placed.owners = owners(program, stage, &placed.around);
        }
        placed.attached = detach(program, path);
        placed
    }

    /// Assembles the nest: the own loops, with the attachments in their places, within the nodes around them.
    pub(in crate::schedule) fn assembled(&self, program: &Program, path: &Path) -> Block {
        let Order { plain, threads, places } = self.order(program, path);
        let mut body = vec![Node::new(NodeKind::Compute(path.compute.clone()), path.span)];
        for at in (0..=plain.len()).rev() {
            let here = |together: bool| {
                let found = self.attached.iter().zip(&places);
                let found = found.filter(|(a, place)| **place == at && a.together == together).map(|(a, _)| a);
                in_reach(program, found).into_iter().rev()
            };
            body = here(false).fold(body, |body, a| a.around(body));
            let bound = threads.iter().rev().filter(|(place, _)| *place == at);
            body = bound.fold(body, |body, (_, frame)| (*frame).clone().close(body));
            body = here(true).fold(body, |body, a| a.around(body));
            if at > 0 {
                body = plain[at - 1].clone().close(body);
            }
        }
        let block = self.beside.0.iter().cloned().chain(body).chain(self.beside.1.iter().cloned()).collect();
        self.around.iter().rev().cloned().fold(block, |body, frame| frame.close(body))
    }

    /// Returns all of the host's loops that enclose the stage in the assembled nest.
    pub fn outside(&self) -> impl Iterator<Item = &Frame> {
        self.around.iter().chain(&self.owners)
    }

    fn order<'f>(&self, program: &Program, path: &'f Path) -> Order<'f> {
        let plain = plain(path);
        let places: Vec<usize> = self.attached.iter().map(|a| place_among(program, a, &plain)).collect();
        let together = self.attached.iter().zip(&places).filter(|(a, _)| a.together);
        let deepest = together.map(|(_, place)| *place).max().unwrap_or(0);
        let mut around = 0;
        let mut threads = Vec::new();
        for frame in &path.frames {
            match is_invocation(frame) {
                true => threads.push((around.max(deepest), frame)),
                false => around += 1,
            }
        }
        Order { plain, threads, places }
    }
}

/// Returns the invocation loops that are not yet around a stage whose elements are in each invocation's own registers. In the
/// assembled nest, they enclose the stage ([`super::copies`]).
fn owners(program: &Program, mut stage: StageId, around: &[Frame]) -> Vec<Frame> {
    let mut owners: Vec<Frame> = Vec::new();
    while let Some(host) =
        program.notes.hosts.get(&stage).copied().filter(|_| program.is_filled_by_each(program.stages[stage].buffer))
    {
        let path = program.plan.iter().find_map(|dispatch| Path::open(&dispatch.body, host, Phase::Whole));
        for frame in path.into_iter().flat_map(|path| path.frames).filter(is_invocation) {
            if !around.iter().chain(&owners).any(|other| other.as_loop() == frame.as_loop()) {
                owners.push(frame);
            }
        }
        stage = host;
    }
    owners
}

/// Orders the attachments of one place, outermost first. Each is nested in the scopes of the buffers that it reads; otherwise they
/// keep the order in which they were attached. Several attachments can share a place because loops were moved.
fn in_reach<'a>(program: &Program, found: impl Iterator<Item = &'a Attached>) -> Vec<&'a Attached> {
    let mut left: Vec<&Attached> = found.collect();
    let mut ordered = Vec::new();
    let reads = |attached: &Attached, other: &Attached| {
        let Some(buffer) = other.buffer else { return false };
        [&attached.before, &attached.after].into_iter().any(|block| !readers(program, block, &[buffer]).is_empty())
    };
    while !left.is_empty() {
        let is_first = |a: &&Attached| left.iter().all(|other| std::ptr::eq(*a, *other) || !reads(a, other));
        let at = left.iter().position(is_first).unwrap_or(0);
        ordered.push(left.remove(at));
    }
    ordered
}

/// Returns the loops that are not over invocations.
fn plain(path: &Path) -> Vec<&Frame> {
    path.frames.iter().filter(|f| !is_invocation(f)).collect()
}

/// Returns the number of plain loops around an attachment. Loops that are bound to workgroups later are among them, because
/// workgroup loops are always outermost.
fn place_among(program: &Program, attached: &Attached, plain: &[&Frame]) -> usize {
    // The own axes of a write-back stage count as made from the recorded loops.
    let made = |axis: AxisId| program.comes_from(axis, &attached.outer) || attached.outer.iter().any(|o| program.passes(*o, axis));
    let needs = |f: &&Frame| f.as_loop().is_some_and(|(axis, _)| made(axis));
    let workgroups = plain.iter().take_while(|f| f.level().is_some()).count();
    plain.iter().rposition(needs).map_or(0, |at| at + 1).max(workgroups)
}

/// Removes the nodes beside the loops from the path, and returns them as attachments.
fn detach(program: &Program, path: &mut Path) -> Vec<Attached> {
    let mut attached: Vec<Attached> = Vec::new();
    let mut outer = Vec::new();
    let mut open: Option<Attached> = None;
    let mut loops = Vec::new();
    for mut frame in std::mem::take(&mut path.frames) {
        let beside = (std::mem::take(&mut frame.before), std::mem::take(&mut frame.after));
        fill(&mut open, beside, &outer, frame.span);
        attached.extend(open.take());
        match frame.head {
            Head::Alloc { buffer } => {
                let together = program.is_together(buffer);
                let (outer, before, after) = (outer.clone(), Vec::new(), Vec::new());
                open = Some(Attached { buffer: Some(buffer), outer, together, before, after, span: frame.span });
            }
            Head::Loop { axis, .. } => {
                if !is_invocation(&frame) {
                    outer.push(axis);
                }
                loops.push(frame);
            }
        }
    }
    let beside = (std::mem::take(&mut path.before), std::mem::take(&mut path.after));
    fill(&mut open, beside, &outer, path.span);
    attached.extend(open);
    path.frames = loops;
    attached
}

impl StageNest<'_> {
    /// Returns the place of an attachment: the number of the own loops around it that are not over invocations.
    pub(super) fn place_of(&self, attached: &Attached) -> usize {
        place_among(self.program, attached, &plain(&self.path))
    }

    /// Returns the attachment that begins the scope of a buffer.
    pub(super) fn attached_buffer(&self, buffer: BufferId) -> Option<&Attached> {
        self.placed.attached.iter().find(|a| a.buffer == Some(buffer))
    }

    /// True if the stage is computed within the nest of another stage.
    pub fn is_hosted(&self) -> bool {
        self.program.notes.hosts.contains_key(&self.stage)
    }

    /// Returns every axis that a loop binds, in this nest or around it.
    pub fn bound_axes(&self) -> HashSet<AxisId> {
        let around = self.placed.outside().filter_map(|f| f.as_loop().map(|(axis, _)| axis));
        self.path.axes().chain(around).collect()
    }

    /// Returns an own loop in lanes, in a dot product or over matrices around the attachment. Such loops are innermost, so nothing can be
    /// attached within them.
    pub(super) fn taken_together(&self, attached: &Attached) -> Option<&Frame> {
        let plain = plain(&self.path);
        let place = place_among(self.program, attached, &plain);
        plain[..place].iter().find(|f| matches!(f.as_loop(), Some((_, Exec::Lanes | Exec::Dot | Exec::Matrix(_))))).copied()
    }
}

impl Attached {
    /// Wraps the rest of the nest in this attachment.
    fn around(&self, rest: Block) -> Block {
        let mut body = self.before.clone();
        body.extend(rest);
        body.extend(self.after.iter().cloned());
        match self.buffer {
            Some(buffer) => vec![Node::new(NodeKind::Alloc { buffer, body }, self.span)],
            None => body,
        }
    }
}

/// Adds the siblings of a frame to the attachment whose scope has just begun, or to a new attachment.
fn fill(open: &mut Option<Attached>, (before, after): (Block, Block), outer: &[AxisId], span: SpanId) {
    if before.is_empty() && after.is_empty() {
        return;
    }
    let new = || Attached { buffer: None, outer: outer.to_vec(), together: true, before: Vec::new(), after: Vec::new(), span };
    let into = open.get_or_insert_with(new);
    into.before = before;
    into.after = after;
}

impl Program {
    /// True if the invocations of a workgroup fill a buffer cooperatively: in shared memory, in registers that are distributed
    /// across them, or by a cooperative reduction whose result each of them has in registers.
    pub fn is_together(&self, buffer: BufferId) -> bool {
        let makes = |stage: &StageId| self.stages[*stage].buffers().contains(&buffer);
        let whole = self.buffers[buffer].space == Space::Shared || self.notes.dealt.contains(&buffer);
        whole || self.notes.hosts.keys().filter(|s| makes(s)).any(|s| self.is_reduced_together(*s))
    }

    fn is_reduced_together(&self, stage: StageId) -> bool {
        let is_distributed = || self.notes.strategies.keys().any(|axis| self.comes_from(*axis, &self.root_axes(stage)));
        is_distributed() || self.notes.hosts.iter().any(|(guest, host)| *host == stage && self.is_reduced_together(*guest))
    }

    /// True if each invocation has its own elements of a buffer in registers, and fills them for itself.
    pub fn is_filled_by_each(&self, buffer: BufferId) -> bool {
        self.buffers[buffer].space == Space::Register && !self.is_together(buffer)
    }

    /// True if an axis is in `of`, or is made from an axis in it.
    pub fn comes_from(&self, axis: AxisId, of: &[AxisId]) -> bool {
        of.contains(&axis)
            || match &self.axes[axis].def {
                AxisDef::Root(_) | AxisDef::Made => false,
                AxisDef::Part { of: whole, .. } => self.comes_from(*whole, of),
                AxisDef::Fused(digits) => digits.iter().any(|digit| self.comes_from(*digit, of)),
            }
    }
}
