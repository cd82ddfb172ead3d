//! Nests with one error, as a wrong directive or pass might make them.
//!
//! [`mutants`] returns every such nest that differs from a correct one in a single place. Some are equivalent to the correct nest,
//! which the judge has to distinguish.

use std::fmt;
use tilewright_dsl::expr::{Expr, ExprId, Read};
use tilewright_dsl::nest::{
    AxisDef, AxisId, AxisKind, Block, Compute, Exec, Fate, Level, NodeKind, Phase, Pred, Program, Scope, Side, Slot, Space, Step,
    Tail, print,
};

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A barrier is missing.
    Barrier,
    /// A barrier synchronizes fewer invocations.
    Scope,
    /// A predicate is missing.
    Predicate,
    /// A predicate fills reads instead of using the identity, or the other way round.
    Filled,
    /// A reduction lacks its init.
    Init,
    /// A reduction lacks its update.
    Update,
    /// A reduction lacks its finish.
    Finish,
    /// The partial results of invocations are not combined.
    AllReduce,
    /// A buffer's scope is moved into the loop that it contained.
    Life,
    /// A loop is missing: only its first iteration is executed, if any.
    Loop,
    /// A loop is executed in another way.
    Exec,
    /// An axis has one point more.
    More,
    /// An axis has one point less.
    Less,
    /// A split that exceeds its axis counts as exact, and is not guarded.
    Exact,
    /// A write is moved by one element.
    Written,
    /// A read is moved by one element.
    Read,
    /// A read of fragments uses another side of the matrices.
    Side,
    /// A read uses another owner's element.
    Owner,
    /// A workgroup has more invocations, or fewer.
    Local,
    /// The arms of a branch are exchanged.
    Branch,
    /// Two neighbouring nodes are exchanged.
    Order,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Barrier => "a barrier deleted",
            Kind::Scope => "a barrier of fewer",
            Kind::Predicate => "a predicate deleted",
            Kind::Filled => "a fill for a guard, or back",
            Kind::Init => "an init deleted",
            Kind::Update => "an update deleted",
            Kind::Finish => "a finish deleted",
            Kind::AllReduce => "an all-reduce deleted",
            Kind::Life => "a buffer's life moved inward",
            Kind::Loop => "a loop deleted",
            Kind::Exec => "a loop executed otherwise",
            Kind::More => "an extent and 1",
            Kind::Less => "an extent less 1",
            Kind::Exact => "an inexact split called exact",
            Kind::Written => "a written index and 1",
            Kind::Read => "a read index and 1",
            Kind::Side => "a fragment along another side",
            Kind::Owner => "another owner's element",
            Kind::Local => "another local size",
            Kind::Branch => "a branch's arms exchanged",
            Kind::Order => "neighbours exchanged",
        })
    }
}

/// A nest with one error.
pub struct Mutant {
    /// The kind of error.
    pub kind: Kind,
    /// The description of the error.
    pub what: String,
    /// The nest.
    pub program: Program,
}

/// A change to a block. It counts down at each place where it applies, and changes the place at which the counter is 0.
type Change<'c> = &'c dyn Fn(&mut Program, &mut Block, &mut usize) -> Option<String>;

/// Returns all mutants of a nest.
pub fn mutants(program: &Program) -> Vec<Mutant> {
    let (mut all, bound) = (Vec::new(), bound(program));
    let changes: [(Kind, Change<'_>); 17] = [
        (Kind::Barrier, &|p, b, n| delete(p, b, n, |kind| matches!(kind, NodeKind::Barrier { .. }))),
        (Kind::Scope, &scope),
        (Kind::Predicate, &predicate),
        (Kind::Filled, &filled),
        (Kind::Init, &|p, b, n| delete(p, b, n, |kind| is_phase(kind, Phase::Init))),
        (Kind::Update, &|p, b, n| delete(p, b, n, |kind| is_phase(kind, Phase::Update))),
        (Kind::Finish, &|p, b, n| delete(p, b, n, |kind| is_phase(kind, Phase::Finish))),
        (Kind::AllReduce, &|p, b, n| delete(p, b, n, |kind| matches!(kind, NodeKind::AllReduce(_)))),
        (Kind::Life, &life),
        (Kind::Loop, &no_loop),
        (Kind::Exec, &exec),
        (Kind::Written, &written),
        (Kind::Read, &read),
        (Kind::Side, &side),
        (Kind::Owner, &|p, b, n| owner(p, b, n, &bound)),
        (Kind::Branch, &branch),
        (Kind::Order, &order),
    ];
    for (kind, change) in changes {
        in_blocks(program, kind, change, &mut all);
    }
    extents(program, &mut all);
    exact(program, &mut all);
    local(program, &mut all);
    all
}

fn in_blocks(program: &Program, kind: Kind, change: Change<'_>, all: &mut Vec<Mutant>) {
    fn walk(program: &mut Program, block: &mut Block, left: &mut usize, change: Change<'_>) -> Option<String> {
        for node in block.iter_mut().filter(|node| !never_runs(program, node)).collect::<Vec<_>>() {
            for inner in node.blocks_mut() {
                if let Some(what) = walk(program, inner, left, change) {
                    return Some(what);
                }
            }
        }
        change(program, block, left)
    }
    for which in 0.. {
        let (mut mutant, mut left) = (program.clone(), which);
        let mut plan = std::mem::take(&mut mutant.plan);
        let what = plan.iter_mut().find_map(|dispatch| walk(&mut mutant, &mut dispatch.body, &mut left, change));
        mutant.plan = plan;
        match what {
            Some(what) => all.push(Mutant { kind, what, program: mutant }),
            None => return,
        }
    }
}

/// True for a loop without iterations, in which no change has an effect.
fn never_runs(program: &Program, node: &tilewright_dsl::nest::Node) -> bool {
    matches!(&node.kind, NodeKind::Loop(l) if program.exprs.as_int(program.axes[l.axis].extent) == Some(0))
}

/// Counts down, and returns true if the counter was 0.
fn turn(left: &mut usize) -> bool {
    let now = *left == 0;
    *left = left.wrapping_sub(1);
    now
}

fn is_phase(kind: &NodeKind, phase: Phase) -> bool {
    matches!(kind, NodeKind::Compute(compute) if compute.phase == phase)
}

fn line(program: &Program, node: &tilewright_dsl::nest::Node) -> String {
    print::Printer::new(program).line(node)
}

fn delete(program: &Program, block: &mut Block, left: &mut usize, is: impl Fn(&NodeKind) -> bool) -> Option<String> {
    let at = (0..block.len()).find(|at| is(&block[*at].kind) && turn(left))?;
    let node = block.remove(at);
    Some(format!("without `{}`", line(program, &node)))
}

/// Reduces a barrier of a workgroup to subgroups, and one of subgroups to an invocation.
fn scope(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let text = line(program, node);
        let NodeKind::Barrier { scope } = &mut node.kind else { continue };
        let fewer = match *scope {
            Scope::Workgroup => Scope::Subgroup,
            _ => Scope::Invocation,
        };
        if turn(left) {
            *scope = fewer;
            return Some(format!("`{text}` as {fewer:?}"));
        }
    }
    None
}

fn of_predicates(
    program: &mut Program,
    block: &mut Block,
    left: &mut usize,
    is: impl Fn(&Program, &Pred) -> bool,
    change: fn(&mut Vec<Pred>, usize),
) -> Option<String> {
    for node in block {
        let text = line(program, node);
        let NodeKind::Compute(compute) = &mut node.kind else { continue };
        for at in 0..compute.preds.len() {
            if is(program, &compute.preds[at]) && turn(left) {
                let name = print::axis(program, compute.preds[at].axis);
                change(&mut compute.preds, at);
                return Some(format!("the predicate on `{name}` of `{text}`"));
            }
        }
    }
    None
}

fn predicate(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    of_predicates(
        program,
        block,
        left,
        |_, _| true,
        |preds, at| {
            preds.remove(at);
        },
    )
}

/// Changes predicates of a reduction's axis only, because tiles of a parallel axis run in either case.
fn filled(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    let reduced = |p: &Program, pred: &Pred| p.axes[pred.axis].kind == AxisKind::Reduction;
    of_predicates(program, block, left, reduced, |preds, at| {
        preds[at].tail = if preds[at].tail == Tail::RoundUp { Tail::Guard } else { Tail::RoundUp };
    })
}

/// Changes `register r { for i { … } }` to `for i { register r { … } }`.
fn life(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let text = line(program, node);
        let NodeKind::Alloc { buffer, body } = &mut node.kind else { continue };
        for at in 0..body.len() {
            if !matches!(body[at].kind, NodeKind::Loop(_)) || !turn(left) {
                continue;
            }
            let (buffer, span) = (*buffer, node.span);
            let mut inner = std::mem::take(body);
            if let NodeKind::Loop(looped) = &mut inner[at].kind {
                let body = std::mem::take(&mut looped.body);
                looped.body = vec![tilewright_dsl::nest::Node::new(NodeKind::Alloc { buffer, body }, span)];
            }
            // Nodes beside the loop keep the buffer's scope.
            let alone = inner.len() == 1;
            if alone {
                *node = inner.remove(0);
            } else {
                *body = inner;
            }
            return Some(format!("`{text}` inside a loop"));
        }
    }
    None
}

fn no_loop(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for at in 0..block.len() {
        if matches!(block[at].kind, NodeKind::Loop(_)) && turn(left) {
            let text = line(program, &block[at]);
            if let NodeKind::Loop(looped) = block.remove(at).kind {
                block.splice(at..at, looped.body);
            }
            return Some(format!("without `{text}`"));
        }
    }
    None
}

/// Changes a loop's execution, except to an equivalent one: serial loops may be unrolled, and workgroups counted in any coordinate.
fn exec(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let text = line(program, node);
        let NodeKind::Loop(looped) = &mut node.kind else { continue };
        let others: Vec<Exec> = match looped.exec {
            Exec::Serial | Exec::Unroll => {
                vec![
                    Exec::Bind(Level::Thread, Slot::X),
                    Exec::Bind(Level::Thread, Slot::Y),
                    Exec::Bind(Level::Workgroup, Slot::X),
                    Exec::Lanes,
                ]
            }
            Exec::Lanes => vec![Exec::Bind(Level::Thread, Slot::X), Exec::Dot],
            Exec::Dot => vec![Exec::Lanes, Exec::Bind(Level::Thread, Slot::X)],
            Exec::Matrix(side) => {
                let sides = [Side::Rows, Side::Columns, Side::Depth].into_iter().filter(|other| *other != side).map(Exec::Matrix);
                sides.chain([Exec::Serial, Exec::Lanes]).collect()
            }
            Exec::Step(Step::First(n)) => vec![Exec::Serial, Exec::Step(Step::First(n + 1))],
            Exec::Step(Step::Ahead(of, n)) => {
                let others = [n + 1, n.wrapping_sub(1)].into_iter().filter(|n| *n != u32::MAX);
                others.map(|n| Step::Ahead(of, n)).chain([Step::First(n)]).map(Exec::Step).chain([Exec::Serial]).collect()
            }
            Exec::Bind(Level::Workgroup, slot) => vec![Exec::Bind(Level::Thread, slot), Exec::Bind(Level::Subgroup, slot)],
            Exec::Bind(level, slot) => {
                let slots = [Slot::X, Slot::Y, Slot::Z].into_iter().filter(|other| *other != slot);
                slots.map(|other| Exec::Bind(level, other)).chain([Exec::Serial, Exec::Bind(Level::Workgroup, slot)]).collect()
            }
        };
        for other in others {
            if turn(left) {
                looped.exec = other;
                return Some(format!("`{text}` as {other:?}"));
            }
        }
    }
    None
}

fn written(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let text = line(program, node);
        let NodeKind::Compute(compute) = &mut node.kind else { continue };
        for access in &mut compute.dst {
            for index in &mut access.index {
                if turn(left) {
                    *index = one_more(program, *index);
                    return Some(format!("one further: `{text}`"));
                }
            }
        }
    }
    None
}

/// Moves a read. Reads of the same place are one expression, so they move together.
fn read(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    changed_read(program, block, left, "one further", &|program, read, _| {
        read.index.iter().enumerate().map(|(d, index)| (d, one_more(program, *index))).collect()
    })
}

/// Replaces the last index of a fragment's matrices by another axis of the written element, for example rows by columns.
fn side(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    changed_read(program, block, left, "along another side", &|program, read, compute| {
        let Space::Fragment { .. } = program.buffers[read.buffer].space else { return Vec::new() };
        let Some(last) = read.index.last() else { return Vec::new() };
        let axes = compute.dst.iter().flat_map(|dst| &dst.index);
        let others = axes.filter(|e| *e != last && matches!(program.exprs.get(**e), Expr::Axis(_)));
        others.map(|other| (read.index.len() - 1, *other)).collect()
    })
}

/// Counts the axis that determines an element's owner from the other end.
fn owner(program: &mut Program, block: &mut Block, left: &mut usize, bound: &[AxisId]) -> Option<String> {
    changed_read(program, block, left, "of another owner", &|program, read, _| {
        let is_own = matches!(program.buffers[read.buffer].space, Space::Register | Space::Shared | Space::Fragment { .. });
        let mut found = Vec::new();
        for (d, index) in read.index.iter().enumerate().filter(|_| is_own) {
            let Expr::Axis(axis) = *program.exprs.get(*index) else { continue };
            let extent = program.exprs.as_int(program.axes[axis].extent).filter(|n| *n > 1 && bound.contains(&axis));
            let Some(extent) = extent else { continue };
            found.push((d, program.exprs.difference(program.exprs.int(extent - 1), *index)));
        }
        found
    })
}

/// Returns the axes that are bound to invocations of a workgroup.
fn bound(program: &Program) -> Vec<AxisId> {
    fn add(block: &Block, found: &mut Vec<AxisId>) {
        for node in block {
            if let NodeKind::Loop(looped) = &node.kind
                && matches!(looped.exec, Exec::Bind(level, _) if level != Level::Workgroup)
            {
                found.push(looped.axis);
            }
            node.blocks().for_each(|inner| add(inner, found));
        }
    }
    let mut found = Vec::new();
    program.plan.iter().for_each(|dispatch| add(&dispatch.body, &mut found));
    found
}

/// The other indices that a read of a compute can have, each with its dimension.
type Changes<'c> = dyn Fn(&Program, &Read, &Compute) -> Vec<(usize, ExprId)> + 'c;

/// Changes one read's index in one dimension.
fn changed_read(program: &mut Program, block: &mut Block, left: &mut usize, how: &str, changes: &Changes<'_>) -> Option<String> {
    for node in block {
        let text = line(program, node);
        let NodeKind::Compute(compute) = &mut node.kind else { continue };
        for at in 0..compute.value.len() {
            for found in program.exprs.reads(compute.value[at]) {
                for (d, index) in changes(program, &found, compute) {
                    if turn(left) {
                        compute.value[at] = with_index(program, compute.value[at], &found, (d, index));
                        return Some(format!("a read {how} in `{text}`"));
                    }
                }
            }
        }
    }
    None
}

/// Returns a value in which a read has another index in one dimension.
fn with_index(program: &Program, value: ExprId, found: &Read, (d, index): (usize, ExprId)) -> ExprId {
    let mut moved = found.clone();
    moved.index[d] = index;
    program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
        Expr::Read(read) if read == found => Some(exprs.add(Expr::Read(moved.clone()), exprs.dtype(id))),
        _ => None,
    })
}

fn one_more(program: &Program, of: ExprId) -> ExprId {
    let one = program.exprs.int(1);
    program.exprs.sum(of, one)
}

fn branch(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let text = line(program, node);
        if let NodeKind::Branch { then, other, .. } = &mut node.kind
            && turn(left)
        {
            std::mem::swap(then, other);
            return Some(format!("the arms of `{text}`"));
        }
    }
    None
}

fn order(program: &mut Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for at in 1..block.len() {
        if turn(left) {
            let text = format!("`{}` after `{}`", line(program, &block[at - 1]), line(program, &block[at]));
            block.swap(at - 1, at);
            return Some(text);
        }
    }
    None
}

fn extents(program: &Program, all: &mut Vec<Mutant>) {
    for axis in program.axes.ids().filter(|axis| is_bound(program, *axis) && !is_range(program, *axis)) {
        for (kind, by) in [(Kind::More, 1), (Kind::Less, -1)] {
            let mut mutant = program.clone();
            let by = mutant.exprs.int(by);
            mutant.axes[axis].extent = mutant.exprs.sum(mutant.axes[axis].extent, by);
            all.push(Mutant { kind, what: format!("`{}`", print::axis(program, axis)), program: mutant });
        }
    }
}

/// Returns true if an axis is the range of a reduction in the algorithm. Changing it would change the algorithm.
fn is_range(program: &Program, axis: tilewright_dsl::nest::AxisId) -> bool {
    let axis = &program.axes[axis];
    axis.kind == AxisKind::Reduction && matches!(axis.def, AxisDef::Root(_))
}

/// Returns true if a loop runs over an axis.
fn is_bound(program: &Program, axis: tilewright_dsl::nest::AxisId) -> bool {
    fn binds(block: &Block, axis: tilewright_dsl::nest::AxisId) -> bool {
        let own = |node: &tilewright_dsl::nest::Node| matches!(&node.kind, NodeKind::Loop(l) if l.axis == axis);
        block.iter().any(|node| own(node) || node.blocks().any(|inner| binds(inner, axis)))
    }
    program.plan.iter().any(|dispatch| binds(&dispatch.body, axis))
}

fn exact(program: &Program, all: &mut Vec<Mutant>) {
    fn forget(block: &mut Block, axis: tilewright_dsl::nest::AxisId) {
        for node in block {
            if let NodeKind::Compute(compute) = &mut node.kind {
                compute.preds.retain(|pred| pred.axis != axis);
            }
            node.blocks_mut().for_each(|inner| forget(inner, axis));
        }
    }
    for axis in program.axes.ids() {
        let mut mutant = program.clone();
        match &mut mutant.axes[axis].fate {
            Fate::Split(split) if !split.exact => split.exact = true,
            _ => continue,
        }
        mutant.plan.iter_mut().for_each(|dispatch| forget(&mut dispatch.body, axis));
        all.push(Mutant { kind: Kind::Exact, what: format!("`{}`", print::axis(program, axis)), program: mutant });
    }
}

fn local(program: &Program, all: &mut Vec<Mutant>) {
    for (n, dispatch) in program.plan.iter().enumerate() {
        for dim in 0..3 {
            let size = dispatch.local[dim];
            for other in [size + 1, size - 1].into_iter().filter(|other| *other > 0) {
                let mut mutant = program.clone();
                mutant.plan[n].local[dim] = other;
                all.push(Mutant { kind: Kind::Local, what: format!("{size} as {other} in {dim}"), program: mutant });
            }
        }
    }
}
