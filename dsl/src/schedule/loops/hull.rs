//! Hulls of loops. After a directive has moved a loop, an extent can depend on an axis that is bound further in. The loop then runs
//! over its hull (the largest extent that it can have), and a predicate keeps it within its own extent.

use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::facts::Prover;
use crate::nest::path::Head;
use crate::nest::{AxisId, Exec, Fate, Level, Program, Split, Tail};
use crate::schedule::StageNest;
use std::collections::HashSet;

impl StageNest<'_> {
    /// Replaces every loop that needs it by its hull. `span` is the directive that moved loops.
    pub fn take_hulls(&mut self, span: SpanId) -> Result<(), Error> {
        let mut outside: HashSet<AxisId> = self.placed.outside().filter_map(|f| f.as_loop().map(|(a, _)| a)).collect();
        for at in 0..self.path.frames.len() {
            let Some((axis, exec)) = self.path.frames[at].as_loop() else { continue };
            if !self.program.exprs.uses_axis(self.program.axes[axis].extent, &mut |_| true) {
                outside.insert(axis);
                continue;
            }
            // The size of the grid is computed before any axis has a value.
            let grid = matches!(exec, Exec::Bind(Level::Workgroup, _));
            let mut inner: HashSet<AxisId> = self.path.axes().filter(|a| !outside.contains(a)).collect();
            let extent = self.on_loops(self.program.axes[axis].extent);
            self.program.exprs.uses_axis(extent, &mut |a| {
                inner.extend(Some(a).filter(|_| grid));
                false
            });
            // `on_loops` may have replaced an inner axis by 0, but the original extent still depends on it, so the original is
            // checked.
            let program = &*self.program;
            let names = &mut |a| inner.iter().any(|inner| program.passes(a, *inner));
            let needs = grid || program.exprs.uses_axis(program.axes[axis].extent, names);
            let mut bound = axis;
            if needs {
                let Some(most) = largest(self.program, extent, &inner) else {
                    let text = self.text(extent);
                    let error = Error::new(
                        span,
                        format!("`{}` runs over `0..{text}`, which depends on a loop that would be inside it", self.name(axis)),
                    );
                    return Err(error.help("leave it inside the loops that its bound depends on"));
                };
                bound = self.hull(axis, most, span);
                self.path.frames[at].head = Head::Loop { axis: bound, exec };
            }
            outside.insert(bound);
        }
        Ok(())
    }

    /// Replaces an axis by one that runs over `0..extent`, which must be at least its own extent.
    pub fn hull(&mut self, axis: AxisId, extent: ExprId, span: SpanId) -> AxisId {
        let name = self.name(axis).to_owned();
        let part = self.add_part(name, axis, 0, extent, span);
        self.program.axes[axis].fate = Fate::Split(Split { parts: vec![part], exact: false, tail: Tail::Guard, span });
        if self.serial.contains(&axis) {
            self.serial.insert(part);
        }
        if let Some(how) = self.program.notes.strategies.remove(&axis) {
            self.program.notes.strategies.insert(part, how);
        }
        part
    }

    /// Expresses the value of an axis over the axes that loops bind, even if a loop binds the axis itself.
    pub fn on_loops_through(&mut self, value: ExprId, axis: AxisId) -> ExprId {
        let mut bound = self.bound_axes();
        bound.remove(&axis);
        self.program.over_leaves(value, &bound)
    }

    /// Expresses an expression over the axes that loops bind.
    pub fn on_loops(&mut self, expr: ExprId) -> ExprId {
        if !self.program.exprs.uses_axis(expr, &mut |_| true) {
            return expr;
        }
        let bound = self.bound_axes();
        self.program.over_leaves(expr, &bound)
    }
}

/// Returns an expression that is at least `expr` for all values of the axes in `over`, or `None` if no rule gives one.
pub fn largest(program: &Program, expr: ExprId, over: &HashSet<AxisId>) -> Option<ExprId> {
    bound(program, expr, over, true)
}

/// Returns the upper (or lower) bound of an expression over some axes. The bound does not depend on these axes, nor on an axis that
/// they are parts of. For example, the extent of a triangular range can depend on a split axis whose tile is in `over`.
pub(in crate::schedule) fn bound(program: &Program, expr: ExprId, over: &HashSet<AxisId>, upper: bool) -> Option<ExprId> {
    let varies = |a: AxisId| over.contains(&a) || over.iter().any(|over| program.passes(a, *over));
    if !program.exprs.uses_axis(expr, &mut |a| varies(a)) {
        return Some(expr);
    }
    if !program.exprs.is_walkable(expr) {
        return None;
    }
    match program.exprs.get(expr).clone() {
        Expr::Axis(axis) if !over.contains(&axis) => {
            let value = program.axis_value(axis, &|a| over.contains(&a) || !varies(a));
            let end = bound(program, value, over, upper)?;
            let inexact = matches!(&program.axes[axis].fate, Fate::Split(split) if !split.exact);
            if !upper || !inexact {
                return Some(end);
            }
            // An axis in an extent counts as its last value where it is out of bounds.
            let last = program.exprs.difference(program.axes[axis].extent, program.exprs.int(1));
            let last = bound(program, last, over, upper)?;
            Some(program.exprs.binary(Binary::Min, end, last))
        }
        Expr::Axis(_) if !upper => Some(program.exprs.int(0)),
        Expr::Axis(axis) => {
            let (extent, one) = (program.axes[axis].extent, program.exprs.int(1));
            let last = program.exprs.difference(extent, one);
            bound(program, last, over, true)
        }
        Expr::Binary(Binary::Sub, a, b) => {
            let (a, b) = (bound(program, a, over, upper)?, bound(program, b, over, !upper)?);
            Some(program.exprs.difference(a, b))
        }
        Expr::Binary(op @ (Binary::Add | Binary::Min | Binary::Max), a, b) => {
            let (a, b) = (bound(program, a, over, upper)?, bound(program, b, over, upper)?);
            Some(program.exprs.binary(op, a, b))
        }
        Expr::Binary(Binary::FloorMod, _, b) if !upper => program.exprs.as_int(b).map(|_| program.exprs.int(0)),
        Expr::Binary(Binary::FloorMod, _, b) => {
            let most = program.exprs.as_int(b)? - 1;
            Some(program.exprs.int(most))
        }
        Expr::Binary(op @ (Binary::Mul | Binary::FloorDiv), a, b) => {
            let (a, b) = match (program.exprs.as_int(a), program.exprs.as_int(b)) {
                (_, Some(n)) => (bound(program, a, over, upper == (n >= 0))?, b),
                (Some(n), _) if op == Binary::Mul => (a, bound(program, b, over, upper == (n >= 0))?),
                // A product or quotient by a size.
                _ if is_fixed(program, b, over) => (bound(program, a, over, upper)?, divisor(program, op, b)),
                _ if op == Binary::Mul && is_fixed(program, a, over) => (a, bound(program, b, over, upper)?),
                _ => return None,
            };
            Some(program.exprs.binary(op, a, b))
        }
        // An element of a table.
        Expr::Unary(Unary::Index, _) => {
            let prover = Prover::on_leaves(program);
            let number = if upper { prover.upper(expr) } else { prover.lower(expr) };
            number.map(|number| program.exprs.int(number))
        }
        _ => None,
    }
}

/// True if a factor or divisor does not depend on the axes and is not negative.
fn is_fixed(program: &Program, by: ExprId, over: &HashSet<AxisId>) -> bool {
    !program.exprs.uses_axis(by, &mut |a| over.contains(&a)) && Prover::on_leaves(program).nonneg(by)
}

/// Returns a factor or divisor, which is at least 1 if it is a divisor. It is 0 only where no point divides by it, but a launch computes the
/// bound there, too.
fn divisor(program: &Program, op: Binary, by: ExprId) -> ExprId {
    let is_above = op == Binary::Mul || Prover::on_leaves(program).positive(by);
    if is_above { by } else { program.exprs.binary(Binary::Max, by, program.exprs.int(1)) }
}
