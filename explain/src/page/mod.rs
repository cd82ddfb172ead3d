//! A report as a page: one file without external resources. It opens with the summary: the estimated time beside the roofline, what bounds
//! it, a picture of the dispatches, and the lints. Then the nests are clicked through step by step, with the source beside them. The page
//! marks the lines that a step changed, and the source line of the directive that made the node under the pointer. Below are the cost, a
//! plot of the roofline and the ledger.
//!
//! The loaded page has all text. The script (`page.js`) only shows, hides and marks parts of it.

mod cost;
mod dispatches;
mod html;
mod lines;
mod nests;
mod roofline;
mod summary;

use crate::report::{Report, ReportedVersion};
use html::{Element, element, text};

/// Renders reports as one page.
pub fn page(reports: &[Report]) -> String {
    let title = reports.iter().map(|r| r.schedule.as_str()).collect::<Vec<_>>().join(", ");
    let head = element("head")
        .with(element("meta").attribute("charset", "utf-8"))
        .with(element("meta").attribute("name", "viewport").attribute("content", "width=device-width, initial-scale=1"))
        .with(element("title").with(text(&title)))
        .with(element("style").raw(include_str!("page.css")));
    let mut body = element("body");
    if reports.len() > 1 {
        let names = reports.iter().map(|r| r.schedule.clone()).collect::<Vec<_>>();
        body = body.with(tabs("schedules", "Schedules", &names, 0));
    }
    let reports = reports
        .iter()
        .enumerate()
        .map(|(n, report)| shown(element("article").attribute("data-panel", "schedules"), n, 0).all(report_parts(report)));
    let body = body.all(reports).with(element("script").raw(include_str!("page.js")));
    format!("<!DOCTYPE html>\n{}\n", element("html").attribute("lang", "en").with(head).with(body))
}

/// Hides a panel unless it is the selected one of its group.
fn shown(panel: Element, n: usize, selected: usize) -> Element {
    let panel = panel.attribute("data-n", n.to_string());
    if n == selected { panel } else { panel.flag("hidden") }
}

/// Returns buttons that each show one panel of a group. A name that does not fit is cut with `…`, and the pointer shows it whole.
fn tabs(group: &str, label: &str, names: &[String], selected: usize) -> Element {
    let button = |(n, name): (usize, &String)| {
        let pressed = if n == selected { "true" } else { "false" };
        let button = element("button").attribute("type", "button").attribute("data-show", n.to_string());
        button.attribute("aria-pressed", pressed).attribute("title", name).with(text(name))
    };
    element("nav").attribute("data-tabs", group).attribute("aria-label", label).all(names.iter().enumerate().map(button))
}

fn report_parts(report: &Report) -> Vec<Element> {
    let head = element("header")
        .with(element("h1").with(text(&report.schedule)))
        .with(element("p").with(text(&format!("{} for {}", report.kernel, report.profile.name))))
        .all(note("in exact arithmetic:", report.exact.iter().cloned().collect()))
        .all(note("tuned", report.tuned.iter().map(|t| format!("{} = {}", t.name, t.value)).collect()));
    let mut parts = vec![head];
    for (heading, class, texts) in [("Errors", "bad", &report.errors), ("Warnings", "fair", &report.warnings)] {
        if !texts.is_empty() {
            let all = texts.iter().map(|t| element("pre").attribute("class", class).with(text(t)));
            parts.push(section(heading, class).all(all));
        }
    }
    // The version that a launch takes is shown first.
    let selected = report.versions.iter().position(|version| version.taken == Some(true)).unwrap_or(0);
    if report.versions.len() > 1 {
        parts.push(tabs("versions", "Versions", &report.versions.iter().map(version_name).collect::<Vec<_>>(), selected));
    }
    let version = |(n, version): (usize, &ReportedVersion)| {
        shown(element("div").attribute("data-panel", "versions"), n, selected).all(version_parts(report, version))
    };
    parts.extend(report.versions.iter().enumerate().map(version));
    parts
}

fn version_name(version: &ReportedVersion) -> String {
    let facts = if version.facts.is_empty() { "elsewhere".to_owned() } else { format!("where {}", version.facts.join(", ")) };
    if version.taken == Some(true) { format!("{facts} (taken at these sizes)") } else { facts }
}

/// Returns a line of the header, if it has parts.
fn note(what: &str, parts: Vec<String>) -> Option<Element> {
    (!parts.is_empty()).then(|| element("p").attribute("class", "faint").with(text(&format!("{what} {}", parts.join(", ")))))
}

fn section(heading: &str, class: &str) -> Element {
    element("section").attribute("class", class).with(element("h2").with(text(heading)))
}

fn version_parts(report: &Report, version: &ReportedVersion) -> Vec<Element> {
    let mut parts = vec![summary::summary(report, version)];
    if !version.dispatches.is_empty() {
        let picture = section("Dispatches", "plan").with(dispatches::picture(version));
        parts.push(element("div").attribute("class", "overview").with(picture).with(summary::lints(report, version)));
    }
    let source = element("div").attribute("class", "source").all(report.sources.iter().map(nests::source));
    let main = element("main").with(source).with(nests::stepper(version));
    parts.push(section("Nests", "steps").with(main));
    if !version.dispatches.is_empty() {
        let plot = section("Roofline", "roofline").with(roofline::plot(&report.profile, &version.dispatches));
        parts.push(section("Cost", "cost").with(element("div").attribute("class", "columns").all(cost::dispatches(version))));
        parts.push(plot);
    }
    if !version.ledger.is_empty() {
        parts.push(section("Ledger", "ledger").with(cost::ledger(version)));
    }
    parts
}

/// Attaches the source line that an element belongs to.
fn at(element: Element, place: Option<&str>) -> Element {
    let line = place.and_then(|place| place.rsplit_once(':')).map(|(line, _)| line);
    line.into_iter().fold(element, |element, line| element.attribute("data-at", line))
}
