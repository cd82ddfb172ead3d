//! Reductions across invocations and dispatches: their lowered nests, and the verifier's errors for wrong ones.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::Const;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AllReduce, Block, Body, Exec, How, Level, Loop, Node, NodeKind, Program, Scope, Slot, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::{Rule, verify};

const MEAN: &str = "fn mean<N, K>(x: f32[N, K]) -> y: f32[N] { y[i] = sum(k in 0..K) { x[i, k] } / K as f32; }";
const BEST: &str = "fn best<N, K>(x: f32[N, K]) -> y: i32[N] { y[i] = argmax(k in 0..K) { x[i, k] }; }";
const TRIANGLE: &str = "fn triangle<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }";
const MATMUL: &str =
    "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";

const TREE: &str =
    "tile(i: 2) => workgroup(x); distribute(i => thread(y)); tile(k: 13 => k_o); distribute(k => thread(x), by: tree);";
const ROW: &str = "distribute(i => workgroup(x)); tile(k: 16 => k_o); distribute(k => thread(x), by: tree);";
const ATOMIC: &str = "distribute(i => workgroup(y)); tile(k: 256) => workgroup(x), by: atomic; tile(k: 16 => k_o); distribute(k => thread(x), by: tree);";

fn compiled(kernel: &str, directives: &str) -> Program {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = format!("V: {} for mesa_lavapipe {{ {directives} }}", kernel.name);
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    let compiled = compile(&kernel, &schedule, &Profile::mesa_lavapipe());
    compiled.unwrap_or_else(|errors| panic!("{}", errors.texts(&spans))).program
}

/// Returns the lowered nest and the ledger.
fn lowered(kernel: &str, directives: &str) -> String {
    let program = compiled(kernel, directives);
    let ledger = program.report.ledger.iter().map(|o| format!("{:?}: {}\n", o.state, o.what)).collect::<String>();
    format!("{}\n{ledger}", print::plan(&program))
}

#[test]
fn by_tree() {
    insta::assert_snapshot!(lowered(MEAN, TREE));
}

#[test]
fn by_subgroup_and_lane() {
    let directives = "tile(i: 2) => workgroup(x); distribute(i => subgroup(y)); split(k, [_, 3, 5] => k_o, k_s, k_l); \
        distribute(k_s => subgroup(x), by: subgroup); distribute(k_l => lane(x), by: subgroup);";
    insta::assert_snapshot!(lowered(MEAN, directives));
}

#[test]
fn a_tile_of_results() {
    let directives = "tile(i: 2, j: 4) => workgroup(y, x); tile(k: 16 => k_o); distribute(k => thread(x), by: subgroup); \
        reorder(k_o, i, j); unroll(i); vectorize(j, 4, unaligned: scalar);";
    insta::assert_snapshot!(lowered(MATMUL, directives));
}

#[test]
fn by_atomic_with_an_epilogue() {
    insta::assert_snapshot!(lowered(MEAN, ATOMIC));
}

#[test]
fn partial_results_of_tuples() {
    insta::assert_snapshot!(lowered(BEST, "tile(k: 64 => k_o); rfactor(k_o => part); part { serial(i, k_o); } serial(i);"));
}

#[test]
fn partial_results_of_a_triangle() {
    insta::assert_snapshot!(lowered(TRIANGLE, "tile(j: 8 => j_o); rfactor(j_o => part); part { serial(i, j_o); } serial(i);"));
}

/// Changes the first node whose line begins with a text. If `f` returns false, the node is removed, and the body of a loop stays.
fn change(program: &Program, text: &str, f: &dyn Fn(&mut Node, &mut Program) -> bool) -> Program {
    fn walk(program: &mut Program, block: &mut Block, text: &str, f: &dyn Fn(&mut Node, &mut Program) -> bool) -> bool {
        for at in 0..block.len() {
            if print::Printer::new(program).line(&block[at]).starts_with(text) {
                if !f(&mut block[at], program) {
                    let node = block.remove(at);
                    let body = match node.kind {
                        NodeKind::Loop(looped) => looped.body,
                        _ => Vec::new(),
                    };
                    block.splice(at..at, body);
                }
                return true;
            }
            let mut node = block[at].clone();
            let found = node.blocks_mut().any(|inner| walk(program, inner, text, f));
            block[at] = node;
            if found {
                return true;
            }
        }
        false
    }
    let mut changed = program.clone();
    let mut plan = std::mem::take(&mut changed.plan);
    assert!(plan.iter_mut().any(|d| walk(&mut changed, &mut d.body, text, f)), "no `{text}` in\n{}", print::plan(program));
    changed.plan = plan;
    changed
}

fn reduction(f: impl Fn(&mut AllReduce)) -> impl Fn(&mut Node, &mut Program) -> bool {
    move |node, _| {
        if let NodeKind::AllReduce(reduction) = &mut node.kind {
            f(reduction);
        }
        true
    }
}

fn looped(f: impl Fn(&mut Loop, &mut Program)) -> impl Fn(&mut Node, &mut Program) -> bool {
    move |node, program| {
        if let NodeKind::Loop(looped) = &mut node.kind {
            f(looped, program);
        }
        true
    }
}

fn bound(level: Level, slot: Slot) -> Exec {
    Exec::Bind(level, slot)
}

#[test]
fn what_is_not_right_is_refused() {
    let (tree, atomic) = (compiled(MEAN, TREE), compiled(MEAN, ATOMIC));
    let lanes = compiled(
        MEAN,
        "tile(i: 2) => workgroup(x); distribute(i => subgroup(x)); tile(k: 5 => k_o); distribute(k => lane(x), by: subgroup);",
    );
    let part = compiled(MEAN, "tile(k: 64 => k_o); rfactor(k_o => part); part { serial(i, k_o); } serial(i);");
    let count = compiled(
        "fn count<N, K>(x: f32[N, K]) -> y: i32[N] { y[i] = sum(k in 0..K) { k }; }",
        "tile(k: 64 => k_o); rfactor(k_o => part); part { serial(i, k_o); } serial(i);",
    );
    let own = compiled("fn own<N, K>(y: &mut i32[N], x: i32[N, K]) { y[i] = sum(k in 0..K) { x[i, k] + y[i] }; }", ROW);
    let no_predicates = |node: &mut Node, _: &mut Program| {
        match &mut node.kind {
            NodeKind::Compute(compute) => compute.preds.clear(),
            NodeKind::AllReduce(reduction) => reduction.preds.clear(),
            _ => {}
        }
        true
    };
    let removed = |_: &mut Node, _: &mut Program| false;
    let cases: Vec<(&str, Rule, Program)> = vec![
        ("no all-reduce", Rule::Unwritten, change(&tree, "all-reduce", &removed)),
        ("an all-reduce over nothing", Rule::Reduction, change(&tree, "all-reduce", &reduction(|c| c.over.clear()))),
        (
            "a subgroup's all-reduce of threads",
            Rule::Reduction,
            change(&tree, "all-reduce", &reduction(|c| c.scope = Scope::Subgroup)),
        ),
        ("13 threads by subgroup", Rule::Reduction, change(&tree, "all-reduce", &reduction(|c| c.how = How::Subgroup))),
        ("all of a team write", Rule::Race, change(&tree, "thread x: k_once", &removed)),
        ("all of a team write, unguarded", Rule::Predicate, change(&tree, "finish", &no_predicates)),
        ("no init", Rule::Unwritten, change(&tree, "init", &removed)),
        ("a part for the whole", Rule::Reduction, {
            let acc = tree.buffers.ids().find(|b| tree.buffers[*b].name == "y_acc").expect("it");
            change(&tree, "finish", &move |node, program| {
                let read = program.exprs.read(acc, DType::F32, []);
                if let NodeKind::Compute(compute) = &mut node.kind {
                    compute.value = vec![read];
                }
                true
            })
        }),
        ("an all-reduce where not all arrive", Rule::Uniformity, {
            let i = tree.axes.ids().rfind(|a| tree.axes[*a].name == "i").expect("it");
            change(&tree, "all-reduce", &move |node, program| {
                let mut axis = program.axes[i].clone();
                (axis.name, axis.extent) = ("often".into(), program.exprs.axis(i));
                let (axis, inner) = (program.axes.push(axis), node.clone());
                node.kind = NodeKind::Loop(Loop::new(axis, Exec::Serial, vec![inner]));
                true
            })
        }),
        ("more values than lanes", Rule::Limits, {
            let k = lanes.axes.ids().rfind(|a| lanes.axes[*a].name == "k").expect("it");
            let mut changed = lanes.clone();
            changed.axes[k].extent = changed.exprs.int(9);
            changed
        }),
        ("idle lanes that count", Rule::Predicate, change(&lanes, "update", &no_predicates)),
        ("lanes as threads", Rule::Reduction, change(&lanes, "lane x: k'", &looped(|l, _| l.exec = bound(Level::Thread, Slot::X)))),
        ("atomics of all of a team", Rule::Race, change(&atomic, "thread x: k_once", &removed)),
        ("atomics without the workgroups", Rule::Reduction, {
            let k = atomic.axes.ids().rfind(|a| atomic.axes[*a].name == "k").expect("it");
            change(&atomic, "all-reduce y_state", &reduction(move |c| c.over = vec![k]))
        }),
        ("atomics on nothing", Rule::Flow, {
            let mut changed = atomic.clone();
            changed.plan.remove(0);
            changed
        }),
        ("atomics on something else", Rule::Flow, {
            let changed = atomic.clone();
            let two = changed.exprs.constant(Const::number(2.0, DType::F32));
            change(&changed, "write y_state", &move |node, program| {
                if let NodeKind::Compute(compute) = &mut node.kind {
                    compute.value = vec![two];
                    program.stages[compute.stage].body = Body::Map(two);
                }
                true
            })
        }),
        ("atomics past the end", Rule::Predicate, {
            let tiled =
                compiled(MEAN, "tile(i: 4) => workgroup(y); distribute(i => thread(x)); tile(k: 64) => workgroup(x), by: atomic;");
            change(&tiled, "all-reduce", &no_predicates)
        }),
        ("a result in place that others still read", Rule::Barrier, change(&own, "barrier", &removed)),
        ("a subgroup's tail read past the end", Rule::Predicate, change(&part, "update part_acc", &no_predicates)),
        ("a tail that counts", Rule::Predicate, change(&count, "update part_acc", &no_predicates)),
    ];
    for (what, rule, program) in cases {
        let Err(errors) = verify(&program, &Profile::mesa_lavapipe()) else {
            panic!("{what} was accepted:\n{}", print::plan(&program));
        };
        let by_rule = errors.0.iter().any(|e| e.message.starts_with(&format!("{rule}: ")));
        assert!(by_rule, "{what}: {:?}", errors.0.iter().map(|e| &e.message).collect::<Vec<_>>());
    }
}
