//! The nests of a schedule, in the order in which the compiler made them.

use crate::diff::added;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::print::Printer;
use tilewright_dsl::nest::{Dispatch, Program, walk};
use tilewright_dsl::schedule::At;

/// A nest, and the directive or compiler step that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestStep {
    /// The directive as it is written, or a description of the compiler's step.
    pub title: String,
    /// The place of the directive: `file:line:column`.
    pub place: Option<String>,
    /// The lines of the dispatches that it changed; all dispatches for the first step.
    pub lines: Vec<Line>,
}

/// A line of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The text, indented.
    pub text: String,
    /// True if the previous step lacks this line.
    pub new: bool,
    /// The place of the directive (or definition) that made the node: `file:line:column`.
    pub place: Option<String>,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps {
    pub(crate) done: Vec<NestStep>,
    /// Every dispatch's lines after the last step, under the dispatch's name.
    last: Vec<(String, Vec<String>)>,
}

impl Steps {
    /// Records the program after a step.
    pub(crate) fn take(&mut self, at: At, program: &Program, spans: &Spans) {
        let (title, place) = match at {
            At::Start => {
                *self = Steps::default();
                ("the naive nest".into(), None)
            }
            At::Planned(text) => (text, Some("planned".to_owned())),
            At::Plain(stage) => (format!("the plain schedule of `{}`", program.stages[stage].name), None),
            At::Lowered => ("lowered: reductions to init, update and finish".into(), None),
            At::Directive(span) => (spans.source(span).unwrap_or_else(|| "a directive".into()), spans.locate(span)),
        };
        let printer = Printer::new(program);
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let now: Vec<_> = program.plan.iter().map(|d| (d.name.clone(), lines(printer.dispatch(d)))).collect();
        let first = self.done.is_empty();
        let mut shown = Vec::new();
        for ((name, lines), dispatch) in now.iter().zip(&program.plan) {
            let before = self.last.iter().find(|(n, _)| n == name).map_or(&[][..], |(_, lines)| lines);
            if first || before != lines.as_slice() {
                let marks = if first { vec![false; lines.len()] } else { added(before, lines) };
                let places = places(&printer, dispatch, lines, spans);
                let marked = lines.iter().zip(marks).zip(places);
                shown.extend(marked.map(|((text, new), place)| Line { text: text.clone(), new, place }));
            }
        }
        self.done.push(NestStep { title, place, lines: shown });
        self.last = now;
    }
}

/// Returns the place of the node that each line of a dispatch's text shows. Nodes are printed in order, with other lines between
/// them.
fn places(printer: &Printer<'_>, dispatch: &Dispatch, lines: &[String], spans: &Spans) -> Vec<Option<String>> {
    let mut nodes = walk::nodes(&dispatch.body).peekable();
    let place = |line: &String| {
        let node = nodes.next_if(|node| printer.line(node) == line.trim_start())?;
        spans.locate(node.span)
    };
    lines.iter().map(place).collect()
}
