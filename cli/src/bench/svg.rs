//! A chart of a run: a bar for each schedule, those of a kernel at some sizes beside each other.

use super::Row;
use super::report::{groups, slowest};
use crate::tune::report::time;
use std::fmt::Write;

/// Lengths in pixels.
const WIDTH: f64 = 760.0;
const LABEL: f64 = 220.0;
const BARS: f64 = 400.0;
const LINE: f64 = 22.0;
const GAP: f64 = 18.0;

/// The chart as SVG.
pub(super) fn chart(rows: &[Row]) -> String {
    let (mut body, mut y) = (String::new(), GAP);
    for group in groups(rows) {
        let Some(first) = group.first() else { continue };
        let title = format!("{} at {} on {}", first.kernel, first.sizes, first.device);
        text(&mut body, GAP / 2.0, y + LINE * 0.7, "font-weight=\"bold\"", &title);
        y += LINE;
        let slowest = slowest(&group);
        for row in &group {
            let label = format!("{} ({})", row.schedule, row.profile);
            text(&mut body, LABEL - 8.0, y + LINE * 0.7, "text-anchor=\"end\"", &label);
            match row.median_ns {
                Some(ns) => {
                    let length = BARS * ns / slowest;
                    let (top, height) = (y + 3.0, LINE - 6.0);
                    let _ = writeln!(
                        body,
                        "<rect x=\"{LABEL}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{height}\" fill=\"#3b6ea5\"><title>{}</title></rect>",
                        escaped(&label)
                    );
                    let share = row.roofline.map_or_else(String::new, |share| format!(", {:.0} % of the roofline", share * 100.0));
                    text(&mut body, LABEL + length + 6.0, y + LINE * 0.7, "", &(time(ns) + &share));
                    if let Some(before) = row.before_ns.map(|before| LABEL + BARS * (before / slowest).min(1.2)) {
                        let bottom = y + LINE;
                        let _ =
                            writeln!(body, "<path d=\"M{before:.1} {y:.1}V{bottom:.1}\" stroke=\"#c0392b\" stroke-width=\"2\"/>");
                    }
                }
                None => text(&mut body, LABEL, y + LINE * 0.7, "fill=\"#888\"", "not measured"),
            }
            y += LINE;
        }
        y += GAP;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" width=\"{WIDTH}\" height=\"{y}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn text(body: &mut String, x: f64, y: f64, attributes: &str, words: &str) {
    let _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escaped(words));
}

/// Words as they stand in SVG.
fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
