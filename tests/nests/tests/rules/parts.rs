//! Barriers in parts: arrives and waits in pairs, accesses that a pair does not order, and the whole barriers in their place.

use crate::edit::*;
use tilewright_dsl::nest::{Block, Dispatch, How, NodeKind, Part, Program, Scope, print};
use tilewright_dsl::verify::Rule;
use tilewright_nests::LayerNorm;
use tilewright_nests::build::*;

fn arrive() -> Block {
    part(Scope::Workgroup, Part::Arrive)
}

fn wait() -> Block {
    part(Scope::Workgroup, Part::Wait)
}

/// Puts a block before the first such node.
fn before(program: &mut Program, text: &str, what: Block) {
    at(program, text, |block, place| drop(block.splice(place..place, what)));
}

/// Puts it behind.
fn behind(program: &mut Program, text: &str, what: Block) {
    at(program, text, |block, place| drop(block.splice(place + 1..place + 1, what)));
}

/// The product through shared memory, whose first barrier of a step is in parts.
fn in_parts() -> Program {
    changed(shared(), |p| {
        at(p, "barrier", |block, place| drop(block.splice(place..=place, sequence([arrive(), wait()]))));
    })
}

/// The last barrier of a step is waited for in the next one, and what the last step has arrived at behind the loop.
fn from_step_to_step() -> Program {
    changed(shared(), |p| {
        at(p, "unroll k'", |block, place| drop(block.splice(place + 1..=place + 1, arrive())));
        before(p, "for a_s_round", wait());
        before(p, "for k_o", arrive());
        behind(p, "for k_o", wait());
    })
}

/// With an all-reduce of the workgroup in the place of a node.
fn around_all_reduce(how: How) -> Program {
    changed(LayerNorm::symbolic(how).program(), |p| {
        before(p, "all-reduce", arrive());
        behind(p, "all-reduce", wait());
    })
}

#[test]
fn pairs() {
    accepted("parts side by side", &in_parts());
    accepted("parts of two steps", &from_step_to_step());
    let of_subgroup = |p: &mut Program, text: &str| {
        at(p, text, |block, place| {
            if let NodeKind::Barrier { scope, .. } = &mut block[place].kind {
                *scope = Scope::Subgroup;
            }
        });
    };
    let cases = vec![
        ("no arrive", changed(in_parts(), |p| drop(remove(p, "arrive")))),
        ("no wait", changed(in_parts(), |p| drop(remove(p, "wait")))),
        ("exchanged", changed(in_parts(), |p| at(p, "arrive", |block, place| block.swap(place, place + 1)))),
        ("two arrives", changed(in_parts(), |p| before(p, "arrive", arrive()))),
        ("two waits", changed(in_parts(), |p| behind(p, "wait", wait()))),
        ("a whole one between", changed(in_parts(), |p| behind(p, "arrive", barrier()))),
        ("an arrive of subgroups", changed(in_parts(), |p| of_subgroup(p, "arrive"))),
        ("a wait of subgroups", changed(in_parts(), |p| of_subgroup(p, "wait"))),
        (
            "a wait in each of several rounds",
            changed(in_parts(), |p| {
                let wait = remove(p, "wait");
                loop_at(p, "unroll k'", |looped| looped.body.insert(0, wait));
            }),
        ),
        (
            "a wait behind the loop",
            changed(in_parts(), |p| {
                let wait = remove(p, "wait");
                behind(p, "for k_o", vec![wait]);
            }),
        ),
        ("no arrive before the steps", changed(from_step_to_step(), |p| drop(remove(p, "arrive")))),
        (
            "no wait behind the steps",
            changed(from_step_to_step(), |p| at(p, "for k_o", |block, place| drop(block.remove(place + 1)))),
        ),
        (
            "no wait in a step",
            changed(from_step_to_step(), |p| at(p, "for a_s_round", |block, place| drop(block.remove(place - 1)))),
        ),
        ("a reduction of the workgroup between", around_all_reduce(How::Tree)),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Parts));
}

#[test]
fn what_pairs_order() {
    let cases = vec![
        (
            "a copy behind the arrive",
            changed(in_parts(), |p| {
                let arrive = remove(p, "arrive");
                before(p, "for b_s_round", vec![arrive]);
            }),
        ),
        (
            "what reads it before the wait",
            changed(in_parts(), |p| {
                let wait = remove(p, "wait");
                behind(p, "unroll k'", vec![wait]);
            }),
        ),
        (
            "the next copy before the wait",
            changed(from_step_to_step(), |p| {
                at(p, "for a_s_round", |block, place| block.swap(place - 1, place));
            }),
        ),
        (
            "what reads behind the arrive",
            changed(from_step_to_step(), |p| {
                at(p, "unroll k'", |block, place| block.swap(place, place + 1));
            }),
        ),
        (
            "parts of subgroups",
            changed(in_parts(), |p| {
                at(p, "arrive", |block, place| {
                    block.splice(place..place + 2, sequence([Part::Arrive, Part::Wait].map(|of| part(Scope::Subgroup, of))));
                });
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Barrier));
}

#[test]
fn whole_ones() {
    let whole = |program: Program| {
        let plan = program.plan.iter().map(Dispatch::with_whole_barriers).collect();
        print::plan(&Program { plan, ..program })
    };
    assert_eq!(whole(in_parts()), print::plan(&shared()));
    // Those of two steps stand at the waits, and so does the one behind the loop.
    insta::assert_snapshot!(whole(from_step_to_step()));
}
