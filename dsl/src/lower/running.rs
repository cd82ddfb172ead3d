//! Lets online reductions over blocks carry over their state. A block's maximum starts from the largest score so far, and its sums from the
//! previous sums, rescaled to the new maximum. So the result of a block is the state itself, and the update need not scale and add it.
//! Attention then needs one set of accumulators for its output instead of two (Dao, *FlashAttention-2*, 2023, section 3.1).
//!
//! ```text
//! init (m, l, o)                                        init (m, l, o)
//!                                                       init largest = -inf
//! for j_o                                               for j_o
//!   init largest_acc = -inf                               resume largest_acc = largest
//!   for j { update largest_acc max= s }                   for j { update largest_acc max= s }
//!   finish largest = largest_acc                          finish largest = largest_acc
//!   init part_acc = 0                                     resume part_acc = o * exp(m - largest)
//!   for j { update part_acc += p * v }                    for j { update part_acc += p * v }
//!   finish part = part_acc                                finish part = part_acc
//!   update (m, l, o) online= (largest, …, part)           update (m, l, o) running= (largest, …, part)
//! ```
//!
//! This does not change the meaning, because any number that is at least a block's largest score is a valid maximum for it. A maximum may
//! be in any memory, and its buffer outlives the block. Sums carry over only in registers and fragments, where the invocation that holds a
//! block's elements also holds those elements of the state. If a sum is combined from partial results, each partial result carries over by
//! itself, in an accumulator that outlives the block. The all-reduce of the partial results then gives the sum so far.

use super::accumulate::{is_of, wrap};
use crate::expr::{Binary, Expr, ExprId};
use crate::nest::path::{Frame, Head, Path};
use crate::nest::walk;
use crate::nest::{
    Access, AxisId, Block, Body, BufferId, Compute, Exec, Level, Monoid, Node, NodeKind, Phase, Pred, Program, Running, Space,
    StageId, Tail,
};
use std::collections::HashSet;

/// Rewrites the reductions over blocks of every dispatch whose state can carry over.
pub(super) fn run(program: &mut Program) {
    for running in program.notes.running.clone() {
        let Some(target) = program.writer(running.target).filter(|target| !program.notes.placed.contains_key(target)) else {
            continue;
        };
        for at in 0..program.plan.len() {
            let body = std::mem::take(&mut program.plan[at].body);
            let new = Blocks::of(program, target, &body).and_then(|blocks| blocks.go_on(program, &running, &body));
            program.plan[at].body = new.unwrap_or(body);
        }
    }
}

/// A reduction over blocks whose items are computed by stages within its nest.
struct Blocks {
    target: StageId,
    /// The path to the update that has the last component.
    update: Path,
    /// The position in that path where the accumulators' scopes begin.
    within: usize,
    /// True if it takes every block: no predicate excludes one.
    always: bool,
}

impl Blocks {
    /// Finds the reduction of a stage, if each invocation computes all of it, block by block.
    fn of(program: &Program, target: StageId, body: &Block) -> Option<Blocks> {
        let update = Path::open(body, target, Phase::Update)?;
        let parts = walk::nodes(body).any(|node| matches!(&node.kind, NodeKind::AllReduce(all) if all.stage == target));
        let state =
            |frame: &Frame| matches!(frame.head, Head::Alloc { buffer } if update.compute.dst.iter().any(|to| to.buffer == buffer));
        let within = update.frames.iter().rposition(state)? + 1;
        let mut blocks = Blocks { target, within, update, always: true };
        // If reads are filled past an end, items cannot be states. (The items that stages compute are the identity there, or the state.)
        let is_neutral = |pred: &&Pred| pred.tail == Tail::RoundUp && program.notes.neutral.contains(&pred.axis);
        let reduced = |pred: &&Pred| blocks.reduces(program, pred.axis) && !is_neutral(pred);
        let filled = blocks.update.compute.preds.iter().filter(reduced).any(|pred| pred.tail == Tail::RoundUp);
        blocks.always = !blocks.update.compute.preds.iter().any(|pred| reduced(&pred));
        (!parts && !filled).then_some(blocks)
    }

    fn reduces(&self, program: &Program, axis: AxisId) -> bool {
        let Body::Reduce { over, .. } = &program.stages[self.target].body else { return false };
        is_of(program, axis, over)
    }

    /// Rewrites every component that can carry over, if the maximum can.
    fn go_on(&self, program: &mut Program, running: &Running, body: &Block) -> Option<Block> {
        let max = self.item(program, body, 0, Binary::Max)?;
        let Body::Reduce { monoid, .. } = program.stages[self.target].body.clone() else { return None };
        let mut monoid = Monoid { name: "running".into(), ..monoid };
        let (mut kept, mut resumed) = (vec![self.kept_maximum(program, &max)?], vec![max.resumed(max.read(program), program)]);
        for n in 0..monoid.combine.len() {
            let new = program.exprs.add(Expr::Item(n as u32), program.exprs.dtype(monoid.combine[n]));
            monoid.combine[n] = if n == 0 { new } else { program.exprs.sum(running.below[n], new) };
            let sum =
                self.item(program, body, n, Binary::Add).filter(|sum| n > 0 && sum.is_taken_alone(program, body, self.target));
            let Some(sum) = sum.filter(|sum| max.is_before(sum, body)) else { continue };
            let (start, of_parts) = match sum.has_parts(body) {
                // The items that the update excludes would still be in the partial results.
                true if !self.always => continue,
                // The sum starts from its own partial results so far.
                true => match self.kept_parts(program, &sum) {
                    Some(parts) => (self.so_far(program, running, n, &sum, Some(&parts.place)), Some(parts)),
                    None => continue,
                },
                // The first components are updated last, so they are not available when the sum starts.
                false if n < self.update.compute.given => continue,
                false => (self.so_far(program, running, n, &sum, None), None),
            };
            if let Some(start) = start {
                resumed.push(sum.resumed(start, program));
                kept.extend(of_parts);
                monoid.combine[n] = new;
            }
        }
        let mut body = resumed.iter().fold(body.clone(), |body, of| of.begin(body));
        let state = self.update.compute.dst.last()?.buffer;
        for of in kept {
            body = of.around(program, body, state);
        }
        if let Body::Reduce { monoid: own, .. } = &mut program.stages[self.target].body {
            *own = monoid;
        }
        Some(body)
    }

    /// Returns the stage that computes a component's items with one operation, within the loop over blocks.
    fn item(&self, program: &Program, body: &Block, n: usize, by: Binary) -> Option<ItemStage> {
        let Expr::Read(read) = program.exprs.get(*self.update.compute.value.get(n)?) else { return None };
        let stage = program.definition(read.buffer).filter(|stage| program.notes.hosts.get(stage) == Some(&self.target))?;
        let Body::Reduce { monoid, finish, .. } = &program.stages[stage].body else { return None };
        if monoid.operation(&program.exprs)?.0 != by || !matches!(program.exprs.get(*finish), Expr::State(0)) {
            return None;
        }
        let (init, finish) = (Path::open(body, stage, Phase::Init)?, Path::open(body, stage, Phase::Finish)?);
        let is_life = |frame: &Frame| frame.head == Head::Alloc { buffer: read.buffer };
        let place = finish.frames.iter().position(is_life)?;
        // The item is computed for one block at a time, and for each block once.
        let reduces = |frame: &Frame| frame.as_loop().is_some_and(|(axis, _)| self.reduces(program, axis));
        let behind = self.update.frames.iter().position(is_life)?;
        let is_plain = program.buffers[read.buffer].versions == 1 && finish.compute.dst.len() == 1;
        let item = ItemStage { stage, index: read.index.to_vec(), init, finish, place };
        let outside = !item.finish.frames[place..].iter().chain(&self.update.frames[behind..]).any(reduces);
        (is_plain && outside).then_some(item)
    }

    /// Returns the maximum's buffer, if its scope can be extended to all blocks.
    fn kept_maximum(&self, program: &Program, max: &ItemStage) -> Option<Kept> {
        let place = max.finish.compute.dst[0].clone();
        let between = max.finish.frames.get(self.within..max.place)?;
        let steps = |frame: &Frame| frame.as_loop().is_none_or(|(axis, exec)| exec == Exec::Serial && self.reduces(program, axis));
        let starts = max.init.axes().collect::<HashSet<_>>();
        let known = program.named(max.read(program));
        let bound = max.finish.axes().all(|axis| starts.contains(&axis) || !known.iter().any(|named| program.passes(*named, axis)));
        if !between.iter().all(steps) || !bound || program.buffers[place.buffer].space.is_global() {
            return None;
        }
        let init = Compute { dst: vec![place.clone()], ..max.identity(program, &max.finish.compute)? };
        let loops = max.finish.frames[max.place + 1..].to_vec();
        Some(Kept { place, owners: Vec::new(), first: wrap(&loops, max.finish.span, NodeKind::Compute(init)) })
    }

    /// Returns the accumulator of a sum of partial results, if its scope can be extended to all blocks. It gets a dimension for each loop
    /// around its old scope that determines its owner.
    fn kept_parts(&self, program: &Program, sum: &ItemStage) -> Option<Kept> {
        let [to] = &sum.init.compute.dst[..] else { return None };
        let is_private = matches!(program.buffers[to.buffer].space, Space::Register | Space::Fragment { .. });
        let life =
            sum.init.frames.iter().position(|frame| frame.head == Head::Alloc { buffer: to.buffer }).filter(|_| is_private)?;
        let mut owners = Vec::new();
        for (axis, exec) in sum.init.frames.get(self.within..life)?.iter().filter_map(Frame::as_loop) {
            match exec {
                Exec::Serial if self.reduces(program, axis) => {}
                Exec::Bind(level, _) if level != Level::Workgroup => owners.push(axis),
                Exec::Unroll => owners.push(axis),
                _ => return None,
            }
        }
        let index = owners.iter().map(|axis| program.exprs.axis(*axis)).chain(to.index.iter().copied()).collect();
        let place = Access { buffer: to.buffer, index };
        let init = Compute { dst: vec![place.clone()], ..sum.identity(program, &sum.init.compute)? };
        let is_own = |f: &&Frame| f.as_loop().is_some_and(|(axis, _)| !self.reduces(program, axis));
        let loops: Vec<Frame> = sum.init.frames[self.within..].iter().filter(is_own).cloned().collect();
        Some(Kept { place, owners, first: wrap(&loops, sum.init.span, NodeKind::Compute(init)) })
    }

    /// Returns the sum so far, rescaled to the new maximum, on the axes around an item's init. It is read from the state, or from the sum's
    /// own partial results.
    fn so_far(&self, program: &Program, running: &Running, n: usize, sum: &ItemStage, parts: Option<&Access>) -> Option<ExprId> {
        let exprs = &program.exprs;
        let to = &sum.finish.compute.dst[0];
        if parts.is_none() && !matches!(program.buffers[to.buffer].space, Space::Register | Space::Fragment { .. }) {
            return None;
        }
        let read = |access: &Access| exprs.read(access.buffer, program.buffers[access.buffer].dtype, access.index.iter().copied());
        let (state, max) = (&self.update.compute.dst, self.update.compute.value[0]);
        let below = exprs.replace(running.below[n], &mut |exprs, id| match exprs.get(id) {
            Expr::State(of) if parts.is_none() || *of == 0 => state.get(*of as usize).map(&read),
            Expr::Item(_) => Some(max),
            _ => None,
        });
        let here: HashSet<AxisId> = self.update.axes().collect();
        let there: HashSet<AxisId> = sum.init.axes().collect();
        let mut value = program.over_leaves(below, &here);
        for (own, its) in sum.index.iter().zip(&to.index) {
            let (own, its) = (program.over_leaves(*own, &here), program.over_leaves(*its, &there));
            value = match (exprs.get(own), exprs.get(its)) {
                _ if own == its => value,
                (Expr::Axis(own), Expr::Axis(its)) if self.is_like(program, *own, sum, *its) => program.renamed(value, *own, *its),
                _ => return None,
            };
        }
        // Any other axis of the state selects an owner that this leaf does not have.
        if program.named(value).into_iter().any(|axis| here.contains(&axis) && !there.contains(&axis)) {
            return None;
        }
        let value = exprs.replace(program.over_leaves(value, &there), &mut |exprs, id| match exprs.get(id) {
            Expr::State(_) => parts.map(&read),
            _ => None,
        });
        let known = program.named(value).into_iter().all(|axis| there.contains(&axis));
        (known && exprs.dtype(value) == program.buffers[sum.init.compute.dst[0].buffer].dtype).then_some(value)
    }

    /// True if loops over two axes are alike: bound to the same invocations, or over the same matrix side, with the same extent.
    fn is_like(&self, program: &Program, own: AxisId, sum: &ItemStage, its: AxisId) -> bool {
        let exec =
            |path: &Path, axis: AxisId| path.frames.iter().find_map(|f| f.as_loop().filter(|(a, _)| *a == axis)).map(|(_, e)| e);
        let (here, there) = (exec(&self.update, own), exec(&sum.init, its));
        here.is_some() && here == there && program.axes[own].extent == program.axes[its].extent
    }
}

/// A stage that computes the items of a component.
struct ItemStage {
    stage: StageId,
    /// The index at which the update reads its result.
    index: Vec<ExprId>,
    init: Path,
    finish: Path,
    /// The position of its buffer's allocation in the path to its finish.
    place: usize,
}

impl ItemStage {
    /// Returns a read of its result.
    fn read(&self, program: &Program) -> ExprId {
        let to = &self.finish.compute.dst[0];
        program.exprs.read(to.buffer, program.buffers[to.buffer].dtype, to.index.iter().copied())
    }

    /// Returns the leaf that starts it from a carried-over value. It has the finish's predicates in shared memory, because only the
    /// elements that the finish has written can be read.
    fn resumed(&self, value: ExprId, program: &Program) -> Resumed {
        let is_shared = program.buffers[self.finish.compute.dst[0].buffer].space == Space::Shared;
        let preds = if is_shared { self.finish.compute.preds.clone() } else { Vec::new() };
        let compute = Compute { phase: Phase::Resume, value: vec![value], preds, ..self.init.compute.clone() };
        Resumed { init: self.init.compute.clone(), compute }
    }

    /// Returns a compute like another that writes the identity.
    fn identity(&self, program: &Program, like: &Compute) -> Option<Compute> {
        let Body::Reduce { monoid, .. } = &program.stages[self.stage].body else { return None };
        Some(Compute { phase: Phase::Init, value: monoid.identity.clone(), ..like.clone() })
    }

    /// True if it is combined from partial results of invocations or of the columns of matrices.
    fn has_parts(&self, body: &Block) -> bool {
        walk::nodes(body).any(|node| matches!(&node.kind, NodeKind::AllReduce(all) if all.stage == self.stage))
    }

    /// True if only updates of a stage read its result.
    fn is_taken_alone(&self, program: &Program, body: &Block, by: StageId) -> bool {
        let of = self.finish.compute.dst[0].buffer;
        let takes = |node: &Node| matches!(&node.kind, NodeKind::Compute(c) if (c.stage, c.phase) == (by, Phase::Update));
        !walk::nodes(body).any(|node| !takes(node) && node.reads(&program.exprs, of))
    }

    /// True if its result is available when another item starts.
    fn is_before(&self, other: &ItemStage, body: &Block) -> bool {
        let place =
            |path: &Path| walk::nodes(body).position(|node| matches!(&node.kind, NodeKind::Compute(c) if *c == path.compute));
        place(&self.finish) < place(&other.init)
    }
}

/// An init and the compute that replaces it. If the compute has predicates, it follows the init instead, because the other elements still
/// need the identity.
struct Resumed {
    init: Compute,
    compute: Compute,
}

impl Resumed {
    fn begin(&self, mut block: Block) -> Block {
        let is_it = |node: &Node| matches!(&node.kind, NodeKind::Compute(compute) if *compute == self.init);
        if let Some(at) = block.iter().position(is_it) {
            let node = Node::new(NodeKind::Compute(self.compute.clone()), block[at].span);
            block.splice(at + usize::from(!self.compute.preds.is_empty())..=at, [node]);
            return block;
        }
        block.iter_mut().flat_map(Node::blocks_mut).for_each(|inner| *inner = self.begin(std::mem::take(inner)));
        block
    }
}

/// A buffer whose scope is extended to all blocks.
struct Kept {
    place: Access,
    /// The loops that were around its old scope. Each iteration of them has its own elements.
    owners: Vec<AxisId>,
    /// The nest that initializes it.
    first: Block,
}

impl Kept {
    /// Moves its allocation inside the allocation of the state.
    fn around(&self, program: &mut Program, body: Block, state: BufferId) -> Block {
        let extents = self.owners.iter().map(|axis| program.axes[*axis].extent);
        let shape = extents.chain(program.buffers[self.place.buffer].shape.iter().copied()).collect();
        program.buffers[self.place.buffer].shape = shape;
        let mut body = self.moved(body, state);
        let of = |to: &mut Access| {
            if to.buffer == self.place.buffer && to.index.len() < self.place.index.len() {
                to.index.splice(0..0, self.place.index[..self.owners.len()].iter().copied());
            }
        };
        walk::each_mut(&mut body, &mut |node| match &mut node.kind {
            NodeKind::Compute(compute) => compute.dst.iter_mut().for_each(of),
            NodeKind::AllReduce(all) => all.src.iter_mut().for_each(of),
            _ => {}
        });
        body
    }

    fn moved(&self, block: Block, state: BufferId) -> Block {
        let mut moved = Vec::new();
        for mut node in block {
            node.blocks_mut().for_each(|inner| *inner = self.moved(std::mem::take(inner), state));
            match node.kind {
                NodeKind::Alloc { buffer, body } if buffer == self.place.buffer => moved.extend(body),
                NodeKind::Alloc { buffer, body } if buffer == state => {
                    let body = self.first.iter().cloned().chain(body).collect();
                    let body = vec![Node::new(NodeKind::Alloc { buffer: self.place.buffer, body }, node.span)];
                    moved.push(Node::new(NodeKind::Alloc { buffer, body }, node.span));
                }
                _ => moved.push(node),
            }
        }
        moved
    }
}
