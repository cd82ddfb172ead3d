//! Loops, axes, registers.

use crate::rules::edit::*;
use tilewright_dsl::expr::Expr;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Exec, Fate, How, Slot};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::verify::Rule;
use tilewright_nests::build::*;
use tilewright_nests::{LayerNorm, roomy};

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
            "a grid that is not a box",
            changed(attention(), |p| {
                let (b, i) = (axis(p, "b_workgroup"), axis(p, "i_workgroup"));
                p.axes[i].extent = p.exprs.axis(b);
            }),
        ),
        ("a barrier among lanes", changed(conv(), |p| at(p, "init acc", |block, _| block.extend(barrier())))),
        ("versions that no pipeline makes", changed(mma(), |p| p.notes.pipelines.truncate(1))),
        ("versions that a pipeline makes in part", changed(mma(), |p| p.notes.pipelines[0].buffers = 3)),
        ("too few subgroups", changed(mma(), |p| p.plan[0].local = [256, 1, 1])),
        (
            "subgroups that disagree",
            changed(attention(), |p| {
                let (axis, eight) = (axis(p, "s.i_subgroup"), p.exprs.int(8));
                p.axes[axis].extent = eight;
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
        ("a split that leaves out a rest", changed(conv(), |p| p.checks.conditions.clear())),
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
            "threads that do not own an element",
            changed(attention(), |p| {
                let zero = p.exprs.int(0);
                let old = axis(p, "m_old_i");
                replace(p, "write m_old", |exprs, e| matches!(exprs.get(e), Expr::Axis(a) if *a == old).then_some(zero));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Owner));
}
