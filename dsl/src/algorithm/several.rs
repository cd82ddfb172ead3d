//! Definitions with several reductions: `y[i] = sum(…) / sum(…)`.
//!
//! Each reduction becomes an intermediate before the definition, which reads its element: `y_sum` and `y_sum_2`, on those axes of the
//! definition that the reduction uses. An intermediate is computed under no condition, so neither are the reads in it.
//!
//! At a point of the definition, no axis is empty. For example, `1 % M` is an index of a definition with an axis in `0..M`. A reduction whose
//! indices and ranges need this has all axes of the definition.

use super::bounds::show;
use super::order::definitions;
use super::reductions::{Found, Reduced};
use super::{Checked, Checker, Poisoned};
use crate::arena::Id;
use crate::diag::Error;
use crate::expr::{Binary, Expr as Node, ExprId, Outside, Read};
use crate::facts::Prover;
use crate::nest::{Axis, AxisDef, AxisId, Body, Buffer, BufferId, Space, Stage, StageId, State};
use crate::syntax::expr::Reduce;
use crate::syntax::families::identifier;
use std::collections::HashMap;
use tilewright_launch::DType;

impl Checker<'_> {
    /// Checks a reduction with `check`, under no condition. Makes it an intermediate, unless tensors that are defined together share it, and it
    /// uses all of their axes.
    pub(super) fn as_intermediate(
        &mut self,
        reduce: &Reduce,
        check: impl FnOnce(&mut Self) -> Checked<Vec<ExprId>>,
    ) -> Checked<Reduced> {
        let conditions = std::mem::take(&mut self.definition.conditions);
        let before = self.errors.0.len();
        let results = check(self);
        if !conditions.is_empty() {
            let note = "of several reductions in a definition, each one is computed before it, under no condition";
            let new = self.errors.0.iter_mut().skip(before);
            new.for_each(|error| error.notes.push((note.to_owned(), reduce.head)));
        }
        self.definition.conditions = conditions;
        let (results, found) = (results?, self.definition.reduction.take().ok_or(Poisoned)?);
        let axes = self.used_axes(&found, &results);
        if self.together.has_one() && axes == self.definition.axes {
            self.definition.reduction = Some(found);
            return Ok(Reduced::Own(results));
        }
        self.stored_alone(found, results, reduce, axes)
    }

    /// Returns the axes of the definition that a reduction uses, or all of them if it is not defined everywhere on these.
    fn used_axes(&self, found: &Found, results: &[ExprId]) -> Vec<AxisId> {
        let exprs = &self.program.exprs;
        let extents = found.over.iter().map(|axis| self.program.axes[*axis].extent);
        let values: Vec<ExprId> = found.lift.iter().chain(results).copied().chain(extents).collect();
        let uses = |axis: &AxisId| values.iter().any(|value| exprs.uses_axis(*value, &mut |a| a == *axis));
        let used: Vec<AxisId> = self.definition.axes.iter().copied().filter(uses).collect();
        if self.is_defined_on(&used, &found.over, &values, found.least) { used } else { self.definition.axes.clone() }
    }

    /// Makes the stage of a reduction, with an intermediate for each result.
    fn stored_alone(&mut self, found: Found, results: Vec<ExprId>, reduce: &Reduce, axes: Vec<AxisId>) -> Checked<Reduced> {
        let exprs = &self.program.exprs;
        let updated = |value: &ExprId| exprs.reads(*value).iter().any(|read| Some(read.buffer) == self.definition.buffer);
        let extents: Vec<ExprId> = found.over.iter().map(|axis| self.program.axes[*axis].extent).collect();
        if found.lift.iter().chain(&results).chain(&extents).any(updated) {
            let name = &self.definition.name;
            let error = Error::new(reduce.head, format!("this reduction reads `{name}`, which the definition updates"));
            return self.fail(error.help(format!("make `{name}` an input, and define an output instead")));
        }
        let stage = StageId::new(self.program.stages.len());
        let copy = |axis: &AxisId| Axis { def: AxisDef::Root(stage), ..self.program.axes[*axis].clone() };
        let copies: Vec<Axis> = axes.iter().map(copy).collect();
        let copies: Vec<AxisId> = copies.into_iter().map(|axis| self.program.axes.push(axis)).collect();
        let own: HashMap<AxisId, ExprId> =
            axes.iter().zip(&copies).map(|(axis, copy)| (*axis, self.program.exprs.axis(*copy))).collect();
        let exprs = &self.program.exprs;
        let renamed = |value: ExprId| exprs.with_axes(value, &mut |axis| own.get(&axis).copied());
        let lift = found.lift.into_iter().map(renamed).collect();
        let results: Vec<ExprId> = results.into_iter().map(renamed).collect();
        for axis in &found.over {
            self.program.axes[*axis].extent = renamed(self.program.axes[*axis].extent);
        }
        let dtypes: Vec<DType> = results.iter().map(|result| self.program.exprs.dtype(*result)).collect();
        let buffers: Vec<BufferId> = dtypes.into_iter().map(|dtype| self.temporary(reduce, &copies, dtype)).collect();
        let [(buffer, finish), also @ ..] = &buffers.iter().copied().zip(results).collect::<Vec<_>>()[..] else {
            return Err(Poisoned);
        };
        let body = Body::Reduce { monoid: found.monoid, over: found.over, lift, finish: *finish };
        let name = self.program.buffers[*buffer].name.clone();
        let also = also.to_vec();
        self.program.stages.push(Stage { name, buffer: *buffer, axes: copies, body, also, span: reduce.head });
        Ok(Reduced::Stored { buffers, axes })
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
    fn temporary(&mut self, reduce: &Reduce, axes: &[AxisId], dtype: DType) -> BufferId {
        let first = format!("{}_{}", identifier(&self.definition.name), reduce.op.name());
        let taken = |name: &str| {
            self.names.find(name).is_some()
                || definitions(self.kernel).any(|define| define.name.text == name)
                || self.program.buffers.values().any(|buffer| buffer.name == name)
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
    pub(super) fn element(&mut self, buffer: BufferId, axes: &[AxisId], reduce: &Reduce) -> ExprId {
        let exprs = &self.program.exprs;
        let index = axes.iter().map(|axis| exprs.axis(*axis)).collect();
        let read = exprs.add(Node::Read(Read { buffer, index, outside: Outside::Never }), self.program.buffers[buffer].dtype);
        let (shown, name) = (show(&self.program, read), self.program.buffers[buffer].name.clone());
        self.program.owe(format!("`{shown}` is in bounds of `{name}`"), State::Proved, reduce.head);
        read
    }
}
