//! The pipelines of a dispatch: one, or one for each value of its specialization constants.

use crate::backend::Pipeline;
use crate::device::Device;
use crate::error::Result;
use crate::memory::lock;
use std::sync::{Arc, Mutex};
use tilewright_launch::{Dispatch, Program};

/// The pipelines of a dispatch.
pub(crate) enum Pipelines {
    /// It has no constants.
    One(Arc<dyn Pipeline>),
    /// By the values of its constants.
    Pinned(Mutex<Kept>),
}

impl Pipelines {
    /// Of a dispatch without constants the pipeline is made now.
    pub(crate) fn new(device: &Device, program: &Program, dispatch: &Dispatch) -> Result<Pipelines> {
        if dispatch.constants.is_empty() {
            return Ok(Pipelines::One(device.compile(program, dispatch, &[])?));
        }
        Ok(Pipelines::Pinned(Mutex::default()))
    }

    /// The pipeline for some values of the constants, made where it is not there yet.
    pub(crate) fn get(&self, device: &Device, program: &Program, dispatch: &Dispatch, values: &[u32]) -> Result<Arc<dyn Pipeline>> {
        let kept = match self {
            Pipelines::One(pipeline) => return Ok(pipeline.clone()),
            Pipelines::Pinned(kept) => kept,
        };
        if let Some(pipeline) = lock(kept).used(values) {
            return Ok(pipeline);
        }
        // Others launch meanwhile; that two make the same one does no harm.
        let pipeline = device.compile(program, dispatch, values)?;
        device.save_cache();
        lock(kept).keep(values, pipeline.clone());
        Ok(pipeline)
    }
}

/// Pipelines by the values of constants, the last used one last.
#[derive(Default)]
pub(crate) struct Kept(Vec<(Vec<u32>, Arc<dyn Pipeline>)>);

impl Kept {
    /// How many there are at most; the one that was used longest ago goes first.
    const MOST: usize = 64;

    /// The pipeline for some values, which becomes the last used one.
    fn used(&mut self, values: &[u32]) -> Option<Arc<dyn Pipeline>> {
        let at = self.0.iter().position(|(v, _)| v == values)?;
        let entry = self.0.remove(at);
        let pipeline = entry.1.clone();
        self.0.push(entry);
        Some(pipeline)
    }

    /// Keeps the pipeline for some values, unless there is one by now.
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
