//! Rules on cooperative matrices: they are whole, whole subgroups execute them, and all accesses of a fragment have the same sides.

use crate::rules::edit::*;
use tilewright_dsl::expr::Expr;
use tilewright_dsl::launch::Feature;
use tilewright_dsl::nest::print::Printer;
use tilewright_dsl::nest::{Block, Exec, Level, NodeKind, Pred, Program, Slot, Tail};
use tilewright_dsl::verify::Rule;
use tilewright_nests::build::*;
use tilewright_nests::profile::roomy;

/// Changes the loops around a line that are executed as `from`, so that they are executed as `to`.
fn exec(p: &mut Program, line: &str, from: Exec, to: Exec) {
    fn go(shown: &Program, block: &mut Block, line: &str, (from, to): (Exec, Exec)) -> bool {
        let mut found = false;
        for node in block {
            let mut holds = Printer::new(shown).line(node).starts_with(line);
            node.blocks_mut().for_each(|inner| holds |= go(shown, inner, line, (from, to)));
            if let (NodeKind::Loop(looped), true) = (&mut node.kind, holds) {
                looped.exec = if looped.exec == from { to } else { looped.exec };
            }
            found |= holds;
        }
        found
    }
    let mut plan = std::mem::take(&mut p.plan);
    assert!(go(p, &mut plan[0].body, line, (from, to)), "no node `{line}`");
    p.plan = plan;
}

#[test]
fn matrices() {
    let cases = vec![
        ("a side that is a loop", changed(mma(), |p| exec(p, "init acc", COLUMNS, Exec::Serial))),
        ("an unrolled side", changed(mma(), |p| exec(p, "finish c_s", ROWS, Exec::Unroll))),
        (
            "a matrix that is stored transposed",
            changed(mma(), |p| {
                exec(p, "finish c_s", ROWS, DEPTH);
                exec(p, "finish c_s", COLUMNS, ROWS);
                exec(p, "finish c_s", DEPTH, COLUMNS);
            }),
        ),
        ("a factor's rows as an accumulator's", changed(attention(), |p| exec(p, "write q_f", DEPTH, COLUMNS))),
        (
            "a place between two matrices",
            changed(mma(), |p| {
                replace(p, "finish c_s", |exprs, e| match exprs.get(e).clone() {
                    Expr::Read(mut read) => {
                        read.index[0] = exprs.sum(read.index[0], exprs.int(8));
                        Some(exprs.add(Expr::Read(read), exprs.dtype(e)))
                    }
                    _ => None,
                });
            }),
        ),
        (
            "a predicate on rows that are stored",
            changed(mma(), |p| {
                let i = axis(p, "i");
                compute_at(p, "finish c_s", |c| c.preds.push(Pred { axis: i, tail: Tail::Guard }));
            }),
        ),
        (
            "a predicate on products that are summed",
            changed(mma(), |p| {
                let k = axis(p, "k");
                compute_at(p, "update acc", |c| c.preds.push(Pred { axis: k, tail: Tail::Guard }));
            }),
        ),
    ];
    // (If a device supports matrix conversions, sums can be used as factors.)
    let mut plain = roomy();
    plain.features.remove(&Feature::MatrixConversions);
    let cases = cases.into_iter().map(|(what, program)| (what, program, plain.clone())).collect();
    insta::assert_snapshot!(refused_on(cases, Rule::Limits));
}

#[test]
fn by_whole_subgroups() {
    let cases = vec![
        (
            "a matrix for each lane",
            changed(mma(), |p| {
                let t = made(p, "t", 32);
                wrap(p, "matrix rows i_matrix", t, Exec::Bind(Level::Lane, Slot::X));
            }),
        ),
        (
            "a subgroup less",
            changed(mma(), |p| {
                let t = made(p, "t", 1);
                compute_at(p, "update acc", |c| c.preds.push(Pred { axis: t, tail: Tail::Guard }));
                wrap(p, "matrix rows i_matrix", t, Exec::Bind(Level::Subgroup, Slot::Z));
            }),
        ),
    ];
    insta::assert_snapshot!(refused(cases, Rule::Uniformity));
}
