//! Stages within a stage's nest: copies, and stages that are placed at one of its loops.
//!
//! While directives rewrite a stage, its way holds its own loops alone. What stands beside the way (the nests of other
//! stages, in the lives of their buffers) is *attached*: each of it knows the loops that it needs around it, and is put back
//! into its place by [`Placed::assembled`]. So directives that split, move or bind loops need not know of it:
//!
//! - its place is just inside the innermost loop that is, or was made of, one of those that stood around it;
//! - axes bound to subgroups, lanes and threads are no loops. What the invocations of a workgroup do together stands outside
//!   them: they are moved in, to just behind the innermost such place. What each invocation does for itself stands inside
//!   them, as far as its place allows ([`super::copies`] sees to the rest).
//!
//! ```text
//! workgroup x: i_workgroup            the host's loops
//!   for k_o                           … around the place `k_o`
//!     shared a_s                      attached there, together: its life,
//!       for …: write a_s              its nest (`before`),
//!       thread x: i_thread            the host's thread axes, moved in,
//!         for k                       and the rest of the host's loops
//!           register a_r              attached at `k`, private
//! ```

use super::StageNest;
use super::compute_at::readers;
use crate::diag::SpanId;
use crate::nest::path::{Frame, Head, Path};
use crate::nest::{AxisDef, AxisId, Block, BufferId, Exec, Level, Node, NodeKind, Phase, Program, Space, StageId};
use std::collections::HashSet;

/// What is attached to a nest at one place.
#[derive(Clone, Debug)]
pub struct Attached {
    /// The buffer whose life begins there.
    pub buffer: Option<BufferId>,
    /// The host's loops around it, but those bound to invocations.
    pub outer: Vec<AxisId>,
    /// Whether the invocations of a workgroup do it together.
    pub together: bool,
    /// What runs before the rest of the host's nest.
    pub before: Block,
    /// What runs after it.
    pub after: Block,
    /// The directive that made it.
    pub span: SpanId,
}

/// Whether a loop counts invocations, or groups of them within a workgroup.
pub fn is_invocation(frame: &Frame) -> bool {
    matches!(frame.level(), Some((level, _)) if level != Level::Workgroup)
}

/// What stands around a stage's own loops, beside them, and within them.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    /// The nodes of the host's nest around them, if it is computed within one.
    pub around: Vec<Frame>,
    /// The host's loops over invocations each of which computes it for itself, where those stand further in.
    pub owners: Vec<Frame>,
    /// What stands before and after it in its block there.
    pub beside: (Block, Block),
    /// The stages that are computed within its own loops.
    pub attached: Vec<Attached>,
}

/// Where a nest's loops stand when it is put together.
struct Order<'f> {
    /// The loops that count no invocations, outermost first.
    plain: Vec<&'f Frame>,
    /// The others, each with how many plain ones are around it.
    threads: Vec<(usize, &'f Frame)>,
    /// The place of each attachment: how many plain loops are around it.
    places: Vec<usize>,
}

impl Placed {
    /// Takes what is not a stage's own out of its way.
    pub(super) fn open(program: &Program, stage: StageId, roots: &[AxisId], path: &mut Path) -> Placed {
        let mut placed = Placed::default();
        if program.hosts.contains_key(&stage) {
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

    /// The own loops and what is attached to them in their places, and what stands around.
    pub(super) fn assembled(&self, program: &Program, path: &Path) -> Block {
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

    /// All of the host's loops around it, when the nest is whole.
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

/// The loops over invocations that have a stage's elements in registers of their own, but those that are around it: with the
/// nest whole, they are put around it ([`super::copies`]).
fn owners(program: &Program, mut stage: StageId, around: &[Frame]) -> Vec<Frame> {
    let mut owners: Vec<Frame> = Vec::new();
    while let Some(host) = program.hosts.get(&stage).copied().filter(|_| program.is_filled_by_each(program.stages[stage].buffer)) {
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

/// What is attached at one place, outermost first. Each stands within the lives of the buffers that it reads; else the order is that in
/// which it was attached. (Moved loops can have brought several to one place.)
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

/// The loops that count no invocations.
fn plain(path: &Path) -> Vec<&Frame> {
    path.frames.iter().filter(|f| !is_invocation(f)).collect()
}

/// What is bound to workgroups later is around it too: nothing encloses these.
fn place_among(program: &Program, attached: &Attached, plain: &[&Frame]) -> usize {
    // What a result's copy has axes of its own for counts as made of these.
    let made = |axis: AxisId| program.comes_from(axis, &attached.outer) || attached.outer.iter().any(|o| program.passes(*o, axis));
    let needs = |f: &&Frame| f.as_loop().is_some_and(|(axis, _)| made(axis));
    let workgroups = plain.iter().take_while(|f| f.level().is_some()).count();
    plain.iter().rposition(needs).map_or(0, |at| at + 1).max(workgroups)
}

/// Takes what stands beside the loops out of the way.
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
    /// The place of an attachment: how many of the own loops that count no invocations are around it.
    pub(super) fn place_of(&self, attached: &Attached) -> usize {
        place_among(self.program, attached, &plain(&self.path))
    }

    /// The life of a buffer among what is attached.
    pub(super) fn attached_buffer(&self, buffer: BufferId) -> Option<&Attached> {
        self.placed.attached.iter().find(|a| a.buffer == Some(buffer))
    }

    /// Whether the stage is computed within another one's nest.
    pub fn is_hosted(&self) -> bool {
        self.program.hosts.contains_key(&self.stage)
    }

    /// Every axis that a loop binds, here or around.
    pub fn bound_axes(&self) -> HashSet<AxisId> {
        let around = self.placed.outside().filter_map(|f| f.as_loop().map(|(axis, _)| axis));
        self.path.axes().chain(around).collect()
    }

    /// Own loops in lanes, or over matrices, stand inside everything: nothing can be attached within.
    pub(super) fn taken_together(&self, attached: &Attached) -> Option<&Frame> {
        let plain = plain(&self.path);
        let place = place_among(self.program, attached, &plain);
        plain[..place].iter().find(|f| matches!(f.as_loop(), Some((_, Exec::Lanes | Exec::Matrix(_))))).copied()
    }
}

impl Attached {
    /// Itself around the rest of the nest.
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

/// Adds siblings of a frame to the attachment whose life has just begun, or to one of their own.
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
    /// Whether the invocations of a workgroup make a buffer together. They do in shared memory, in registers that they have between them,
    /// and where they reduce something together, so that each has the result in registers.
    pub fn is_together(&self, buffer: BufferId) -> bool {
        let makes = |stage: &StageId| self.stages[*stage].buffers().contains(&buffer);
        let whole = self.buffers[buffer].space == Space::Shared || self.dealt.contains(&buffer);
        whole || self.hosts.keys().filter(|s| makes(s)).any(|s| self.is_reduced_together(*s))
    }

    fn is_reduced_together(&self, stage: StageId) -> bool {
        let is_distributed = || self.strategies.keys().any(|axis| self.comes_from(*axis, &self.root_axes(stage)));
        is_distributed() || self.hosts.iter().any(|(guest, host)| *host == stage && self.is_reduced_together(*guest))
    }

    /// Whether each invocation has elements of a buffer that no other sees, and fills them for itself.
    pub fn is_filled_by_each(&self, buffer: BufferId) -> bool {
        self.buffers[buffer].space == Space::Register && !self.is_together(buffer)
    }

    /// Whether an axis is one of some others, or made of one.
    pub fn comes_from(&self, axis: AxisId, of: &[AxisId]) -> bool {
        of.contains(&axis)
            || match &self.axes[axis].def {
                AxisDef::Root(_) | AxisDef::Made => false,
                AxisDef::Part { of: whole, .. } => self.comes_from(*whole, of),
                AxisDef::Fused(digits) => digits.iter().any(|digit| self.comes_from(*digit, of)),
            }
    }
}
