//! Moves computations that only the last iteration of a loop needs out of the loop: the all-reduce of a loop-carried sum
//! ([`Monoid::goes_on`](tilewright_dsl::nest::Monoid::goes_on)), and the update that takes its result for a component of the state. Each
//! iteration replaces the result of the previous one, and only code after the loop reads it. For example, an online softmax then adds up
//! its rows' weights across a subgroup once.
//!
//! ```text
//! for j_o                                                   for j_o
//!   update part_acc += p                                      update part_acc += p
//!   all-reduce part_all = sum of part_acc                     update m running= m_b
//!   finish l_b = part_all                                   all-reduce part_all = sum of part_acc
//!   update (m, l) running= (m_b, l_b)                       finish l_b = part_all
//!                                                           update l running= l_b
//! ```
//!
//! If the loop is empty, the partial results and the state keep their initial values. Drivers do not move these computations
//! themselves, because they must not move operations that several invocations take part in. If an all-reduce reuses the storage of a shared
//! buffer ([`Scratch`](tilewright_dsl::nest::Scratch)), that buffer is not accessed between the all-reduce's old place and its new one.

use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{AxisId, Block, Body, BufferId, Compute, Exec, Loop, Node, NodeKind, Phase, Program, Space, Tail, walk};

/// Moves such computations out of all loops of a block.
pub fn sink(program: &Program, block: Block) -> Block {
    let mut sunk = Vec::new();
    for mut node in block {
        node.blocks_mut().for_each(|inner| *inner = sink(program, std::mem::take(inner)));
        let mut behind = Vec::new();
        if let NodeKind::Loop(looped) = &mut node.kind
            && looped.exec == Exec::Serial
        {
            while let Some(late) = Late::find(program, looped) {
                behind.extend(late.taken_out(&mut looped.body));
            }
        }
        sunk.push(node);
        sunk.extend(behind);
    }
    sunk
}

/// The leaves that can be moved out of a loop, by their positions among its nodes.
struct Late {
    all: usize,
    finish: usize,
    update: usize,
}

impl Late {
    fn find(program: &Program, looped: &Loop) -> Option<Late> {
        let (mut nodes, mut once) = (Vec::new(), Vec::new());
        walk::within(&looped.body, &mut |node, around| {
            nodes.push(node);
            once.push(around.iter().all(|l| matches!(l.exec, Exec::Bind(..) | Exec::Unroll | Exec::Matrix(_) | Exec::Lanes)));
        });
        let late = |all| Late::from(program, looped.axis, &nodes, all);
        (0..nodes.len()).filter_map(late).find(|late| [late.all, late.finish, late.update].into_iter().all(|leaf| once[leaf]))
    }

    /// Returns an all-reduce and the two leaves that follow it, if all three can be moved.
    fn from(program: &Program, axis: AxisId, nodes: &[&Node], all: usize) -> Option<Late> {
        let NodeKind::AllReduce(reduction) = &nodes[all].kind else { return None };
        let ([src], [dst]) = (&reduction.src[..], &reduction.dst[..]) else { return None };
        let finish = only_reader(program, nodes, dst.buffer)?;
        let stored = compute(nodes[finish], Phase::Finish).filter(|c| c.stage == reduction.stage && c.preds.is_empty())?;
        let ([to], [_]) = (&stored.dst[..], &stored.value[..]) else { return None };
        let (update, taken) = taker(program, nodes, to.buffer)?;
        let Body::Reduce { monoid, .. } = &program.stages[taken.stage].body else { return None };
        let last = taken.dst.len().checked_sub(1).filter(|last| *last > 0 && taken.given == 0)?;
        let is_item = |e: &ExprId| matches!(program.exprs.get(*e), Expr::Item(n) if *n as usize == last);
        let takes = monoid.combine.get(last).is_some_and(is_item)
            && matches!(program.exprs.get(taken.value[last]), Expr::Read(read) if read.buffer == to.buffer);
        // No predicate may leave an iteration out.
        let always = taken.preds.iter().all(|pred| pred.tail == Tail::RoundUp && program.notes.neutral.contains(&pred.axis));
        let private =
            [src.buffer, dst.buffer, to.buffer, taken.dst[last].buffer].into_iter().all(|buffer| is_private(program, buffer));
        let names_state = |e: &ExprId| program.exprs.any(*e, &mut |e| matches!(e, Expr::State(n) if *n as usize == last));
        let state = taken.dst[last].buffer;
        let is_read = nodes.iter().any(|node| reads(program, node, state)) || monoid.combine.iter().any(names_state);
        let is_other =
            |(n, combine): (usize, &ExprId)| n != last && program.exprs.any(*combine, &mut |e| *e == Expr::Item(last as u32));
        let is_read = is_read || monoid.combine.iter().enumerate().any(is_other);
        let changes = nodes[all + 1..].iter().any(|node| node.writes().contains(&src.buffer));
        let late = Late { all, finish, update };
        let leaves = [all, finish, update];
        let depends =
            leaves.iter().any(|leaf| named(program, nodes[*leaf], last).into_iter().any(|of| program.is_made_of(of, axis)));
        (takes && always && private && !is_read && !changes && !depends && all < finish && finish < update).then_some(late)
    }

    /// Removes the leaves from the loop's body, and returns them in the inner loops that surrounded them.
    fn taken_out(&self, body: &mut Block) -> Block {
        let (mut taken, mut count): (Vec<(Node, Vec<Around>)>, usize) = (Vec::new(), 0);
        take(body, &mut Vec::new(), &mut count, &mut |n, node, around| {
            if ![self.all, self.finish, self.update].contains(&n) {
                return true;
            }
            let mut late = node.clone();
            let stays = n == self.update && split_last(node, &mut late);
            taken.push((late, around.to_vec()));
            stays
        });
        let Ok([all, finish, update]) = <[(Node, Vec<Around>); 3]>::try_from(taken) else { return Vec::new() };
        // The all-reduce and its `finish` must share their loops, because an all-reduce's result may be valid for a single iteration of
        // these loops.
        let same = |(a, b): &(&Around, &Around)| a == b && !matches!(a.1, Exec::Matrix(_));
        let common = all.1.iter().zip(&finish.1).take_while(same).count();
        let both = [&all, &finish].into_iter().flat_map(|(node, around)| looped(vec![node.clone()], &around[common..])).collect();
        [looped(both, &all.1[..common]), looped(vec![update.0], &update.1)].concat()
    }
}

/// Wraps a block in loops, given outermost first.
fn looped(block: Block, around: &[Around]) -> Block {
    around
        .iter()
        .rev()
        .fold(block, |body, (axis, exec, span)| vec![Node::new(NodeKind::Loop(Loop::new(*axis, *exec, body)), *span)])
}

/// Leaves the first components to one update, and the last component to the other.
fn split_last(first: &mut Node, last: &mut Node) -> bool {
    if let (NodeKind::Compute(first), NodeKind::Compute(last)) = (&mut first.kind, &mut last.kind) {
        let count = first.dst.len() - 1;
        (last.given, last.preds) = (count, Vec::new());
        first.dst.truncate(count);
        first.value.truncate(count);
    }
    true
}

/// Returns the only update that takes a buffer for a component of its own. Other updates may list the buffer among the components that they
/// are given.
fn taker<'n>(program: &Program, nodes: &[&'n Node], buffer: BufferId) -> Option<(usize, &'n Compute)> {
    let readers = || nodes.iter().enumerate().filter(|(_, node)| reads(program, node, buffer));
    let takes = |(n, node): (usize, &&'n Node)| Some((n, compute(node, Phase::Update).filter(|update| update.given == 0)?));
    let mut takers = readers().filter_map(takes);
    let (Some(taker), None) = (takers.next(), takers.next()) else { return None };
    let is_given =
        |node: &Node| compute(node, Phase::Update).is_some_and(|c| c.stage == taker.1.stage && c.given >= taker.1.dst.len());
    readers().all(|(n, node)| n == taker.0 || is_given(node)).then_some(taker)
}

/// A loop around a leaf: its axis, its execution and its span.
type Around = (AxisId, Exec, tilewright_dsl::diag::SpanId);

/// Calls `stays` for each node with its number in the order of [`walk::nodes`] and the loops around it. Removes each node for which the
/// result is false.
fn take(
    block: &mut Block,
    around: &mut Vec<Around>,
    count: &mut usize,
    stays: &mut dyn FnMut(usize, &mut Node, &[Around]) -> bool,
) {
    block.retain_mut(|node| {
        let n = *count;
        *count += 1;
        let stay = stays(n, node, around);
        let looped = if let NodeKind::Loop(l) = &node.kind { Some((l.axis, l.exec, node.span)) } else { None };
        around.extend(looped);
        node.blocks_mut().for_each(|inner| take(inner, around, count, stays));
        around.truncate(around.len() - usize::from(looped.is_some()));
        stay
    });
}

fn compute(node: &Node, phase: Phase) -> Option<&Compute> {
    match &node.kind {
        NodeKind::Compute(compute) if compute.phase == phase => Some(compute),
        _ => None,
    }
}

fn is_private(program: &Program, buffer: BufferId) -> bool {
    matches!(program.buffers[buffer].space, Space::Register | Space::Fragment { .. })
}

/// Returns the only node that reads a buffer.
fn only_reader(program: &Program, nodes: &[&Node], buffer: BufferId) -> Option<usize> {
    let mut readers = nodes.iter().enumerate().filter(|(_, node)| reads(program, node, buffer)).map(|(n, _)| n);
    readers.next().filter(|_| readers.next().is_none())
}

/// True if a node reads a buffer. The state that an update's monoid reads does not count.
fn reads(program: &Program, node: &Node, buffer: BufferId) -> bool {
    node.accesses(&program.exprs).iter().any(|access| access.takes_result() && access.place.buffer == buffer)
}

/// Returns the axes that a leaf names. For an update, only its component `last` counts.
fn named(program: &Program, node: &Node, last: usize) -> Vec<AxisId> {
    let named: Vec<ExprId> = match &node.kind {
        NodeKind::Compute(c) if c.phase == Phase::Update => [&[c.value[last]][..], &c.dst[last].index].concat(),
        _ => node.exprs().into_iter().map(|(e, _)| e).collect(),
    };
    named.into_iter().flat_map(|e| program.named(e)).collect()
}
