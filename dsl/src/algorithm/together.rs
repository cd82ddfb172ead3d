//! Tensors that are defined together: `(a[i], b[i]) = (x, y);`. Each has a definition in the syntax tree, and all of them become one stage on
//! the axes of the first. A single tensor is such a group, too.

use super::bounds::show;
use super::{Checked, Checker};
use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::ExprId;
use crate::facts::Prover;
use crate::nest::{AxisDef, AxisId, BufferId, Stage, StageId};
use crate::syntax::kernel::{Define, Statement};
use std::collections::HashMap;

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
    /// The intermediates of their reductions outside of functions, by the reductions' places, each with the axes that it has.
    pub(super) reductions: HashMap<SpanId, (BufferId, Vec<AxisId>)>,
}

impl Together {
    /// Returns the group of the first statement.
    pub(super) fn of(statements: &[Statement]) -> Together {
        let name = |(n, statement): (usize, &Statement)| match statement {
            Statement::Define(define) if n == 0 || define.joined => Some(define.name.text.clone()),
            _ => None,
        };
        Together { names: statements.iter().enumerate().map_while(name).collect(), ..Together::default() }
    }

    /// True if it has more than one tensor.
    pub(super) fn is_several(&self) -> bool {
        self.names.len() > 1
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
        if self.together.checked < self.together.names.len() {
            return;
        }
        let Together { buffers, stage, .. } = std::mem::take(&mut self.together);
        self.defined.extend(buffers);
        let Some(stage) = stage else { return };
        let id = StageId::new(self.program.stages.len());
        stage.axes.iter().for_each(|axis| self.program.axes[*axis].def = AxisDef::Root(id));
        self.program.stages.push(stage);
    }
}
