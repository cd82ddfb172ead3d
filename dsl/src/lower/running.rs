//! Online reductions over blocks go on from the block before: a block's maximum starts from the largest score so far, and its sums from what
//! was summed so far, below the new maximum. So what a block leaves is the state itself, which need not be scaled and added: attention has one
//! set of accumulators for its output, not two (Dao, *FlashAttention-2*, 2023, section 3.1).
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
//! Any number that is no less than a block's scores would do as its maximum, so this changes no meaning. A maximum may be in any memory: it
//! outlives its block. Sums go on in registers and fragments only, where the invocation that has a block's elements has those of the state.
//! A sum whose parts are made one later does not: each part would start from all of it.

use super::accumulate::{is_of, wrap};
use crate::expr::{Binary, Expr, ExprId};
use crate::nest::path::{Frame, Head, Path};
use crate::nest::walk;
use crate::nest::{
    Access, AxisId, Block, Body, Compute, Exec, Node, NodeKind, Phase, Pred, Program, Running, Space, StageId, Tail,
};
use std::collections::HashSet;

/// Rewrites the reductions over blocks of every dispatch, where they can go on.
pub(super) fn run(program: &mut Program) {
    for running in program.running.clone() {
        let Some(target) = program.definition(running.target).filter(|target| !program.placed.contains_key(target)) else {
            continue;
        };
        for at in 0..program.plan.len() {
            let body = std::mem::take(&mut program.plan[at].body);
            let new = Blocks::of(program, target, &body).and_then(|blocks| blocks.go_on(program, &running, &body));
            program.plan[at].body = new.unwrap_or(body);
        }
    }
}

/// A reduction over blocks, whose items stages within its nest compute.
struct Blocks {
    target: StageId,
    /// The way to the update that has the last component.
    update: Path,
    /// Where in it what stands within the accumulators' lives begins.
    within: usize,
}

impl Blocks {
    /// That of a stage, if each invocation does all of it, block by block.
    fn of(program: &Program, target: StageId, body: &Block) -> Option<Blocks> {
        let update = Path::open(body, target, Phase::Update)?;
        let parts = walk::nodes(body).any(|node| matches!(&node.kind, NodeKind::AllReduce(all) if all.stage == target));
        let state =
            |frame: &Frame| matches!(frame.head, Head::Alloc { buffer } if update.compute.dst.iter().any(|to| to.buffer == buffer));
        let within = update.frames.iter().rposition(state)? + 1;
        let blocks = Blocks { target, within, update };
        // Where reads are filled past an end, items are no states. (Those that stages compute are the identity by themselves, or the state.)
        let is_filled = |pred: &&Pred| pred.tail == Tail::RoundUp && !program.neutral.contains(&pred.axis);
        let filled = blocks.update.compute.preds.iter().filter(is_filled).any(|pred| blocks.reduces(program, pred.axis));
        (!parts && !filled).then_some(blocks)
    }

    fn reduces(&self, program: &Program, axis: AxisId) -> bool {
        let Body::Reduce { over, .. } = &program.stages[self.target].body else { return false };
        is_of(program, axis, over)
    }

    /// All that goes on, if the maximum does.
    fn go_on(&self, program: &mut Program, running: &Running, body: &Block) -> Option<Block> {
        let max = self.item(program, body, 0, Binary::Max)?;
        let (mut update, mut resumed) = (self.update.clone(), vec![max.resumed(max.read(program), program)]);
        let alloc = update.remove(self.outlives(program, &max)?);
        let frame = Frame { before: Vec::new(), after: Vec::new(), ..alloc };
        update.frames.insert(self.within, frame);
        let Body::Reduce { monoid, .. } = program.stages[max.stage].body.clone() else { return None };
        let init = Compute { phase: Phase::Init, value: monoid.identity, ..max.finish.compute.clone() };
        let loops: Vec<Frame> = max.finish.frames[max.place + 1..].to_vec();
        let next = update.frames.get_mut(self.within + 1)?;
        next.before.splice(0..0, wrap(&loops, max.finish.span, NodeKind::Compute(init)));

        let Body::Reduce { monoid, .. } = &program.stages[self.target].body else { return None };
        let (mut monoid, item) =
            (monoid.clone(), |n: usize, of: ExprId| program.exprs.add(Expr::Item(n as u32), program.exprs.dtype(of)));
        monoid.name = "running".into();
        for n in 0..monoid.combine.len() {
            let new = item(n, monoid.combine[n]);
            let sum = (n >= self.update.compute.given.max(1)).then(|| self.item(program, body, n, Binary::Add)).flatten();
            let sum = sum.filter(|sum| sum.is_taken_once(program, body) && max.is_before(sum, body));
            let start = sum.and_then(|sum| Some(sum.resumed(self.so_far(program, running, n, &sum)?, program)));
            monoid.combine[n] = if n == 0 || start.is_some() { new } else { program.exprs.sum(running.below[n], new) };
            resumed.extend(start);
        }
        let body = resumed.iter().fold(update.close(), |body, of| of.begin(body));
        if let Body::Reduce { monoid: own, .. } = &mut program.stages[self.target].body {
            *own = monoid;
        }
        Some(body)
    }

    /// The stage that computes a component's items by one operation, within the loop over blocks.
    fn item(&self, program: &Program, body: &Block, n: usize, by: Binary) -> Option<Item> {
        let Expr::Read(read) = program.exprs.get(*self.update.compute.value.get(n)?) else { return None };
        let stage = program.definition(read.buffer).filter(|stage| program.hosts.get(stage) == Some(&self.target))?;
        let Body::Reduce { monoid, finish, .. } = &program.stages[stage].body else { return None };
        if monoid.operation(&program.exprs)?.0 != by || !matches!(program.exprs.get(*finish), Expr::State(0)) {
            return None;
        }
        let (init, finish) = (Path::open(body, stage, Phase::Init)?, Path::open(body, stage, Phase::Finish)?);
        let is_life = |frame: &Frame| frame.head == Head::Alloc { buffer: read.buffer };
        let place = finish.frames.iter().position(is_life)?;
        // One block's at a time, and each block once.
        let reduces = |frame: &Frame| frame.as_loop().is_some_and(|(axis, _)| self.reduces(program, axis));
        let behind = self.update.frames.iter().position(is_life)?;
        let is_plain = program.buffers[read.buffer].versions == 1 && finish.compute.dst.len() == 1;
        let item = Item { stage, index: read.index.to_vec(), init, finish, place };
        let outside = !item.finish.frames[place..].iter().chain(&self.update.frames[behind..]).any(reduces);
        (is_plain && outside).then_some(item)
    }

    /// Where the maximum's life stands, if it can be around all blocks.
    fn outlives(&self, program: &Program, max: &Item) -> Option<usize> {
        let to = &max.finish.compute.dst[0];
        let at = self.update.frames.iter().position(|frame| frame.head == Head::Alloc { buffer: to.buffer })?;
        let between = self.update.frames.get(self.within..at)?;
        let steps = |frame: &Frame| frame.as_loop().is_none_or(|(axis, exec)| exec == Exec::Serial && self.reduces(program, axis));
        let starts = max.init.axes().collect::<HashSet<_>>();
        let known = program.named(program.exprs.read(to.buffer, program.buffers[to.buffer].dtype, to.index.iter().copied()));
        let bound = max.finish.axes().all(|axis| starts.contains(&axis) || !known.iter().any(|named| program.passes(*named, axis)));
        let local = !program.buffers[to.buffer].space.is_global();
        (between.iter().all(steps) && bound && local).then_some(at)
    }

    /// What was summed so far, below the new maximum, on the axes around an item's init.
    fn so_far(&self, program: &Program, running: &Running, n: usize, sum: &Item) -> Option<ExprId> {
        let exprs = &program.exprs;
        let to = &sum.finish.compute.dst[0];
        if !matches!(program.buffers[to.buffer].space, Space::Register | Space::Fragment { .. }) {
            return None;
        }
        let read = |access: &Access| exprs.read(access.buffer, program.buffers[access.buffer].dtype, access.index.iter().copied());
        let (state, max) = (&self.update.compute.dst, self.update.compute.value[0]);
        let below = exprs.replace(running.below[n], &mut |exprs, id| match exprs.get(id) {
            Expr::State(of) => state.get(*of as usize).map(&read),
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
        let value = program.over_leaves(value, &there);
        let known = program.named(value).into_iter().all(|axis| there.contains(&axis));
        (known && exprs.dtype(value) == program.buffers[to.buffer].dtype).then_some(value)
    }

    /// Whether loops over two axes are alike: those of the same invocations, or copies, or sides.
    fn is_like(&self, program: &Program, own: AxisId, sum: &Item, its: AxisId) -> bool {
        let exec =
            |path: &Path, axis: AxisId| path.frames.iter().find_map(|f| f.as_loop().filter(|(a, _)| *a == axis)).map(|(_, e)| e);
        let (here, there) = (exec(&self.update, own), exec(&sum.init, its));
        here.is_some() && here == there && program.axes[own].extent == program.axes[its].extent
    }
}

/// A stage that computes the items of a component.
struct Item {
    stage: StageId,
    /// Where the update reads its result.
    index: Vec<ExprId>,
    init: Path,
    finish: Path,
    /// Where in the way to its finish its buffer's life stands.
    place: usize,
}

impl Item {
    /// What it has computed.
    fn read(&self, program: &Program) -> ExprId {
        let to = &self.finish.compute.dst[0];
        program.exprs.read(to.buffer, program.buffers[to.buffer].dtype, to.index.iter().copied())
    }

    /// What it goes on from. Elements of shared memory are there only where someone has written them.
    fn resumed(&self, value: ExprId, program: &Program) -> Resumed {
        let is_shared = program.buffers[self.finish.compute.dst[0].buffer].space == Space::Shared;
        let preds = if is_shared { self.finish.compute.preds.clone() } else { Vec::new() };
        let compute = Compute { phase: Phase::Resume, value: vec![value], preds, ..self.init.compute.clone() };
        Resumed { init: self.init.compute.clone(), compute }
    }

    /// Whether one leaf alone reads what it has computed.
    fn is_taken_once(&self, program: &Program, body: &Block) -> bool {
        let of = self.finish.compute.dst[0].buffer;
        let reads = |node: &&Node| match &node.kind {
            NodeKind::Compute(c) => c.values().any(|value| program.exprs.reads(value).iter().any(|read| read.buffer == of)),
            NodeKind::Copy(c) => program.exprs.reads(c.value).iter().any(|read| read.buffer == of),
            NodeKind::AllReduce(all) => all.src.iter().any(|place| place.buffer == of),
            _ => false,
        };
        walk::nodes(body).filter(reads).count() == 1
    }

    /// Whether it is there when another one begins.
    fn is_before(&self, other: &Item, body: &Block) -> bool {
        let place =
            |path: &Path| walk::nodes(body).position(|node| matches!(&node.kind, NodeKind::Compute(c) if *c == path.compute));
        place(&self.finish) < place(&other.init)
    }
}

/// An init, and what goes on in its place; where it has predicates, behind it.
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
