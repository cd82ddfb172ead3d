//! Tensors that are defined together: `(a[i], b[i]) = (x, y);`. Each has a definition in the syntax tree, and all of them become one stage on
//! the axes of the first. A single tensor is such a group, too.

use super::bounds::show;
use super::reductions::{Found, Reduced};
use super::{Checked, Checker};
use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::{Expr as Node, ExprId};
use crate::facts::Prover;
use crate::nest::{AxisDef, AxisId, Body, BufferId, Space, Stage, StageId};
use crate::syntax::expr::ExprKind;
use crate::syntax::kernel::{Define, Statement};
use std::collections::{HashMap, HashSet};

/// The current group.
#[derive(Default)]
pub(super) struct Together {
    /// The names of its tensors.
    names: Vec<String>,
    /// The tensors that have a definition so far. Other definitions can read them after the last one.
    pub(super) buffers: Vec<BufferId>,
    /// The number of definitions that were checked.
    checked: usize,
    /// The stage that computes them. `None` if all definitions so far are wrong.
    pub(super) stage: Option<Stage>,
    /// The number of different reductions in their values.
    reductions: usize,
    /// The results of the reductions that were checked, by the reductions' places.
    pub(super) reduced: HashMap<SpanId, Reduced>,
    /// The reads that were checked, by their places. Several values of a definition have a copy of its `let`s, and a read must have one proof,
    /// though more facts may be known at the second one.
    pub(super) reads: HashMap<SpanId, ExprId>,
    /// The reduction of the stage.
    found: Option<Found>,
}

impl Together {
    /// Returns the group of the first statement.
    pub(super) fn of(statements: &[Statement]) -> Together {
        let name = |(n, statement): (usize, &Statement)| match statement {
            Statement::Define(define) if n == 0 || define.joined => Some(define.name.text.clone()),
            _ => None,
        };
        let names: Vec<String> = statements.iter().enumerate().map_while(name).collect();
        let mut reductions = HashSet::new();
        for statement in &statements[..names.len()] {
            let Statement::Define(define) = statement else { continue };
            define.value.each(&mut |e| {
                if let ExprKind::Reduce(reduce) = &e.kind {
                    reductions.insert(reduce.head);
                }
            });
        }
        Together { names, reductions: reductions.len(), ..Together::default() }
    }

    /// True if it is one tensor, and its value has at most one reduction.
    pub(super) fn is_alone(&self) -> bool {
        self.names.len() == 1 && self.reductions <= 1
    }

    /// True if all values together have one reduction.
    pub(super) fn has_one(&self) -> bool {
        self.reductions == 1
    }

    /// True if it defines the tensor of this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }
}

impl Checker<'_> {
    /// Returns the axis of the group for a dimension with an extent, if the group has axes and the extents are equal.
    pub(super) fn common_axis(&mut self, define: &Define, d: usize, extent: ExprId) -> Checked<Option<AxisId>> {
        let Some(stage) = &self.together.stage else { return Ok(None) };
        let (axis, first, buffer) = (stage.axes[d], stage.name.clone(), stage.buffer);
        if let Some(own) = self.definition.buffer {
            self.begins_like(buffer, own, d, define.span)?;
        }
        let other = self.program.axes[axis].extent;
        let prover = Prover::new(&self.program);
        if other == extent || prover.less_equal(other, extent) && prover.less_equal(extent, other) {
            return Ok(Some(axis));
        }
        let (name, axis) = (&define.name, &self.program.axes[axis].name);
        let error = Error::new(define.span, format!("`{name}` is defined with `{first}`, and `{axis}` has another extent there"));
        let (of_first, own) = (show(&self.program, other), show(&self.program, extent));
        let error = error.note(format!("it is `{of_first}` for `{first}` and `{own}` for `{name}`"));
        self.fail(error.help(format!("give `{name}` a definition of its own")))
    }

    /// Makes the stage after the group's last definition. Intermediates of its reductions precede it.
    pub(super) fn end_together(&mut self) {
        self.together.checked += 1;
        self.together.found = self.definition.reduction.take().or(self.together.found.take());
        if self.together.checked < self.together.names.len() {
            return;
        }
        let Together { buffers, stage, found, .. } = std::mem::take(&mut self.together);
        self.defined.extend(buffers);
        let Some(mut stage) = stage else { return };
        let is_used = |value: &ExprId| self.program.exprs.any(*value, &mut |e| matches!(e, Node::State(_)));
        // If the result of a reduction is not used, the definition is a plain value.
        if let (Some(found), Body::Map(value)) = (found, &stage.body)
            && stage.stored().iter().any(is_used)
        {
            stage.body = Body::Reduce { monoid: found.monoid, over: found.over, lift: found.lift, finish: *value };
        }
        let is_intermediate = self.program.buffers[stage.buffer].space == Space::Temporary;
        if is_intermediate && matches!(stage.body, Body::Map(_)) && !stage.also.is_empty() {
            let error = Error::new(stage.span, "these intermediates are not defined by one reduction");
            let error = error.note("a `let` of several tensors is a reduction over all of their axes, whose results they use");
            self.errors.push(error.help(format!("write a `let` for each: `let {}[…]: … = …;`", stage.name)));
        }
        let id = StageId::new(self.program.stages.len());
        stage.axes.iter().for_each(|axis| self.program.axes[*axis].def = AxisDef::Root(id));
        self.program.stages.push(stage);
    }
}
