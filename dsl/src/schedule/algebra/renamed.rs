//! Copies of a stage onto new axes: expressions over the axes of the original are rewritten over the axes of the copy. For example,
//! stages of partial results are such copies ([`super::rfactor`]).

use crate::expr::ExprId;
use crate::nest::{Axis, AxisDef, AxisId, Fate, Program, StageId};
use std::collections::HashMap;

/// Maps the axes of the original stage to the axes of its copy.
#[derive(Debug)]
pub(super) struct Renamed {
    pub(in crate::schedule) axes: HashMap<AxisId, AxisId>,
}

impl Renamed {
    pub(in crate::schedule) fn axis(&self, axis: AxisId) -> AxisId {
        self.axes.get(&axis).copied().unwrap_or(axis)
    }

    /// Returns an axis of the original as the copy has it. `stages` holds the original and the copy.
    pub(in crate::schedule) fn remade(&self, program: &mut Program, old: Axis, stages: [StageId; 2]) -> Axis {
        let extent = self.expr(program, old.extent);
        let def = match old.def {
            AxisDef::Root(of) if of == stages[0] => AxisDef::Root(stages[1]),
            AxisDef::Part { of, part } => AxisDef::Part { of: self.axis(of), part },
            AxisDef::Fused(digits) => AxisDef::Fused(digits.into_iter().map(|digit| self.axis(digit)).collect()),
            other => other,
        };
        let fate = match old.fate {
            Fate::Live => Fate::Live,
            Fate::Split(mut split) => {
                split.parts.iter_mut().for_each(|part| *part = self.axis(*part));
                Fate::Split(split)
            }
            Fate::Fused { into, digit, span } => Fate::Fused { into: self.axis(into), digit, span },
        };
        Axis { extent, def, fate, ..old }
    }

    /// Rewrites an expression of the original over the axes of the copy.
    pub(in crate::schedule) fn expr(&self, program: &mut Program, e: ExprId) -> ExprId {
        program.exprs.with_axes(e, &mut |axis| self.axes.get(&axis).map(|own| program.exprs.axis(*own)))
    }
}
