//! The nests of a version, which are clicked through step by step, and the sources of the schedule and its kernel.

use super::html::{Element, element, text};
use super::lines::code_line;
use super::{at, shown, tabs};
use crate::report::{ReportedLine, ReportedStep, ReportedVersion, SourceText};

/// Returns the steps of a version beside the nest of the selected one.
pub(super) fn stepper(version: &ReportedVersion) -> Element {
    let titles: Vec<String> = version.steps.iter().map(|step| step.title.clone()).collect();
    let steps = element("div").attribute("class", "nest").all(version.steps.iter().enumerate().map(|(n, s)| step(n, s)));
    element("div").attribute("class", "stepper").with(tabs("steps", "Steps", &titles, 0).attribute("class", "steps")).with(steps)
}

fn step(n: usize, step: &ReportedStep) -> Element {
    let title = at(element("h3"), step.place.as_deref()).with(text(&step.title));
    let title = title.all(step.place.as_deref().map(|place| element("small").with(text(place))));
    let panel = shown(element("div").attribute("data-panel", "steps"), n, 0).with(title);
    if step.lines.is_empty() {
        return panel.with(element("p").attribute("class", "faint").with(text("the nest does not change")));
    }
    let line = |line: &ReportedLine| {
        let (class, mark) = if line.new { ("node new", "+") } else { ("node", " ") };
        at(code_line("span", class, &line.text), line.place.as_deref()).attribute("data-mark", mark)
    };
    panel.with(element("pre").all(step.lines.iter().map(line)))
}

/// Returns numbered lines, each with its place.
pub(super) fn source(source: &SourceText) -> Element {
    let line = |(n, line): (usize, &String)| {
        let number = source.first_line + n;
        let row = element("div").attribute("class", "line").attribute("data-line", format!("{}:{number}", source.path));
        row.with(element("b").with(text(&number.to_string()))).with(code_line("code", "", line))
    };
    let lines = element("div").attribute("class", "lines").all(source.lines.iter().enumerate().map(line));
    element("section").with(element("h2").with(text(&source.path))).with(lines)
}
