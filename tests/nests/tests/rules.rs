//! Each rule of the verifier, broken on purpose in a nest that is otherwise good; and what looks like a break and is none.

use tilewright_dsl::expr::{Binary, Compare, Expr, ExprId, Outside};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::verify::{Rule, verify};
use tilewright_dsl::nest::{
    AxisId, Block, Body, Compute, Exec, Fate, Fragment, How, Level, Loop, Node, NodeKind, Obligation, Phase, Pred, Program, Scope,
    Slot, Space, State, Tail, print,
};
use tilewright_dsl::profile::Profile;
use tilewright_nests::build::*;
use tilewright_nests::{Attention, Conv, HaloConv, LayerNorm, MmaMatmul, SharedMatmul, TiledMatmul, roomy};

/// Applies `f` to the first block that has a node whose line contains `text`, and the node's place in it.
fn at(program: &mut Program, text: &str, f: impl FnOnce(&mut Block, usize)) {
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

/// Takes the first such node away and leaves what it holds.
fn unwrap(program: &mut Program, text: &str) {
    at(program, text, |block, place| {
        let inner: Block = block[place].blocks_mut().flat_map(std::mem::take).collect();
        block.splice(place..=place, inner);
    });
}

/// Puts a loop around the first such node.
fn wrap(program: &mut Program, text: &str, axis: AxisId, exec: Exec) {
    at(program, text, |block, place| {
        let body = vec![block.remove(place)];
        block.insert(place, node(NodeKind::Loop(Loop { axis, exec, body })));
    });
}

fn compute_at(program: &mut Program, text: &str, f: impl FnOnce(&mut Compute)) {
    at(program, text, |block, place| match &mut block[place].kind {
        NodeKind::Compute(compute) => f(compute),
        _ => panic!("`{text}` is no compute"),
    });
}

fn loop_at(program: &mut Program, text: &str, f: impl FnOnce(&mut Loop)) {
    at(program, text, |block, place| match &mut block[place].kind {
        NodeKind::Loop(looped) => f(looped),
        _ => panic!("`{text}` is no loop"),
    });
}

fn remove(program: &mut Program, text: &str) -> Node {
    let mut removed = None;
    at(program, text, |block, place| removed = Some(block.remove(place)));
    removed.unwrap_or_else(|| panic!("no node `{text}`"))
}

fn axis(program: &Program, name: &str) -> AxisId {
    program.axes.ids().find(|a| print::axis(program, *a) == name).unwrap_or_else(|| panic!("no axis `{name}`"))
}

/// An axis of a literal extent that no stage knows.
fn made(program: &mut Program, name: &str, extent: i64) -> AxisId {
    let mut b = Builder { p: std::mem::take(program) };
    let axis = b.made(name, extent);
    *program = b.p;
    axis
}

/// Replaces a part of every expression of the first compute whose line contains `text`.
fn replace(program: &mut Program, text: &str, f: impl Fn(&mut tilewright_dsl::expr::Exprs, ExprId) -> Option<ExprId>) {
    let mut exprs = std::mem::take(&mut program.exprs);
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

fn each_compute(block: &mut Block, f: &mut dyn FnMut(&mut Compute, &dyn Fn(&Program) -> String)) {
    for node in block {
        let copy = node.clone();
        if let NodeKind::Compute(compute) = &mut node.kind {
            f(compute, &|program| print::Printer::new(program).line(&copy));
        }
        node.blocks_mut().for_each(|inner| each_compute(inner, f));
    }
}

/// The errors of one rule, for a snapshot; fails if the nest is accepted, or refused by other rules alone.
fn refused(cases: Vec<(&str, Program)>, rule: Rule) -> String {
    refused_on(cases.into_iter().map(|(what, program)| (what, program, roomy())).collect(), rule)
}

fn refused_on(cases: Vec<(&str, Program, Profile)>, rule: Rule) -> String {
    let one = |(what, program, profile): (&str, Program, Profile)| {
        let Err(errors) = verify(&program, &profile) else { panic!("{what} was accepted") };
        let by = errors.0.iter().find(|e| e.message.starts_with(&format!("{rule}: ")));
        let Some(error) = by else { panic!("{what}: {errors:?}") };
        format!("{what}\n  {}\n", error.message)
    };
    cases.into_iter().map(one).collect()
}

fn accepted(what: &str, program: &Program) {
    if let Err(errors) = verify(program, &roomy()) {
        panic!("{what}: {errors:?}");
    }
}

/// A good nest, changed.
fn changed(mut program: Program, f: impl FnOnce(&mut Program)) -> Program {
    f(&mut program);
    program
}

fn conv() -> Program {
    Conv::symbolic(2).program()
}

fn shared() -> Program {
    SharedMatmul::symbolic().program()
}

fn halo() -> Program {
    HaloConv::symbolic().program()
}

fn norm() -> Program {
    LayerNorm::symbolic(How::Tree).program()
}

fn mma() -> Program {
    MmaMatmul::symbolic().program()
}

fn attention() -> Program {
    Attention::symbolic().program()
}

#[test]
fn limits() {
    let lanes = |n: i64| {
        changed(conv(), |p| {
            let n = p.exprs.int(n);
            let axis = axis(p, "oc''");
            p.axes[axis].extent = n;
        })
    };
    let cases = vec![
        ("three lanes", lanes(3)),
        ("lanes of 32 bytes", lanes(8)),
        ("a symbolic loop unrolled", changed(conv(), |p| loop_at(p, "for ic", |l| l.exec = Exec::Unroll))),
        (
            "workgroups inside a loop",
            changed(conv(), |p| {
                loop_at(p, "workgroup z: n_workgroup", |l| l.exec = Exec::Serial);
            }),
        ),
        ("workgroups beside a barrier", changed(conv(), |p| at(p, "workgroup y", |block, _| block.extend(barrier())))),
        ("a slot twice", changed(conv(), |p| loop_at(p, "thread y", |l| l.exec = thread(Slot::X)))),
        ("more values than threads", changed(conv(), |p| p.plan[0].local = [4, 2, 1])),
        (
            "a grid that is no box",
            changed(attention(), |p| {
                let (b, i) = (axis(p, "b_workgroup"), axis(p, "i_workgroup"));
                p.axes[i].extent = p.exprs.axis(b);
            }),
        ),
        ("a barrier among lanes", changed(conv(), |p| at(p, "init acc", |block, _| block.extend(barrier())))),
        ("too few subgroups", changed(mma(), |p| p.plan[0].local = [256, 1, 1])),
        (
            "subgroups that disagree",
            changed(attention(), |p| {
                let (axis, four) = (axis(p, "s.i_subgroup"), p.exprs.int(1));
                p.axes[axis].extent = four;
            }),
        ),
        (
            "a copy of another box",
            changed(HaloConv { copy_node: true, ..HaloConv::symbolic() }.program(), |p| {
                let (axis, n) = (axis(p, "x_w"), p.exprs.int(16));
                p.axes[axis].extent = n;
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Limits));
}

#[test]
fn limits_of_the_profile() {
    let small = |f: &dyn Fn(&mut Profile)| {
        let mut profile = roomy();
        f(&mut profile);
        profile
    };
    let cases = vec![
        ("too many invocations", shared(), small(&|p| p.invocations = 32)),
        ("too many in y", shared(), small(&|p| p.local = [64, 4, 1])),
        ("too much shared memory", attention(), small(&|p| p.shared_bytes = 32768)),
        ("a tree without its memory", norm(), small(&|p| p.shared_bytes = 256)),
        ("no subgroup size", attention(), small(&|p| p.subgroup = None)),
        ("no matrices", mma(), small(&|p| p.features.clear())),
        ("no subgroup arithmetic", LayerNorm::symbolic(How::Subgroup).program(), small(&|p| p.features.clear())),
    ];
    insta::assert_snapshot!(refused_on(cases, Rule::Limits));
}

#[test]
fn axes() {
    let cases = vec![
        ("a part that nothing binds", changed(conv(), |p| unwrap(p, "workgroup y"))),
        ("a reduction that nothing binds", changed(conv(), |p| unwrap(p, "for fw"))),
        (
            "an axis bound twice",
            changed(conv(), |p| {
                let fw = axis(p, "fw");
                wrap(p, "for ic", fw, Exec::Serial);
            }),
        ),
        (
            "an axis and its part",
            changed(conv(), |p| {
                let ow = axis(p, "ow'");
                wrap(p, "for fh", ow, Exec::Serial);
            }),
        ),
        ("a split that leaves out a rest", changed(conv(), |p| p.conditions.clear())),
        (
            "a split that is called exact",
            changed(conv(), |p| {
                let ow = axis(p, "ow");
                if let Fate::Split(split) = &mut p.axes[ow].fate {
                    split.exact = true;
                }
            }),
        ),
        (
            "a hull that is too small",
            changed(attention(), |p| {
                let (j, i) = (axis(p, "j_o"), axis(p, "i_workgroup"));
                p.axes[j].extent = p.exprs.axis(i);
            }),
        ),
        (
            "a fusion that is too short",
            changed(halo(), |p| {
                let (axis, n) = (axis(p, "x_t"), p.exprs.int(47));
                p.axes[axis].extent = n;
            }),
        ),
        (
            "an extent known further in",
            changed(conv(), |p| {
                let (fw, ic) = (axis(p, "fw"), axis(p, "ic"));
                p.axes[fw].extent = p.exprs.axis(ic);
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Axes));
}

#[test]
fn predicates() {
    let filled = |finite: bool| {
        changed(TiledMatmul { sizes: [None; 3], ..TiledMatmul::literal(1, 1, 1) }.program(), |p| {
            let k = axis(p, "k");
            compute_at(p, "update acc", |c| {
                c.preds.iter_mut().filter(|pred| pred.axis == k).for_each(|pred| pred.tail = Tail::RoundUp)
            });
            // One factor that does not depend on k: filled reads of the other alone must do.
            let zero = p.exprs.int(0);
            replace(p, "update acc", |exprs, e| match exprs.get(e).clone() {
                Expr::Read(read) if read.index.len() == 2 && exprs.uses_axis(read.index[0], &mut |a| a == k) => {
                    Some(exprs.read(read.buffer, DType::F32, [zero, read.index[1]]))
                }
                _ => None,
            });
            p.finite.extend(finite.then(|| p.buffers.ids().find(|b| p.buffers[*b].name == "b")).flatten());
            // The first row of b is read; there is one.
            let (kd, one) = (p.axes[k].extent, p.exprs.int(1));
            p.conditions.push(tilewright_dsl::nest::Condition {
                left: kd,
                relation: tilewright_dsl::launch::Relation::Ge,
                right: one,
                text: "K >= 1".into(),
                span: Default::default(),
            });
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
        ("values that may be infinite", changed(attention(), |p| p.finite.clear())),
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
fn owners() {
    let cases = vec![
        (
            "elements that another thread has",
            changed(shared(), |p| {
                loop_at(p, "thread y: i_thread", |l| l.exec = thread(Slot::X));
                loop_at(p, "thread x: j_thread", |l| l.exec = thread(Slot::Y));
            }),
        ),
        (
            "a register indexed by a loop",
            changed(conv(), |p| {
                for line in ["unroll ow''", "unroll ow''", "unroll ow''"] {
                    loop_at(p, line, |l| l.exec = Exec::Serial);
                }
            }),
        ),
        (
            "an owner within a sum",
            changed(shared(), |p| {
                let t = axis(p, "i_thread");
                let t = p.exprs.axis(t);
                for text in ["init acc", "update acc", "finish c"] {
                    replace(p, text, |exprs, e| match exprs.get(e).clone() {
                        Expr::Read(mut read) if read.index.len() == 4 => {
                            read.index[2] = exprs.sum(read.index[2], t);
                            Some(exprs.add(Expr::Read(read), DType::F32))
                        }
                        _ => None,
                    });
                    compute_at(p, text, |_| ());
                }
                let exprs = &mut p.exprs;
                let mut plan = std::mem::take(&mut p.plan);
                each_compute(&mut plan[0].body, &mut |compute, _| {
                    if compute.dst[0].index.len() == 4 {
                        compute.dst[0].index[2] = exprs.sum(compute.dst[0].index[2], t);
                    }
                });
                p.plan = plan;
            }),
        ),
        (
            "threads that have no element of their own",
            changed(attention(), |p| {
                let zero = p.exprs.int(0);
                let old = axis(p, "m_old_i");
                replace(p, "write m_old", |exprs, e| matches!(exprs.get(e), Expr::Axis(a) if *a == old).then_some(zero));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Owner));
}

#[test]
fn reductions() {
    let cases = vec![
        (
            "an init with another value",
            changed(conv(), |p| {
                let one = p.exprs.constant(tilewright_dsl::expr::Const::number(1.0, DType::F32));
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
            "a collect over other axes",
            changed(norm(), |p| {
                let k = axis(p, "mean.k_o");
                at(p, "collect mean_sum", |block, place| {
                    if let NodeKind::Collect(collect) = &mut block[place].kind {
                        collect.over = vec![k];
                    }
                });
            }),
        ),
        ("a collect of more than the result", changed(norm(), |p| p.plan[0].local = [64, 2, 1])),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Reduction));
}

#[test]
fn unwritten() {
    let cases = vec![
        ("no prologue", changed(mma(), |p| drop(remove(p, "for a_s_round")))),
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

#[test]
fn uniformity() {
    let cases = vec![
        (
            "a barrier in a loop of the threads' own length",
            changed(halo(), |p| {
                let (steps, oc) = (axis(p, "fh"), axis(p, "oc'"));
                let oc = p.exprs.axis(oc);
                let extent = p.axes[steps].extent;
                p.axes[steps].extent = p.exprs.binary(Binary::Min, extent, oc);
                at(p, "unroll ic'", |block, _| block.extend(barrier()));
            }),
        ),
        (
            "a branch on a thread",
            changed(halo(), |p| {
                let (oc, zero) = (axis(p, "oc'"), p.exprs.int(0));
                let oc = p.exprs.axis(oc);
                let cond = p.exprs.compare(Compare::Gt, oc, zero);
                at(p, "for fh", |block, place| {
                    let then = vec![block.remove(place)];
                    block.insert(place, node(NodeKind::Branch { cond, then, other: Vec::new() }));
                });
            }),
        ),
        (
            "a matrix that each thread places elsewhere",
            changed(attention(), |p| {
                let t = made(p, "t", 32);
                let value = p.exprs.axis(t);
                at(p, "matrix store s_s", |block, place| {
                    if let NodeKind::Fragment(Fragment::Store { dst, .. }) = &mut block[place].kind {
                        dst.index[0] = value;
                    }
                });
                wrap(p, "matrix store s_s", t, Exec::Bind(Level::Lane, Slot::X));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Uniformity));
}

#[test]
fn barriers() {
    let branch = |both: bool| {
        changed(shared(), |p| {
            let (k, zero) = (axis(p, "k_o"), p.exprs.int(0));
            let k = p.exprs.axis(k);
            let cond = p.exprs.compare(Compare::Gt, k, zero);
            at(p, "barrier", |block, place| {
                let (then, other) = (vec![block.remove(place)], if both { barrier() } else { Block::new() });
                block.insert(place, node(NodeKind::Branch { cond, then, other }));
            });
        })
    };
    accepted("a barrier in both arms", &branch(true));
    let cases = vec![
        (
            "a double buffer of one version",
            changed(mma(), |p| {
                let ids: Vec<_> = p.buffers.ids().filter(|b| p.buffers[*b].versions > 1).collect();
                let mut plan = std::mem::take(&mut p.plan);
                each_compute(&mut plan[0].body, &mut |c, _| {
                    if ids.contains(&c.dst[0].buffer) {
                        c.dst[0].index.remove(0);
                    }
                });
                fn loads(block: &mut Block, f: &mut dyn FnMut(&mut Fragment)) {
                    for node in block {
                        if let NodeKind::Fragment(fragment) = &mut node.kind {
                            f(fragment);
                        }
                        node.blocks_mut().for_each(|inner| loads(inner, f));
                    }
                }
                loads(&mut plan[0].body, &mut |fragment| match fragment {
                    Fragment::Load { src, .. } if ids.contains(&src.buffer) => drop(src.index.remove(0)),
                    _ => {}
                });
                p.plan = plan;
                ids.iter().for_each(|b| p.buffers[*b].versions = 1);
            }),
        ),
        ("a barrier in one arm", branch(false)),
        (
            "a barrier of subgroups",
            changed(shared(), |p| {
                at(p, "barrier", |block, place| {
                    block[place].kind = NodeKind::Barrier { scope: Scope::Subgroup };
                })
            }),
        ),
        (
            "the neighbour's row",
            changed(attention(), |p| {
                // A thread's own row needs no barrier; the one below does.
                let (l, last) = (axis(p, "l.i'"), p.exprs.int(63));
                let l = p.exprs.axis(l);
                let p_s = p.buffers.ids().find(|b| p.buffers[*b].name == "p_s");
                replace(p, "update l_r", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(mut read) if Some(read.buffer) == p_s => {
                        read.index[0] = exprs.difference(last, l);
                        Some(exprs.add(Expr::Read(read), DType::F16))
                    }
                    _ => None,
                })
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Barrier));
}

/// `y[i] = x[i]` by a workgroup of 64, of which one invocation writes each element if `guarded`.
fn one_writes(guarded: bool) -> Program {
    let mut b = Builder::new("one_writes");
    let n = b.dim("N", None);
    let (x, y) = (b.input("x", DType::F32, &[n]), b.output("y", DType::F32, &[n]));
    let i = b.parallel("i", n);
    let at = b.at(i);
    let value = b.read(x, &[at]);
    let stage = b.stage(y, &[i], Body::Map(value));
    let parts = b.split(i, "i_workgroup", &[("i", 1)]);
    let one = b.made("one", 1);
    let mut write = compute(stage, Phase::Whole, access(y, &[at]), value);
    write.preds.extend(guarded.then_some(Pred { axis: one, tail: Tail::Guard }));
    let body = nest(&[(parts[0], workgroup(Slot::X)), (one, thread(Slot::X))], leaf(write));
    b.p.plan = vec![dispatch("y", [64, 1, 1], body)];
    b.p
}

#[test]
fn races() {
    accepted("one invocation writes", &one_writes(true));
    let cases = vec![
        ("all threads write the same", changed(one_writes(true), |p| unwrap(p, "thread x"))),
        (
            "the images write over each other",
            changed(conv(), |p| {
                let (n, zero) = (axis(p, "n"), p.exprs.int(0));
                replace(p, "finish output", |exprs, e| matches!(exprs.get(e), Expr::Axis(a) if *a == n).then_some(zero));
                p.conditions.push(tilewright_dsl::nest::Condition {
                    left: p.axes[n].extent,
                    relation: tilewright_dsl::launch::Relation::Ge,
                    right: p.exprs.int(1),
                    text: "N >= 1".into(),
                    span: Default::default(),
                });
            }),
        ),
        (
            "tiles that overlap",
            changed(shared(), |p| {
                let (t, three, v) = (axis(p, "i_thread"), p.exprs.int(3), axis(p, "i''"));
                let w = axis(p, "i_workgroup");
                let (t, v, w, wide) = (p.exprs.axis(t), p.exprs.axis(v), p.exprs.axis(w), p.exprs.int(32));
                let i = axis(p, "i");
                replace(p, "finish c", |exprs, e| {
                    if !matches!(exprs.get(e), Expr::Axis(a) if *a == i) {
                        return None;
                    }
                    let (start, step) = (exprs.product(w, wide), exprs.product(t, three));
                    let near = exprs.sum(step, v);
                    Some(exprs.sum(start, near))
                });
                let m = p.axes[i].extent;
                Builder { p: std::mem::take(p) }.give(|b| b.multiple(m, 32), p);
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Race));
    let surplus = vec![("surplus threads write too", one_writes(false))];
    insta::assert_snapshot!("races_surplus", refused(surplus, Rule::Predicate));
}

/// Lets a builder change a program that a test holds.
trait Give {
    fn give(self, f: impl FnOnce(&mut Builder), to: &mut Program);
}

impl Give for Builder {
    fn give(mut self, f: impl FnOnce(&mut Builder), to: &mut Program) {
        f(&mut self);
        *to = self.p;
    }
}

#[test]
fn flow() {
    let cases = vec![
        ("an output that nothing writes", changed(conv(), |p| drop(remove(p, "workgroup z")))),
        (
            "a temporary read before it is written",
            changed(norm(), |p| {
                let mean = p.buffers.ids().find(|b| p.buffers[*b].name == "mean");
                let row = axis(p, "y.b");
                let row = p.exprs.axis(row);
                replace(p, "write y", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(read) if read.index.is_empty() => Some(exprs.read(mean?, DType::F32, [row])),
                    _ => None,
                })
            }),
        ),
        (
            "an output read elsewhere",
            changed(conv(), |p| {
                let output = p.outputs[0];
                p.buffers[output].space = Space::Update;
                let zero = p.exprs.int(0);
                replace(p, "update acc", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(read) if read.index.len() == 4 && read.buffer != output => {
                        let mut other = read.clone();
                        other.buffer = output;
                        other.index = [zero; 4].into_iter().collect();
                        other.outside = Outside::Clamp([(true, true); 4].into_iter().collect());
                        Some(exprs.add(Expr::Read(other), DType::F32))
                    }
                    _ => None,
                })
            }),
        ),
        (
            "an obligation in two states",
            changed(conv(), |p| {
                let both = [State::Proved, State::Assumed];
                p.ledger.extend(both.map(|state| Obligation { what: "it holds".into(), state, span: Default::default() }));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Flow));
}
