//! Checks that one deletion makes the verifier refuse a correct nest, by the rule that the deletion breaks. The deletions are of
//! barriers, predicates and inits. Other mutants move the scope of a buffer, or an init, into a loop.

use std::collections::BTreeMap;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::nest::{Block, BufferId, Exec, How, Node, NodeKind, Phase, Program, Scope, print};
use tilewright_dsl::verify::{Rule, verify};
use tilewright_nests::{Attention, Conv, HaloConv, LayerNorm, MmaMatmul, SharedMatmul, TiledMatmul, roomy};

/// The nests, by name.
fn nests() -> Vec<(&'static str, Program)> {
    vec![
        ("conv", Conv::symbolic(2).program()),
        ("tiled_matmul", TiledMatmul { sizes: [None; 3], ..TiledMatmul::literal(1, 1, 1) }.program()),
        ("shared_matmul", SharedMatmul::symbolic().program()),
        ("halo_conv", HaloConv::symbolic().program()),
        ("layernorm by tree", LayerNorm::symbolic(How::Tree).program()),
        ("layernorm by subgroup", LayerNorm::symbolic(How::Subgroup).program()),
        ("mma_matmul", MmaMatmul::symbolic().program()),
        ("attention", Attention::symbolic().program()),
    ]
}

/// A nest with one change.
struct Mutant {
    what: String,
    program: Program,
}

/// Returns all mutants of a program. For each mutant, calls `change` on every block, innermost first, with a counter. `change` decrements the
/// counter at each possible change, and makes the change at 0. The list ends when no change is made.
fn mutants(program: &Program, change: &dyn Fn(&Program, &mut Block, &mut usize) -> Option<String>) -> Vec<Mutant> {
    fn walk(
        program: &Program,
        block: &mut Block,
        left: &mut usize,
        change: &dyn Fn(&Program, &mut Block, &mut usize) -> Option<String>,
    ) -> Option<String> {
        let inner = block.iter_mut().flat_map(|node| node.blocks_mut());
        for inner in inner {
            if let Some(what) = walk(program, inner, left, change) {
                return Some(what);
            }
        }
        change(program, block, left)
    }
    let mut all = Vec::new();
    loop {
        let mut mutant = program.clone();
        let mut left = all.len();
        let mut plan = std::mem::take(&mut mutant.plan);
        let what = plan.iter_mut().find_map(|dispatch| walk(program, &mut dispatch.body, &mut left, change));
        mutant.plan = plan;
        match what {
            Some(what) => all.push(Mutant { what, program: mutant }),
            None => return all,
        }
    }
}

/// Decrements the counter. True if it was 0, so that this change is to be made.
fn turn(left: &mut usize) -> bool {
    let now = *left == 0;
    *left = left.wrapping_sub(1);
    now
}

fn delete_node(is: impl Fn(&NodeKind) -> bool) -> impl Fn(&Program, &mut Block, &mut usize) -> Option<String> {
    move |program, block, left| {
        for at in 0..block.len() {
            if is(&block[at].kind) && turn(left) {
                let node = block.remove(at);
                let after = block.get(at).map_or("the end of its block".into(), |next| print::Printer::new(program).line(next));
                return Some(format!("without `{}` before `{after}`", print::Printer::new(program).line(&node)));
            }
        }
        None
    }
}

fn delete_predicate(program: &Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let line = print::Printer::new(program).line(node);
        let NodeKind::Compute(compute) = &mut node.kind else { continue };
        for at in 0..compute.preds.len() {
            if turn(left) {
                let pred = compute.preds.remove(at);
                return Some(format!("without the predicate on `{}` of `{line}`", print::axis(program, pred.axis)));
            }
        }
    }
    None
}

/// Replaces a workgroup barrier by a subgroup barrier, and a subgroup barrier by a barrier of one invocation.
fn weaken_barrier(program: &Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for node in block {
        let line = print::Printer::new(program).line(node);
        let NodeKind::Barrier { scope } = &mut node.kind else { continue };
        if turn(left) {
            *scope = if *scope == Scope::Workgroup { Scope::Subgroup } else { Scope::Invocation };
            return Some(format!("with `{line}` as one of {scope:?}"));
        }
    }
    None
}

fn is_init(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Compute(compute) => compute.phase == Phase::Init,
        _ => false,
    }
}

/// True if a node or a node inside it accesses a buffer.
fn node_touches(program: &Program, node: &Node, buffer: BufferId) -> bool {
    let mut found = false;
    each(std::slice::from_ref(node), &mut |leaf| {
        let (exprs, places) = parts(leaf);
        let read = |e: &ExprId| program.exprs.reads(*e).iter().any(|read| read.buffer == buffer);
        found |= places.contains(&buffer) || exprs.iter().any(read);
    });
    found
}

/// Returns the values of a leaf, and the buffers of its destinations.
fn parts(leaf: &Node) -> (Vec<ExprId>, Vec<BufferId>) {
    match &leaf.kind {
        NodeKind::Compute(compute) => (compute.value.clone(), compute.dst.iter().map(|dst| dst.buffer).collect()),
        NodeKind::AllReduce(reduction) => {
            (Vec::new(), reduction.src.iter().chain(&reduction.dst).map(|place| place.buffer).collect())
        }
        _ => (Vec::new(), Vec::new()),
    }
}

/// Moves a buffer's scope into its first loop that has some of the buffer's accesses, but not all.
fn move_life(program: &Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for at in 0..block.len() {
        let NodeKind::Alloc { buffer, body } = &mut block[at].kind else { continue };
        let buffer = *buffer;
        if into_loop(program, body, buffer, left) {
            let body = std::mem::take(body);
            block.splice(at..=at, body);
            return Some(format!("with the life of `{}` moved into a loop", program.buffers[buffer].name));
        }
    }
    None
}

fn into_loop(program: &Program, block: &mut Block, buffer: BufferId, left: &mut usize) -> bool {
    let touching = block.iter().filter(|node| node_touches(program, node, buffer)).count();
    let Some(node) = block.iter_mut().find(|node| node_touches(program, node, buffer) && node.blocks().next().is_some()) else {
        return false;
    };
    let span = node.span;
    match &mut node.kind {
        NodeKind::Loop(looped) if touching > 1 => {
            if !turn(left) {
                return false;
            }
            let body = std::mem::take(&mut looped.body);
            looped.body = vec![Node::new(NodeKind::Alloc { buffer, body }, span)];
            true
        }
        NodeKind::Loop(looped) => into_loop(program, &mut looped.body, buffer, left),
        NodeKind::Alloc { body, .. } => into_loop(program, body, buffer, left),
        _ => false,
    }
}

/// Finds an accumulator's nodes in their common block: the init, the loop of the updates, and the last node after it.
fn reduction(program: &Program, block: &Block) -> Vec<(BufferId, usize, usize, Option<usize>)> {
    let mut all = Vec::new();
    for buffer in program.buffers.ids() {
        let Some(init) = block.iter().position(|node| holds(program, node, buffer, &is_init)) else { continue };
        let updates = block[init + 1..].iter().position(|node| update_loop(program, &mut node.clone(), buffer).is_some());
        let Some(updates) = updates.map(|at| init + 1 + at) else { continue };
        let last = block.iter().rposition(|node| node_touches(program, node, buffer)).filter(|last| *last > updates);
        all.push((buffer, init, updates, last));
    }
    all
}

/// Returns the body of the outermost loop that has a buffer's update, except loops over invocations.
fn update_loop<'n>(program: &Program, node: &'n mut Node, buffer: BufferId) -> Option<&'n mut Block> {
    if !holds(program, node, buffer, &is_update) {
        return None;
    }
    let found = matches!(&node.kind, NodeKind::Loop(looped) if !matches!(looped.exec, Exec::Bind(..)));
    let mut blocks = node.blocks_mut();
    if found { blocks.next() } else { blocks.flatten().find_map(|inner| update_loop(program, inner, buffer)) }
}

fn holds(program: &Program, node: &Node, buffer: BufferId, wanted: &dyn Fn(&NodeKind) -> bool) -> bool {
    let mut found = false;
    each(std::slice::from_ref(node), &mut |leaf| found |= wanted(&leaf.kind) && node_touches(program, leaf, buffer));
    found
}

/// Moves an init, or the reader of the result, into the loop of the updates, or moves both with the accumulator's scope.
fn move_phase(program: &Program, block: &mut Block, left: &mut usize) -> Option<String> {
    for (buffer, init, updates, last) in reduction(program, block) {
        let name = &program.buffers[buffer].name;
        if turn(left) {
            let node = block[init].clone();
            update_loop(program, &mut block[updates], buffer)?.insert(0, node);
            block.remove(init);
            return Some(format!("with the init of `{name}` in the loop of its updates"));
        }
        let Some(last) = last else { continue };
        if turn(left) {
            let node = block.remove(last);
            update_loop(program, &mut block[updates], buffer)?.push(node);
            return Some(format!("with the end of `{name}` in the loop of its updates"));
        }
        if turn(left) {
            let (last, first) = (block.remove(last), block[init].clone());
            let inner = update_loop(program, &mut block[updates], buffer)?;
            inner.insert(0, first);
            inner.push(last);
            block.remove(init);
            return Some(format!("with init and end of `{name}` in the loop of its updates"));
        }
    }
    None
}

fn is_update(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Compute(compute) => compute.phase == Phase::Update,
        _ => false,
    }
}

/// Calls `f` with every leaf.
fn each<'n>(nodes: &'n [Node], f: &mut dyn FnMut(&'n Node)) {
    for node in nodes {
        let mut leaf = true;
        for inner in node.blocks() {
            leaf = false;
            each(inner, f);
        }
        if leaf {
            f(node);
        }
    }
}

/// Checks that one of the rules refuses every mutant of every nest. Returns a list of the mutants and their rules.
fn refused(change: &dyn Fn(&Program, &mut Block, &mut usize) -> Option<String>, rules: &[Rule]) -> String {
    let mut report: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, program) in nests() {
        for mutant in mutants(&program, change) {
            let Err(errors) = verify(&mutant.program, &roomy()) else { panic!("{name} {} was accepted", mutant.what) };
            let by = |rule: &&Rule| errors.0.iter().any(|e| e.message.starts_with(&format!("{rule}: ")));
            let Some(rule) = rules.iter().find(by) else { panic!("{name} {}: {errors:?}", mutant.what) };
            report.entry(name).or_default().push(format!("{}: {rule}", mutant.what));
        }
    }
    let one = |(name, mutants): (&str, Vec<String>)| format!("{name}\n  {}\n", mutants.join("\n  "));
    report.into_iter().map(one).collect()
}

#[test]
fn without_a_barrier() {
    insta::assert_snapshot!(refused(&delete_node(|kind| matches!(kind, NodeKind::Barrier { .. })), &[Rule::Barrier]));
}

#[test]
fn with_a_barrier_of_fewer() {
    insta::assert_snapshot!(refused(&weaken_barrier, &[Rule::Barrier]));
}

#[test]
fn without_a_predicate() {
    insta::assert_snapshot!(refused(&delete_predicate, &[Rule::Predicate]));
}

#[test]
fn without_an_init() {
    insta::assert_snapshot!(refused(&delete_node(is_init), &[Rule::Unwritten]));
}

#[test]
fn with_a_life_too_far_inside() {
    insta::assert_snapshot!(refused(&move_life, &[Rule::Scope, Rule::Unwritten]));
}

#[test]
fn with_an_init_or_an_end_too_far_inside() {
    insta::assert_snapshot!(refused(&move_phase, &[Rule::Reduction, Rule::Axes]));
}
