//! Shared copies that are made ahead of the steps that read them. A directive says which, and lowering makes them so: the loop over the
//! steps then fetches and stores for later steps (the nest's page says how).

use super::{AxisId, BufferId, Program, StageId};
use crate::diag::SpanId;
use crate::expr::{Expr, ExprId};

/// A copy that a pipeline makes.
#[derive(Clone, Debug)]
pub struct Pipelined {
    /// The serial loop whose iterations are the steps.
    pub axis: AxisId,
    /// The copy, in shared memory.
    pub copy: BufferId,
    /// The stage that says what it holds in a step.
    pub stage: StageId,
    /// How many buffers it has.
    pub buffers: u32,
    /// Where registers are filled for a later step; `None`: the copy is made without registers between.
    pub fetch: Option<Place>,
    /// Where the copy is written.
    pub store: Place,
    /// The directive.
    pub span: SpanId,
    /// What lowering has made of it.
    pub made: Option<Made>,
}

/// A place in a step, and whether it is before the barrier there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Between which stages.
    pub at: Point,
    /// Whether it is before the barrier that stands there.
    pub early: bool,
    /// Where that is said, or the directive.
    pub span: SpanId,
}

/// A point between the stages of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before everything else.
    Start,
    /// After everything else.
    End,
    /// Before a stage.
    Before(StageId),
    /// After a stage.
    After(StageId),
}

/// A pipelined copy in the last form of the nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// The axis that counts the step for which something is fetched.
    pub step: AxisId,
    /// The stage that fetches into registers; `None`: the copy does not go through registers.
    pub registers: Option<StageId>,
}

impl Program {
    /// The pipeline that makes a copy.
    pub fn pipeline_of(&self, copy: BufferId) -> Option<&Pipelined> {
        self.pipelines.iter().find(|p| p.copy == copy)
    }

    /// How many buffers a local buffer has, or will have when it is lowered.
    pub fn versions(&self, buffer: BufferId) -> u32 {
        let buffers = self.pipeline_of(buffer).map_or(1, |p| p.buffers);
        self.buffers[buffer].versions.max(buffers)
    }

    /// An expression with another axis in the place of one.
    pub fn renamed(&self, e: ExprId, from: AxisId, to: AxisId) -> ExprId {
        let new = self.exprs.axis(to);
        self.exprs.replace(e, &mut |exprs, id| (*exprs.get(id) == Expr::Axis(from)).then_some(new))
    }
}
