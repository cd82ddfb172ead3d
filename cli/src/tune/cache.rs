//! A cache of measured times, by module, sizes, device and driver. It is a file to which lines are only appended.

use crate::reached::LEAST;
use crate::sizes::Sizes;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most bytes of the file. A longer file is started again from the beginning.
const MOST: u64 = 16 << 20;

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    module: String,
    sizes: String,
    device: String,
    driver: String,
    /// The value of [`LEAST`] at the measurement. If it has changed, the time is measured again.
    least: u64,
    nanoseconds: f64,
}

/// The times of one device.
#[derive(Default)]
pub(super) struct Cache {
    /// The file. `None` if times are not kept.
    file: Option<PathBuf>,
    device: (String, String),
    times: HashMap<(String, String), f64>,
}

impl Cache {
    /// Reads the times of a device with a driver. Invalid lines, such as one that was cut off, are ignored. With `fresh`, no times are
    /// read.
    pub(super) fn open(device: [String; 2], fresh: bool) -> Cache {
        Cache::at(folder(&|name| std::env::var_os(name)), device, fresh)
    }

    fn at(folder: Option<PathBuf>, [device, driver]: [String; 2], fresh: bool) -> Cache {
        let file = folder.map(|folder| folder.join("tuned.jsonl"));
        let mut cache = Cache { file, device: (device, driver), times: HashMap::new() };
        if let (Some(file), false) = (&cache.file, fresh) {
            let text = fs::read_to_string(file).unwrap_or_default();
            for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
                if (&line.device, &line.driver, line.least) == (&cache.device.0, &cache.device.1, LEAST) {
                    cache.times.insert((line.module, line.sizes), line.nanoseconds);
                }
            }
        }
        cache
    }

    pub(super) fn get(&self, module: &str, sizes: &Sizes) -> Option<f64> {
        self.times.get(&(module.to_owned(), sizes.to_string())).copied().filter(|ns| ns.is_finite() && *ns > 0.0)
    }

    /// Keeps a time. A failed write is not an error, because the time is then measured again.
    pub(super) fn put(&mut self, module: &str, sizes: &Sizes, nanoseconds: f64) {
        self.times.insert((module.to_owned(), sizes.to_string()), nanoseconds);
        let (device, driver) = self.device.clone();
        let line = Line { module: module.to_owned(), sizes: sizes.to_string(), device, driver, least: LEAST, nanoseconds };
        if let (Some(file), Ok(line)) = (&self.file, serde_json::to_string(&line)) {
            let _ = added(file, &format!("{line}\n"));
        }
    }
}

fn added(file: &Path, line: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let begin_anew = fs::metadata(file).is_ok_and(|m| m.len() > MOST);
    let mut to = OpenOptions::new().create(true).append(!begin_anew).write(true).truncate(begin_anew).open(file)?;
    // The line is written at once, so that lines of several processes do not mix.
    to.write_all(line.as_bytes())
}

/// Returns the folder of Tilewright's caches. The variables are the same as the runtime's.
fn folder(lookup: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path would be relative to the working directory, so it is ignored.
    let path = |name| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(said) = lookup("TILEWRIGHT_CACHE") {
        match said.to_str().map(|s| s.trim().to_ascii_lowercase()).as_deref() {
            // The runtime refuses an empty path.
            Some("" | "off" | "0" | "no" | "false") => return None,
            Some("on" | "1" | "yes" | "true") => {}
            _ => return Some(said.into()),
        }
    }
    let base = if cfg!(windows) {
        path("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        path("HOME").map(|home| home.join("Library/Caches"))
    } else {
        path("XDG_CACHE_HOME").or_else(|| path("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("tilewright"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, driver: &str) -> [String; 2] {
        [name.to_owned(), driver.to_owned()]
    }

    #[test]
    fn times_are_of_a_module_at_sizes_on_a_device_with_a_driver() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |device: &[String; 2], fresh| Cache::at(Some(folder.path().join("deep")), device.clone(), fresh);
        let sizes = |n| Sizes(vec![("N".into(), n)]);
        at(&device("a", "1"), false).put("m", &sizes(3), 12.5);
        // The line is cut off.
        added(&folder.path().join("deep/tuned.jsonl"), "{\"module\":\"m\"\n").expect("it is written");
        at(&device("a", "1"), false).put("m", &sizes(4), 8.0);
        assert_eq!(at(&device("a", "1"), false).get("m", &sizes(3)), Some(12.5));
        assert_eq!(at(&device("a", "1"), false).get("m", &sizes(4)), Some(8.0));
        for (device, module, n) in
            [(device("b", "1"), "m", 3), (device("a", "2"), "m", 3), (device("a", "1"), "o", 3), (device("a", "1"), "m", 5)]
        {
            assert_eq!(at(&device, false).get(module, &sizes(n)), None);
        }
        assert_eq!(at(&device("a", "1"), true).get("m", &sizes(3)), None);
    }

    #[test]
    fn the_folder_is_the_runtimes() {
        let of = |said: &'static str| {
            folder(&move |name| match name {
                "TILEWRIGHT_CACHE" => Some(said.into()),
                "XDG_CACHE_HOME" | "HOME" | "LOCALAPPDATA" => Some("/c".into()),
                _ => None,
            })
        };
        assert_eq!(of("off"), None);
        assert_eq!(of("./here"), Some("./here".into()));
        assert!(of("on").is_some_and(|p| p.ends_with("tilewright")));
        assert_eq!(of(""), None);
        assert_eq!(folder(&|name| (name != "TILEWRIGHT_CACHE").then(|| "relative".into())), None);
    }
}
