//! Shared copies that are prefetched for later steps. A directive names them. Lowering then makes the loop over the steps fetch
//! and store for later steps, as [the module's page](super) describes.

use super::{AxisId, BufferId, Program, StageId};
use crate::diag::SpanId;
use crate::expr::ExprId;

/// A copy that is prefetched.
#[derive(Clone, Debug)]
pub struct Pipelined {
    /// The serial loop whose iterations are the steps.
    pub axis: AxisId,
    /// The copy, in shared memory.
    pub copy: BufferId,
    /// The stage that defines its contents in a step.
    pub stage: StageId,
    /// The number of buffers.
    pub buffers: u32,
    /// The place where registers are filled for a later step. `None` if the copy does not go through registers.
    pub fetch: Option<StepPlace>,
    /// The place where the copy is written.
    pub store: StepPlace,
    /// The directive.
    pub span: SpanId,
    /// The axis and stage that lowering has made for it.
    pub made: Option<Made>,
}

/// A place in a step, before or after the barrier there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPlace {
    /// The point between stages.
    pub at: Point,
    /// True if it precedes the barrier at that point.
    pub early: bool,
    /// The argument that says so, or the directive.
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
    /// The axis that counts the step that is fetched.
    pub step: AxisId,
    /// The stage that fetches into registers. `None` if the copy does not go through registers.
    pub registers: Option<StageId>,
}

impl Program {
    /// Returns the pipeline that makes a copy.
    pub fn pipeline_of(&self, copy: BufferId) -> Option<&Pipelined> {
        self.notes.pipelines.iter().find(|p| p.copy == copy)
    }

    /// Returns the number of buffers of a local buffer, including those that lowering will add for a pipeline.
    pub fn versions(&self, buffer: BufferId) -> u32 {
        let buffers = self.pipeline_of(buffer).map_or(1, |p| p.buffers);
        self.buffers[buffer].versions.max(buffers)
    }

    /// Replaces the axis `from` by `to` in an expression.
    pub fn renamed(&self, e: ExprId, from: AxisId, to: AxisId) -> ExprId {
        let new = self.exprs.axis(to);
        self.exprs.with_axes(e, &mut |axis| (axis == from).then_some(new))
    }
}
