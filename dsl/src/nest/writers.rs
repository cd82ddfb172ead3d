//! The stages of a program by their names, and by the buffers that they define or update.

use super::{BufferId, Program, Space, Stage, StageId};

impl Program {
    /// Returns the first stage of a name.
    pub fn stage_named(&self, name: &str) -> Option<StageId> {
        self.stages.iter().find(|(_, stage)| stage.name == name).map(|(id, _)| id)
    }

    /// True if a stage, tensor, scalar or dim has the name.
    pub fn is_taken(&self, name: &str) -> bool {
        self.stage_named(name).is_some()
            || self.buffers.values().any(|buffer| buffer.name == name)
            || self.scalars.values().any(|scalar| scalar.name == name)
            || self.dims.values().any(|dim| dim.name == name)
    }

    /// Returns the stage that defines the values of a buffer's reads. `None` for inputs, and for arguments that are updated, because all reads
    /// of those are of the values before the launch.
    pub fn definition(&self, buffer: BufferId) -> Option<StageId> {
        self.writer(buffer).filter(|_| self.buffers[buffer].space != Space::Update)
    }

    /// Returns the stage that updates an argument.
    pub fn update(&self, buffer: BufferId) -> Option<StageId> {
        self.writer(buffer).filter(|_| self.buffers[buffer].space == Space::Update)
    }

    /// Returns the stage that defines or updates a buffer.
    pub fn writer(&self, buffer: BufferId) -> Option<StageId> {
        let defines = |s: &Stage| s.buffer == buffer || s.also.iter().any(|(b, _)| *b == buffer);
        self.stages.iter().find(|(_, s)| defines(s)).map(|(id, _)| id)
    }

    /// Returns the arguments that a stage updates.
    pub fn updated(&self, stage: StageId) -> Vec<BufferId> {
        let buffers = self.stages[stage].buffers().into_iter();
        buffers.filter(|buffer| self.buffers[*buffer].space == Space::Update).collect()
    }

    /// True if a stage defines an output or updates a tensor.
    pub fn is_result(&self, stage: StageId) -> bool {
        let buffers = self.stages[stage].buffers();
        buffers.iter().any(|buffer| matches!(self.buffers[*buffer].space, Space::Output | Space::Update))
    }
}
