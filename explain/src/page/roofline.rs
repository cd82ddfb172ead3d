//! The plot of a roofline: the rate that a device can reach by the number of flops a byte, and the dispatches if each tensor is
//! moved once. Both axes are logarithmic.

use super::html::{Element, Inner, element, text};
use crate::report::{Device, ReportedDispatch};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
/// The left, right, top and bottom margins.
const MARGINS: [f64; 4] = [64.0, 16.0, 32.0, 44.0];

/// A dispatch in the plot.
struct Point<'a> {
    name: &'a str,
    /// Flops a byte.
    intensity: f64,
    /// The most GFLOP/s that it can reach.
    rate: f64,
}

/// The ranges of both axes, as powers of ten.
struct Ranges {
    x: (f64, f64),
    y: (f64, f64),
}

/// Returns the plot, or the reason why there is none.
pub(super) fn plot(device: &Device, dispatches: &[ReportedDispatch]) -> Element {
    let (Some(gflops), Some(bandwidth)) = (device.gflops.map(f64::from), device.bandwidth.map(f64::from)) else {
        return said("unknown: the profile does not say `gflops` and `bandwidth`");
    };
    let points: Vec<Point<'_>> = dispatches.iter().filter_map(point).collect();
    if points.is_empty() {
        return said("unknown: some dims are unknown, or no floats are computed");
    }
    let matrices = dispatches.iter().any(|d| d.matrix_flops.is_some_and(|n| n > 0));
    let mut roofs = vec![("arithmetic", gflops)];
    roofs.extend(device.matrix_gflops.filter(|_| matrices).map(|rate| ("matrix units", f64::from(rate))));
    let highest = roofs.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let all = || points.iter().map(|p| p.intensity).chain(roofs.iter().map(|(_, rate)| rate / bandwidth));
    let x = (all().fold(f64::INFINITY, f64::min).log10().floor() - 0.5, all().fold(0.0, f64::max).log10().ceil() + 0.5);
    let least = points.iter().map(|p| p.rate).fold(bandwidth * 10f64.powf(x.0), f64::min);
    let ranges = Ranges { x, y: (least.log10().floor(), highest.log10().ceil().max(highest.log10() + 0.2)) };
    let svg = element("svg").attribute("viewBox", format!("0 0 {WIDTH} {HEIGHT}")).attribute("role", "img");
    let svg = svg.attribute("aria-label", "roofline").all(ranges.grid());
    let svg = svg.all(roofs.iter().flat_map(|(name, rate)| ranges.roof(name, *rate, bandwidth)));
    svg.all(points.iter().flat_map(|point| ranges.point(point)))
}

fn said(what: &str) -> Element {
    element("p").attribute("class", "faint").with(text(what))
}

fn point(d: &ReportedDispatch) -> Option<Point<'_>> {
    let (flops, bytes) = (d.flops?.checked_add(d.matrix_flops?)?, d.compulsory?);
    let time = d.roofline.as_ref()?.nanoseconds;
    (flops > 0 && bytes > 0 && time > 0.0).then(|| Point {
        name: &d.name,
        intensity: flops as f64 / bytes as f64,
        rate: flops as f64 / time,
    })
}

impl Ranges {
    fn x(&self, intensity: f64) -> f64 {
        let [left, right, ..] = MARGINS;
        left + (intensity.log10() - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - left - right)
    }

    fn y(&self, rate: f64) -> f64 {
        let [.., top, bottom] = MARGINS;
        HEIGHT - bottom - (rate.log10() - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - top - bottom)
    }

    /// Returns lines and labels at powers of ten, and the axes' names.
    fn grid(&self) -> Vec<Element> {
        let powers = |(from, to): (f64, f64)| (from.ceil() as i32..=to.floor() as i32).map(|n| 10f64.powi(n));
        let [left, right, top, bottom] = MARGINS;
        let mut parts = Vec::new();
        for value in powers(self.x) {
            let x = self.x(value);
            parts.push(line((x, top), (x, HEIGHT - bottom), "grid"));
            parts.push(label((x, HEIGHT - bottom + 16.0), "middle", &plain(value)));
        }
        for value in powers(self.y) {
            let y = self.y(value);
            parts.push(line((left, y), (WIDTH - right, y), "grid"));
            parts.push(label((left - 6.0, y + 4.0), "end", &plain(value)));
        }
        parts.push(label(((left + WIDTH - right) / 2.0, HEIGHT - 8.0), "middle", "flops a byte, each tensor moved once"));
        parts.push(label((4.0, 12.0), "start", "GFLOP/s"));
        parts
    }

    /// Returns the roof: the line of the memory bandwidth up to a peak rate, and the peak rate from there on.
    fn roof(&self, name: &str, rate: f64, bandwidth: f64) -> [Element; 2] {
        let (first, last) = (10f64.powf(self.x.0), 10f64.powf(self.x.1));
        let start = (self.x(first), self.y((first * bandwidth).max(10f64.powf(self.y.0))));
        let (ridge, end) = ((self.x(rate / bandwidth), self.y(rate)), (self.x(last), self.y(rate)));
        let points = [start, ridge, end].map(|(x, y)| format!("{x:.1},{y:.1}")).join(" ");
        let roof = element("polyline").attribute("class", "roof").attribute("points", points);
        [roof, label((end.0 - 4.0, end.1 - 5.0), "end", name)]
    }

    fn point(&self, point: &Point<'_>) -> [Element; 2] {
        let (x, y) = (self.x(point.intensity), self.y(point.rate));
        let title = format!("{}: {:.1} flops a byte, {:.0} GFLOP/s at the most", point.name, point.intensity, point.rate);
        let circle = element("circle").attribute("cx", format!("{x:.1}")).attribute("cy", format!("{y:.1}")).attribute("r", "5");
        let circle = circle.attribute("class", "point").with(element("title").with(text(&title)));
        [circle, label((x + 8.0, y + 14.0), "start", point.name)]
    }
}

fn line(from: (f64, f64), to: (f64, f64), class: &str) -> Element {
    let ends = [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
    let line = element("line").attribute("class", class);
    ends.into_iter().fold(line, |line, (name, value)| line.attribute(name, format!("{value:.1}")))
}

fn label(at: (f64, f64), anchor: &str, said: &str) -> Element {
    let inner: Inner = text(said);
    let label = element("text").attribute("x", format!("{:.1}", at.0)).attribute("y", format!("{:.1}", at.1));
    label.attribute("text-anchor", anchor).with(inner)
}

/// Prints a power of ten, with all its digits if they are few.
fn plain(value: f64) -> String {
    if (0.01..=1e6).contains(&value) { format!("{value}") } else { format!("{value:.0e}") }
}
