//! Kernels, schedules and profiles of a package's Rust files, which are parsed and not built.
//!
//! [`Source::open`] reads the crate that a file belongs to (`tree`: its modules, from the root on). A schedule's paths lead to
//! its kernel and its profile by the modules' names and `use` declarations (`paths`). Other crates are read where a manifest says in which folder
//! they stand (`package`), as those of one workspace; of `tilewright` the bundled profiles are known; everything else is an error that says so. `cfg` is not evaluated: both sides of one are there, and a
//! path that leads to two items is an error.

mod error;
mod items;
mod package;
mod paths;
mod tree;

pub use error::SourceError;

use items::Kind;
use proc_macro2::TokenStream;
use std::path::Path;
use std::rc::Rc;
use tilewright_dsl::diag::{Errors, Place, SpanId, Spans, did_you_mean, list};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::schedule::Schedule;
use tilewright_dsl::syntax::{self, Kernel, Name};

/// The files of a crate, and of those that it names.
#[derive(Debug)]
pub struct Source {
    modules: Vec<tree::Module>,
    crates: tree::Crates,
    /// The modules that the asked file holds.
    asked: Vec<usize>,
    files: Files,
}

/// All that a schedule needs to be compiled, as it stands in the files.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// What `schedule!` holds.
    pub schedule: TokenStream,
    /// What `kernel!` holds.
    pub kernel: TokenStream,
    /// The profile.
    pub profile: Profile,
    /// Where they stand.
    pub files: Files,
}

/// The files, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Files(Rc<[File]>);

/// A file.
#[derive(Debug)]
pub(crate) struct File {
    /// The name under which proc-macro2 knows it.
    pub(crate) inner: String,
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What `schedule!` holds as text, and where it begins: line and column, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Written {
    fn of(tokens: &TokenStream) -> Option<Written> {
        let mut tokens = tokens.clone().into_iter();
        let first = tokens.next()?.span();
        let text = first.join(tokens.last().map_or(first, |last| last.span()))?.source_text()?;
        Some(Written { text, line: first.start().line, column: first.start().column + 1 })
    }

    /// The text with other text at a place; `None`: the place is not in it, or has another text.
    pub(crate) fn edited(&self, line: usize, column: usize, from: &str, to: &str) -> Option<String> {
        let below = line.checked_sub(self.line)?;
        let before: usize = self.text.split_inclusive('\n').take(below).map(str::len).sum();
        // Columns count characters.
        let column = if below == 0 { column.checked_sub(self.column)? } else { column.checked_sub(1)? };
        let (more, _) = self.text.get(before..)?.char_indices().nth(column)?;
        let rest = self.text[before + more..].strip_prefix(from)?;
        Some(format!("{}{to}{rest}", &self.text[..before + more]))
    }
}

/// The lines of a file in which an item stands, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The file's path.
    pub path: String,
    /// The first line.
    pub first: usize,
    /// The lines.
    pub lines: Vec<String>,
}

impl Files {
    /// A text of the compiler's, with the files' own names in its places.
    pub(crate) fn place(&self, text: &str) -> String {
        // From the last file on: one name can be the beginning of a later one, never of an earlier.
        self.0.iter().rev().fold(text.to_owned(), |text, file| text.replace(file.inner.as_str(), &file.path))
    }

    /// The path of a file.
    fn path(&self, inner: &str) -> Option<&str> {
        self.0.iter().find(|file| file.inner == inner).map(|file| file.path.as_str())
    }

    /// The lines in which tokens stand.
    fn excerpt(&self, tokens: &TokenStream) -> Option<Excerpt> {
        let mut tokens = tokens.clone().into_iter();
        let first = tokens.next()?.span();
        let last = tokens.last().map_or(first, |last| last.span());
        let file = self.0.iter().find(|file| file.inner == first.file())?;
        let (from, to) = (first.start().line, last.end().line);
        let lines = file.text.lines().skip(from.checked_sub(1)?).take((to + 1).checked_sub(from)?).map(str::to_owned).collect();
        Some(Excerpt { path: file.path.clone(), first: from, lines })
    }
}

impl Tokens {
    /// The trees.
    ///
    /// # Errors
    /// What the parsers say, with places.
    pub fn parse(&self) -> Result<Subject, String> {
        let mut spans = Spans::new();
        let schedule = syntax::parse(self.schedule.clone(), &mut spans, Schedule::parse).into_result();
        let kernel = syntax::kernel::parse(self.kernel.clone(), &mut spans).into_result();
        match (schedule, kernel) {
            (Ok(schedule), Ok(kernel)) => {
                let written = Written::of(&self.schedule);
                let excerpts = [&self.schedule, &self.kernel].into_iter().filter_map(|tokens| self.files.excerpt(tokens)).collect();
                let (profile, files) = (self.profile.clone(), self.files.clone());
                Ok(Subject { schedule, kernel, profile, spans, files, excerpts, written })
            }
            (schedule, kernel) => {
                let mut errors = Errors::new();
                errors.keep(schedule);
                errors.keep(kernel);
                Err(errors.texts(&spans))
            }
        }
    }
}

/// All that a schedule needs to be compiled.
#[derive(Debug)]
pub struct Subject {
    /// The schedule.
    pub schedule: Schedule,
    /// Its kernel.
    pub kernel: Kernel,
    /// Its profile.
    pub profile: Profile,
    /// Where everything stands.
    pub spans: Spans,
    /// In which files.
    pub files: Files,
    /// The schedule's text and the kernel's, each with the lines around it whole.
    pub excerpts: Vec<Excerpt>,
    /// What `schedule!` holds.
    pub(crate) written: Option<Written>,
}

impl Subject {
    /// Where a span lies, as a macro would see it in a package that stands in its workspace's folder.
    pub fn place(&self, span: SpanId) -> Option<Place> {
        let (first, _) = self.spans.get(span)?;
        let start = first.start();
        // Texts name files from the present folder on, and rustc from the workspace's.
        let file = std::path::absolute(self.files.path(&first.file())?).ok()?;
        Place::new(&file.to_string_lossy(), start.line, start.column + 1)
    }
}

impl Source {
    /// Reads the crate that a file belongs to, and those that it names.
    ///
    /// # Errors
    /// A file, the asked one or one of its crate, that cannot be read or parsed.
    pub fn open(file: &Path) -> Result<Source, SourceError> {
        let read = tree::read(file)?;
        Ok(Source { modules: read.modules, crates: read.crates, asked: read.asked, files: Files(read.files.into()) })
    }

    /// The names of the schedules of the asked file, in order.
    pub fn schedules(&self) -> Vec<&str> {
        let items = self.asked.iter().flat_map(|m| &self.modules[*m].items);
        items.filter(|item| item.kind == Kind::Schedule).map(|item| item.name.as_str()).collect()
    }

    /// The tokens of a schedule of the asked file and of its kernel, and its profile.
    ///
    /// # Errors
    /// No schedule of that name, a path that leads nowhere or out of the crate, and what the parsers say of the schedule's head and
    /// of the profile.
    pub fn tokens(&self, schedule: &str) -> Result<Tokens, SourceError> {
        let mut spans = Spans::new();
        let find = |m: &usize| Some((*m, self.modules[*m].find(Kind::Schedule, schedule)?.tokens.clone()));
        let Some((at, tokens)) = self.asked.iter().find_map(find) else {
            let there = self.schedules().into_iter().map(String::from).collect();
            return Err(SourceError::NoSchedule { name: schedule.into(), there });
        };
        let tree = self.parsed(syntax::parse(tokens.clone(), &mut spans, Schedule::parse).into_result(), &spans)?;
        let kernel = self.kernel(at, &texts(&tree.kernel))?;
        let profile = self.profile(at, &texts(&tree.profile), &mut spans, &mut Vec::new())?;
        Ok(Tokens { schedule: tokens, kernel, profile, files: self.files.clone() })
    }

    /// A schedule of the asked file, with its kernel and its profile.
    ///
    /// # Errors
    /// Those of [`Source::tokens`], and what the parsers say of the kernel.
    pub fn subject(&self, schedule: &str) -> Result<Subject, SourceError> {
        self.tokens(schedule)?.parse().map_err(|errors| SourceError::Wrong { errors: self.place(errors.trim_end()) })
    }

    /// A profile by its name, if it is bundled, or by its path in the asked file.
    ///
    /// # Errors
    /// A path that leads nowhere or out of the crate, and what the parsers say of the profile.
    pub fn profile_named(&self, name: &str) -> Result<Profile, SourceError> {
        if let Some(profile) = Profile::bundled(name) {
            return Ok(profile);
        }
        let path: Vec<String> = name.split("::").map(|part| part.trim().to_owned()).collect();
        let found = self.profile(self.asked.first().copied().unwrap_or_default(), &path, &mut Spans::new(), &mut Vec::new());
        found.map_err(|error| match error {
            SourceError::NotFound { path, .. } | SourceError::OtherCrate { path, .. } if !name.contains("::") => {
                let bundled = Profile::all_bundled().map(|profile| profile.name);
                let help = did_you_mean(name, bundled.iter().map(String::as_str));
                SourceError::NotFound { path, why: help.unwrap_or_else(|| format!("the bundled profiles are {}", list(bundled))) }
            }
            other => other,
        })
    }

    /// A text of the compiler's, with the files' own names in its places.
    pub fn place(&self, text: &str) -> String {
        self.files.place(text)
    }

    fn parsed<T>(&self, result: Result<T, Errors>, spans: &Spans) -> Result<T, SourceError> {
        result.map_err(|errors| SourceError::Wrong { errors: self.place(errors.texts(spans).trim_end()) })
    }

    fn kernel(&self, from: usize, path: &[String]) -> Result<TokenStream, SourceError> {
        match paths::resolve(&self.modules, &self.crates, from, path, Kind::Kernel)? {
            paths::Found::Item(module, item) => Ok(self.modules[module].items[item].tokens.clone()),
            paths::Found::Bundled(_) => Err(SourceError::WrongKind { path: path.join("::"), what: "a profile", wanted: "kernel" }),
        }
    }

    /// A profile, and all that it extends. `seen` are the profiles that extend it.
    fn profile(
        &self,
        from: usize,
        path: &[String],
        spans: &mut Spans,
        seen: &mut Vec<(usize, usize)>,
    ) -> Result<Profile, SourceError> {
        let (module, item) = match paths::resolve(&self.modules, &self.crates, from, path, Kind::Profile)? {
            paths::Found::Bundled(profile) => return Ok(profile),
            paths::Found::Item(module, item) => (module, item),
        };
        if seen.contains(&(module, item)) {
            return Err(SourceError::Circle { path: path.join("::") });
        }
        seen.push((module, item));
        let tokens = self.modules[module].items[item].tokens.clone();
        let tree = self.parsed(syntax::profile::parse(tokens, spans).into_result(), spans)?;
        let base = self.profile(module, &texts(&tree.base), spans, seen)?;
        self.parsed(base.extend(&tree), spans)
    }
}

fn texts(path: &[Name]) -> Vec<String> {
    path.iter().map(|name| name.text.clone()).collect()
}
