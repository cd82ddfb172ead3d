//! Tests that the verifier refuses branches whose two blocks differ. Each case is a lowered nest with one change.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::{SpanId, Spans};
use tilewright_dsl::expr::{Binary, Compare, Expr, ExprId, Outside, Read};
use tilewright_dsl::launch::Relation;
use tilewright_dsl::nest::{Block, Condition, Exec, Fate, Loop, NodeKind, Pred, Program, Tail, walk};
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

/// Returns the verifier's errors after a change.
fn changed(directives: &str, change: impl Fn(&mut Program)) -> String {
    let mut program = lowered(directives);
    assert!(verify(&program, &Profile::vulkan_1_1()).is_ok());
    change(&mut program);
    let errors = verify(&program, &Profile::vulkan_1_1()).expect_err("the verifier sees it");
    errors.0.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("\n")
}

const GRID: &str = "tile(i: 8 peel) => workgroup(y); distribute(j => workgroup(x)); serial(i);";
const REDUCTION: &str = "distribute(i, j => workgroup(y, x)); tile(k: 8 peel);";
const SHARED: &str = "distribute(i => workgroup(y)); tile(j: 8) => workgroup(x); distribute(j => thread(x)); tile(k: 4 peel => k_o); \
    promote(a, at: k_o, to: shared);";

/// Changes the only branch.
fn at_the_branch(p: &mut Program, f: &mut dyn FnMut(&mut Program, &mut ExprId, &mut Block, &mut Block)) {
    let mut body = std::mem::take(&mut p.plan[0].body);
    walk::each_mut(&mut body, &mut |node| {
        if let NodeKind::Branch { cond, then, other } = &mut node.kind {
            f(p, cond, then, other);
        }
    });
    p.plan[0].body = body;
}

/// Adds a number to the number of full tiles in the branch's condition.
fn moved(p: &mut Program, by: i64) {
    at_the_branch(p, &mut |p, cond, _, _| {
        let Expr::Compare(_, a, b) = *p.exprs.get(*cond) else { return };
        let by = p.exprs.int(by);
        let b = p.exprs.sum(b, by);
        *cond = p.exprs.compare(Compare::Lt, a, b);
    });
}

#[test]
fn a_side_without_what_the_other_has() {
    for directives in [GRID, REDUCTION] {
        let said = changed(directives, |p| at_the_branch(p, &mut |_, _, then, _| then.clear()));
        assert!(said.contains("compute different values"), "{said}");
        let said = changed(directives, |p| at_the_branch(p, &mut |_, _, _, other| other.clear()));
        assert!(said.contains("compute different values"), "{said}");
    }
}

#[test]
fn sides_that_are_exchanged() {
    for directives in [GRID, REDUCTION] {
        let said = changed(directives, |p| at_the_branch(p, &mut |_, _, then, other| std::mem::swap(then, other)));
        assert!(said.contains("compute different values"), "{said}");
    }
}

/// Predicates on a loop's axis exclude inactive invocations. A branch's condition does not replace them.
#[test]
fn full_tiles_in_idle_invocations() {
    let schedule = "tile(i: 8 peel) => workgroup(y); serial(i); tile(j: 8) => workgroup(x); distribute(j => thread(x));";
    let said = changed(schedule, |p| {
        let thread = p.axes.ids().find(|axis| p.axes[*axis].name == "j" && p.axes[*axis].fate == Fate::Live).expect("the axis");
        at_the_branch(p, &mut |_, _, _, other| {
            walk::each_mut(other, &mut |node| {
                if let NodeKind::Compute(compute) = &mut node.kind {
                    compute.preds.push(Pred { axis: thread, tail: Tail::Guard });
                }
            });
        });
    });
    assert!(said.contains("the main part of a branch may run past the end of `j'`"), "{said}");
}

#[test]
fn a_side_that_computes_something_else() {
    let said = changed(REDUCTION, |p| {
        at_the_branch(p, &mut |p, _, then, _| {
            walk::each_mut(then, &mut |node| {
                if let NodeKind::Compute(compute) = &mut node.kind {
                    compute.value[0] = p.exprs.sum(compute.value[0], compute.value[0]);
                }
            });
        });
    });
    assert!(said.contains("compute different values"), "{said}");
}

/// A read lacks a clamp that it needs, because the branch is on the tiles of another axis.
#[test]
fn a_read_that_may_leave_its_tensor() {
    let copied = "tile(i: 4) => workgroup(y); distribute(j => workgroup(x)); tile(k: 4 peel => k_o); reorder(k_o, i, k); \
        promote(a => p[i, k], at: k_o, to: register); unroll(i, k);";
    let said = changed(copied, |p| {
        at_the_branch(p, &mut |p, _, then, _| {
            walk::each_mut(then, &mut |node| {
                let NodeKind::Compute(compute) = &mut node.kind else { return };
                if let Expr::Read(read @ Read { outside: Outside::Clamp(_), .. }) = p.exprs.get(compute.value[0]).clone() {
                    compute.value[0] = p.exprs.read(read.buffer, p.exprs.dtype(compute.value[0]), read.index);
                }
            });
        });
    });
    assert!(said.contains("compute different values"), "{said}");
}

#[test]
fn full_tiles_that_are_none() {
    for (directives, axis) in [(GRID, "i"), (REDUCTION, "k")] {
        let said = changed(directives, |p| moved(p, 1));
        assert!(said.contains(&format!("the main part of a branch may run past the end of `{axis}`")), "{said}");
    }
}

#[test]
fn full_tiles_everywhere() {
    for directives in [GRID, REDUCTION] {
        let said = changed(directives, |p| at_the_branch(p, &mut |_, _, then, other| other.clone_from(then)));
        assert!(said.contains("missing predicate"), "{said}");
    }
}

/// Adds to the branch's condition that the loop axis with this name is below four.
fn narrowed(p: &mut Program, name: &str) {
    let axis = p.axes.ids().find(|axis| p.axes[*axis].name == name && p.axes[*axis].fate == Fate::Live).expect("the axis");
    at_the_branch(p, &mut |p, cond, _, _| {
        let (axis, four) = (p.exprs.axis(axis), p.exprs.int(4));
        let narrow = p.exprs.compare(Compare::Lt, axis, four);
        *cond = p.exprs.binary(Binary::And, *cond, narrow);
    });
}

#[test]
fn a_condition_that_differs_where_invocations_meet() {
    let team = "tile(i: 8) => workgroup(y); distribute(i => thread(y)); tile(j: 4 peel => j_o); serial(j_o, j); tile(k: 8 => k_o); \
        distribute(k => thread(x), by: tree);";
    let said = changed(team, |p| narrowed(p, "i"));
    assert!(said.contains("can differ among invocations that must take the same branch"), "{said}");
}

#[test]
fn a_condition_that_is_not_known_yet() {
    let said = changed(SHARED, |p| narrowed(p, "k"));
    assert!(said.contains("names an axis that no loop around binds"), "{said}");
}

/// Makes the first split a `shift`. If `long`, the launch checks that its axis is long enough.
fn shifted(p: &mut Program, long: bool) {
    let axis = p.axes.ids().find(|axis| matches!(&p.axes[*axis].fate, Fate::Split(_))).expect("an axis is split");
    let (left, right) = (p.axes[axis].extent, p.exprs.int(8));
    if long {
        p.checks.conditions.push(Condition {
            left,
            relation: Relation::Ge,
            right,
            text: String::new(),
            span: SpanId::NONE,
            needed: false,
        });
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
    assert!(said.contains("workgroups with different `i_workgroup`"), "{said}");
}

/// Calls `f` with each serial loop that ends before its extent.
fn ended(p: &mut Program, f: &mut dyn FnMut(&mut Program, &mut Loop)) {
    let mut plan = std::mem::take(&mut p.plan);
    for dispatch in &mut plan {
        walk::each_mut(&mut dispatch.body, &mut |node| match &mut node.kind {
            NodeKind::Loop(l) if l.end.is_some() => f(p, l),
            _ => {}
        });
    }
    p.plan = plan;
}

#[test]
fn loops_that_end_too_early() {
    let changes: [fn(&mut Program, &mut Loop); 3] = [
        |p, l| {
            let one = p.exprs.int(1);
            l.end = l.end.map(|end| p.exprs.difference(end, one));
        },
        |_, l| {
            walk::each_mut(&mut l.body, &mut |node| {
                if let NodeKind::Compute(compute) = &mut node.kind {
                    compute.preds.clear();
                }
            });
        },
        |_, l| l.exec = Exec::Unroll,
    ];
    for change in changes {
        let said =
            changed("distribute(j => workgroup(x)); serial(i); tile(k: 8 peel => k_o);", |p| ended(p, &mut |p, l| change(p, l)));
        assert!(said.contains("the loop over `k'` may end too early"), "{said}");
    }
}
