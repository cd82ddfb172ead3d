//! A comparison as a table: a block for each set of sizes, a column for each schedule, a line for each figure. The best number of a
//! line is marked if all its numbers are known and they are not all equal.

use crate::compare::{Comparison, Sized, Taken, shown};
use crate::text::{self, Style, Text, number};

/// A line of a table: the number of every schedule that has one, and its text. Less is better.
struct Line {
    what: String,
    /// True if the best number is marked.
    is_marked: bool,
    cells: Vec<Option<(Option<f64>, String)>>,
}

impl Comparison {
    /// Returns the comparison as lines without line ends.
    pub fn lines(&self) -> Vec<Text> {
        let mut lines = vec![Text::of(Style::Heading, self.title())];
        for sized in &self.at {
            lines.push(Text::default());
            self.block(sized, &mut lines);
        }
        if self.at.len() > 1 {
            self.summary(&mut lines);
        }
        lines
    }

    fn title(&self) -> String {
        match self.one_profile() {
            Some(profile) => format!("{} for {profile}", self.kernel),
            None => {
                let own: Vec<String> = self.schedules.iter().map(|s| format!("{} for {}", s.name, s.profile.name)).collect();
                format!("{}: {}", self.kernel, own.join(", "))
            }
        }
    }

    /// Returns the name of the profile, if all schedules are for the same one.
    fn one_profile(&self) -> Option<&str> {
        let (first, others) = self.schedules.split_first()?;
        others.iter().all(|s| s.profile == first.profile).then_some(first.profile.name.as_str())
    }

    fn block(&self, sized: &Sized, lines: &mut Vec<Text>) {
        if !sized.dims.is_empty() {
            lines.push(Text::of(Style::Heading, shown(&sized.dims)));
        }
        let table = self.table(sized);
        let names = self.schedules.iter().map(|s| s.name.chars().count());
        let widths: Vec<usize> = names
            .enumerate()
            .map(|(n, name)| table.iter().map(|line| line.text(n).chars().count()).chain([name]).max().unwrap_or(0))
            .collect();
        let first = table.iter().map(|line| line.what.chars().count()).max().unwrap_or(0);
        let mut head = Text::of(Style::Plain, " ".repeat(first + 2));
        for (schedule, width) in self.schedules.iter().zip(&widths) {
            head = head.and(Style::Directive, format!("    {:>width$}", schedule.name));
        }
        lines.push(head);
        for line in &table {
            let best = line.best();
            let mut text = Text::of(Style::Faint, format!("  {:<first$}", line.what));
            for (n, width) in widths.iter().enumerate() {
                let (mark, style) = if best.contains(&n) { ("*", Style::Good) } else { (" ", Style::Plain) };
                let gap = width - line.text(n).chars().count();
                text = text.and(Style::Plain, " ".repeat(gap + 3)).and(style, format!("{mark}{}", line.text(n)));
            }
            lines.push(text);
        }
        for (schedule, cost) in self.schedules.iter().zip(&sized.costs) {
            let name = &schedule.name;
            match cost {
                Ok(Taken { under: Some(facts), .. }) => {
                    lines.push(Text::of(Style::Faint, format!("  {name}: the version where {facts}")));
                }
                Ok(_) => {}
                Err(why) => lines.push(Text::of(Style::Bad, format!("  {name} is not run at these sizes: {why}"))),
            }
        }
    }

    /// Returns all lines that have a meaningful number.
    fn table(&self, sized: &Sized) -> Vec<Line> {
        let of = |what: &str, f: &dyn Fn(&Taken) -> (Option<f64>, String)| {
            let cells = sized.costs.iter().map(|cost| cost.as_ref().ok().map(f)).collect();
            Line { what: what.into(), is_marked: true, cells }
        };
        let count = |value: Option<i64>, unit: &str| (value.map(|n| n as f64), number(value, unit));
        let time = |value: Option<f64>| (value, value.map_or_else(|| "unknown".into(), text::time));
        let own = self.one_profile().unwrap_or("its own profile");
        let own = of(&format!("roofline, {own}"), &|t| time(t.totals.nanoseconds));
        // Times are not marked if they are on different devices, because they do not compare the schedules.
        let mut lines = vec![Line { is_marked: self.one_profile().is_some(), ..own }];
        for (n, profile) in self.profiles.iter().enumerate() {
            lines.push(of(&format!("roofline, {}", profile.name), &|t| time(t.judged.get(n).copied().flatten())));
        }
        lines.extend([
            of("flops", &|t| count(t.totals.flops, "")),
            of("of these functions", &|t| count(t.totals.functions, "")),
            of("flops of matrix units", &|t| count(t.totals.matrix_flops, "")),
            of("each tensor once", &|t| count(t.totals.compulsory, "B")),
            of("asked of memory", &|t| count(t.totals.asked, "B")),
            of("asked of shared memory", &|t| count(t.totals.shared, "B")),
            of("temporaries", &|t| count(t.totals.temporaries, "B")),
            of("prepared", &|t| count(t.totals.prepared, "B")),
            of("shared memory at most", &|t| count(Some(t.totals.shared_bytes.into()), "B")),
            of("dispatches", &|t| count(Some(t.totals.dispatches as i64), "")),
            of("SPIR-V, words", &|t| count(Some(t.totals.words as i64), "")),
            of("stated error", &error),
        ]);
        // Lines that are 0 for all schedules are left out, except for the times, which are the first lines.
        let says = |line: &Line| line.cells.iter().flatten().any(|(value, _)| value.is_none_or(|value| value != 0.0));
        let states = |line: &Line| line.what != "stated error" || line.cells.iter().flatten().any(|(value, _)| value.is_some());
        let times = self.profiles.len() + 1;
        lines.into_iter().enumerate().filter(|(n, line)| *n < times || says(line) && states(line)).map(|(_, line)| line).collect()
    }

    /// Adds the schedule with the shortest time at each of the sizes.
    fn summary(&self, lines: &mut Vec<Text>) {
        let profiles = [None].into_iter().chain(self.profiles.iter().map(Some)).enumerate();
        for (n, profile) in profiles.filter(|(n, _)| *n > 0 || self.one_profile().is_some()) {
            let time = |taken: &Taken| match n.checked_sub(1) {
                None => taken.totals.nanoseconds,
                Some(n) => taken.judged.get(n).copied().flatten(),
            };
            if self.at.iter().any(|at| at.costs.iter().flatten().any(|taken| time(taken).is_none())) {
                continue;
            }
            let by = profile.map_or_else(String::new, |p| format!(" on {}", p.name));
            lines.extend([Text::default(), Text::of(Style::Heading, format!("shortest by roofline{by}"))]);
            let first = self.at.iter().map(|at| shown(&at.dims).chars().count()).max().unwrap_or(0);
            for at in &self.at {
                let times =
                    self.schedules.iter().zip(&at.costs).filter_map(|(s, cost)| Some((time(cost.as_ref().ok()?)?, &s.name)));
                let best = times.min_by(|(a, _), (b, _)| a.total_cmp(b));
                let best = best.map_or_else(|| "none runs".into(), |(time, name)| format!("{name}, {}", text::time(time)));
                let text = Text::of(Style::Faint, format!("  {:<first$}", shown(&at.dims)));
                lines.push(text.and(Style::Good, format!("  {best}")));
            }
        }
    }
}

impl Line {
    /// Returns the text of a column.
    fn text(&self, n: usize) -> &str {
        self.cells[n].as_ref().map_or("-", |(_, text)| text)
    }

    /// Returns the columns with the least number.
    fn best(&self) -> Vec<usize> {
        if !self.is_marked {
            return Vec::new();
        }
        let run = || self.cells.iter().enumerate().filter_map(|(n, cell)| Some((n, cell.as_ref()?.0)));
        let Some(all) = run().map(|(_, value)| value).collect::<Option<Vec<f64>>>() else { return Vec::new() };
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        if all.iter().all(|value| *value == least) {
            return Vec::new();
        }
        run().filter(|(_, value)| *value == Some(least)).map(|(n, _)| n).collect()
    }
}

/// Returns the stated error of a schedule's decompositions: the largest if there are several.
fn error(taken: &Taken) -> (Option<f64>, String) {
    let largest = taken.totals.errors.iter().map(|error| error.expected).reduce(f64::max);
    (largest, largest.map_or_else(|| "none".into(), |error| format!("{error:.1e}")))
}
