//! The record of a file's tuning: a sorted text file next to it. The macros do not read it.

use super::space::{Refused, Space};
use crate::exit::Problem;
use crate::sizes::Sizes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tilewright_dsl::schedule::tune::Choice;

/// The version of the format.
const VERSION: u32 = 1;

/// The text at the beginning of every record.
const ABOUT: &str = "written by `tilewright tune --write`; `tilewright tune --check` says whether it is stale";

/// A file's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    about: String,
    version: u32,
    pub(super) schedules: BTreeMap<String, Tuned>,
}

/// The recorded results of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tuned {
    pub(super) kernel: String,
    pub(super) profile: String,
    /// The values that were written into the file.
    pub(super) chosen: BTreeMap<String, i64>,
    /// Every choice that compiled, and the hash of its module.
    pub(super) modules: BTreeMap<String, String>,
    /// The results on each device, by its name and driver.
    pub(super) devices: BTreeMap<String, OnDevice>,
}

/// The results on a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OnDevice {
    pub(super) sizes: Vec<String>,
    pub(super) best: String,
    /// The default that it was compared with.
    pub(super) before: String,
    /// The best's time divided by the default's, when both ran in turn.
    pub(super) ratio: Option<f64>,
    /// The nanoseconds of a launch, for each of the sizes.
    pub(super) nanoseconds: BTreeMap<String, Vec<f64>>,
    /// The reasons why other choices were not measured to the end.
    pub(super) refused: BTreeMap<String, String>,
}

impl Default for Record {
    fn default() -> Record {
        Record { about: ABOUT.into(), version: VERSION, schedules: BTreeMap::new() }
    }
}

/// Returns the path of a file's record. For example, the record of `a.rs` is `a.tuned.json`.
pub(super) fn beside(file: &Path) -> PathBuf {
    file.with_extension("tuned.json")
}

impl Record {
    /// Reads a file's record. Returns `None` if it does not exist.
    pub(super) fn read(file: &Path) -> Result<Option<Record>, Problem> {
        let path = beside(file);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Problem::usage(format!("cannot read {}: {error}", path.display()))),
        };
        let wrong = |why: String| Problem::usage(format!("{} is not a record: {why}; remove it, and tune again", path.display()));
        let record: Record = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        if record.version != VERSION {
            return Err(wrong(format!("it is of version {}, and this program writes {VERSION}", record.version)));
        }
        Ok(Some(record))
    }

    pub(super) fn text(&self) -> Result<String, Problem> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Problem::usage(e.to_string()))?;
        Ok(text + "\n")
    }
}

impl Tuned {
    /// Returns the record of a space, without devices.
    pub(super) fn of(space: &Space, chosen: &Choice, kernel: &str, profile: &str) -> Tuned {
        let modules = space.modules.iter().map(|(choice, module)| (choice.to_string(), module.clone())).collect();
        let chosen = chosen.0.iter().cloned().collect();
        Tuned { kernel: kernel.into(), profile: profile.into(), chosen, modules, devices: BTreeMap::new() }
    }

    /// Returns one line for each difference between a schedule and its record.
    pub(super) fn stale(&self, space: &Space) -> Vec<String> {
        let mut stale = Vec::new();
        let default: BTreeMap<String, i64> = space.default.0.iter().cloned().collect();
        if default != self.chosen {
            let shown = |values: &BTreeMap<String, i64>| Choice(values.clone().into_iter().collect()).to_string();
            stale.push(format!("the file has {}, and {} was tuned", shown(&default), shown(&self.chosen)));
        }
        let now: BTreeMap<String, &String> = space.modules.iter().map(|(choice, module)| (choice.to_string(), module)).collect();
        let changed = self.modules.iter().filter(|(choice, module)| now.get(*choice).is_some_and(|now| now != module)).count();
        let gone = self.modules.keys().filter(|choice| !now.contains_key(*choice)).count();
        let new = now.keys().filter(|choice| !self.modules.contains_key(*choice)).count();
        for (count, what) in [
            (changed, "a module that differs from the tuned one"),
            (gone, "no module any more"),
            (new, "a module that was not tuned"),
        ] {
            if count > 0 {
                stale.push(format!("{count} of {} choices have {what}", now.len().max(self.modules.len())));
            }
        }
        stale
    }
}

/// Rounds a time to the precision that a second run would reproduce.
pub(super) fn rounded(nanoseconds: f64) -> f64 {
    let digits = 10f64.powf(nanoseconds.max(1.0).log10().floor() - 2.0);
    ((nanoseconds / digits).round() * digits * 1e3).round() / 1e3
}

/// Returns the first lines of the reasons why choices were refused.
pub(super) fn reasons(refused: &[Refused]) -> BTreeMap<String, String> {
    let first = |why: &str| why.lines().next().unwrap_or_default().to_owned();
    refused.iter().map(|r| (r.choice.to_string(), format!("{}: {}", r.stage.name(), first(&r.why)))).collect()
}

/// Returns sizes in the form of the record.
pub(super) fn sizes(all: &[Sizes]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}
