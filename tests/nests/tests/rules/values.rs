//! Rules on values: predicates, bounds, reductions, local memory.

use crate::rules::edit::*;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Compare, Const, Expr, Outside};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Body, Exec, NodeKind, Phase, Program, Scope, Tail, print};
use tilewright_dsl::verify::{Rule, verify, verify_scheduled};
use tilewright_nests::build::*;
use tilewright_nests::{TiledMatmul, roomy};

#[test]
fn predicates() {
    let filled = |finite: bool| {
        changed(TiledMatmul { sizes: [None; 3], ..TiledMatmul::literal(1, 1, 1) }.program(), |p| {
            let k = axis(p, "k");
            compute_at(p, "update acc", |c| {
                c.preds.iter_mut().filter(|pred| pred.axis == k).for_each(|pred| pred.tail = Tail::RoundUp)
            });
            // One factor does not depend on k, so only the filled reads of the other factor make the item 0.
            let zero = p.exprs.int(0);
            replace(p, "update acc", |exprs, e| match exprs.get(e).clone() {
                Expr::Read(read) if read.index.len() == 2 && exprs.uses_axis(read.index[0], &mut |a| a == k) => {
                    Some(exprs.read(read.buffer, DType::F32, [zero, read.index[1]]))
                }
                _ => None,
            });
            said(p, "update acc");
            p.checks.finite.extend(finite.then(|| p.buffers.ids().find(|b| p.buffers[*b].name == "b")).flatten());
            // The first row of b is read, so it must exist.
            let extent = p.axes[k].extent;
            at_least_one(p, extent);
        })
    };
    accepted("filled, of a finite factor", &filled(true));
    let clamped = |p: &mut Program, name: &str| {
        replace(p, name, |exprs, e| match exprs.get(e).clone() {
            Expr::Read(mut read) => match read.outside {
                Outside::Fill(_, sides) => {
                    read.outside = Outside::Clamp(sides);
                    Some(exprs.add(Expr::Read(read), DType::F32))
                }
                _ => None,
            },
            _ => None,
        })
    };
    let cases = vec![
        ("filled, of a factor that may be infinite", filled(false)),
        ("a copy that is clamped, not filled", changed(shared(), |p| clamped(p, "write a_s"))),
        (
            "a mask that lets one more through",
            changed(attention(), |p| {
                replace(p, "write p_s", |exprs, e| match *exprs.get(e) {
                    Expr::Compare(Compare::Le, a, b) => {
                        let one = exprs.int(1);
                        let b = exprs.sum(b, one);
                        Some(exprs.compare(Compare::Le, a, b))
                    }
                    _ => None,
                })
            }),
        ),
        ("values that may be infinite", changed(attention(), |p| p.checks.finite.clear())),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Predicate));
}

#[test]
fn bounds() {
    let shift = |p: &mut Program, text: &str, buffer: &str, dimension: usize, by: i64| {
        let buffer = p.buffers.ids().find(|b| p.buffers[*b].name == buffer);
        replace(p, text, |exprs, e| match exprs.get(e).clone() {
            Expr::Read(mut read) if Some(read.buffer) == buffer => {
                let by = exprs.int(by);
                read.index[dimension] = exprs.sum(read.index[dimension], by);
                let dtype = exprs.dtype(e);
                Some(exprs.add(Expr::Read(read), dtype))
            }
            _ => None,
        })
    };
    let cases = vec![
        ("one row further", changed(conv(), |p| shift(p, "update acc", "input", 1, 1))),
        ("one column back", changed(conv(), |p| shift(p, "update acc", "input", 2, -1))),
        ("a halo without its last column", changed(halo(), |p| shift(p, "update acc", "x_s", 1, 1))),
        (
            "a write beside the tile",
            changed(shared(), |p| {
                compute_at(p, "write a_s", |c| c.dst[0].index.swap(0, 1));
            }),
        ),
        (
            "a matrix over the edge",
            changed(mma(), |p| {
                let n = p.exprs.int(48);
                let c_s = p.buffers.ids().find(|b| p.buffers[*b].name == "c_s");
                p.buffers[c_s.unwrap_or_else(|| panic!("c_s"))].shape[1] = n;
            }),
        ),
        (
            "a fill on the wrong side",
            changed(halo(), |p| {
                replace(p, "write x_s", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(mut read) => match read.outside {
                        Outside::Fill(value, sides) => {
                            read.outside = Outside::Fill(value, sides.iter().map(|(low, high)| (*high, *low)).collect());
                            Some(exprs.add(Expr::Read(read), DType::F32))
                        }
                        _ => None,
                    },
                    _ => None,
                })
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Bounds));
}

#[test]
fn reductions() {
    let cases = vec![
        (
            "an init with another value",
            changed(conv(), |p| {
                let one = p.exprs.constant(Const::number(1.0, DType::F32));
                compute_at(p, "init acc", |c| c.value = vec![one]);
            }),
        ),
        (
            "every item twice",
            changed(conv(), |p| {
                let again = made(p, "again", 2);
                wrap(p, "for ic", again, Exec::Serial);
            }),
        ),
        (
            "an update twice",
            changed(conv(), |p| {
                at(p, "for fh", |block, place| {
                    let copy = block[place].clone();
                    block.insert(place, copy);
                })
            }),
        ),
        ("an init after the update", changed(conv(), |p| at(p, "for fh", |block, place| block.swap(0, place)))),
        (
            "an update that misses points",
            changed(TiledMatmul::literal(64, 64, 64).program(), |p| {
                let (k, n) = (axis(p, "k_o"), p.exprs.int(15));
                p.axes[k].extent = n;
            }),
        ),
        ("no update", changed(conv(), |p| drop(remove(p, "for fh")))),
        (
            "a part for the whole",
            changed(norm(), |p| {
                let part = p.buffers.ids().find(|b| p.buffers[*b].name == "mean_part");
                replace(p, "finish mean_r", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(read) => Some(exprs.read(part?, DType::F32, read.index)),
                    _ => None,
                })
            }),
        ),
        (
            "an all-reduce over other axes",
            changed(norm(), |p| {
                let k = axis(p, "mean.k_o");
                at(p, "all-reduce mean_sum", |block, place| {
                    if let NodeKind::AllReduce(reduction) = &mut block[place].kind {
                        reduction.over = vec![k];
                    }
                });
            }),
        ),
        (
            "an all-reduce of a subgroup alone",
            changed(norm(), |p| {
                at(p, "all-reduce mean_sum", |block, place| {
                    if let NodeKind::AllReduce(reduction) = &mut block[place].kind {
                        reduction.scope = Scope::Subgroup;
                    }
                });
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Reduction));
}

#[test]
fn unwritten() {
    let cases = vec![
        (
            "a copy of fewer columns",
            changed(halo(), |p| {
                let fewer = made(p, "fewer", 16);
                let value = p.exprs.axis(fewer);
                let x_w = axis(p, "x_w");
                replace(p, "write x_s", |exprs, e| matches!(exprs.get(e), Expr::Axis(a) if *a == x_w).then_some(value));
                loop_at(p, "for x_w", |l| l.axis = fewer);
            }),
        ),
        (
            "a copy with gaps",
            changed(halo(), |p| {
                let fewer = made(p, "fewer", 9);
                let (value, two) = (p.exprs.axis(fewer), p.exprs.int(2));
                let even = p.exprs.product(value, two);
                let x_w = axis(p, "x_w");
                replace(p, "write x_s", |exprs, e| matches!(exprs.get(e), Expr::Axis(a) if *a == x_w).then_some(even));
                loop_at(p, "for x_w", |l| l.axis = fewer);
            }),
        ),
        (
            "a copy that may not happen",
            changed(attention(), |p| {
                let (j, zero) = (axis(p, "j_o"), p.exprs.int(0));
                let j = p.exprs.axis(j);
                let cond = p.exprs.compare(Compare::Gt, j, zero);
                at(p, "for k_s_round", |block, place| {
                    let then = vec![block.remove(place)];
                    block.insert(place, node(NodeKind::Branch { cond, then, other: Vec::new() }));
                });
            }),
        ),
        (
            "a copy after its use",
            changed(halo(), |p| {
                at(p, "for x_w", |block, place| {
                    let copy = block.remove(place);
                    block.insert(2, copy);
                })
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Unwritten));
}

/// Each step of a pipeline reads the copies that are made for it.
#[test]
fn steps() {
    let cases = vec![
        ("no prologue", changed(mma(), |p| drop(remove(p, "once k_o_next")))),
        (
            "a prologue of another version",
            changed(mma(), |p| {
                let one = p.exprs.int(1);
                compute_at(p, "write b_s[0", |c| c.dst[0].index[0] = one);
            }),
        ),
        (
            "the version after next",
            changed(mma(), |p| {
                let two = p.exprs.int(2);
                for text in ["write a_s[k_o + 1", "write b_s[k_o + 1"] {
                    let k = axis(p, "k_o");
                    let k = p.exprs.axis(k);
                    let version = p.exprs.sum(k, two);
                    compute_at(p, text, |c| c.dst[0].index[0] = version);
                }
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Step));
}

/// The halo's convolution before lowering: its reduction is one leaf.
fn scheduled() -> Program {
    changed(halo(), |p| {
        remove(p, "init acc");
        let finish = remove(p, "finish output");
        unwrap(p, "register acc");
        let NodeKind::Compute(finish) = finish.kind else { panic!("no compute") };
        let Body::Reduce { finish: stored, .. } = p.stages[finish.stage].body else { panic!("no reduction") };
        compute_at(p, "update acc", |c| {
            c.phase = Phase::Whole;
            c.dst = finish.dst;
            c.finish = Some(stored);
            let known = c.preds.clone();
            c.preds.extend(finish.preds.into_iter().filter(|pred| !known.contains(pred)));
        });
    })
}

#[test]
fn before_lowering() {
    let good = scheduled();
    accepted("a reduction as one leaf", &good);
    insta::assert_snapshot!(print::plan(&good));
    let without = |text: &str| {
        let mut program = good.clone();
        remove(&mut program, text);
        program
    };
    let cases = vec![("without a barrier", without("barrier"))];
    insta::assert_snapshot!("before_lowering_barrier", refused(cases, Rule::Barrier));
    let cases = vec![("without its copy", without("for x_w"))];
    insta::assert_snapshot!("before_lowering_copy", refused(cases, Rule::Unwritten));
    let cases = vec![(
        "without a predicate",
        changed(good.clone(), |p| {
            compute_at(p, "reduce output", |c| c.preds.truncate(2));
        }),
    )];
    insta::assert_snapshot!("before_lowering_predicate", refused(cases, Rule::Predicate));
}

/// A leaf that reads no copy must compute its stage's expression.
#[test]
fn values() {
    let further = |text: &str| {
        changed(conv(), |p| {
            let one = p.exprs.int(1);
            replace(p, text, |exprs, e| match exprs.get(e).clone() {
                Expr::Read(read) if !read.index.is_empty() => {
                    let index = exprs.sum(read.index[0], one);
                    Some(exprs.read(read.buffer, DType::F32, [index].into_iter().chain(read.index[1..].iter().copied())))
                }
                _ => None,
            });
        })
    };
    let doubled = changed(conv(), |p| {
        let mut plan = std::mem::take(&mut p.plan);
        for dispatch in &mut plan {
            each_compute(&mut dispatch.body, &mut |compute, _| {
                if compute.phase == Phase::Finish {
                    compute.value.iter_mut().for_each(|value| *value = p.exprs.sum(*value, *value));
                }
            });
        }
        p.plan = plan;
    });
    let cases = vec![("an item one further", further("update acc")), ("a result doubled", doubled)];
    insta::assert_snapshot!(refused(cases, Rule::Value));
}

/// In the last form, a dispatch must have as many invocations as its loops are bound to.
#[test]
fn local_sizes() {
    let lowered = TiledMatmul { sizes: [None; 3], ..TiledMatmul::literal(1, 1, 1) }.program();
    assert!(verify(&lowered, &roomy()).is_ok());
    let forgotten = changed(lowered.clone(), |p| p.plan[0].local = [1; 3]);
    assert!(verify_scheduled(&forgotten, &roomy()).is_ok(), "before lowering");
    let others = [(forgotten, "1 x 1 x 1"), (changed(lowered, |p| p.plan[0].local = [16, 8, 1]), "16 x 8 x 1")];
    for (program, has) in others {
        let errors = verify(&program, &roomy()).expect_err("it is another size");
        let message = errors.0.into_iter().map(|error| error.message).find(|message| message.starts_with("limits"));
        assert_eq!(message, Some(format!("limits: loops of `c` are bound to 8 x 8 x 1 invocations, but its workgroup has {has}")));
    }
}

/// A refusal by the verifier calls it a bug of the compiler, names the place to report it, and shows the nest.
#[test]
fn a_refusal_asks_for_a_report() {
    let lowered = TiledMatmul { sizes: [None; 3], ..TiledMatmul::literal(1, 1, 1) }.program();
    let forgotten = changed(lowered, |p| p.plan[0].local = [1; 3]);
    let errors = verify(&forgotten, &roomy()).expect_err("it has no invocations");
    assert!(errors.are_of_compiler());
    insta::assert_snapshot!(errors.0[0].text(&Spans::new()));
}
