//! Components of a state that have fewer axes than the others: the place of their update, and the verifier's errors for nests with one
//! change each.

use std::cell::Cell;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::{Block, Compute, Exec, Loop, Node, NodeKind, Phase, Program, print, walk};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

/// Computes weighted means of the columns of `v`. Each row has one maximum and one sum of weights.
const KERNEL: &str = "fn means<N, M>(s: f32[N, M], v: f32[M, 4]) -> o: f32[N, 4] {
    let m[i]: f32[N] = max(j in 0..M) { s[i, j] };
    let l[i]: f32[N] = sum(j in 0..M) { (s[i, j] - m[i]).exp() };
    o[i, e] = sum(j in 0..M) { (s[i, j] - m[i]).exp() * v[j, e] } / l[i];
}";
const SCHEDULE: &str = "V: means for vulkan_1_1 {
    decompose_online(m, l, o);
    distribute(i => workgroup(x));
    reorder(j, e);
    unroll(e);
}";

fn lowered() -> Program {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(KERNEL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(SCHEDULE.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    compile(&kernel, &schedule, &Profile::vulkan_1_1()).unwrap_or_else(|e| panic!("{}", e.texts(&spans))).program
}

/// Returns the verifier's errors after a change.
fn changed(change: impl Fn(&mut Block)) -> String {
    let mut program = lowered();
    assert!(verify(&program, &Profile::vulkan_1_1()).is_ok());
    change(&mut program.plan[0].body);
    let errors = verify(&program, &Profile::vulkan_1_1()).expect_err("the verifier sees it");
    errors.0.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("\n")
}

/// True if a compute updates only the first two components.
fn is_first(compute: &Compute) -> bool {
    compute.phase == Phase::Update && compute.dst.len() == 2
}

/// Changes the block that contains the update of the first components as its last node.
fn at_the_block(block: &mut Block, f: &dyn Fn(&mut Block)) {
    if matches!(block.last().map(|node| &node.kind), Some(NodeKind::Compute(compute)) if is_first(compute)) {
        f(block);
    }
    for node in block {
        node.blocks_mut().for_each(|block| at_the_block(block, f));
    }
}

/// Changes every update.
fn at_updates(block: &mut Block, f: &dyn Fn(&mut Compute)) {
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind
            && compute.phase == Phase::Update
        {
            f(compute);
        }
    });
}

#[test]
fn an_update_of_their_own() {
    let nest = print::plan(&lowered());
    let updates: Vec<&str> = nest.lines().map(str::trim).filter(|line| line.starts_with("update")).collect();
    assert_eq!(updates.len(), 2, "{nest}");
    assert!(updates[0].starts_with("update o_acc2[e] online= ("), "{nest}");
    assert!(updates[1].starts_with("update (o_acc0[], o_acc1[]) online= ("), "{nest}");
}

#[test]
fn left_out() {
    let said = changed(|body| at_the_block(body, &|block| drop(block.pop())));
    assert!(said.contains("does not update the whole state of `o` once"), "{said}");
}

#[test]
fn before_those_that_read_the_state() {
    let said = changed(|body| at_the_block(body, &|block| block.rotate_right(1)));
    assert!(said.contains("does not update the whole state of `o` once"), "{said}");
}

/// In a separate loop, the update also visits each point once, but the other components would read a state that is never updated.
#[test]
fn in_a_loop_of_its_own() {
    let said = changed(|body| {
        let taken = Cell::new(None);
        at_the_block(body, &|block| taken.set(block.pop()));
        put_behind_the_loop(body, &taken);
    });
    assert!(said.contains("does not update the whole state of `o` once"), "{said}");
}

/// Moves a node after the first serial loop, into another loop over the same axis.
fn put_behind_the_loop(block: &mut Block, taken: &Cell<Option<Node>>) {
    let serial = |node: &Node| match &node.kind {
        NodeKind::Loop(l) if l.exec == Exec::Serial => Some(l.axis),
        _ => None,
    };
    let found = block.iter().enumerate().find_map(|(at, node)| Some((at, serial(node)?)));
    if let Some((at, axis)) = found
        && let Some(node) = taken.take()
    {
        let span = node.span;
        block.insert(at + 1, Node::new(NodeKind::Loop(Loop::new(axis, Exec::Serial, vec![node])), span));
    }
    for node in block {
        node.blocks_mut().for_each(|block| put_behind_the_loop(block, taken));
    }
}

#[test]
fn of_other_components() {
    // The first leaf updates all components, too.
    let said = changed(|body| at_updates(body, &|compute| compute.given = 0));
    assert!(said.contains("has visited") || said.contains("does not update the whole state"), "{said}");
    // The second leaf updates one component less.
    let fewer = |compute: &mut Compute| {
        if is_first(compute) {
            compute.dst.truncate(1);
            compute.value.truncate(1);
        }
    };
    let said = changed(|body| at_updates(body, &fewer));
    assert!(said.contains("does not update the whole state of `o` once"), "{said}");
}
