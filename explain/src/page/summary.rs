//! The summary of a version: its estimated time beside the roofline, what bounds it, and the lints to look at.

use super::html::{Element, element, sentence, text};
use super::{at, section};
use crate::report::{Launch, Report, ReportedVersion, Time};
use crate::summary::ratio;
use crate::text::{number, time};

/// Returns the summary of a version.
pub(super) fn summary(report: &Report, version: &ReportedVersion) -> Element {
    let part = element("section").attribute("class", "summary");
    let Some(launch) = &version.launch else {
        let said = "The schedule does not compile. The nests are those up to the wrong directive.";
        return part.with(element("p").attribute("class", "bad").with(text(said)));
    };
    let part = match (&launch.estimate, launch.nanoseconds) {
        (Some(estimate), Some(least)) => part.with(element("dl").all(cards(launch, estimate, least))),
        _ => part.all(version.summary.iter().map(|line| element("p").all(sentence(line)))),
    };
    let refused = version
        .refused
        .iter()
        .map(|why| element("p").attribute("class", "bad").all(sentence(&format!("Not run at these sizes: {why}"))));
    part.all(refused).all(origin(report))
}

/// Returns the figures of the summary.
fn cards(launch: &Launch, estimate: &Time, least: f64) -> Vec<Element> {
    let bound = estimate.bound;
    let mut cards = vec![
        card("estimated", &time(estimate.nanoseconds), "first"),
        card("roofline", &time(least), ""),
        card("times the roofline", ratio(estimate.nanoseconds, least).trim_end_matches(" times"), ""),
        card("bound by", &named(bound), &format!("bound {bound}")),
        card("dispatches", &launch.dispatches.to_string(), ""),
    ];
    if launch.temporaries.is_some_and(|bytes| bytes > 0) {
        cards.push(card("intermediates", &number(launch.temporaries, "B"), ""));
    }
    cards
}

fn card(what: &str, figure: &str, class: &str) -> Element {
    let card = element("div").attribute("class", class);
    card.with(element("dt").with(text(what))).with(element("dd").with(text(figure)))
}

/// Returns the name of a bottleneck as a reader says it.
pub(super) fn named(bound: &str) -> String {
    match bound {
        "caches" => "caches and shared memory".to_owned(),
        "launch" => "the launch itself".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Returns the sizes and their origin.
fn origin(report: &Report) -> Option<Element> {
    let sizes = report.dims.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
    let from = report.example.as_ref().map_or_else(String::new, |from| format!(", {from}"));
    (!sizes.is_empty()).then(|| element("p").attribute("class", "faint").with(text(&format!("at {sizes}{from}"))))
}

/// Returns the lints of a version, the most important first. Several lints can have the same advice, and its plan is shown once.
pub(super) fn lints(report: &Report, version: &ReportedVersion) -> Element {
    let entry = |(n, lint): (usize, &crate::Lint)| {
        let name = element("b").attribute("class", "fair").with(text(&lint.name.to_string()));
        let head = at(element("li"), lint.place.as_deref()).with(name).with(text(" of "));
        let head = head.with(element("code").with(text(&lint.dispatch))).with(text(": "));
        let is_new = !lint.plan.is_empty() && version.lints[..n].iter().all(|earlier| earlier.plan != lint.plan);
        let plan = is_new.then(|| element("pre").all(lint.plan.iter().map(|line| super::lines::code_line("span", "node", line))));
        let advice =
            head.all(sentence(&lint.what)).with(element("p").attribute("class", "advice").all(sentence(&lint.instead))).all(plan);
        advice.all(lint.place.as_deref().map(|place| element("small").with(text(place))))
    };
    let part = section("Worth a look", "lints");
    let part = match version.lints.is_empty() {
        true => part.with(element("p").attribute("class", "faint").with(text("No lint finds a pattern that costs time."))),
        false => part.with(element("ul").all(version.lints.iter().enumerate().map(entry))),
    };
    part.all(report.left_out.iter().map(|why| element("p").attribute("class", "faint").all(sentence(&format!("Left out: {why}")))))
}
