//! An explanation as lines of styled text, for a terminal or a file.

use crate::compare::shown;
use crate::figures::Figures;
use crate::lint::left_out;
use crate::{Estimate, Explanation, NestStep, Totals, Tuned, Version};
use std::fmt;
use tilewright_codegen::cost::{Cost, Limit, Occupancy, formula, with_unit};
use tilewright_dsl::launch::{Role, Size};
use tilewright_dsl::nest::State;
use tilewright_dsl::profile::Profile;

/// The role of a piece of text, which may determine its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Ordinary text.
    Plain,
    /// A heading.
    Heading,
    /// A directive, as the user wrote it.
    Directive,
    /// A line that the last directive made or changed.
    New,
    /// Less important text: places, units.
    Faint,
    /// An obligation that is proved.
    Good,
    /// An obligation that has a cost: guarded, or checked at launch.
    Fair,
    /// An obligation that the user is responsible for, or an error.
    Bad,
}

/// A line: pieces of text, each of one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub Vec<(Style, String)>);

impl Text {
    pub(crate) fn of(style: Style, text: impl Into<String>) -> Text {
        Text(vec![(style, text.into())])
    }

    pub(crate) fn and(mut self, style: Style, text: impl Into<String>) -> Text {
        self.0.push((style, text.into()));
        self
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

impl Explanation {
    /// Returns the explanation as lines without line ends. New lines of a nest begin with `+`, so that they can be recognized
    /// without colours.
    pub fn lines(&self) -> Vec<Text> {
        let head = format!("{}: {} for {}", self.variant, self.kernel, self.profile.name);
        let mut lines = vec![Text::of(Style::Heading, head)];
        if let Some(sizes) = &self.example {
            let all = shown(&sizes.dims);
            lines.push(Text::of(Style::Faint, format!("  at {all}, {} (`--size` sets others)", sizes.from)));
        }
        for Tuned { name, value, candidates } in &self.tuned {
            let all = candidates.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            lines.push(Text::of(Style::Plain, format!("  {name} = {value}")).and(Style::Faint, format!("  of {all}")));
        }
        if let Some(exact) = &self.exact {
            lines.push(Text::of(Style::Plain, format!("  in exact arithmetic: {exact}")));
        }
        if self.versions.len() > 1 {
            lines.push(Text::of(Style::Faint, "  the version that runs if the facts of no other version hold"));
        }
        for version in &self.versions {
            if !version.facts.is_empty() {
                let head = format!("{} where {}", self.variant, version.facts.join(", "));
                lines.extend([Text::default(), Text::of(Style::Heading, head)]);
            }
            version.lines(&self.profile, &mut lines);
        }
        if let Some(left_out) = self.left_out() {
            lines.extend([Text::default(), Text::of(Style::Heading, "left out").and(Style::Faint, format!("  {left_out}"))]);
        }
        for (heading, texts) in [("warnings", &self.warnings), ("errors", &self.errors)] {
            if !texts.is_empty() {
                lines.extend([Text::default(), Text::of(Style::Heading, heading)]);
                lines.extend(texts.iter().flat_map(|t| t.lines()).map(|l| Text::of(Style::Bad, format!("  {l}"))));
            }
        }
        lines
    }

    /// Returns a sentence about the lints that need sizes or figures of the profile, if these are missing.
    pub(crate) fn left_out(&self) -> Option<String> {
        let lacks_sizes = |version: &&Version| version.figures.iter().any(|f| f.workgroups.is_none() || f.compulsory.is_none());
        let unsized_version = self.versions.iter().filter(|version| version.refused.is_none()).find(lacks_sizes);
        let compiled = self.versions.first().filter(|version| version.program.is_some())?;
        let sizes = unsized_version.map(|_| compiled.size_option());
        left_out(&self.profile, sizes.as_deref())
    }
}

impl Version {
    fn lines(&self, profile: &Profile, lines: &mut Vec<Text>) {
        lines.extend(self.summary(profile).into_iter().map(|line| Text::of(Style::Plain, format!("  {line}"))));
        self.plan_lines(lines);
        self.steps.iter().for_each(|step| self::step(step, lines));
        self.ledger_lines(lines);
        if let Some(why) = &self.refused {
            lines.extend([Text::default(), Text::of(Style::Bad, format!("not run at these sizes: {why}"))]);
        }
        self.figures.iter().for_each(|figures| self.figures_lines(figures, lines));
        // The totals of a single dispatch are its own figures.
        if let Some(totals) = self.totals.as_ref().filter(|totals| totals.dispatches > 1) {
            self.totals_lines(totals, lines);
        }
        self.lint_lines(lines);
    }

    fn plan_lines(&self, lines: &mut Vec<Text>) {
        if self.plan.is_empty() {
            return;
        }
        lines.extend([Text::default(), Text::of(Style::Heading, "plan").and(Style::Faint, "  directives that the planner wrote")]);
        lines.extend(self.plan.source(2).lines().map(planned));
    }

    fn lint_lines(&self, lines: &mut Vec<Text>) {
        if !self.lints.is_empty() {
            lines.extend([Text::default(), Text::of(Style::Heading, "worth a look")]);
        }
        for (n, lint) in self.lints.iter().enumerate() {
            let place = lint.place.as_deref().map_or_else(String::new, |place| format!("  {place}"));
            let head = Text::of(Style::Fair, format!("  {:<18}", lint.name.to_string())).and(Style::Plain, lint.what.clone());
            lines.extend([head.and(Style::Faint, place), Text::of(Style::Plain, format!("  {:<18}{}", "", lint.instead))]);
            // Several lints can have the same advice, and its plan is printed once.
            if self.lints[..n].iter().all(|earlier| earlier.plan != lint.plan) {
                lines.extend(lint.plan.iter().map(|line| planned(&format!("  {:<20}{line}", ""))));
            }
        }
    }

    fn ledger_lines(&self, lines: &mut Vec<Text>) {
        const STATES: [(State, Style, &str); 5] = [
            (State::Assumed, Style::Bad, "assumed"),
            (State::CheckedAtLaunch, Style::Fair, "checked at launch"),
            (State::Guarded, Style::Fair, "guarded"),
            (State::Proved, Style::Good, "proved"),
            (State::Stated, Style::Plain, "stated"),
        ];
        if !self.ledger.is_empty() {
            lines.extend([Text::default(), Text::of(Style::Heading, "ledger")]);
        }
        for (state, style, name) in STATES {
            for entry in self.ledger.iter().filter(|o| o.state == state) {
                lines.push(Text::of(style, format!("  {name:<18}")).and(Style::Plain, entry.what.clone()));
            }
        }
    }

    /// Shows an amount as a number, as a formula if dims are missing, or as both if the sizes are only an example.
    fn amount(&self, value: Option<i64>, formula: impl Fn() -> String, unit: &str) -> String {
        match value {
            // A formula without dims is a number anyway.
            Some(n) if self.is_example && formula().parse::<i64>().is_err() => {
                format!("{} = {}", with_unit(&formula(), unit), number(Some(n), unit))
            }
            Some(n) => number(Some(n), unit),
            None => with_unit(&formula(), unit),
        }
    }

    /// Returns the text that asks for the missing sizes of a figure.
    fn unknown_dims(&self) -> String {
        format!("unknown: write `{}`", self.size_option())
    }

    /// Returns the option that gives all sizes.
    pub(crate) fn size_option(&self) -> String {
        let dims = self.program.iter().flat_map(|program| {
            let dims = program.dims.iter().enumerate();
            dims.filter(|(n, dim)| dim.derived.is_none() && !program.is_stride(*n)).map(|(_, dim)| format!("{}=…", dim.name))
        });
        format!("--size {}", dims.collect::<Vec<_>>().join(","))
    }

    /// Adds the cost of a whole launch.
    fn totals_lines(&self, totals: &Totals, lines: &mut Vec<Text>) {
        lines.extend([Text::default(), Text::of(Style::Heading, "cost of a launch")]);
        let mut row = |what: &str, text: String| {
            lines.push(Text::of(Style::Faint, format!("  {what:<22}")).and(Style::Plain, text));
        };
        let name = |dim: u32| self.dim(dim);
        // Sums the work of all workgroups over all dispatches.
        let sum = |each: &dyn Fn(&Cost) -> Size| {
            let all = self.figures.iter().map(|f| each(&f.cost).times(f.cost.workgroups()));
            formula(&all.fold(Size::Const(0), Size::plus), &name)
        };
        row("dispatches", totals.dispatches.to_string());
        let functions = totals.functions.map_or_else(String::new, |n| format!(", of these {} functions", number(Some(n), "")));
        let flops = |cost: &Cost| cost.each.flops.clone().plus(cost.each.functions.clone());
        row("flops", self.amount(totals.flops, || sum(&flops), "") + &functions);
        if totals.matrix_flops != Some(0) {
            row("flops of matrix units", self.amount(totals.matrix_flops, || sum(&|cost| cost.each.matrix_flops.clone()), ""));
        }
        let asked = |cost: &Cost| {
            let each = cost.tensors.iter().map(|t| t.read.clone().plus(t.written.clone()));
            each.fold(Size::Const(0), Size::plus)
        };
        row("asked of memory", self.amount(totals.asked, || sum(&asked), "B"));
        let once = || {
            let all = self.figures.iter().map(|f| f.cost.compulsory());
            formula(&all.fold(Size::Const(0), Size::plus), &name)
        };
        row("each tensor once", self.amount(totals.compulsory, once, "B") + ", in each dispatch");
        row("temporaries", self.amount(totals.temporaries, || self.room(Role::Temporary), "B"));
        if totals.prepared != Some(0) {
            row("prepared", self.amount(totals.prepared, || self.room(Role::Prepared), "B"));
        }
        row(
            "roofline",
            match totals.nanoseconds {
                Some(nanoseconds) => format!("{} at the least, one dispatch after another", time(nanoseconds)),
                None => "unknown, because it is unknown for a dispatch".into(),
            },
        );
        if let Some(estimate) = totals.estimate {
            row("estimate", format!("{}, bound by {}", time(estimate.nanoseconds), estimate.bound));
        }
        row("code", format!("{} words", totals.words));
        for error in &totals.errors {
            row("stated error", format!("{:.1e} of `{}` as expected, relative to its size", error.expected, error.result));
        }
    }

    /// Returns the bytes of the tensors of a role as a formula, without the padding of layouts.
    fn room(&self, role: Role) -> String {
        let tensors = self.program.iter().flat_map(|program| &program.tensors).filter(|tensor| tensor.role == role);
        let bytes = tensors.map(|tensor| {
            let each = Size::Const(i64::from(tensor.dtype.bytes()));
            tensor.shape.iter().cloned().fold(each, Size::times)
        });
        formula(&bytes.fold(Size::Const(0), Size::plus), &|dim| self.dim(dim))
    }

    /// Returns a dim's name.
    fn dim(&self, dim: u32) -> String {
        let dims = self.program.as_ref().map(|p| &p.dims[..]).unwrap_or_default();
        dims.get(dim as usize).map_or_else(|| "?".into(), |d| d.name.clone())
    }

    fn figures_lines(&self, figures: &Figures, lines: &mut Vec<Text>) {
        let name = |dim: u32| self.dim(dim);
        let shown = |size: &Size| match size.eval(&[]) {
            Some(n) => grouped(n),
            None => size.display(&name).to_string(),
        };
        let (cost, words) = (&figures.cost, &figures.words);
        lines.extend([Text::default(), Text::of(Style::Heading, format!("cost of {}", cost.name))]);
        let at_most = if cost.at_most { "at most " } else { "" };
        let local = cost.local.map(|n| n.to_string()).join(" x ");
        let grid = cost.grid.each_ref().map(|size| factor(shown(size))).join(" x ");
        let mut row = |what: &str, text: String| {
            lines.push(Text::of(Style::Faint, format!("  {what:<22}")).and(Style::Plain, text));
        };
        row("workgroups", format!("{grid}{}, of {local} invocations", equals(figures.workgroups)));
        // The work of all workgroups, as formulas if dims are missing or only an example.
        let groups = cost.workgroups();
        let all = |each: &Size| formula(&each.clone().times(groups.clone()), &name);
        let amount = |value: Option<i64>, size: &Size, unit: &str| self.amount(value, || formula(size, &name), unit);
        let of_all = |value: Option<i64>, each: &Size, unit: &str| self.amount(value, || all(each), unit);
        let of_matrices = |text: String| if cost.each.matrix_flops == Size::Const(0) { String::new() } else { text };
        let matrices = of_matrices(format!(", {} flops on matrix units", shown(&cost.each.matrix_flops)));
        let (flops, functions) = (shown(&cost.each.flops), shown(&cost.each.functions));
        row("a workgroup does", format!("{at_most}{flops} flops, {functions} functions{matrices}"));
        if cost.each.shared_read != Size::Const(0) || cost.each.shared_written != Size::Const(0) {
            let (read, written) = (shown(&cost.each.shared_read), shown(&cost.each.shared_written));
            row("its shared memory", format!("{read} bytes read, {written} written"));
        }
        let matrices = of_matrices(format!(", {} on matrix units", of_all(figures.matrix_flops, &cost.each.matrix_flops, "")));
        let flops = cost.each.flops.clone().plus(cost.each.functions.clone());
        row("flops in all", at_most.to_owned() + &of_all(figures.flops, &flops, "") + &matrices);
        for (moved, each) in figures.moved.iter().zip(&cost.tensors) {
            let parts = [(moved.read, &each.read, "read"), (moved.written, &each.written, "written")];
            let parts = parts.into_iter().filter(|(_, each, _)| **each != Size::Const(0));
            let parts: Vec<String> = parts.map(|(bytes, each, what)| format!("{} {what}", of_all(bytes, each, "B"))).collect();
            row(
                &format!("traffic of {}", moved.name),
                format!("{}, of {}", parts.join(", "), amount(moved.whole, &each.whole, "B")),
            );
        }
        row("each tensor once", amount(figures.compulsory, &cost.compulsory(), "B"));
        let unknown = self.unknown_dims();
        row("intensity", intensity(figures, &unknown));
        row("roofline", roofline(figures, &unknown));
        if let Some(estimate) = &figures.estimate {
            row("estimate", self::estimate(estimate));
        }
        row("registers", registers(figures));
        row("shared memory", format!("{} bytes at most", self.program.as_ref().map_or(0, |p| p.requires.shared_bytes)));
        if let Some(occupancy) = figures.occupancy {
            row("occupancy", self::occupancy(occupancy));
        }
        for touch in figures.touches.iter().filter(|touch| touch.conflicts.is_some_and(|turns| turns > 1)) {
            let what = if touch.write { "written" } else { "read" };
            let matrices = if touch.matrix { ", as matrices" } else { "" };
            let turns = touch.conflicts.unwrap_or(1);
            row("bank conflicts", format!("`{}` is {what} in {turns} turns{matrices}", touch.buffer));
        }
        row("accesses of memory", format!("{} wide, {} scalar", words.wide, words.scalar));
        row("accesses of shared", format!("{} wide, {} scalar", words.shared_wide, words.shared_scalar));
        if words.matrix_products > 0 {
            let (loads, stores, products) = (words.matrix_loads, words.matrix_stores, words.matrix_products);
            row("matrices", format!("{loads} loads, {stores} stores, {products} multiplications"));
        }
        row("guards and barriers", format!("{} guarded leaves, {} barriers", cost.guards, words.barriers));
        row("code", format!("{} instructions, {} loops, {} bytes", words.instructions, words.loops, figures.spirv_bytes));
    }
}

/// Returns a line of a plan.
fn planned(line: &str) -> Text {
    match line.split_once(" // ") {
        Some((directive, why)) => Text::of(Style::Directive, directive).and(Style::Faint, format!(" // {why}")),
        None => Text::of(Style::Directive, line),
    }
}

fn step(step: &NestStep, lines: &mut Vec<Text>) {
    lines.push(Text::default());
    let mut title = Text::of(Style::Directive, step.title.split_whitespace().collect::<Vec<_>>().join(" "));
    if let Some(place) = &step.place {
        title = title.and(Style::Faint, format!("  {place}"));
    }
    lines.push(title);
    if step.lines.is_empty() {
        lines.push(Text::of(Style::Faint, "  the nest does not change"));
    }
    lines.extend(step.lines.iter().map(|line| match line.new {
        true => Text::of(Style::New, format!("+ {}", line.text)),
        false => Text::of(Style::Plain, format!("  {}", line.text)),
    }));
}

/// Describes the registers of an invocation, as far as they are known here.
fn registers(figures: &Figures) -> String {
    let held = figures.cost.registers;
    let matrices = match (held.accumulators, held.operands) {
        (0, 0) => String::new(),
        (accumulators, operands) => format!(", {accumulators} of accumulators and {operands} of operands of matrix units"),
    };
    format!("{} words of variables an invocation{matrices}", figures.words.registers)
}

fn occupancy(occupancy: Occupancy) -> String {
    let limit = match occupancy.limit {
        Limit::SharedMemory => "shared memory",
        Limit::Registers => "registers",
        Limit::Invocations => "invocations",
    };
    match occupancy.workgroups {
        0 => format!("a core does not have enough {limit} for one workgroup"),
        1 => format!("1 workgroup on a core, limited by {limit}"),
        n => format!("{n} workgroups on a core, limited by {limit}"),
    }
}

fn intensity(figures: &Figures, unknown: &str) -> String {
    let flops = figures.flops.zip(figures.matrix_flops).and_then(|(flops, more)| flops.checked_add(more));
    match (flops, figures.compulsory) {
        (Some(flops), Some(bytes)) if bytes > 0 => {
            format!("{:.1} flops a byte, each tensor moved once", flops as f64 / bytes as f64)
        }
        (Some(_), Some(_)) => "unknown: no bytes are moved".into(),
        _ => unknown.into(),
    }
}

fn roofline(figures: &Figures, unknown: &str) -> String {
    match (figures.roofline, figures.flops) {
        (Some(roofline), _) => {
            format!("{} at the least, bound by {}", time(roofline.nanoseconds), roofline.bound)
        }
        (None, Some(_)) if figures.matrix_flops.is_some_and(|n| n > 0) => {
            "unknown: the profile does not say `gflops`, `matrix_gflops` and `bandwidth`".into()
        }
        (None, Some(_)) => "unknown: the profile lacks `gflops` or `bandwidth`".into(),
        (None, None) => unknown.into(),
    }
}

fn estimate(estimate: &Estimate) -> String {
    let busy = estimate.busy * 100.0;
    let resources = estimate.resources.iter().map(|(resource, nanoseconds)| format!("{} of {resource}", time(*nanoseconds)));
    let resources = resources.collect::<Vec<_>>().join(", ");
    let (all, bound) = (time(estimate.nanoseconds), estimate.bound);
    format!("{all}, bound by {bound}: {resources} on a busy device, of which {busy:.0} % are busy")
}

/// Returns ` = 12`, or an empty text if the value is unknown.
pub(crate) fn equals(value: Option<i64>) -> String {
    value.map_or_else(String::new, |n| format!(" = {}", grouped(n)))
}

/// Prints a number with a prefix, for example `12.3 MB`.
pub(crate) fn number(value: Option<i64>, unit: &str) -> String {
    let Some(n) = value else { return "unknown".into() };
    let steps = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let text = match steps.into_iter().find(|(step, _)| n >= *step) {
        Some((step, prefix)) => format!("{:.1} {prefix}{unit}", n as f64 / step as f64),
        None => format!("{n} {unit}"),
    };
    text.trim_end().to_owned()
}

/// Prints a time: `12.3 us`, or `45.6 ns` if it is below one microsecond.
pub(crate) fn time(nanoseconds: f64) -> String {
    if nanoseconds < 1000.0 { format!("{nanoseconds:.1} ns") } else { format!("{:.1} us", nanoseconds / 1000.0) }
}

/// Prints a number with its digits in groups of three.
fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::from(if n < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Adds parentheses if the text has more than one word.
pub(crate) fn factor(text: String) -> String {
    if text.contains(' ') { format!("({text})") } else { text }
}
