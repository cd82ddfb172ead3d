//! The pipeline cache: Vulkan's cache object, and the file from which it is loaded and to which it is saved.
//!
//! There is a file for each driver build, named by the device's pipeline-cache UUID. [`super::files`] reads and writes it.

use super::context::Context;
use super::failed;
use super::files::{self, checksum};
use crate::device::memory::lock;
use crate::error::Result;
use ash::vk;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Vulkan's cache object, with its file.
pub(super) struct PipelineCache {
    raw: OwnCache,
    file: Option<PathBuf>,
    stored: Mutex<Stored>,
}

/// The known state of the file.
#[derive(Default)]
struct Stored {
    /// The checksum of its contents.
    sum: Option<u64>,
    /// The time of the last write.
    at: Option<Instant>,
}

/// The least time between two writes of a file, so that loading hundreds of kernels does not write it each time.
const PAUSE: Duration = Duration::from_secs(2);

impl PipelineCache {
    pub(super) fn open(context: Arc<Context>, folder: Option<&Path>) -> Result<PipelineCache> {
        let file = folder.map(|f| f.join(file_name(&context.details.properties)));
        let data = file.as_deref().and_then(read);
        file.as_deref().filter(|_| data.is_some()).into_iter().for_each(files::used);
        let sum = data.as_deref().map(checksum);
        let raw = match OwnCache::new(&context, data.as_deref().unwrap_or_default()) {
            // If the driver refuses the file's contents, the cache starts empty.
            Err(_) if data.is_some() => OwnCache::new(&context, &[])?,
            other => other?,
        };
        Ok(PipelineCache { raw, file, stored: Mutex::new(Stored { sum, at: None }) })
    }

    /// Uses the caller's cache object, which is neither saved nor destroyed.
    pub(super) fn foreign(context: Arc<Context>, raw: vk::PipelineCache) -> PipelineCache {
        PipelineCache { raw: OwnCache { raw, destroyed: false, context }, file: None, stored: Mutex::default() }
    }

    pub(super) fn raw(&self) -> vk::PipelineCache {
        self.raw.raw
    }

    /// Writes the file if its contents have changed, unless it was written a moment ago.
    pub(super) fn save(&self) {
        let mut stored = lock(&self.stored);
        if stored.at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.write(&mut stored);
        }
    }

    /// Writes the file if its contents have changed. A failure is only logged, because the cache is optional.
    fn write(&self, stored: &mut Stored) {
        let Some(file) = &self.file else { return };
        let data = match self.merged(file, stored.sum) {
            Ok(data) => data,
            Err(e) => return log::warn!("the pipeline cache cannot be read: {e}"),
        };
        let sum = checksum(&data);
        if stored.sum == Some(sum) {
            return;
        }
        match files::write(file, &data) {
            Ok(()) => *stored = Stored { sum: Some(sum), at: Some(Instant::now()) },
            Err(e) => log::warn!("the pipeline cache {} cannot be written: {e}", file.display()),
        }
    }

    /// Returns the contents of the cache, merged with the entries that another process has added to the file since.
    fn merged(&self, file: &Path, known: Option<u64>) -> Result<Vec<u8>> {
        let theirs = read(file).filter(|d| known != Some(checksum(d)));
        let Some(theirs) = theirs.and_then(|d| OwnCache::new(&self.raw.context, &d).ok()) else { return self.raw.data() };
        // The target is a third cache, because the target of a merge must not be in use, and threads that compile use this one.
        let both = OwnCache::new(&self.raw.context, &[])?;
        // SAFETY: all three are this device's, and the first is this function's alone.
        let merged = unsafe { self.raw.context.device.merge_pipeline_caches(both.raw, &[self.raw.raw, theirs.raw]) };
        merged.map_err(failed("vkMergePipelineCaches"))?;
        both.data()
    }
}

impl Drop for PipelineCache {
    fn drop(&mut self) {
        let mut stored = std::mem::take(&mut *lock(&self.stored));
        self.write(&mut stored);
    }
}

/// A Vulkan cache object.
struct OwnCache {
    raw: vk::PipelineCache,
    /// True if it is destroyed with this struct.
    destroyed: bool,
    context: Arc<Context>,
}

impl OwnCache {
    fn new(context: &Arc<Context>, data: &[u8]) -> Result<OwnCache> {
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: the device lives.
        let raw = unsafe { context.device.create_pipeline_cache(&info, None) }.map_err(failed("vkCreatePipelineCache"))?;
        Ok(OwnCache { raw, destroyed: true, context: context.clone() })
    }

    fn data(&self) -> Result<Vec<u8>> {
        // SAFETY: the cache is this device's.
        unsafe { self.context.device.get_pipeline_cache_data(self.raw) }.map_err(failed("vkGetPipelineCacheData"))
    }
}

impl Drop for OwnCache {
    fn drop(&mut self) {
        if !self.destroyed {
            return;
        }
        let raw = self.raw;
        // SAFETY: made by `new`, destroyed once.
        self.context.free(move |device| unsafe { device.destroy_pipeline_cache(raw, None) });
    }
}

fn file_name(properties: &vk::PhysicalDeviceProperties) -> String {
    let hex: String = properties.pipeline_cache_uuid.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}{:x}-{:x}-{hex}{}", files::PREFIX, properties.vendor_id, properties.device_id, files::SUFFIX)
}

/// Returns the contents of a file; `None` if they cannot be used, and then the reason is logged.
fn read(file: &Path) -> Option<Vec<u8>> {
    let read = files::read(file);
    read.unwrap_or_else(|e| {
        log::warn!("the pipeline cache {} is not used: {e}", file.display());
        None
    })
}
