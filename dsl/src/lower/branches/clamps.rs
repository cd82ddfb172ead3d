//! Removes the clamps and fills that the reads of a branch do not need.

use crate::expr::{Compare, Expr, ExprId, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::walk;
use crate::nest::{Block, Fate, NodeKind, Pred, Program};
use std::collections::HashMap;

/// Removes the clamps and fills that a block's reads are proved not to need. A compute with predicates is skipped, because it reads at
/// clamped indices, which the prover does not model.
pub(super) fn keep_inside(program: &Program, prover: &Prover<'_>, block: &mut Block) {
    let is_looped = |pred: &Pred| program.axes[pred.axis].fate == Fate::Live;
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind
            && compute.preds.iter().all(is_looped)
        {
            compute.values_mut(&program.exprs).for_each(|value| *value = inside(program, prover, *value, &mut HashMap::new()));
        }
    });
}

/// Returns a value without the clamps and fills that it does not need.
fn inside(program: &Program, prover: &Prover<'_>, value: ExprId, done: &mut HashMap<ExprId, ExprId>) -> ExprId {
    if let Some(new) = done.get(&value) {
        return *new;
    }
    let is_sure = |index: ExprId| !program.is_clamped_apart(index);
    let new = program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
        Expr::Select(cond, _, element) => match *exprs.get(*cond) {
            Expr::Compare(Compare::Ge, a, b) if exprs.is_index(a) && is_sure(a) && is_sure(b) && prover.afresh().less(a, b) => {
                Some(inside(program, prover, *element, done))
            }
            _ => None,
        },
        Expr::Read(read @ Read { buffer, index, outside: outside @ (Outside::Clamp(sides) | Outside::Fill(_, sides)) }) => {
            let needed = |((index, extent), (low, high)): ((ExprId, ExprId), &(bool, bool))| {
                let is_sure = is_sure(index);
                (*low && !(is_sure && prover.afresh().nonneg(index)), *high && !(is_sure && prover.afresh().less(index, extent)))
            };
            let left: Sides = program.dimensions(read).zip(sides).map(needed).collect();
            if left == *sides {
                return None;
            }
            let outside = match outside {
                _ if left.iter().all(|(low, high)| !low && !high) => Outside::Never,
                Outside::Fill(fill, _) => Outside::Fill(*fill, left),
                _ => Outside::Clamp(left),
            };
            Some(exprs.add(Expr::Read(Read { buffer: *buffer, index: index.clone(), outside }), exprs.dtype(id)))
        }
        _ => None,
    });
    done.insert(value, new);
    new
}
