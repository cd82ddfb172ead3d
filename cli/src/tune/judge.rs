//! Checks, before any timing, that candidates compute the kernel's results.

use super::Tuning;
use super::space::{Candidate, Stage};
use crate::check::{Case, small_sizes};
use crate::exit::Problem;
use crate::reached::{Reached, Trouble};
use crate::sizes::Sizes;
use crate::variant::Compiled;
use std::collections::HashMap;
use std::rc::Rc;
use tilewright_dsl::nest;

/// Checks candidates of one kernel.
pub(super) struct Judge<'a> {
    pub(super) tuning: &'a Tuning<'a>,
    pub(super) algorithm: &'a nest::Program,
    /// The cases that candidates share, because they do not decompose the algorithm.
    cases: HashMap<Sizes, Rc<Case>>,
    /// The small sizes that were found for a version. Most candidates can share them.
    small: HashMap<usize, Sizes>,
}

/// The result of checking a candidate.
pub(super) enum Verdict {
    Right,
    Refused(Stage, String),
    Over(Problem),
}

impl<'a> Judge<'a> {
    pub(super) fn new(tuning: &'a Tuning<'a>, algorithm: &'a nest::Program) -> Judge<'a> {
        Judge { tuning, algorithm, cases: HashMap::new(), small: HashMap::new() }
    }

    /// Runs every version of a candidate that the sizes take, on each device. The small sizes leave partial tiles, as far as the version's
    /// facts allow it.
    pub(super) fn judge(&mut self, reached: &mut [Reached], candidate: &Candidate) -> Verdict {
        let compiled = &candidate.compiled;
        let mut versions: Vec<(usize, &Sizes)> = Vec::new();
        for sizes in self.tuning.sizes {
            if let Ok(version) = compiled.taken(sizes)
                && !versions.iter().any(|(v, _)| *v == version)
            {
                versions.push((version, sizes));
            }
        }
        for (version, asked) in versions {
            let Some(sizes) = self.small_sizes(compiled, version, asked) else {
                if self.tuning.unchecked {
                    continue;
                }
                let name = &compiled.versions[version].0.variant;
                let why = format!("`{name}` takes no sizes that are small enough to check (`--unchecked` measures it anyway)");
                return Verdict::Refused(Stage::Unchecked, why);
            };
            let case = match self.case(candidate, &sizes) {
                Ok(case) => case,
                Err(why) => return Verdict::Refused(Stage::Unchecked, format!("at {sizes} it cannot be checked: {why}")),
            };
            for device in &mut *reached {
                match device.run(compiled, case.arguments.clone(), case.outputs.clone()) {
                    Err(Trouble::Over(problem)) => return Verdict::Over(problem),
                    Err(Trouble::Refused(why) | Trouble::Unsupported(why)) => return Verdict::Refused(Stage::Load, why),
                    Ok(results) => {
                        if let Err(why) = case.compare(&results) {
                            return Verdict::Refused(Stage::Wrong, format!("at {sizes} it is wrong: {why}"));
                        }
                    }
                }
            }
        }
        Verdict::Right
    }

    fn small_sizes(&mut self, compiled: &Compiled, version: usize, asked: &Sizes) -> Option<Sizes> {
        if let Some(sizes) = self.small.get(&version).filter(|sizes| compiled.taken(sizes) == Ok(version)) {
            return Some(sizes.clone());
        }
        let sizes = small_sizes(compiled, version, asked)?;
        self.small.insert(version, sizes.clone());
        Some(sizes)
    }

    fn case(&mut self, candidate: &Candidate, sizes: &Sizes) -> Result<Rc<Case>, String> {
        let decomposed = candidate.compiled.decomposed.as_ref();
        if decomposed.is_none()
            && let Some(case) = self.cases.get(sizes)
        {
            return Ok(case.clone());
        }
        let case = Rc::new(Case::new(self.algorithm, decomposed, (candidate.compiled.plain(), sizes), self.tuning.seed)?);
        if decomposed.is_none() {
            self.cases.insert(sizes.clone(), case.clone());
        }
        Ok(case)
    }
}
