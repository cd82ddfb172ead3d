//! The nests of a schedule in the order in which they came about.

use crate::diff::added;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::nest::Program;
use tilewright_dsl::nest::print::Printer;
use tilewright_dsl::schedule::At;

/// A nest, and what made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The directive as it is written, or what the compiler did.
    pub title: String,
    /// Where the directive stands: `file:line:column`.
    pub place: Option<String>,
    /// The dispatches that it changed, line by line; of the first and the last step, all.
    pub lines: Vec<Line>,
}

/// A line of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The text, indented.
    pub text: String,
    /// Whether the step before has no such line.
    pub new: bool,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps {
    pub(crate) done: Vec<Step>,
    /// Every dispatch's lines after the last step, under the dispatch's name.
    last: Vec<(String, Vec<String>)>,
}

impl Steps {
    /// Takes the program as it is after a step.
    pub(crate) fn take(&mut self, at: At, program: &Program, spans: &Spans) {
        let (title, place) = match at {
            At::Start => ("the naive nest".into(), None),
            At::Heuristic(stage) => (format!("the heuristic schedule of `{}`", program.stages[stage].name), None),
            At::Lowered => ("lowered: reductions to init, update and finish".into(), None),
            At::Directive(span) => (spans.source(span).unwrap_or_else(|| "a directive".into()), spans.locate(span)),
        };
        let printer = Printer::new(program);
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let now: Vec<_> = program.plan.iter().map(|d| (d.name.clone(), lines(printer.dispatch(d)))).collect();
        let first = self.done.is_empty();
        let mut shown = Vec::new();
        for (name, lines) in &now {
            let before = self.last.iter().find(|(n, _)| n == name).map_or(&[][..], |(_, lines)| lines);
            if first || before != lines.as_slice() {
                let marks = if first { vec![false; lines.len()] } else { added(before, lines) };
                shown.extend(lines.iter().zip(marks).map(|(text, new)| Line { text: text.clone(), new }));
            }
        }
        self.done.push(Step { title, place, lines: shown });
        self.last = now;
    }
}
