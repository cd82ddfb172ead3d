//! The schedules that are tuned: the schedules of a file, or planned schedules of its kernels.

use super::write;
use crate::exit::Problem;
use crate::options::Tune;
use crate::plan::{OfKernel, Tunable, tunable};
use std::path::Path;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Source;

/// A file, and the schedules that are added to its kernels.
pub(super) struct Origin<'o> {
    file: &'o Path,
    planned: Vec<Tunable>,
    /// The kernels whose planning failed, each with the reason.
    problems: Vec<OfKernel<Problem>>,
}

impl<'o> Origin<'o> {
    /// Plans the kernels of the file, if the options say so.
    pub(super) fn of(options: &'o Tune) -> Result<Origin<'o>, Problem> {
        let (planned, problems) = match options.kernels() {
            Some(kernels) => tunable(&kernels, &Source::open(&options.file)?)?,
            None => Default::default(),
        };
        Ok(Origin { file: &options.file, planned, problems })
    }

    /// Reads the file. Threads do not share the result, because trees and places cannot be shared.
    pub(super) fn open(&self) -> Result<Source, Problem> {
        let mut source = Source::open(self.file)?;
        for Tunable { kernel, text, .. } in &self.planned {
            source.add_schedule(kernel, text)?;
        }
        Ok(source)
    }

    /// Returns the names of the planned schedules, in the order in which a launch tries them.
    pub(super) fn planned(&self) -> impl Iterator<Item = &str> {
        self.planned.iter().map(|planned| planned.name.as_str())
    }

    /// Returns the kernels whose planning failed, each with the reason.
    pub(super) fn problems(&self) -> impl Iterator<Item = (&str, &Problem)> {
        self.problems.iter().map(|(kernel, problem)| (kernel.as_str(), problem))
    }

    /// Returns a planned schedule with the chosen values, as Rust. `None` if the schedule is in the file.
    pub(super) fn chosen(&self, schedule: &str, chosen: &Choice) -> Result<Option<String>, Problem> {
        let Some(planned) = self.planned.iter().find(|planned| planned.name == schedule) else { return Ok(None) };
        let subject = self.open()?.subject(schedule)?;
        let text = write::edited(&planned.text, &subject, chosen)?;
        Ok(Some(format!("schedule! {{\n{text}\n}}")))
    }
}
