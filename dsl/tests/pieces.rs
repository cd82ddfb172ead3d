//! What the verifier says of full tiles and rests that are not what they were made: each case is a lowered nest with one
//! thing changed.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::{SpanId, Spans};
use tilewright_dsl::expr::{Compare, Expr};
use tilewright_dsl::launch::Relation;
use tilewright_dsl::nest::{Block, Body, Condition, Fate, Node, NodeKind, Program, StageId, Tail};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const MATMUL: &str =
    "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";

fn lowered(directives: &str) -> Program {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(MATMUL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: matmul for vulkan_1_1 {{ {directives} }}");
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    compile(&kernel, &schedule, &Profile::vulkan_1_1()).unwrap_or_else(|e| panic!("{}", e.texts(&spans))).program
}

/// What the verifier says first, after a change.
fn changed(directives: &str, change: impl Fn(&mut Program)) -> String {
    let mut program = lowered(directives);
    assert!(verify(&program, &Profile::vulkan_1_1()).is_ok());
    change(&mut program);
    let errors = verify(&program, &Profile::vulkan_1_1()).expect_err("the verifier sees it");
    errors.0.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("\n")
}

/// Calls `f` with every block that has a branch, and its place.
fn at_branch(block: &mut Block, f: &mut dyn FnMut(&mut Block, usize)) {
    if let Some(place) = block.iter().position(|node| matches!(node.kind, NodeKind::Branch { .. })) {
        return f(block, place);
    }
    block.iter_mut().for_each(|node| node.blocks_mut().for_each(|inner| at_branch(inner, f)));
}

const GRID: &str = "tile(i: 8 peel) => workgroup(y); distribute(j => workgroup(x)); serial(i);";
const REDUCTION: &str = "distribute(i, j => workgroup(y, x)); tile(k: 8 peel);";

#[test]
fn an_arm_without_the_rest() {
    let said = changed(GRID, |p| {
        let body = &mut p.plan[0].body;
        at_branch(body, &mut |block, place| {
            let NodeKind::Branch { other, .. } = &mut block[place].kind else { return };
            other.clear();
        });
    });
    assert!(said.contains("leaves out values of `i`"), "{said}");
}

#[test]
fn a_branch_that_turns_too_early_or_too_late() {
    for (by, wanted) in [(-1, "is left out where not"), (1, "missing predicate: `i_workgroup < M / 8`")] {
        let said = changed(GRID, |p| {
            let mut body = std::mem::take(&mut p.plan[0].body);
            at_branch(&mut body, &mut |block, place| {
                let NodeKind::Branch { cond, .. } = &mut block[place].kind else { return };
                let Expr::Compare(_, a, b) = *p.exprs.get(*cond) else { return };
                let by = p.exprs.int(by);
                let b = p.exprs.sum(b, by);
                *cond = p.exprs.compare(Compare::Lt, a, b);
            });
            p.plan[0].body = body;
        });
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn full_tiles_everywhere() {
    let said = changed(GRID, |p| {
        let mut body = std::mem::take(&mut p.plan[0].body);
        at_branch(&mut body, &mut |block, place| {
            let NodeKind::Branch { then, .. } = &block[place].kind else { return };
            let then = then.clone();
            block.splice(place..=place, then);
        });
        p.plan[0].body = body;
    });
    assert!(said.contains("missing predicate") || said.contains("leaves out values"), "{said}");
}

#[test]
fn a_rest_that_begins_elsewhere() {
    // One point of the rest is left out.
    for directives in [GRID, REDUCTION] {
        let said = changed(directives, |p| {
            let twin = p.peels[0].twin;
            let Fate::Split(split) = p.axes[twin].fate.clone() else { return };
            let last = split.parts[split.parts.len() - 1];
            let one = p.exprs.int(1);
            p.axes[last].extent = p.exprs.difference(p.axes[last].extent, one);
        });
        assert!(said.contains("leaves out values of") || said.contains("does not visit every point"), "{said}");
    }
}

#[test]
fn a_rest_of_another_algorithm() {
    let said = changed(REDUCTION, |p| {
        let rest = p.peels[0].rest;
        let Body::Reduce { lift, .. } = &mut p.stages[rest].body else { return };
        lift[0] = p.exprs.sum(lift[0], lift[0]);
    });
    assert!(said.contains("does not visit every point"), "{said}");
}

#[test]
fn a_rest_that_is_visited_twice() {
    let said = changed(REDUCTION, |p| {
        let rest = p.peels[0].rest;
        fn double(block: &mut Block, of: StageId) {
            let holds = |node: &Node| matches!(&node.kind, NodeKind::Compute(c) if c.stage == of);
            if let Some(place) = block.iter().position(holds) {
                block.insert(place, block[place].clone());
            }
            block.iter_mut().for_each(|node| node.blocks_mut().for_each(|inner| double(inner, of)));
        }
        double(&mut p.plan[0].body, rest);
    });
    assert!(said.contains("that another leaf has visited"), "{said}");
}

/// Makes the first split a `shift`; `long`: of an axis that is long enough.
fn shifted(p: &mut Program, long: bool) {
    let axis = p.axes.ids().find(|axis| matches!(&p.axes[*axis].fate, Fate::Split(_))).expect("an axis is split");
    let (left, right) = (p.axes[axis].extent, p.exprs.int(8));
    if long {
        p.conditions.push(Condition { left, relation: Relation::Ge, right, text: String::new(), span: SpanId::NONE });
    }
    let Fate::Split(split) = &mut p.axes[axis].fate else { return };
    (split.tail, split.exact) = (Tail::Shift, true);
}

#[test]
fn a_tile_moved_back_over_what_counts() {
    let reduction = "distribute(i, j => workgroup(y, x)); tile(k: 8);";
    let said = changed(reduction, |p| shifted(p, false));
    assert!(said.contains("may begin before it"), "{said}");
    let said = changed(reduction, |p| shifted(p, true));
    assert!(said.contains("visits points of `k` twice"), "{said}");
    let said = changed("distribute(j => workgroup(x)); tile(i: 8) => workgroup(y); serial(i);", |p| shifted(p, true));
    assert!(said.contains("workgroups that differ in `i_workgroup`"), "{said}");
}
