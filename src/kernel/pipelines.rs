//! The pipelines of a dispatch: one, or one for each value of its specialization constants.

use crate::device::Device;
use crate::device::backend::Pipeline;
use crate::device::memory::lock;
use crate::error::Result;
use std::sync::{Arc, Mutex};
use tilewright_launch::{Dispatch, Program};

/// The pipelines of a dispatch.
pub(crate) enum Pipelines {
    /// The pipeline of a dispatch without constants.
    One(Arc<dyn Pipeline>),
    /// The pipelines by the values of the constants.
    Pinned(Mutex<Kept>),
}

impl Pipelines {
    /// Creates the pipelines of a dispatch. The pipeline of a dispatch without constants is compiled now, others on first use.
    pub(crate) fn new(device: &Device, program: &Program, dispatch: &Dispatch) -> Result<Pipelines> {
        if dispatch.constants.is_empty() {
            return Ok(Pipelines::One(device.compile(program, dispatch, &[])?));
        }
        Ok(Pipelines::Pinned(Mutex::default()))
    }

    /// Returns the pipeline for some values of the constants, and compiles it if needed.
    pub(crate) fn get(&self, device: &Device, program: &Program, dispatch: &Dispatch, values: &[u32]) -> Result<Arc<dyn Pipeline>> {
        let kept = match self {
            Pipelines::One(pipeline) => return Ok(pipeline.clone()),
            Pipelines::Pinned(kept) => kept,
        };
        if let Some(pipeline) = lock(kept).used(values) {
            return Ok(pipeline);
        }
        // The lock is not held, so that other launches can proceed. If two threads compile the same pipeline, only one result is
        // kept.
        let pipeline = device.compile(program, dispatch, values)?;
        device.save_cache();
        lock(kept).keep(values, pipeline.clone());
        Ok(pipeline)
    }
}

/// Pipelines by the values of constants, the most recently used one last.
#[derive(Default)]
pub(crate) struct Kept(Vec<(Vec<u32>, Arc<dyn Pipeline>)>);

impl Kept {
    /// The most pipelines that are kept. The least recently used one is dropped first.
    const MOST: usize = 64;

    /// Returns the pipeline for some values, which becomes the most recently used one.
    fn used(&mut self, values: &[u32]) -> Option<Arc<dyn Pipeline>> {
        let at = self.0.iter().position(|(v, _)| v == values)?;
        let entry = self.0.remove(at);
        let pipeline = entry.1.clone();
        self.0.push(entry);
        Some(pipeline)
    }

    /// Adds the pipeline for some values, unless there is one by now.
    fn keep(&mut self, values: &[u32], pipeline: Arc<dyn Pipeline>) {
        if self.used(values).is_some() {
            return;
        }
        if self.0.len() >= Kept::MOST {
            self.0.remove(0);
        }
        self.0.push((values.to_vec(), pipeline));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Pipeline for Nothing {}

    #[test]
    fn the_pipeline_that_was_used_longest_ago_goes_first() {
        let mut kept = Kept::default();
        for n in 0..Kept::MOST as u32 {
            kept.keep(&[n, 7], Arc::new(Nothing));
        }
        assert!(kept.used(&[0, 7]).is_some());
        kept.keep(&[1000, 7], Arc::new(Nothing));
        kept.keep(&[1000, 7], Arc::new(Nothing));
        assert_eq!(kept.0.len(), Kept::MOST);
        assert!(kept.used(&[0, 7]).is_some());
        assert!(kept.used(&[1, 7]).is_none());
        assert!(kept.used(&[2, 7]).is_some());
        assert!(kept.used(&[1000, 7]).is_some());
        assert!(kept.used(&[1000]).is_none());
    }
}
