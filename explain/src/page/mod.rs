//! A report as a page: one file without external resources. The source is shown beside the nests, which are clicked through step by
//! step. The page marks the lines that a step changed, and the source line of the directive that made the node under the pointer.
//! Below are the ledger, the cost, the lints and a plot of the roofline.
//!
//! The loaded page has all text. The script (`page.js`) only shows, hides and marks parts of it.

mod html;
mod roofline;

use crate::report::{Report, ReportedDispatch, ReportedStep, ReportedVersion, SourceText};
use crate::text::{equals, factor, number, time};
use html::{Element, element, sentence, text};

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
        body = body.with(tabs("schedules", "Schedules", &names));
    }
    let reports = reports
        .iter()
        .enumerate()
        .map(|(n, report)| shown(element("article").attribute("data-panel", "schedules"), n).all(report_parts(report)));
    let body = body.all(reports).with(element("script").raw(include_str!("page.js")));
    format!("<!DOCTYPE html>\n{}\n", element("html").attribute("lang", "en").with(head).with(body))
}

/// Hides a panel unless it is the first of its group.
fn shown(panel: Element, n: usize) -> Element {
    let panel = panel.attribute("data-n", n.to_string());
    if n == 0 { panel } else { panel.flag("hidden") }
}

/// Returns buttons that each show one panel of a group.
fn tabs(group: &str, label: &str, names: &[String]) -> Element {
    let button = |(n, name): (usize, &String)| {
        let pressed = if n == 0 { "true" } else { "false" };
        let button = element("button").attribute("type", "button").attribute("data-show", n.to_string());
        button.attribute("aria-pressed", pressed).with(text(name))
    };
    element("nav").attribute("data-tabs", group).attribute("aria-label", label).all(names.iter().enumerate().map(button))
}

fn report_parts(report: &Report) -> Vec<Element> {
    let head = element("header")
        .with(element("h1").with(text(&report.schedule)))
        .with(element("p").with(text(&format!("{} for {}", report.kernel, report.profile.name))))
        .all(note("at", report.dims.iter().map(|(name, value)| format!("{name} = {value}")).collect()))
        .all(note("in exact arithmetic:", report.exact.iter().cloned().collect()))
        .all(note("tuned", report.tuned.iter().map(|t| format!("{} = {}", t.name, t.value)).collect()));
    let mut parts = vec![head];
    for (heading, class, texts) in [("Errors", "bad", &report.errors), ("Warnings", "fair", &report.warnings)] {
        if !texts.is_empty() {
            let all = texts.iter().map(|t| element("pre").attribute("class", class).with(text(t)));
            parts.push(section(heading, class).all(all));
        }
    }
    if report.versions.len() > 1 {
        let name =
            |v: &ReportedVersion| if v.facts.is_empty() { "elsewhere".to_owned() } else { format!("where {}", v.facts.join(", ")) };
        parts.push(tabs("versions", "Versions", &report.versions.iter().map(name).collect::<Vec<_>>()));
    }
    let source = element("div").attribute("class", "source").all(report.sources.iter().map(source));
    let version = |(n, version): (usize, &ReportedVersion)| {
        shown(element("div").attribute("data-panel", "versions"), n).all(version_parts(report, version))
    };
    let nests = element("div").attribute("class", "nests").all(report.versions.iter().enumerate().map(version));
    parts.push(element("main").with(source).with(nests));
    parts
}

/// Returns a line of the header, if it has parts.
fn note(what: &str, parts: Vec<String>) -> Option<Element> {
    (!parts.is_empty()).then(|| element("p").attribute("class", "faint").with(text(&format!("{what} {}", parts.join(", ")))))
}

fn section(heading: &str, class: &str) -> Element {
    element("section").attribute("class", class).with(element("h2").with(text(heading)))
}

/// Returns numbered lines, each with its place.
fn source(source: &SourceText) -> Element {
    let line = |(n, line): (usize, &String)| {
        let number = source.first_line + n;
        let row = element("div").attribute("class", "line").attribute("data-line", format!("{}:{number}", source.path));
        row.with(element("b").with(text(&number.to_string()))).with(element("code").with(text(line)))
    };
    let lines = element("div").attribute("class", "lines").all(source.lines.iter().enumerate().map(line));
    element("section").with(element("h2").with(text(&source.path))).with(lines)
}

fn version_parts(report: &Report, version: &ReportedVersion) -> Vec<Element> {
    let titles: Vec<String> = version.steps.iter().map(|step| step.title.clone()).collect();
    let mut parts = vec![
        tabs("steps", "Steps", &titles).attribute("class", "steps"),
        element("div").attribute("class", "nest").all(version.steps.iter().enumerate().map(|(n, s)| step(n, s))),
    ];
    if !version.lints.is_empty() {
        parts.push(section("Worth a look", "lints").with(element("ul").all(lints(version))));
    }
    if !version.dispatches.is_empty() {
        let plot = section("Roofline", "roofline").with(roofline::plot(&report.profile, &version.dispatches));
        parts.push(section("Cost", "cost").all(version.dispatches.iter().map(dispatch)));
        parts.push(plot);
    }
    if !version.ledger.is_empty() {
        parts.push(section("Ledger", "ledger").with(ledger(version)));
    }
    parts
}

/// Returns the entries of the lints. Several lints can have the same advice, and its plan is shown once.
fn lints(version: &ReportedVersion) -> Vec<Element> {
    let entry = |(n, lint): (usize, &crate::Lint)| {
        let name = element("b").attribute("class", "fair").with(text(&lint.name.to_string()));
        let head = at(element("li"), lint.place.as_deref()).with(name).with(text(&format!(" {}: ", lint.dispatch)));
        let is_new = !lint.plan.is_empty() && version.lints[..n].iter().all(|earlier| earlier.plan != lint.plan);
        let plan = is_new.then(|| element("pre").with(text(&lint.plan.join("\n"))));
        let advice = head.all(sentence(&lint.what)).with(element("p").all(sentence(&lint.instead))).all(plan);
        advice.all(lint.place.as_deref().map(|place| element("small").with(text(place))))
    };
    version.lints.iter().enumerate().map(entry).collect()
}

/// Attaches the source line that an element belongs to.
fn at(element: Element, place: Option<&str>) -> Element {
    let line = place.and_then(|place| place.rsplit_once(':')).map(|(line, _)| line);
    line.into_iter().fold(element, |element, line| element.attribute("data-at", line))
}

fn step(n: usize, step: &ReportedStep) -> Element {
    let title = at(element("h3"), step.place.as_deref()).with(text(&step.title));
    let title = title.all(step.place.as_deref().map(|place| element("small").with(text(place))));
    let panel = shown(element("div").attribute("data-panel", "steps"), n).with(title);
    if step.lines.is_empty() {
        return panel.with(element("p").attribute("class", "faint").with(text("the nest does not change")));
    }
    let line = |line: &crate::report::ReportedLine| {
        let class = if line.new { "node new" } else { "node" };
        let mark = if line.new { "+ " } else { "  " };
        at(element("span").attribute("class", class), line.place.as_deref()).with(text(&format!("{mark}{}\n", line.text)))
    };
    panel.with(element("pre").all(step.lines.iter().map(line)))
}

fn ledger(version: &ReportedVersion) -> Element {
    const STATES: [(&str, &str, &str); 5] = [
        ("assumed", "bad", "assumed"),
        ("checked_at_launch", "fair", "checked at launch"),
        ("guarded", "fair", "guarded"),
        ("proved", "good", "proved"),
        ("stated", "plain", "stated"),
    ];
    let rows = STATES.iter().flat_map(|(state, class, shown)| {
        version.ledger.iter().filter(move |entry| entry.state == *state).map(move |entry| {
            let head = element("th").attribute("class", *class).with(text(shown));
            at(element("tr"), entry.place.as_deref()).with(head).with(element("td").all(sentence(&entry.what)))
        })
    });
    element("table").all(rows)
}

fn dispatch(d: &ReportedDispatch) -> Element {
    let count = |n: Option<i64>| number(n, "");
    let local = d.local.map(|n| n.to_string()).join(" x ");
    let tensors = d.tensors.iter().map(|t| {
        let moved = format!("{} read, {} written, of {}", number(t.read, "B"), number(t.written, "B"), number(t.whole, "B"));
        (format!("traffic of {}", t.name), moved)
    });
    let roofline = d.roofline.as_ref().map_or_else(
        || "unknown: the profile does not say how fast its device is, or dims are missing".to_owned(),
        |r| format!("{} at the least, bound by {}", time(r.nanoseconds), r.bound.replace('_', " ")),
    );
    let held = &d.registers;
    let occupancy = d
        .occupancy
        .as_ref()
        .map(|o| ("workgroups on a core".to_owned(), format!("{}, limited by {}", o.workgroups, o.limit.replace('_', " "))));
    let conflicts = d.accesses.iter().filter(|a| a.turns.is_some_and(|turns| turns > 1)).map(|a| {
        let verb = if a.write { "written" } else { "read" };
        ("bank conflicts".to_owned(), format!("{} is {verb} in {} turns", a.buffer, a.turns.unwrap_or(1)))
    });
    let rows = [
        (
            "workgroups".to_owned(),
            format!("{}{}, of {local} invocations", d.grid.clone().map(factor).join(" x "), equals(d.workgroups)),
        ),
        ("flops".to_owned(), format!("{}, and {} on matrix units", count(d.flops), count(d.matrix_flops))),
    ];
    let rows = rows.into_iter().chain(tensors).chain([
        ("each tensor once".to_owned(), number(d.compulsory, "B")),
        (
            "shared memory".to_owned(),
            format!("{} bytes a workgroup, {} moved in all", d.shared_bytes, number(d.shared_traffic, "B")),
        ),
        (
            "registers".to_owned(),
            format!("{} of variables, {} of accumulators, {} of operands", held.variables, held.accumulators, held.operands),
        ),
    ]);
    let rows = rows.chain(occupancy).chain(conflicts).chain([
        ("roofline".to_owned(), roofline),
        ("guards and barriers".to_owned(), format!("{} guarded leaves, {} barriers", d.guards, d.barriers)),
        (
            "SPIR-V".to_owned(),
            format!(
                "{} bytes, {} instructions, {} loops; accesses of memory {} wide, {} scalar; of shared {} wide, {} scalar",
                d.spirv_bytes,
                d.spirv.instructions,
                d.spirv.loops,
                d.spirv.wide,
                d.spirv.scalar,
                d.spirv.shared_wide,
                d.spirv.shared_scalar
            ),
        ),
    ]);
    let row =
        |(what, said): (String, String)| element("tr").with(element("th").with(text(&what))).with(element("td").with(text(&said)));
    element("div").with(element("h3").with(text(&d.name))).with(element("table").all(rows.map(row)))
}
