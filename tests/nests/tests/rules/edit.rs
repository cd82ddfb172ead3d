//! Edits correct nests, and prints the verifier's errors.

use tilewright_dsl::expr::{ExprId, Exprs};
use tilewright_dsl::launch::Relation;
use tilewright_dsl::nest::{AxisId, Block, Body, Compute, Condition, Exec, How, Loop, Node, NodeKind, Program, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::verify::{Rule, verify};
use tilewright_nests::build::*;
use tilewright_nests::{Attention, Conv, HaloConv, LayerNorm, MmaMatmul, SharedMatmul, roomy};

/// Applies `f` to the first block that has a node whose line contains `text`, and to the node's position in the block.
pub(crate) fn at(program: &mut Program, text: &str, f: impl FnOnce(&mut Block, usize)) {
    fn find<'b>(program: &Program, block: &'b mut Block, text: &str) -> Option<(&'b mut Block, usize)> {
        let printer = print::Printer::new(program);
        if let Some(place) = block.iter().position(|node| printer.line(node).contains(text)) {
            return Some((block, place));
        }
        block.iter_mut().flat_map(|node| node.blocks_mut()).find_map(|inner| find(program, inner, text))
    }
    let mut plan = std::mem::take(&mut program.plan);
    let found = plan.iter_mut().find_map(|dispatch| find(program, &mut dispatch.body, text));
    let (block, place) = found.unwrap_or_else(|| panic!("no node `{text}`"));
    f(block, place);
    program.plan = plan;
}

/// Replaces the first node whose line contains `text` by the nodes inside it.
pub(crate) fn unwrap(program: &mut Program, text: &str) {
    at(program, text, |block, place| {
        let inner: Block = block[place].blocks_mut().flat_map(std::mem::take).collect();
        block.splice(place..=place, inner);
    });
}

/// Puts a loop around the first node whose line contains `text`.
pub(crate) fn wrap(program: &mut Program, text: &str, axis: AxisId, exec: Exec) {
    at(program, text, |block, place| {
        let body = vec![block.remove(place)];
        block.insert(place, node(NodeKind::Loop(Loop::new(axis, exec, body))));
    });
}

pub(crate) fn compute_at(program: &mut Program, text: &str, f: impl FnOnce(&mut Compute)) {
    at(program, text, |block, place| match &mut block[place].kind {
        NodeKind::Compute(compute) => f(compute),
        _ => panic!("`{text}` is not a compute"),
    });
}

pub(crate) fn loop_at(program: &mut Program, text: &str, f: impl FnOnce(&mut Loop)) {
    at(program, text, |block, place| match &mut block[place].kind {
        NodeKind::Loop(looped) => f(looped),
        _ => panic!("`{text}` is not a loop"),
    });
}

pub(crate) fn remove(program: &mut Program, text: &str) -> Node {
    let mut removed = None;
    at(program, text, |block, place| removed = Some(block.remove(place)));
    removed.unwrap_or_else(|| panic!("no node `{text}`"))
}

pub(crate) fn axis(program: &Program, name: &str) -> AxisId {
    program.axes.ids().find(|a| print::axis(program, *a) == name).unwrap_or_else(|| panic!("no axis `{name}`"))
}

/// Adds an axis of a literal extent that belongs to no stage.
pub(crate) fn made(program: &mut Program, name: &str, extent: i64) -> AxisId {
    build(program, |b| b.made(name, extent))
}

/// Lets a builder change a program.
pub(crate) fn build<T>(program: &mut Program, f: impl FnOnce(&mut Builder) -> T) -> T {
    let mut b = Builder { p: std::mem::take(program) };
    let made = f(&mut b);
    *program = b.p;
    made
}

/// States that a dim is at least 1.
pub(crate) fn at_least_one(program: &mut Program, left: ExprId) {
    let right = program.exprs.int(1);
    let (text, span) = ("at least 1".into(), Default::default());
    program.checks.conditions.push(Condition { left, relation: Relation::Ge, right, text, span, needed: false });
}

/// Replaces the values of the computes whose line contains `text` by the expressions of their stages.
pub(crate) fn said(program: &mut Program, text: &str) {
    let mut plan = std::mem::take(&mut program.plan);
    let mut said = Vec::new();
    for dispatch in &mut plan {
        each_compute(&mut dispatch.body, &mut |compute, node_line| {
            said.extend(node_line(program).contains(text).then(|| (compute.stage, compute.value.clone())));
        });
    }
    program.plan = plan;
    for (stage, values) in said {
        match &mut program.stages[stage].body {
            Body::Map(value) => *value = values[0],
            Body::Reduce { lift, .. } => *lift = values,
        }
    }
}

/// Replaces a part of every expression of the first compute whose line contains `text`.
pub(crate) fn replace(program: &mut Program, text: &str, f: impl Fn(&Exprs, ExprId) -> Option<ExprId>) {
    let exprs = std::mem::take(&mut program.exprs);
    let mut plan = std::mem::take(&mut program.plan);
    program.exprs = exprs.clone();
    for dispatch in &mut plan {
        each_compute(&mut dispatch.body, &mut |compute, node_line| {
            if node_line(program).contains(text) {
                compute.value.iter_mut().for_each(|e| *e = exprs.replace(*e, &mut |exprs, e| f(exprs, e)));
                let places = compute.dst.iter_mut().flat_map(|dst| dst.index.iter_mut());
                places.for_each(|e| *e = exprs.replace(*e, &mut |exprs, e| f(exprs, e)));
            }
        });
    }
    program.exprs = exprs;
    program.plan = plan;
}

/// Receives a compute, and a function that prints its line.
type Visit<'f> = dyn FnMut(&mut Compute, &dyn Fn(&Program) -> String) + 'f;

/// Visits every compute.
pub(crate) fn each_compute(block: &mut Block, f: &mut Visit<'_>) {
    for node in block {
        let copy = node.clone();
        if let NodeKind::Compute(compute) = &mut node.kind {
            f(compute, &|program| print::Printer::new(program).line(&copy));
        }
        node.blocks_mut().for_each(|inner| each_compute(inner, f));
    }
}

/// Returns the errors of one rule for a snapshot. Fails if the nest is accepted, or refused only by other rules.
pub(crate) fn refused(cases: Vec<(&str, Program)>, rule: Rule) -> String {
    refused_on(cases.into_iter().map(|(what, program)| (what, program, roomy())).collect(), rule)
}

pub(crate) fn refused_on(cases: Vec<(&str, Program, Profile)>, rule: Rule) -> String {
    let one = |(what, program, profile): (&str, Program, Profile)| {
        let Err(errors) = verify(&program, &profile) else { panic!("{what} was accepted") };
        let by = errors.0.iter().find(|e| e.message.starts_with(&format!("{rule}: ")));
        let Some(error) = by else { panic!("{what}: {errors:?}") };
        format!("{what}\n  {}\n", error.message)
    };
    cases.into_iter().map(one).collect()
}

pub(crate) fn accepted(what: &str, program: &Program) {
    if let Err(errors) = verify(program, &roomy()) {
        panic!("{what}: {errors:?}");
    }
}

/// Applies a change to a correct nest.
pub(crate) fn changed(mut program: Program, f: impl FnOnce(&mut Program)) -> Program {
    f(&mut program);
    program
}

pub(crate) fn conv() -> Program {
    Conv::symbolic(2).program()
}

pub(crate) fn shared() -> Program {
    SharedMatmul::symbolic().program()
}

pub(crate) fn halo() -> Program {
    HaloConv::symbolic().program()
}

pub(crate) fn norm() -> Program {
    LayerNorm::symbolic(How::Tree).program()
}

pub(crate) fn mma() -> Program {
    MmaMatmul::symbolic().program()
}

pub(crate) fn attention() -> Program {
    Attention::symbolic().program()
}
