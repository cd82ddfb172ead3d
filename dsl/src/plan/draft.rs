//! A plan as it is written: the directives of each stage, each with a reason.

use super::form::Nest;
use super::machine::Machine;
use super::number::{Constant, Number, rendered};
use crate::diag::{Errors, SpanId};
use crate::syntax::Name;
use crate::syntax::families::with_identifiers;
use crate::syntax::schedule::{Item, planned};
use std::fmt::Write;

/// A directive, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The directive, without its semicolon.
    pub text: String,
    /// The directive with tuned constants instead of literals.
    pub tuned: String,
    /// The reason in a few words. Empty if the directive follows from the previous one.
    pub why: String,
}

impl Line {
    /// Returns a line whose numbers may be tuned.
    pub(super) fn new(text: impl Into<String>, why: impl Into<String>) -> Line {
        let (text, why) = (text.into(), why.into());
        let text = with_identifiers(&text);
        Line { text: rendered(&text, false), tuned: rendered(&text, true), why: rendered(&why, false) }
    }
}

/// The directives of a stage or of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The stage or copy. `None` for the kernel's only result, whose directives need no block.
    pub stage: Option<String>,
    /// Its directives, in order.
    pub lines: Vec<Line>,
}

/// The directives that the planner wrote for a schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// The constants of its tuned form.
    pub constants: Vec<Constant>,
}

impl Plan {
    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the plan as the body of a schedule, indented by `indent` spaces, with reasons as comments.
    pub fn source(&self, indent: usize) -> String {
        self.written(indent, &|line| &line.text)
    }

    /// Returns the same with tuned constants instead of literals. Reasons state the planned values. The last constants have one
    /// candidate if there would be more than 1,024 choices.
    pub fn tuned_source(&self, indent: usize) -> String {
        let (mut text, mut choices) = (String::new(), 1);
        for Constant { name, value, candidates } in &self.constants {
            let is_few = choices * candidates.len() <= MOST_CHOICES;
            let candidates = if is_few { candidates.as_slice() } else { std::slice::from_ref(value) };
            choices *= candidates.len();
            let all: Vec<String> = candidates.iter().map(i64::to_string).collect();
            let _ = writeln!(text, "{:indent$}tune {name} in [{}] = {value};", "", all.join(", "));
        }
        text + &self.written(indent, &|line| &line.tuned)
    }

    fn written(&self, indent: usize, form: &dyn Fn(&Line) -> &str) -> String {
        let mut text = String::new();
        let lines: Vec<(usize, &Line)> = self.blocks.iter().flat_map(|b| b.lines.iter().map(|l| (b.depth(), l))).collect();
        let width = lines.iter().map(|(depth, l)| depth + form(l).len() + 1).filter(|n| *n <= WIDEST).max().unwrap_or(0);
        for block in &self.blocks {
            if let Some(stage) = &block.stage {
                let _ = writeln!(text, "{:indent$}{stage} {{", "");
            }
            for line in &block.lines {
                let depth = block.depth();
                let directive = format!("{:depth$}{};", "", form(line));
                match line.why.as_str() {
                    "" => drop(writeln!(text, "{:indent$}{directive}", "")),
                    why => drop(writeln!(text, "{:indent$}{directive:width$} // {why}", "")),
                }
            }
            if block.stage.is_some() {
                let _ = writeln!(text, "{:indent$}}}", "");
            }
        }
        text
    }
}

/// The most choices of a tuned plan, so that the search takes minutes.
const MOST_CHOICES: usize = 1024;

/// The longest directive that reasons are aligned with.
const WIDEST: usize = 76;

impl Block {
    /// Returns the block of a stage or copy. Its name may derive from the name of a member of a family.
    pub(super) fn of(stage: &str, lines: Vec<Line>) -> Block {
        Block { stage: Some(with_identifiers(stage)), lines }
    }

    /// Returns the indentation of its directives.
    fn depth(&self) -> usize {
        if self.stage.is_some() { 4 } else { 0 }
    }

    /// True if another block has the same directives. Its constants may have other names.
    pub fn reads_like(&self, other: &Block) -> bool {
        let texts = |block: &Block| block.lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        self.stage == other.stage && texts(self) == texts(other)
    }

    /// Returns the block as items of a schedule. Their place is `place`, the schedule's name.
    ///
    /// # Errors
    /// The text is not valid, which is a defect of the planner.
    pub(super) fn items(&self, place: SpanId) -> Result<Vec<Item>, Errors> {
        let own = self.lines.iter().map(|line| planned(&line.text, place)).collect::<Result<Vec<_>, _>>()?.concat();
        let Some(stage) = &self.stage else { return Ok(own) };
        let directives = own.into_iter().filter_map(|item| match item {
            Item::Directive(directive) => Some(directive),
            _ => None,
        });
        Ok(vec![Item::Block { stages: vec![Name { text: stage.clone(), span: place }], directives: directives.collect() }])
    }
}

/// Writes the directives of one stage, and of the copies and stages in its nest.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// The directives that rewrite the stage's reduction, which come first.
    first: Vec<Line>,
    /// The stage's other directives.
    own: Vec<Line>,
    /// The blocks of other stages and of copies.
    others: Vec<(String, Vec<Line>)>,
    /// The constants of its tuned form.
    constants: Vec<Constant>,
}

impl Draft {
    /// Returns a number of a stage's plan that can be tuned. Without other candidates, it is a literal.
    pub(super) fn number(
        &mut self,
        (machine, nest): (&Machine<'_>, &Nest),
        name: &str,
        value: i64,
        candidates: Vec<i64>,
    ) -> Number {
        if candidates.len() < 2 {
            return value.into();
        }
        let constant = Constant { name: machine.constant(nest, name), value, candidates };
        let number = Number::of(&constant);
        self.constants.push(constant);
        number
    }

    /// Returns the constants of its numbers.
    pub(super) fn constants(self) -> Vec<Constant> {
        self.constants
    }

    /// Adds a directive of the stage.
    pub(super) fn line(&mut self, text: impl Into<String>, why: impl Into<String>) {
        self.own.push(Line::new(text, why));
    }

    /// Adds a directive that rewrites the stage's reduction.
    pub(super) fn first(&mut self, text: impl Into<String>, why: impl Into<String>) {
        self.first.push(Line::new(text, why));
    }

    /// Moves the directives to the block of `part`, a stage of partial results that `rest` defines.
    pub(super) fn of_part(self, part: &str, rest: Draft) -> Draft {
        let first = [self.first, rest.first].concat();
        let others = [vec![(part.to_owned(), self.own)], self.others].concat();
        let constants = [self.constants, rest.constants].concat();
        Draft { first, own: rest.own, others, constants }
    }

    /// Adds a directive to the block of another stage or copy.
    pub(super) fn of(&mut self, stage: &str, text: impl Into<String>, why: impl Into<String>) {
        let line = Line::new(text, why);
        match self.others.iter_mut().find(|(name, _)| name == stage) {
            Some((_, lines)) => lines.push(line),
            None => self.others.push((stage.to_owned(), vec![line])),
        }
    }

    /// Adds the draft of a stage to a plan. `stage` is `None` for the only result.
    pub(super) fn add_to(self, plan: &mut Plan, stage: Option<String>) {
        plan.constants.extend(self.constants);
        let others = self.others.into_iter().map(|(name, lines)| Block::of(&name, lines));
        let own = Block { stage, lines: [self.first, self.own].concat() };
        plan.blocks.extend([own].into_iter().chain(others).filter(|b| !b.lines.is_empty()));
    }
}
