//! The summary of a version, which comes first in every output: its estimated time beside the roofline, what bounds it, its slowest
//! dispatch, and the lints to look at first.

use crate::Version;
use crate::lint::Lint;
use crate::text::{number, time};
use crate::totals::Totals;
use tilewright_codegen::cost::{Cost, brief};
use tilewright_dsl::profile::Profile;

/// The lints that the summary names.
const NAMED: usize = 2;

impl Version {
    /// Returns the summary in one to four lines. The text between backticks is code.
    pub fn summary(&self, profile: &Profile) -> Vec<String> {
        let Some(totals) = &self.totals else { return Vec::new() };
        let mut lines = self.time_lines(totals).unwrap_or_else(|| self.unknown_time_lines(profile));
        lines.extend(self.slowest_line(totals));
        lines.extend(self.look_line());
        lines
    }

    /// Returns the estimated time beside the roofline, if it is known.
    fn time_lines(&self, totals: &Totals) -> Option<Vec<String>> {
        let (estimate, least) = (totals.estimate?, totals.nanoseconds?);
        let dispatches = match totals.dispatches {
            1 => String::new(),
            n => format!(" in {n} dispatches"),
        };
        Some(vec![format!(
            "estimated {}{dispatches}: {} the roofline of {}, bound by {}",
            time(estimate.nanoseconds),
            ratio(estimate.nanoseconds, least),
            time(least),
            estimate.bound
        )])
    }

    /// Returns the work as formulas, and the reason why the time is not known.
    fn unknown_time_lines(&self, profile: &Profile) -> Vec<String> {
        let Some(program) = &self.program else { return Vec::new() };
        let costs: Vec<Cost> = self.figures.iter().map(|figures| figures.cost.clone()).collect();
        let mut lines = brief(&costs, program, profile);
        let lacks_rates = profile.gflops.is_none() || profile.bandwidth.is_none();
        lines.push(match () {
            () if self.refused.is_some() => "the time is unknown, because a launch refuses these sizes".to_owned(),
            () if lacks_rates => "the time is unknown, because the profile lacks `gflops` or `bandwidth`".to_owned(),
            () if self.figures.iter().any(|figures| figures.compulsory.is_none()) => {
                format!("the time is unknown: write `{}`", self.size_option())
            }
            () => "the time is unknown, because the profile lacks `matrix_gflops`, or a figure exceeds 64 bits".to_owned(),
        });
        lines
    }

    /// Returns the slowest of several dispatches, and the bytes that they pass on.
    fn slowest_line(&self, totals: &Totals) -> Option<String> {
        let all = totals.estimate.filter(|_| self.figures.len() > 1)?.nanoseconds;
        let known = self.figures.iter().filter_map(|figures| Some((&figures.cost.name, figures.estimate.as_ref()?)));
        let (name, slowest) = known.max_by(|(_, a), (_, b)| a.nanoseconds.total_cmp(&b.nanoseconds))?;
        let share = slowest.nanoseconds / all * 100.0;
        let passed = match totals.temporaries {
            Some(0) | None => String::new(),
            bytes => format!("; intermediates take {}", number(bytes, "B")),
        };
        Some(format!("slowest: `{name}`, {} ({share:.0} %), bound by {}{passed}", time(slowest.nanoseconds), slowest.bound))
    }

    /// Returns the names of the lints to look at first.
    fn look_line(&self) -> Option<String> {
        let named = |lint: &Lint| {
            let place = lint.place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
            format!("`{}` of `{}`{place}", lint.name, lint.dispatch)
        };
        let first: Vec<String> = self.lints.iter().take(NAMED).map(named).collect();
        let more = match self.lints.len() - first.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        (!first.is_empty()).then(|| format!("worth a look: {}{more}", first.join(", ")))
    }
}

/// Describes an estimate relative to the roofline: `1.5 times`.
pub(crate) fn ratio(estimate: f64, least: f64) -> String {
    match estimate / least {
        ratio if !ratio.is_finite() => "above".to_owned(),
        ratio if ratio < 10.0 => format!("{ratio:.1} times"),
        ratio => format!("{ratio:.0} times"),
    }
}
