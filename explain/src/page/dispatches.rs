//! The picture of a launch: a box for each dispatch in order, with its estimated time, and lines from each dispatch to those that read its
//! results.
//!
//! A line to the next dispatch is straight. The lines to later ones share a lane to the left of the boxes. The tensors that a dispatch
//! receives are named above its box.

use super::html::{Element, element, text};
use super::summary::named;
use crate::report::{Intermediate, ReportedDispatch, ReportedVersion};
use crate::text::{number, time};
use std::collections::{BTreeMap, BTreeSet};

const WIDTH: f64 = 760.0;
/// The height of a box, and the distance to the next one.
const BOX: f64 = 30.0;
const GAP: f64 = 18.0;
/// The distance between lanes.
const LANE: f64 = 10.0;
/// The columns of a box, from its left edge: the bar of the time, and, from the right edge of the picture, the end of the time and the
/// start of the bottleneck.
const BAR: f64 = 190.0;
const TIME: f64 = 188.0;
const BOUND: f64 = 178.0;
/// The characters of a name, and of the tensors above a box, that have room. Longer text is cut with `…`, and shown whole as a title.
const NAME: usize = 24;
const TENSORS: usize = 86;

/// Returns the picture.
pub(super) fn picture(version: &ReportedVersion) -> Element {
    let lanes = Lanes::new(&version.flow);
    let left = 14.0 + LANE * lanes.count as f64;
    let longest = version.dispatches.iter().filter_map(|d| Some(d.estimate.as_ref()?.nanoseconds)).fold(0.0, f64::max);
    let picture = Picture { left, longest, dispatches: &version.dispatches };
    let height = picture.top(version.dispatches.len()) - GAP + 4.0;
    let svg = element("svg").attribute("viewBox", format!("0 0 {WIDTH} {height:.0}")).attribute("class", "dispatches");
    let svg = svg.attribute("role", "img").attribute("aria-label", "the dispatches in order");
    let svg =
        svg.all(lanes.lines(&picture)).all(received(&version.flow).into_iter().map(|(to, tensors)| picture.label(to, &tensors)));
    svg.all((0..version.dispatches.len()).map(|n| picture.dispatch(n)))
}

/// Returns the tensors that each dispatch receives.
fn received(flow: &[Intermediate]) -> BTreeMap<usize, String> {
    let mut tensors: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for passed in flow {
        let all = tensors.entry(passed.to).or_default();
        let bytes = passed.bytes.map_or_else(String::new, |bytes| format!(" {}", number(Some(bytes), "B")));
        let tensor = format!("{}{bytes}", passed.tensor);
        if !all.contains(&tensor) {
            all.push(tensor);
        }
    }
    tensors.into_iter().map(|(to, all)| (to, all.join(", "))).collect()
}

/// The positions of boxes.
struct Picture<'a> {
    /// The left edge of the boxes.
    left: f64,
    /// The longest time.
    longest: f64,
    dispatches: &'a [ReportedDispatch],
}

impl Picture<'_> {
    /// Returns the upper edge of a box.
    fn top(&self, n: usize) -> f64 {
        4.0 + n as f64 * (BOX + GAP)
    }

    fn middle(&self, n: usize) -> f64 {
        self.top(n) + BOX / 2.0
    }

    /// Returns the tensors above a box.
    fn label(&self, to: usize, tensors: &str) -> Element {
        label((self.left + 34.0, self.top(to) - 5.0), "start", "tensors", tensors, TENSORS)
    }

    fn dispatch(&self, n: usize) -> Element {
        let d = &self.dispatches[n];
        let (y, right) = (self.middle(n) + 4.0, WIDTH - 1.0);
        let edge = rectangle((self.left, self.top(n)), (right - self.left, BOX), "box");
        let group = element("g").attribute("class", "dispatch").attribute("data-dispatch", n.to_string());
        let group = group.with(edge).with(label((self.left + 10.0, y), "start", "name", &d.name, NAME));
        let Some(estimate) = &d.estimate else {
            let workgroups = d.workgroups.map_or_else(|| d.grid.join(" x "), |n| n.to_string());
            return group.with(label((right - 10.0, y), "end", "", &format!("{workgroups} workgroups"), NAME * 2));
        };
        let width = |nanoseconds: f64| (nanoseconds / self.longest * (right - TIME - 70.0 - self.left - BAR)).max(1.0);
        let (x, top) = (self.left + BAR, self.top(n) + 8.0);
        let least = d.roofline.as_ref().map_or(0.0, |roofline| roofline.nanoseconds);
        let class = format!("bound {}", estimate.bound);
        let said = format!("{}: estimated {}, roofline {}", d.name, time(estimate.nanoseconds), time(least));
        group
            .with(rectangle((x, top), (width(estimate.nanoseconds), BOX - 16.0), &format!("bar {class}")))
            .with(rectangle((x, top), (width(least), BOX - 16.0), &format!("bar least {class}")))
            .with(label((right - TIME, y), "end", "", &time(estimate.nanoseconds), NAME))
            .with(label((right - BOUND, y), "start", &class, &named(estimate.bound), NAME))
            .with(element("title").with(text(&said)))
    }
}

/// The lanes of the lines to dispatches that do not follow at once: of each dispatch, its lane and its readers.
struct Lanes {
    count: usize,
    lanes: BTreeMap<usize, (usize, BTreeSet<usize>)>,
    /// The dispatches that pass a tensor on to the next one.
    next: BTreeSet<usize>,
}

impl Lanes {
    fn new(flow: &[Intermediate]) -> Lanes {
        let mut readers: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut next = BTreeSet::new();
        for passed in flow {
            match passed.to == passed.from + 1 {
                true => _ = next.insert(passed.from),
                false => _ = readers.entry(passed.from).or_default().insert(passed.to),
            }
        }
        // The last reader in each lane.
        let mut ends: Vec<usize> = Vec::new();
        let mut lanes = BTreeMap::new();
        for (from, to) in readers {
            let last = to.last().copied().unwrap_or(from);
            let free = ends.iter().position(|end| *end <= from);
            let lane = free.unwrap_or(ends.len());
            match free {
                Some(lane) => ends[lane] = last,
                None => ends.push(last),
            }
            lanes.insert(from, (lane, to));
        }
        Lanes { count: ends.len(), lanes, next }
    }

    fn lines(&self, picture: &Picture<'_>) -> Vec<Element> {
        let mut lines = Vec::new();
        for from in &self.next {
            let x = picture.left + 22.0;
            lines.push(path(&format!("M{x:.1} {:.1}V{:.1}", picture.top(*from) + BOX, picture.top(from + 1) - 5.0)));
            lines.push(arrow((x, picture.top(from + 1)), (0.0, 1.0)));
        }
        for (from, (lane, to)) in &self.lanes {
            let x = picture.left - 12.0 - LANE * *lane as f64;
            let (start, end) = (picture.middle(*from) + 5.0, to.last().map_or(0.0, |to| picture.middle(*to) - 5.0));
            lines.push(path(&format!("M{:.1} {start:.1}H{x:.1}V{end:.1}", picture.left)));
            for to in to {
                let y = picture.middle(*to) - 5.0;
                lines.push(path(&format!("M{x:.1} {y:.1}H{:.1}", picture.left - 5.0)));
                lines.push(arrow((picture.left, y), (1.0, 0.0)));
            }
        }
        lines
    }
}

fn path(d: &str) -> Element {
    element("path").attribute("class", "flow").attribute("d", d)
}

/// Returns the head of an arrow that ends at a point.
fn arrow((x, y): (f64, f64), (dx, dy): (f64, f64)) -> Element {
    let (bx, by) = (x - 6.0 * dx, y - 6.0 * dy);
    let corners = format!("{x:.1},{y:.1} {:.1},{:.1} {:.1},{:.1}", bx - 3.5 * dy, by - 3.5 * dx, bx + 3.5 * dy, by + 3.5 * dx);
    element("polygon").attribute("class", "arrow").attribute("points", corners)
}

fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), class: &str) -> Element {
    let sides = [("x", x), ("y", y), ("width", width), ("height", height), ("rx", 4.0_f64.min(width / 2.0))];
    let rectangle = element("rect").attribute("class", class);
    sides.into_iter().fold(rectangle, |rectangle, (name, value)| rectangle.attribute(name, format!("{value:.1}")))
}

/// Returns text of at most so many characters. Cut text ends with `…` and has the whole text as its title.
fn label((x, y): (f64, f64), anchor: &str, class: &str, said: &str, most: usize) -> Element {
    let label = element("text").attribute("class", class).attribute("x", format!("{x:.1}")).attribute("y", format!("{y:.1}"));
    let label = label.attribute("text-anchor", anchor);
    if said.chars().count() <= most {
        return label.with(text(said));
    }
    let cut: String = said.chars().take(most - 1).chain(['…']).collect();
    label.with(text(&cut)).with(element("title").with(text(said)))
}
