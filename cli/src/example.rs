//! Example sizes of a schedule, if none are given. They are the sizes that the schedule was tuned for, or else the sizes of a ready
//! kernel with the same name and dims.

use crate::sizes::{Sizes, dims, parse};
use crate::tune;
use std::path::Path;
use tilewright_explain::source::Subject;
use tilewright_schedules::catalog::{ALL, Entry};

/// Returns the sizes and their source; `None` without an example.
pub(crate) fn sizes(file: &Path, subject: &Subject) -> Option<(Sizes, &'static str)> {
    let dims = dims(&subject.kernel);
    if dims.is_empty() {
        return None;
    }
    let is_whole = |sizes: &Sizes| dims.iter().all(|dim| sizes.get(dim).is_some());
    let tuned = tune::tuned_for(file, &subject.schedule.name.text).and_then(|text| parse(&text).ok());
    if let Some(sizes) = tuned.filter(is_whole) {
        return Some((sizes, "which it was tuned for"));
    }
    let is_same = |entry: &&Entry| {
        let names = entry.dims.len() == dims.len() && entry.dims.iter().all(|(name, _)| dims.iter().any(|dim| dim == name));
        names && (entry.programs)().is_ok_and(|programs| programs.iter().any(|p| p.kernel == subject.kernel.name.text))
    };
    let has_schedule =
        |entry: &&Entry| (entry.programs)().is_ok_and(|programs| programs.iter().any(|p| p.variant == subject.schedule.name.text));
    let same: Vec<&Entry> = ALL.iter().filter(is_same).collect();
    let entry = same.iter().copied().find(has_schedule).or_else(|| same.first().copied())?;
    let value = |dim: &String| Some((dim.clone(), entry.dims.iter().find(|(name, _)| name == dim)?.1));
    Some((Sizes(dims.iter().map(value).collect::<Option<_>>()?), "the example sizes of the catalog"))
}
