//! Draws a chart of a run: a bar for each schedule, grouped by kernel and sizes.

use super::Row;
use super::report::{groups, slowest};
use crate::tune::report::time;
use std::fmt::Write;

/// The length of the longest bar, in pixels like all lengths here.
const BARS: f64 = 400.0;
/// The width of the text next to a bar: its time, and its share of the roofline.
const TIMES: f64 = 200.0;
const LINE: f64 = 22.0;
const GAP: f64 = 18.0;
/// An upper bound of the width of a character of a sans-serif font of 12 pixels, bold or not.
const CHARACTER: f64 = 9.0;
/// The least width of the labels' column.
const LABEL: f64 = 100.0;

/// Returns an upper bound of a text's width.
fn room(words: &str) -> f64 {
    words.chars().count() as f64 * CHARACTER
}

/// Returns a bar's label.
fn label(row: &Row) -> String {
    format!("{} ({})", row.schedule, row.profile)
}

/// Returns the title of a group.
fn title(first: &Row) -> String {
    let sizes = if first.sizes.is_empty() { String::new() } else { format!(" at {}", first.sizes) };
    format!("{}{sizes} on {}", first.kernel, first.device)
}

/// Returns the chart as SVG.
pub(super) fn chart(rows: &[Row]) -> String {
    let (mut body, mut y) = (String::new(), GAP);
    // The columns are as wide as the longest label and title.
    let labels = rows.iter().map(|row| room(&label(row))).fold(LABEL, f64::max) + GAP;
    let titles = rows.iter().map(|row| room(&title(row))).fold(0.0, f64::max) + GAP;
    let width = (labels + BARS + TIMES).max(titles);
    for group in groups(rows) {
        let Some(first) = group.first() else { continue };
        text(&mut body, GAP / 2.0, y + LINE * 0.7, "font-weight=\"bold\"", &title(first));
        y += LINE;
        let slowest = slowest(&group);
        for row in &group {
            let label = label(row);
            text(&mut body, labels - 8.0, y + LINE * 0.7, "text-anchor=\"end\"", &label);
            match row.median_ns {
                Some(ns) => {
                    let length = BARS * ns / slowest;
                    let (top, height) = (y + 3.0, LINE - 6.0);
                    let _ = writeln!(
                        body,
                        "<rect x=\"{labels}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{height}\" fill=\"#3b6ea5\"><title>{}</title></rect>",
                        escaped(&label)
                    );
                    let share =
                        || row.roofline.map_or_else(String::new, |share| format!(", {:.0} % of the roofline", share * 100.0));
                    let note = if row.dropped { ", dropped after a launch".to_owned() } else { share() };
                    text(&mut body, labels + length + 6.0, y + LINE * 0.7, "", &(time(ns) + &note));
                    if let Some(before) = row.before_ns.map(|before| labels + BARS * (before / slowest).min(1.2)) {
                        let bottom = y + LINE;
                        let _ =
                            writeln!(body, "<path d=\"M{before:.1} {y:.1}V{bottom:.1}\" stroke=\"#c0392b\" stroke-width=\"2\"/>");
                    }
                }
                None => text(&mut body, labels, y + LINE * 0.7, "fill=\"#888\"", "not measured"),
            }
            y += LINE;
        }
        y += GAP;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {y}\" width=\"{width}\" height=\"{y}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn text(body: &mut String, x: f64, y: f64, attributes: &str, words: &str) {
    let _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escaped(words));
}

/// Escapes text for SVG.
fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
