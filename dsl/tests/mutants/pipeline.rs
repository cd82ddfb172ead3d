//! Tests that the verifier refuses broken pipelines: barriers removed, another buffer written or read, another step fetched, and
//! stores and fetches removed or moved.

use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Expr, ExprId, Read};
use tilewright_dsl::nest::{Block, BufferId, Exec, Node, NodeKind, Program, Space, Step, print};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};
use tilewright_dsl::verify::verify;

const MATMUL: &str = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
}";

const THREADS: &str = "V: matmul<T = f32> for arm_valhall {
    tile(i: 16 round_up, j: 16 round_up) => workgroup(y, x);
    tile(k: 8 round_up => k_o);
    reorder(k_o, k, i, j);
    promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
    promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
    PIPELINE
    tile(i: 2, j: 2) => thread(y, x);
    promote(a_s => a_r[i], at: k, to: register);
    unroll(i, j);
}";

/// On matrix units.
const MATRICES: &str = "V: matmul<T = f16> for mesa_lavapipe_26 where M % 16 == 0, N % 16 == 0 {
    tile(i: 16, j: 16) => workgroup(y, x);
    tile(i: 8, j: 8) => subgroup(x, x);
    tile(k: 8 round_up => k_o);
    reorder(k_o, k, i, j);
    promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
    promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
    PIPELINE
    mma(i, j, k, 8 x 8 x 8);
}";

const PIPELINES: [&str; 12] = [
    "pipeline(k_o, buffers: 1, prefetch: register);",
    "pipeline(k_o, buffers: 2, prefetch: register);",
    "pipeline(k_o, buffers: 3, prefetch: register);",
    "pipeline(k_o, buffers: 2);",
    "pipeline(k_o, buffers: 3, store: after c);",
    "pipeline(k_o, buffers: 1, prefetch: register, store: start);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: start early, store: end);",
    "pipeline(k_o, a_s, buffers: 2, prefetch: register, store: start); pipeline(k_o, b_s, buffers: 1, prefetch: register);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: end early);",
    "pipeline(k_o, buffers: 1, prefetch: register, fetch: end, store: start);",
    "pipeline(k_o, buffers: 2, prefetch: register, fetch: start early, store: start early);",
    "pipeline(k_o, buffers: 3, prefetch: register, fetch: end, store: before c early);",
];

fn compiled(schedule: &str, pipeline: &str) -> (Program, Profile) {
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(MATMUL.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let text = schedule.replace("PIPELINE", pipeline);
    let schedule = syntax::parse(text.parse().expect("tokens"), &mut spans, Schedule::parse);
    let schedule = schedule.into_result().map_err(|e| e.texts(&spans)).expect("a schedule");
    let profile = Profile::bundled(&schedule.profile.last().expect("a profile").text).expect("bundled");
    let compiled = compile(&kernel, &schedule, &profile).map_err(|e| e.texts(&spans)).expect("it compiles");
    (compiled.program, profile)
}

/// A change to a block. Returns `None` if the block has fewer places for the change.
type Change<'c> = &'c dyn Fn(&Program, &mut Block, &mut usize) -> Option<String>;

/// Returns the nests with one change each.
fn changed(program: &Program, change: Change<'_>) -> Vec<(String, Program)> {
    fn go(program: &Program, block: &mut Block, left: &mut usize, change: Change<'_>) -> Option<String> {
        change(program, block, left)
            .or_else(|| block.iter_mut().flat_map(Node::blocks_mut).find_map(|inner| go(program, inner, left, change)))
    }
    let mut all = Vec::new();
    for which in 0.. {
        let (mut mutant, mut left) = (program.clone(), which);
        let mut plan = std::mem::take(&mut mutant.plan);
        let what = plan.iter_mut().find_map(|dispatch| go(&mutant, &mut dispatch.body, &mut left, change));
        mutant.plan = plan;
        match what {
            Some(what) => all.push((what, mutant)),
            None => return all,
        }
    }
    all
}

fn turn(left: &mut usize) -> bool {
    let now = *left == 0;
    *left = left.wrapping_sub(1);
    now
}

/// Checks that each change is refused, and returns the number of changes.
fn refused(pipeline: &str, change: Change<'_>) -> usize {
    refused_under(THREADS, pipeline, change)
}

/// Does the same on matrix units.
fn refused_of_matrices(pipeline: &str, change: Change<'_>) -> usize {
    refused_under(MATRICES, pipeline, change)
}

fn refused_under(schedule: &str, pipeline: &str, change: Change<'_>) -> usize {
    let (program, profile) = compiled(schedule, pipeline);
    let all = changed(&program, change);
    for (what, mutant) in &all {
        assert!(verify(mutant, &profile).is_err(), "{pipeline}\n{what}, and it is accepted:\n{}", print::plan(mutant));
    }
    all.len()
}

fn line(program: &Program, node: &Node) -> String {
    print::Printer::new(program).line(node)
}

#[test]
fn barriers() {
    let less: Change<'_> = &|_, block, left| {
        let at = (0..block.len()).find(|at| matches!(block[*at].kind, NodeKind::Barrier { .. }) && turn(left))?;
        block.remove(at);
        Some("a barrier less".to_owned())
    };
    let counts = PIPELINES.map(|pipeline| [refused(pipeline, less), refused_of_matrices(pipeline, less)]);
    assert_eq!(counts, [3, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 2].map(|count| [count; 2]));
}

/// Changes each access to the next buffer, one at a time.
#[test]
fn other_buffers() {
    let counts = PIPELINES.map(|pipeline| {
        refused(pipeline, &|program, block, left| {
            let next = |e: ExprId| program.exprs.sum(e, program.exprs.int(1));
            let has = |buffer: BufferId| program.buffers[buffer].versions > 1;
            for node in block {
                let text = line(program, node);
                let NodeKind::Compute(compute) = &mut node.kind else { continue };
                for to in compute.dst.iter_mut().filter(|to| has(to.buffer)) {
                    if turn(left) {
                        to.index[0] = next(to.index[0]);
                        return Some(format!("another buffer written: {text}"));
                    }
                }
                let value = compute.value[0];
                for read in program.exprs.reads(value).into_iter().filter(|read| has(read.buffer)) {
                    if turn(left) {
                        let mut moved: Read = read.clone();
                        moved.index[0] = next(read.index[0]);
                        compute.value[0] = program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
                            Expr::Read(found) if *found == read => Some(exprs.add(Expr::Read(moved.clone()), exprs.dtype(id))),
                            _ => None,
                        });
                        return Some(format!("another buffer read: {text}"));
                    }
                }
            }
            None
        })
    });
    assert_eq!(counts, [0, 6, 8, 6, 8, 0, 0, 2, 0, 0, 4, 6]);
}

#[test]
fn other_steps() {
    for pipeline in PIPELINES {
        let count = refused(pipeline, &|program, block, left| {
            for node in block {
                let text = line(program, node);
                let NodeKind::Loop(looped) = &mut node.kind else { continue };
                let Exec::Step(step) = looped.exec else { continue };
                let others = match step {
                    Step::First(n) => vec![Exec::Step(Step::First(n + 1)), Exec::Serial],
                    Step::Ahead(of, n) => {
                        let other = |n: u32| Exec::Step(Step::Ahead(of, n));
                        vec![other(n + 1), other(n.wrapping_sub(1)), Exec::Step(Step::First(n)), Exec::Serial]
                    }
                };
                for other in others {
                    if turn(left) {
                        looped.exec = other;
                        return Some(format!("{text} as {other:?}"));
                    }
                }
            }
            None
        });
        assert!(count >= 6, "{pipeline}: {count}");
    }
}

/// True if a node is a fetch or a store: loops around writes of copies, or of their registers.
fn is_made_ahead(program: &Program, node: &Node) -> bool {
    match &node.kind {
        NodeKind::Loop(looped) => looped.body.iter().all(|inner| is_made_ahead(program, inner)),
        NodeKind::Compute(compute) => program.notes.pipelines.iter().any(|pipeline| {
            let made = pipeline.made.expect("it is lowered");
            pipeline.stage == compute.stage || made.registers == Some(compute.stage)
        }),
        _ => false,
    }
}

#[test]
fn nothing_made() {
    for pipeline in PIPELINES {
        let count = refused(pipeline, &|program, block, left| {
            let at = (0..block.len()).find(|at| is_made_ahead(program, &block[*at]) && turn(left))?;
            let node = block.remove(at);
            Some(format!("without {}", line(program, &node)))
        });
        assert!(count >= 4, "{pipeline}: {count}");
    }
}

/// Moves stores into shared memory across the barrier next to them. (With three buffers, this is correct.)
#[test]
fn stores_moved() {
    let pipelines = PIPELINES.into_iter().filter(|pipeline| !pipeline.contains("buffers: 3"));
    let counts = pipelines.map(|pipeline| {
        refused(pipeline, &|program, block, left| {
            let stores = |node: &Node| {
                let shared = |buffer: &BufferId| program.buffers[*buffer].space == Space::Shared;
                is_made_ahead(program, node)
                    && tilewright_dsl::nest::walk::nodes(std::slice::from_ref(node)).any(|n| n.writes().iter().any(shared))
            };
            let crossed = |node: &Node| matches!(node.kind, NodeKind::Barrier { .. });
            for at in 0..block.len().saturating_sub(1) {
                let (first, second) = (&block[at], &block[at + 1]);
                if ((stores(first) && crossed(second)) || (crossed(first) && stores(second))) && turn(left) {
                    let text = line(program, &block[at]);
                    block.swap(at, at + 1);
                    return Some(format!("{text}, later"));
                }
            }
            None
        })
    });
    assert_eq!(counts.collect::<Vec<_>>(), [3, 2, 1, 1, 1, 2, 3, 1, 0]);
}

/// Moves the stores of the first steps out of their loops, although there may be no steps.
#[test]
fn first_stores_alone() {
    for pipeline in PIPELINES {
        let count = refused(pipeline, &|program, block, left| {
            for at in 0..block.len() {
                let NodeKind::Loop(looped) = &mut block[at].kind else { continue };
                if !matches!(looped.exec, Exec::Step(Step::First(_))) || !turn(left) {
                    continue;
                }
                let store = looped.body.pop()?;
                let text = line(program, &store);
                block.insert(at + 1, store);
                return Some(format!("{text}, behind its step"));
            }
            None
        });
        assert!(count >= 1, "{pipeline}");
    }
}

/// Moves the first steps after the loop. The barrier before the loop stays.
#[test]
fn first_steps_late() {
    for pipeline in PIPELINES {
        let count = refused(pipeline, &|program, block, left| {
            let is_first = |node: &Node| matches!(&node.kind, NodeKind::Loop(l) if matches!(l.exec, Exec::Step(Step::First(_))));
            let at = (0..block.len()).find(|at| is_first(&block[*at]) && turn(left))?;
            let node = block.remove(at);
            let text = line(program, &node);
            block.push(node);
            Some(format!("{text}, at the end"))
        });
        assert!(count >= 1, "{pipeline}");
    }
}
