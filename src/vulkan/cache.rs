//! The pipeline cache, in memory and on disk.
//!
//! A file for each driver build: the device's pipeline-cache UUID names it. It begins with a header of our own, because
//! drivers check what they are given only in part: what was cut off or changed on disk is not passed on to them.

use super::context::Context;
use super::failed;
use crate::error::Result;
use crate::memory::lock;
use ash::vk;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MAGIC: &[u8; 8] = b"tilewpc1";

/// The folder that the environment names: `TILEWRIGHT_CACHE`, else `tilewright` in the platform's folder for caches. `None`:
/// switched off, or there is no such folder.
pub(crate) fn default_folder() -> Option<PathBuf> {
    let path = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(named) = std::env::var_os("TILEWRIGHT_CACHE") {
        return Some(named).filter(|v| !v.is_empty() && v != "off" && v != "0").map(PathBuf::from);
    }
    let base = if cfg!(windows) {
        path("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        path("HOME").map(|home| home.join("Library/Caches"))
    } else {
        path("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| path("HOME").map(|home| home.join(".cache")))
    };
    base.map(|b| b.join("tilewright"))
}

/// Vulkan's cache, and the file that it comes from and goes to.
pub(super) struct PipelineCache {
    raw: OwnCache,
    file: Option<PathBuf>,
    stored: Mutex<Stored>,
}

/// What is known of the file.
#[derive(Default)]
struct Stored {
    /// The checksum of what is in it.
    sum: Option<u64>,
    /// When it was last written.
    at: Option<Instant>,
}

/// How long a file is left alone after it was written: whoever loads hundreds of kernels does not write it each time.
const PAUSE: Duration = Duration::from_secs(2);

impl PipelineCache {
    pub(super) fn open(context: Arc<Context>, folder: Option<&Path>) -> Result<PipelineCache> {
        let file = folder.map(|f| f.join(file_name(&context.details.properties)));
        let data = file.as_deref().and_then(read_file);
        let sum = data.as_deref().map(checksum);
        let raw = match OwnCache::new(&context, data.as_deref().unwrap_or_default()) {
            // A driver that refuses what is on disk starts anew.
            Err(_) if data.is_some() => OwnCache::new(&context, &[])?,
            other => other?,
        };
        Ok(PipelineCache { raw, file, stored: Mutex::new(Stored { sum, at: None }) })
    }

    pub(super) fn raw(&self) -> vk::PipelineCache {
        self.raw.raw
    }

    /// Writes the file if there is more to it than before, and unless that was a moment ago.
    pub(super) fn save(&self) {
        let mut stored = lock(&self.stored);
        if stored.at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.write(&mut stored);
        }
    }

    /// Writes the file if there is more to it than before. That it cannot be written is logged and harms nothing.
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
        match write_file(file, &data) {
            Ok(()) => *stored = Stored { sum: Some(sum), at: Some(Instant::now()) },
            Err(e) => log::warn!("the pipeline cache {} cannot be written: {e}", file.display()),
        }
    }

    /// What the cache holds, with what another process has put into the file since.
    fn merged(&self, file: &Path, known: Option<u64>) -> Result<Vec<u8>> {
        let theirs = read_file(file).filter(|d| known != Some(checksum(d)));
        let Some(theirs) = theirs.and_then(|d| OwnCache::new(&self.raw.context, &d).ok()) else { return self.raw.data() };
        // Into a third one: what is merged into must not be in use, and this one is, by whoever compiles.
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

/// A cache of Vulkan's.
struct OwnCache {
    raw: vk::PipelineCache,
    context: Arc<Context>,
}

impl OwnCache {
    fn new(context: &Arc<Context>, data: &[u8]) -> Result<OwnCache> {
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: the device lives.
        let raw = unsafe { context.device.create_pipeline_cache(&info, None) }.map_err(failed("vkCreatePipelineCache"))?;
        Ok(OwnCache { raw, context: context.clone() })
    }

    fn data(&self) -> Result<Vec<u8>> {
        // SAFETY: the cache is this device's.
        unsafe { self.context.device.get_pipeline_cache_data(self.raw) }.map_err(failed("vkGetPipelineCacheData"))
    }
}

impl Drop for OwnCache {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once.
        unsafe { self.context.device.destroy_pipeline_cache(self.raw, None) };
    }
}

fn file_name(properties: &vk::PhysicalDeviceProperties) -> String {
    let hex: String = properties.pipeline_cache_uuid.iter().map(|b| format!("{b:02x}")).collect();
    format!("pipelines-{:x}-{:x}-{hex}.bin", properties.vendor_id, properties.device_id)
}

/// FNV-1a over 64 bits: it guards against accidents, not against anyone.
fn checksum(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// What a file holds, if it is whole.
fn read_file(file: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(file).ok()?;
    let data = unwrap(&bytes);
    if data.is_none() {
        log::warn!("the pipeline cache {} is damaged and not used", file.display());
    }
    data.map(<[u8]>::to_vec)
}

/// What is behind the header, if it is what was written.
fn unwrap(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, data) = rest.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*sum) == checksum(data)).then_some(data)
}

/// Writes a file beside and renames it, so that no one ever sees half of it.
fn write_file(file: &Path, data: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}-{}.tmp", std::process::id(), crate::memory::fresh_id()));
    let bytes = [&MAGIC[..], &checksum(data).to_le_bytes(), data].concat();
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, file));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let folder = std::env::temp_dir().join(format!("tilewright-cache-{}", std::process::id()));
        let file = folder.join("deep/cache.bin");
        write_file(&file, b"pipelines").expect("writable");
        assert_eq!(read_file(&file).as_deref(), Some(&b"pipelines"[..]));
        assert_eq!(fs::read_dir(folder.join("deep")).expect("made").count(), 1, "nothing else is left");
        let whole = fs::read(&file).expect("readable");
        for damaged in [&whole[..whole.len() - 1], &whole[..4], &[], &[&whole[..], b"x"].concat()] {
            fs::write(&file, damaged).expect("writable");
            assert_eq!(read_file(&file), None);
        }
        fs::remove_dir_all(&folder).expect("removable");
    }
}
