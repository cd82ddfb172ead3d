//! The pipelines of a dispatch: one, or one for each value of its specialization constants.

use super::recent::Recent;
use crate::device::Device;
use crate::device::backend::Pipeline;
use crate::error::Result;
use std::sync::Arc;
use tilewright_launch::{Dispatch, Program};

/// The pipelines of a dispatch.
pub(crate) enum Pipelines {
    /// The pipeline of a dispatch without constants.
    One(Arc<dyn Pipeline>),
    /// The pipelines by the values of the constants.
    Pinned(Recent<u32, Arc<dyn Pipeline>>),
}

impl Pipelines {
    /// Creates the pipelines of a dispatch. The pipeline of a dispatch without constants is compiled now, others on first use.
    pub(crate) fn new(device: &Device, program: &Program, dispatch: &Dispatch) -> Result<Pipelines> {
        if dispatch.constants.is_empty() {
            return Ok(Pipelines::One(device.compile(program, dispatch, &[])?));
        }
        Ok(Pipelines::Pinned(Recent::default()))
    }

    /// Returns the pipeline for some values of the constants, and compiles it if needed.
    pub(crate) fn get(&self, device: &Device, program: &Program, dispatch: &Dispatch, values: &[u32]) -> Result<Arc<dyn Pipeline>> {
        let kept = match self {
            Pipelines::One(pipeline) => return Ok(pipeline.clone()),
            Pipelines::Pinned(kept) => kept,
        };
        if let Some(pipeline) = kept.get(values) {
            return Ok(pipeline);
        }
        // If two threads compile the same pipeline, only one result is kept.
        let pipeline = device.compile(program, dispatch, values)?;
        device.save_cache();
        kept.keep(values, pipeline.clone());
        Ok(pipeline)
    }
}
