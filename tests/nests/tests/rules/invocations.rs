//! Rules on accesses by different invocations, and on dispatches.

use crate::rules::edit::*;
use tilewright_dsl::expr::{Binary, Compare, Expr, Outside};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, Body, Exec, Level, NodeKind, Obligation, Phase, Pred, Program, Scope, Slot, Space, State, Tail};
use tilewright_dsl::verify::Rule;
use tilewright_nests::build::*;

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
                    let then: Block = [block.remove(place)].into_iter().chain(barrier()).collect();
                    let other = then.clone();
                    block.insert(place, node(NodeKind::Branch { cond, then, other }));
                });
            }),
        ),
        (
            "a matrix that each thread places elsewhere",
            changed(attention(), |p| {
                let t = made(p, "t", 32);
                let value = p.exprs.axis(t);
                compute_at(p, "finish s_s", |c| c.dst[0].index[0] = value);
                wrap(p, "subgroup x: s.i_subgroup", t, Exec::Bind(Level::Lane, Slot::X));
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
                let exprs = &p.exprs;
                each_compute(&mut plan[0].body, &mut |c, _| {
                    c.value[0] = exprs.replace(c.value[0], &mut |exprs, e| match exprs.get(e).clone() {
                        Expr::Read(mut read) if ids.contains(&read.buffer) => {
                            read.index.remove(0);
                            Some(exprs.add(Expr::Read(read), exprs.dtype(e)))
                        }
                        _ => None,
                    });
                });
                p.plan = plan;
                ids.iter().for_each(|b| p.buffers[*b].versions = 1);
                p.notes.pipelines.iter_mut().for_each(|pipeline| pipeline.buffers = 1);
            }),
        ),
        ("a barrier in one arm", branch(false)),
        (
            "a barrier of subgroups",
            changed(shared(), |p| {
                at(p, "barrier", |block, place| {
                    block.splice(place..=place, barrier_of(Scope::Subgroup));
                })
            }),
        ),
        (
            "the neighbour's row",
            changed(attention(), |p| {
                // A thread's own row needs no barrier, but the next row does.
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

/// Each subgroup reverses 32 elements of its own through shared memory.
fn reversed() -> Program {
    let mut b = Builder::new("reversed");
    let n = b.dim("N", None);
    b.multiple(n, 128);
    let (x, y) = (b.input("x", DType::F32, &[n]), b.output("y", DType::F32, &[n]));
    let t = b.local("t", DType::F32, &[4, 32], Space::Shared);
    let i = b.parallel("i", n);
    let at = b.at(i);
    let value = b.read(x, &[at]);
    let stage = b.stage(y, &[i], Body::Map(value));
    let parts = b.split(i, "i_workgroup", &[("i_subgroup", 4), ("i_lane", 32)]);
    let index = b.all(&parts[1..]);
    let write = compute(stage, Phase::Whole, access(t, &index), value);
    let last = b.int(31);
    let other = b.sub(last, index[1]);
    let read = b.read(t, &[index[0], other]);
    let back = compute(stage, Phase::Whole, access(y, &[at]), read);
    let fence = barrier_of(Scope::Subgroup);
    let bound = [(parts[0], workgroup(Slot::X)), (parts[1], subgroup(Slot::X)), (parts[2], Exec::Bind(Level::Lane, Slot::X))];
    let body = alloc(&[t], sequence([leaf(write), fence, leaf(back)]));
    b.p.plan = vec![dispatch("y", [128, 1, 1], nest(&bound, body))];
    b.p
}

#[test]
fn fences() {
    accepted("a fence within subgroups", &reversed());
    let cases = vec![
        ("no fence", changed(reversed(), |p| drop(remove(p, "barrier of the subgroup")))),
        (
            "a fence, and the next subgroup's elements",
            changed(reversed(), |p| {
                let t = p.buffers.ids().find(|b| p.buffers[*b].name == "t");
                let (s, last) = (axis(p, "i_subgroup"), p.exprs.int(3));
                let s = p.exprs.axis(s);
                replace(p, "write y", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(mut read) if Some(read.buffer) == t => {
                        read.index[0] = exprs.difference(last, s);
                        Some(exprs.add(Expr::Read(read), DType::F32))
                    }
                    _ => None,
                })
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Barrier));
}

/// `y[i] = x[i]` by a workgroup of 64 invocations. If `guarded`, only one invocation writes each element.
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
    // All invocations fill a register of their own.
    let (r, all) = (b.local("r", DType::F32, &[], Space::Register), b.made("all", 64));
    let own = b.stage(r, &[], Body::Map(value));
    let fill = nest(&[(all, thread(Slot::X))], alloc(&[r], leaf(compute(own, Phase::Whole, access(r, &[]), value))));
    let body = sequence([nest(&[(one, thread(Slot::X))], leaf(write)), fill]);
    b.p.plan = vec![dispatch("y", [64, 1, 1], nest(&[(parts[0], workgroup(Slot::X))], body))];
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
                let extent = p.axes[n].extent;
                at_least_one(p, extent);
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
                build(p, |b| b.multiple(m, 32));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Race));
    let inactive = vec![("inactive threads write too", one_writes(false))];
    insta::assert_snapshot!("races_inactive", refused(inactive, Rule::Predicate));
}

#[test]
fn flow() {
    let cases = vec![
        (
            "an output that nothing writes",
            changed(conv(), |p| {
                drop(remove(p, "workgroup z"));
                p.plan[0].local = [1; 3];
            }),
        ),
        (
            "a tensor to be updated that nothing writes",
            changed(conv(), |p| {
                let output = std::mem::take(&mut p.outputs)[0];
                p.buffers[output].space = Space::Update;
                drop(remove(p, "finish output"));
            }),
        ),
        (
            "a tensor that is updated in part",
            changed(conv(), |p| {
                let output = std::mem::take(&mut p.outputs)[0];
                p.buffers[output].space = Space::Update;
                // The output has one more row than the axis has values.
                let (rows, one) = (p.buffers[output].shape[1], p.exprs.int(1));
                p.buffers[output].shape[1] = p.exprs.sum(rows, one);
            }),
        ),
        (
            "a temporary read before it is written",
            changed(norm(), |p| {
                let mean = p.buffers.ids().find(|b| p.buffers[*b].name == "mean");
                let row = axis(p, "y.b");
                let row = p.exprs.axis(row);
                replace(p, "write y", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(read) if read.index.is_empty() => Some(exprs.read(mean?, DType::F32, [row])),
                    _ => None,
                });
                said(p, "write y");
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
                });
                said(p, "update acc");
            }),
        ),
        (
            "an obligation in two states",
            changed(conv(), |p| {
                let both = [State::Proved, State::Assumed];
                p.report.ledger.extend(both.map(|state| Obligation { what: "it holds".into(), state, span: Default::default() }));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Flow));
}
