//! Removes quotients and remainders that the facts decide. For example, `m / MG` is 0 if `m` is below `g * MG` and `g == 1`.
//!
//! This precedes all directives, so that they and the verifier start from the same expressions. Without it, `promote` does not find a
//! bound for an index of groups, even if there is only one group.

use crate::expr::{Binary, Expr, ExprId};
use crate::facts::Prover;
use crate::nest::{AxisId, Body, Program};

/// Replaces quotients and remainders in all stages, if their divisor is a size and their dividend is proved to be below it.
pub(crate) fn decide(program: &mut Program) {
    for id in program.stages.ids().collect::<Vec<_>>() {
        let mut stage = program.stages[id].clone();
        let axes = stage.axes.clone();
        // A range may be empty, and its stage is stored even then. So the facts of the range hold only for the reduction operands.
        if let Body::Reduce { over, lift, .. } = &mut stage.body {
            let within: Vec<AxisId> = axes.iter().chain(&*over).copied().collect();
            lift.iter_mut().for_each(|item| *item = decided(program, *item, &within));
        }
        for value in stage.stored_mut() {
            *value = decided(program, *value, &axes);
        }
        program.stages[id] = stage;
    }
}

fn decided(program: &Program, value: ExprId, axes: &[AxisId]) -> ExprId {
    let exprs = &program.exprs;
    let by_size = |e: &Expr| match e {
        Expr::Binary(Binary::FloorDiv | Binary::FloorMod, _, by) => exprs.as_int(*by).is_none(),
        _ => false,
    };
    if !exprs.any(value, &mut { by_size }) {
        return value;
    }
    let prover = Prover::new(program).within(axes.iter().copied());
    exprs.replace(value, &mut |exprs, e| match *exprs.get(e) {
        Expr::Binary(op @ (Binary::FloorDiv | Binary::FloorMod), of, by) if by_size(exprs.get(e)) && prover.inside(of, by) => {
            Some(if op == Binary::FloorDiv { exprs.int(0) } else { decided(program, of, axes) })
        }
        _ => None,
    })
}
