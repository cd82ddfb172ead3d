//! Errors: the mistake, its place, and the correction.
//!
//! Every tree of the compiler holds [`SpanId`]s and never `proc_macro2::Span`s, because those do not outlive a macro invocation and cannot
//! cross threads. The [`Spans`] of an invocation turn ids back into places once, when errors are shown.
//!
//! Errors in stable Rust have one place. So an [`Error`] has one span, the directive or expression to blame, and its notes name other
//! places as `file:line:column` in text.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use std::collections::HashSet;
use std::fmt;

/// A place in the user's source: an index into a [`Spans`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct SpanId(u32);

impl SpanId {
    /// No place, for parts that the compiler generated. Only errors of the compiler itself blame it.
    pub const NONE: SpanId = SpanId(0);
}

/// The places of one macro invocation.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    ranges: Vec<(Span, Span)>,
    /// The place of every token, for text that the compiler wrote.
    only: Option<SpanId>,
    /// Notes for the errors at some places.
    contexts: Vec<Context>,
}

/// A note for the errors at the places after `after`, up to `last`.
#[derive(Clone, Debug)]
struct Context {
    after: SpanId,
    last: SpanId,
    note: String,
    /// The place that the note refers to.
    at: SpanId,
    /// True if the source was read several times, so that an error at each reading is the same one.
    is_repeated: bool,
}

impl Spans {
    /// Returns a table without places.
    pub fn new() -> Spans {
        Spans::default()
    }

    /// Returns a table for text that the compiler wrote: every token has the given place of the user's file.
    pub fn only(place: SpanId) -> Spans {
        Spans { only: Some(place), ..Spans::default() }
    }

    /// Records one token's place.
    pub fn add(&mut self, span: Span) -> SpanId {
        self.add_range(span, span)
    }

    /// Records the place from one token to another.
    pub fn add_range(&mut self, first: Span, last: Span) -> SpanId {
        if let Some(only) = self.only {
            return only;
        }
        self.ranges.push((first, last));
        SpanId(self.ranges.len() as u32)
    }

    /// Returns the last place so far. Ids are ordered: a later place has a greater id.
    pub fn last(&self) -> SpanId {
        SpanId(self.ranges.len() as u32)
    }

    /// Adds a note, which refers to the place `at`, to the errors at all places that were recorded after `after`.
    pub fn explain(&mut self, after: SpanId, at: SpanId, note: String) {
        let last = self.last();
        self.contexts.push(Context { after, last, note, at, is_repeated: false });
    }

    /// Does the same for source that is read several times. Only the first error at a place is shown.
    pub fn repeat(&mut self, after: SpanId, at: SpanId, note: String) {
        let last = self.last();
        self.contexts.push(Context { after, last, note, at, is_repeated: true });
    }

    /// Returns the place of an error in source that is read several times.
    fn repeated(&self, error: &Error) -> Option<String> {
        let has = |context: &Context| context.is_repeated && context.after < error.span && error.span <= context.last;
        self.locate(error.span).filter(|_| self.contexts.iter().any(has))
    }

    /// Returns the number of notes for errors at some places.
    pub fn explanations(&self) -> usize {
        self.contexts.len()
    }

    /// Returns the place from the start of `first` to the end of `last`.
    pub fn join(&mut self, first: SpanId, last: SpanId) -> SpanId {
        match (self.get(first), self.get(last)) {
            (Some((start, _)), Some((_, end))) => self.add_range(start, end),
            (Some(_), None) => first,
            _ => last,
        }
    }

    /// Returns the first and last token of a place.
    pub fn get(&self, id: SpanId) -> Option<(Span, Span)> {
        self.ranges.get((id.0 as usize).checked_sub(1)?).copied()
    }

    /// Returns the text at a place, with white space as written. `None` if the source is not available.
    pub fn source(&self, id: SpanId) -> Option<String> {
        let (first, last) = self.get(id)?;
        first.join(last)?.source_text()
    }

    /// Returns the place as `file:line:column`, both counted from 1. `None` for no place.
    pub fn locate(&self, id: SpanId) -> Option<String> {
        let (first, _) = self.get(id)?;
        let start = first.start();
        Some(format!("{}:{}:{}", first.file(), start.line, start.column + 1))
    }

    /// Returns the place in a form that may be embedded in a program. `None` if it is unknown, as in rust-analyzer.
    pub fn place(&self, id: SpanId) -> Option<SourcePosition> {
        let (first, _) = self.get(id)?;
        let start = first.start();
        SourcePosition::new(&first.file(), start.line, start.column + 1)
    }
}

/// A place in a file, both counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePosition {
    /// The file, without machine-specific folders: see [`SourcePosition::new`].
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl SourcePosition {
    /// Returns a place without machine-specific folders. An absolute path is cut so that it begins with the folder that contains `src` or,
    /// if there is none, with the file's own folder.
    ///
    /// rustc gives paths of the workspace's files relative to the workspace, and absolute paths for files of other crates. Returns `None`
    /// if it is not a file, or for line 1 and column 1, because rust-analyzer reports that for every place.
    pub fn new(file: &str, line: usize, column: usize) -> Option<SourcePosition> {
        if file.is_empty() || file.starts_with('<') || (line <= 1 && column <= 1) {
            return None;
        }
        let file = file.replace('\\', "/");
        let names: Vec<&str> = file.split('/').filter(|name| !name.is_empty()).collect();
        let absolute = file.starts_with('/') || names.first().is_some_and(|drive| drive.ends_with(':'));
        let first = names.iter().rposition(|name| *name == "src").unwrap_or(names.len().saturating_sub(1)).saturating_sub(1);
        let file = if absolute { names.get(first..)?.join("/") } else { file };
        Some(SourcePosition { file, line: u32::try_from(line).ok()?, column: u32::try_from(column).ok()? })
    }
}

/// The party to blame for an error, or the kind of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not a mistake: information that the source asked for.
    Asked,
    /// A warning about a copy whose elements are not reused.
    UselessCopy,
    /// The author of the source.
    Source,
    /// The compiler: the verifier refuses the result of directives or lowering, or a backend cannot emit it.
    Compiler,
}

/// The note of an error that is the compiler's own.
const REPORT: &str = concat!(
    "this is a defect of Tilewright, not of the source: please report it at ",
    env!("CARGO_PKG_REPOSITORY"),
    "/issues, with the kernel, the schedule and this nest:"
);

/// One error, to be shown at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The party to blame.
    pub kind: Kind,
    /// The directive or expression to blame.
    pub span: SpanId,
    /// The mistake, in one line without a full stop.
    pub message: String,
    /// The reasons, each with the place that it refers to, if any.
    pub notes: Vec<(String, SpanId)>,
    /// The correction.
    pub help: Option<String>,
}

impl Error {
    /// Returns an error at a place.
    pub fn new(span: SpanId, message: impl Into<String>) -> Error {
        Error { kind: Kind::Source, span, message: message.into(), notes: Vec::new(), help: None }
    }

    /// Marks the error as the compiler's own, to be reported with its nest as text.
    pub fn defect(self, nest: &str) -> Error {
        let nest = nest.trim_end().replace('\n', "\n    ");
        Error { kind: Kind::Compiler, ..self }.note(format!("{REPORT}\n    {nest}"))
    }

    /// Marks the error as information that the source asked for.
    pub fn asked(self) -> Error {
        Error { kind: Kind::Asked, ..self }
    }

    /// Marks the warning as one about a copy whose elements are not reused.
    pub fn useless_copy(self) -> Error {
        Error { kind: Kind::UselessCopy, ..self }
    }

    /// Adds a reason.
    pub fn note(self, note: impl Into<String>) -> Error {
        self.note_at(SpanId::NONE, note)
    }

    /// Adds a reason that refers to another place.
    pub fn note_at(mut self, span: SpanId, note: impl Into<String>) -> Error {
        self.notes.push((note.into(), span));
        self
    }

    /// Adds the correction.
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }

    /// Adds the correction, if it is known.
    pub fn maybe_help(mut self, help: Option<String>) -> Error {
        self.help = help.or(self.help);
        self
    }

    /// Returns the whole text, as rustc shows it after `error: `.
    pub fn text(&self, spans: &Spans) -> String {
        let mut text = self.message.clone();
        let of_place = spans.contexts.iter().filter(|context| context.after < self.span && self.span <= context.last);
        let of_place = of_place.map(|context| (&context.note, context.at));
        for (note, at) in self.notes.iter().map(|(note, at)| (note, *at)).chain(of_place) {
            text += "\n  note: ";
            text += note;
            if let Some(place) = spans.locate(at) {
                text += &format!(" ({place})");
            }
        }
        if let Some(help) = &self.help {
            text += "\n  help: ";
            text += help;
        }
        text
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Errors {
        Errors(vec![error])
    }
}

/// Some errors. As the `Err` of a result, there is at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

impl Errors {
    /// Returns an empty list.
    pub fn new() -> Errors {
        Errors::default()
    }

    /// Adds an error, unless the same message was added at the same place, for the same stage or another member of its family.
    pub fn push(&mut self, error: Error) {
        let is_same = |e: &Error| e.span == error.span && without_numbers(&e.message) == without_numbers(&error.message);
        if !self.0.iter().any(is_same) {
            self.0.push(error);
        }
    }

    /// Adds several errors.
    pub fn extend(&mut self, errors: Errors) {
        errors.0.into_iter().for_each(|e| self.push(e));
    }

    /// Returns the value, or records the errors.
    pub fn keep<T, E: Into<Errors>>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|e| self.extend(e.into())).ok()
    }

    /// True if one of the errors is the compiler's own.
    pub fn are_of_compiler(&self) -> bool {
        self.0.iter().any(|e| e.kind == Kind::Compiler)
    }

    /// True if there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `Ok` if there are no errors.
    pub fn into_result(self) -> Result<(), Errors> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Returns one `compile_error!` for each error, at its place. An error without a place is shown at the macro's call.
    pub fn to_tokens(&self, spans: &Spans) -> TokenStream {
        self.shown(spans).map(|e| compile_error(spans.get(e.span), &e.text(spans))).collect()
    }

    /// Returns the texts with their places, for tests and tools.
    pub fn texts(&self, spans: &Spans) -> String {
        self.texts_as("error", spans)
    }

    /// Returns the texts of warnings in the same form.
    pub fn warnings(&self, spans: &Spans) -> String {
        self.texts_as("warning", spans)
    }

    fn texts_as(&self, what: &str, spans: &Spans) -> String {
        let at = |e: &Error| spans.locate(e.span).unwrap_or_else(|| "?".into());
        self.shown(spans).map(|e| format!("{}: {what}: {}\n", at(e), e.text(spans))).collect()
    }

    /// Returns the errors without repetitions.
    fn shown<'e>(&'e self, spans: &'e Spans) -> impl Iterator<Item = &'e Error> {
        let mut seen = HashSet::new();
        self.0.iter().filter(move |error| spans.repeated(error).is_none_or(|place| seen.insert(place)))
    }
}

/// Returns a message without the numbers of members: `down[]` for `down[3]`.
fn without_numbers(message: &str) -> String {
    let mut parts = message.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "[" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns a `compile_error!` that rustc underlines from the first span to the last.
fn compile_error(range: Option<(Span, Span)>, text: &str) -> TokenStream {
    let (first, last) = range.unwrap_or_else(|| (Span::call_site(), Span::call_site()));
    let path = quote_spanned!(first=> ::core::compile_error!);
    let body = quote_spanned!(last=> { #text });
    quote_spanned!(last=> #path #body)
}

/// Returns a help line with the name among `names` that was probably meant.
pub fn did_you_mean<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, &names.into_iter().collect::<Vec<_>>()).map(|nearest| format!("did you mean `{nearest}`?"))
}

fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    // A one-letter name has no near match, so none is suggested.
    let length = wrong.chars().count();
    let close = |name: &&str| strsim::damerau_levenshtein(wrong, name) <= (1 + length / 4).min(length.saturating_sub(1));
    names.iter().copied().filter(close).min_by_key(|name| strsim::damerau_levenshtein(wrong, name))
}

/// Returns names as a list in prose: `a`, `b` and `c`. An empty list is `none`.
pub fn list<T: fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    prose(&names.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>())
}

fn prose(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}
