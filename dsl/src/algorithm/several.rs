//! Definitions with several reductions: `y[i] = sum(…) / sum(…)`.
//!
//! Each reduction becomes an intermediate before the definition, which reads its element: `y_sum` and `y_sum_2`, on those axes of the
//! definition that the reduction uses. An intermediate is computed under no condition, so neither are the reads in it.
//!
//! At a point of the definition, no axis is empty. For example, `1 % M` is an index of a definition with an axis in `0..M`. A reduction whose
//! indices and ranges need this has all axes of the definition.

use super::bounds::show;
use super::order::definitions;
use super::{Checked, Checker, Poisoned};
use crate::arena::Id;
use crate::diag::Error;
use crate::expr::{Binary, Expr as Node, ExprId, Outside, Read};
use crate::facts::Prover;
use crate::nest::{Axis, AxisDef, AxisId, Body, Buffer, BufferId, Space, Stage, StageId, State};
use crate::syntax::expr::{Expr, ExprKind, Reduce};
use crate::syntax::families::identifier;
use std::collections::HashMap;

/// True if a value has more than one reduction.
pub(super) fn has_several(value: &Expr) -> bool {
    let mut count = 0;
    value.each(&mut |e| count += usize::from(matches!(e.kind, ExprKind::Reduce(_))));
    count > 1
}

impl Checker<'_> {
    /// Checks a reduction with `check`, under no condition, and makes it an intermediate. Returns its element.
    pub(super) fn as_intermediate(&mut self, reduce: &Reduce, check: impl FnOnce(&mut Self) -> Checked<ExprId>) -> Checked<ExprId> {
        // A `let` of tensors that are defined together is checked once for each of them, and its reductions are computed once.
        let is_shared = self.calls.is_empty();
        if let Some((buffer, axes)) = self.together.reductions.get(&reduce.head).filter(|_| is_shared).cloned() {
            return Ok(self.element(buffer, &axes, reduce));
        }
        let conditions = std::mem::take(&mut self.definition.conditions);
        let before = self.errors.0.len();
        let result = check(self);
        if !conditions.is_empty() {
            let note = "of several reductions in a definition, each one is computed before it, under no condition";
            let new = self.errors.0.iter_mut().skip(before);
            new.for_each(|error| error.notes.push((note.to_owned(), reduce.head)));
        }
        self.definition.conditions = conditions;
        self.stored_alone(result?, reduce)
    }

    fn stored_alone(&mut self, result: ExprId, reduce: &Reduce) -> Checked<ExprId> {
        let Some(found) = self.definition.reduction.take() else { return Err(Poisoned) };
        let exprs = &self.program.exprs;
        let dtype = exprs.dtype(result);
        let extents = found.over.iter().map(|axis| self.program.axes[*axis].extent);
        let values: Vec<ExprId> = found.lift.iter().copied().chain([result]).chain(extents).collect();
        if values.iter().any(|value| exprs.reads(*value).iter().any(|read| Some(read.buffer) == self.definition.buffer)) {
            let name = &self.definition.name;
            let error = Error::new(reduce.head, format!("this reduction reads `{name}`, which the definition updates"));
            return self.fail(error.help(format!("make `{name}` an input, and define an output instead")));
        }
        let uses = |axis: &AxisId| values.iter().any(|value| exprs.uses_axis(*value, &mut |a| a == *axis));
        let used: Vec<AxisId> = self.definition.axes.iter().copied().filter(uses).collect();
        let least = i64::from(found.monoid.identity.len() > 1);
        let axes = if self.is_defined_on(&used, &found.over, &values, least) { used } else { self.definition.axes.clone() };
        let stage = StageId::new(self.program.stages.len());
        let copy = |axis: &AxisId| Axis { def: AxisDef::Root(stage), ..self.program.axes[*axis].clone() };
        let copies: Vec<Axis> = axes.iter().map(copy).collect();
        let copies: Vec<AxisId> = copies.into_iter().map(|axis| self.program.axes.push(axis)).collect();
        let own: HashMap<AxisId, ExprId> =
            axes.iter().zip(&copies).map(|(axis, copy)| (*axis, self.program.exprs.axis(*copy))).collect();
        let exprs = &self.program.exprs;
        let renamed = |value: ExprId| exprs.with_axes(value, &mut |axis| own.get(&axis).copied());
        let (lift, finish) = (found.lift.into_iter().map(renamed).collect(), renamed(result));
        for axis in &found.over {
            self.program.axes[*axis].extent = renamed(self.program.axes[*axis].extent);
        }
        let buffer = self.temporary(reduce, &copies, dtype);
        let body = Body::Reduce { monoid: found.monoid, over: found.over, lift, finish };
        let name = self.program.buffers[buffer].name.clone();
        self.program.stages.push(Stage { name, buffer, axes: copies, body, also: Vec::new(), span: reduce.head });
        if self.calls.is_empty() {
            self.together.reductions.insert(reduce.head, (buffer, axes.clone()));
        }
        Ok(self.element(buffer, &axes, reduce))
    }

    /// True if the values of a reduction over `over` are defined at all points of some axes, even if the other axes of the definition are empty:
    /// reads are as far in bounds as they were proved to be, divisors are positive, and ranges have at least `least` values.
    fn is_defined_on(&self, axes: &[AxisId], over: &[AxisId], values: &[ExprId], least: i64) -> bool {
        let program = &self.program;
        let within = |count: usize| Prover::new(program).within(axes.iter().chain(&over[..count]).copied());
        let (prover, data) = (within(over.len()), within(over.len()).about_data());
        let inside = |read: &Read| {
            let dimensions = read.index.iter().zip(&program.buffers[read.buffer].shape).enumerate();
            dimensions.into_iter().all(|(d, (index, extent))| {
                let (low, high) = match &read.outside {
                    Outside::Never => (false, false),
                    Outside::Clamp(sides) | Outside::Fill(_, sides) => sides[d],
                };
                let proved = |by: &dyn Fn(&Prover<'_>) -> bool| by(&prover) || by(&data);
                (low || proved(&|prover| prover.nonneg(*index))) && (high || proved(&|prover| prover.less(*index, *extent)))
            })
        };
        let undefined = |e: &Node| match e {
            Node::Read(read) => !inside(read),
            Node::Binary(Binary::FloorDiv | Binary::FloorMod, _, divisor) => !prover.positive(*divisor),
            _ => false,
        };
        let is_long = |(n, axis): (usize, &AxisId)| within(n).less_equal(program.exprs.int(least), program.axes[*axis].extent);
        axes.len() == self.definition.axes.len()
            || over.iter().enumerate().all(is_long) && !values.iter().any(|value| program.exprs.any(*value, &mut { undefined }))
    }

    /// Makes the intermediate's buffer. Its name is the definition's with the operator, and a number if that is taken.
    fn temporary(&mut self, reduce: &Reduce, axes: &[AxisId], dtype: tilewright_launch::DType) -> BufferId {
        let first = format!("{}_{}", identifier(&self.definition.name), reduce.op.name());
        let taken = |name: &str| {
            self.names.find(name).is_some()
                || definitions(self.kernel).any(|define| define.name.text == name)
                || self.program.stages.values().any(|stage| stage.name == name)
        };
        let numbered = (2..).map(|n| format!("{first}_{n}"));
        let name = [first.clone()].into_iter().chain(numbered).find(|name| !taken(name)).unwrap_or_default();
        let shape = axes.iter().map(|axis| self.program.axes[*axis].extent).collect();
        let (space, span) = (Space::Temporary, reduce.head);
        let buffer = self.program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span });
        self.defined.insert(buffer);
        buffer
    }

    /// Returns the intermediate's element at the definition's axes.
    fn element(&mut self, buffer: BufferId, axes: &[AxisId], reduce: &Reduce) -> ExprId {
        let exprs = &self.program.exprs;
        let index = axes.iter().map(|axis| exprs.axis(*axis)).collect();
        let read = exprs.add(Node::Read(Read { buffer, index, outside: Outside::Never }), self.program.buffers[buffer].dtype);
        let (shown, name) = (show(&self.program, read), self.program.buffers[buffer].name.clone());
        self.program.owe(format!("`{shown}` is in bounds of `{name}`"), State::Proved, reduce.head);
        read
    }
}
