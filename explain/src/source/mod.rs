//! Finds kernels, schedules and profiles in a package's Rust files, which are parsed but not built.
//!
//! [`Source::open`] reads the crate that a file belongs to (`tree`: its modules, from the root on). A schedule's paths are resolved
//! to its kernel and its profile by the modules' names and `use` declarations (`paths`). Other crates are read if a manifest gives
//! their folder (`package`), for example crates of one workspace. Only the bundled profiles of `tilewright` are known. Every other
//! crate is an error. `cfg` is not evaluated: items of all alternatives are present, and a path that names two items is an error.

mod error;
mod items;
mod kernels;
mod package;
mod paths;
mod tree;

pub use error::SourceError;
pub use kernels::{Bound, Item};

use items::Kind;
use proc_macro2::{TokenStream, TokenTree};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tilewright_dsl::diag::{Errors, SourcePosition, SpanId, Spans, did_you_mean, list};
use tilewright_dsl::expand::needed;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::functions::split;
use tilewright_dsl::syntax::schedule::Schedule;
use tilewright_dsl::syntax::{self, Kernel, Library, Name};

/// The files of a crate, and of the crates that it names.
#[derive(Debug)]
pub struct Source {
    modules: Rc<Vec<tree::Module>>,
    crates: Rc<tree::Crates>,
    /// The modules in the requested file.
    asked: Vec<usize>,
    files: Files,
}

/// The parts that are needed to compile a schedule, as tokens of the files.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The content of `schedule!`, after the [`Library`] of the schedules that it applies.
    pub schedule: TokenStream,
    /// The content of `kernel!`, after the [`Library`] of the functions that it imports.
    pub kernel: TokenStream,
    /// The profile.
    pub profile: Profile,
    /// The files that they are in.
    pub files: Files,
}

/// The files, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Files(Rc<[File]>);

/// A file.
#[derive(Debug)]
pub(crate) struct File {
    /// The name that proc-macro2 uses for the file.
    pub(crate) inner: String,
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The content of `schedule!` as text, with its line and column, counted from 1.
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

    /// Replaces the text at a place. Returns `None` if the place is not in the schedule, or has another text.
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

/// The lines of a file that contain an item, counted from 1.
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
    /// Replaces proc-macro2's names of files in a text of the compiler by the files' paths.
    pub(crate) fn place(&self, text: &str) -> String {
        // Begins with the last file, because one name can be a prefix of a later one, but not of an earlier one.
        self.0.iter().rev().fold(text.to_owned(), |text, file| text.replace(file.inner.as_str(), &file.path))
    }

    /// Returns the path of a file.
    fn path(&self, inner: &str) -> Option<&str> {
        self.0.iter().find(|file| file.inner == inner).map(|file| file.path.as_str())
    }

    /// Returns the lines that contain tokens.
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
    /// Parses the tokens.
    ///
    /// # Errors
    /// The parsers' errors, with places.
    pub fn parse(&self) -> Result<Subject, String> {
        let mut spans = Spans::new();
        let schedule = syntax::parse(self.schedule.clone(), &mut spans, Schedule::parse).into_result();
        let kernel = syntax::kernel::parse(self.kernel.clone(), &mut spans).into_result();
        match (schedule, kernel) {
            (Ok(schedule), Ok(kernel)) => {
                let written = Written::of(&Library::split(self.schedule.clone()).1);
                let texts = items_of(&self.schedule).into_iter().chain(items_of(&self.kernel));
                let mut excerpts: Vec<Excerpt> = Vec::new();
                // Several functions can use the same function.
                for excerpt in texts.filter_map(|tokens| self.files.excerpt(&tokens)) {
                    if !excerpts.contains(&excerpt) {
                        excerpts.push(excerpt);
                    }
                }
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

/// The parts that are needed to compile a schedule, parsed.
#[derive(Debug)]
pub struct Subject {
    /// The schedule.
    pub schedule: Schedule,
    /// Its kernel.
    pub kernel: Kernel,
    /// Its profile.
    pub profile: Profile,
    /// The source positions of the parts.
    pub spans: Spans,
    /// The files that the positions are in.
    pub files: Files,
    /// The texts of the schedule, of the schedules that it applies, and of the kernel, each with whole lines.
    pub excerpts: Vec<Excerpt>,
    /// The content of `schedule!`.
    pub(crate) written: Option<Written>,
}

impl Subject {
    /// Returns the place of a span as a macro would see it if the package is the workspace's root.
    pub fn place(&self, span: SpanId) -> Option<SourcePosition> {
        let (first, _) = self.spans.get(span)?;
        let start = first.start();
        // Paths in texts are relative to the current folder, but rustc's are relative to the workspace's folder.
        let file = std::path::absolute(self.files.path(&first.file())?).ok()?;
        SourcePosition::new(&file.to_string_lossy(), start.line, start.column + 1)
    }
}

impl Source {
    /// Reads the crate that a file belongs to, and the crates that it names.
    ///
    /// # Errors
    /// If the file, or another file of its crate, cannot be read or parsed.
    pub fn open(file: &Path) -> Result<Source, SourceError> {
        let file = canonical(file)?;
        let read = tree::read(&file)?;
        let source = Source {
            modules: Rc::new(read.modules),
            crates: Rc::new(read.crates),
            asked: Vec::new(),
            files: Files(read.files.into()),
        };
        Ok(source.of(&file))
    }

    /// Returns the same crate with another one of its files as the requested file, without reading it again. A file that is not in this
    /// crate is opened.
    ///
    /// # Errors
    /// As for [`Source::open`].
    pub fn beside(&self, file: &Path) -> Result<Source, SourceError> {
        let beside = self.of(&canonical(file)?);
        if beside.asked.is_empty() { Source::open(file) } else { Ok(beside) }
    }

    fn of(&self, file: &Path) -> Source {
        let asked = (0..self.modules.len()).filter(|n| self.modules[*n].is_in(file)).collect();
        Source { modules: self.modules.clone(), crates: self.crates.clone(), asked, files: self.files.clone() }
    }

    /// Returns the names of the schedules of the requested file, in order.
    pub fn schedules(&self) -> Vec<&str> {
        let items = self.asked.iter().flat_map(|m| &self.modules[*m].items);
        items.filter(|item| item.kind == Kind::Schedule && !item.is_list).map(|item| item.name.as_str()).collect()
    }

    /// Returns the tokens of a schedule of the requested file and of its kernel, and its profile.
    ///
    /// # Errors
    /// If there is no schedule of that name, if a path does not exist or leads out of the crate, or if the schedule or the profile
    /// cannot be parsed.
    pub fn tokens(&self, schedule: &str) -> Result<Tokens, SourceError> {
        let mut spans = Spans::new();
        let is_asked = |item: &items::MacroCall| item.kind == Kind::Schedule && item.name == schedule;
        let find = |m: &usize| Some((*m, self.modules[*m].items.iter().position(is_asked)?));
        let Some((at, item)) = self.asked.iter().find_map(find) else {
            let there = self.schedules().into_iter().map(String::from).collect();
            return Err(SourceError::NoSchedule { name: schedule.into(), there });
        };
        let tokens = self.with_library((at, item), &mut Vec::new())?;
        let tree = self.parsed(syntax::parse(tokens.clone(), &mut spans, Schedule::parse).into_result(), &spans)?;
        let kernel = self.kernel(at, &texts(&tree.kernel))?;
        let profile = self.profile(at, &texts(&tree.profile), &mut spans, &mut Vec::new())?;
        Ok(Tokens { schedule: tokens, kernel, profile, files: self.files.clone() })
    }

    /// Returns a schedule of the requested file, with its kernel and its profile.
    ///
    /// # Errors
    /// As for [`Source::tokens`], and if the kernel cannot be parsed.
    pub fn subject(&self, schedule: &str) -> Result<Subject, SourceError> {
        self.tokens(schedule)?.parse().map_err(|errors| SourceError::Wrong { errors: self.place(errors.trim_end()) })
    }

    /// Returns a profile by its name, if it is bundled, or by its path in the requested file.
    ///
    /// # Errors
    /// If the path does not exist or leads out of the crate, or if the profile cannot be parsed.
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

    /// Replaces proc-macro2's names of files in a text of the compiler by the files' paths.
    pub fn place(&self, text: &str) -> String {
        self.files.place(text)
    }

    fn parsed<T>(&self, result: Result<T, Errors>, spans: &Spans) -> Result<T, SourceError> {
        result.map_err(|errors| SourceError::Wrong { errors: self.place(errors.texts(spans).trim_end()) })
    }

    /// Returns an item's tokens after its library, which has the tokens of the items that it uses. `seen` has the items that use it, to
    /// detect cycles.
    fn with_library(&self, (from, item): (usize, usize), seen: &mut Vec<(usize, usize)>) -> Result<TokenStream, SourceError> {
        let (mut library, item) = (Library::default(), &self.modules[from].items[item]);
        let (kind, does) = if item.kind == Kind::Schedule { (Kind::Schedule, "applies") } else { (Kind::Function, "imports") };
        while let Some(path) = library.missing(item.used()) {
            let found = paths::resolve(&self.modules, &self.crates, from, &path.names, kind)?;
            let paths::Found::Item(module, used) = found else {
                return Err(SourceError::WrongKind { path: path.text(), what: "a profile", wanted: kind.name() });
            };
            if seen.contains(&(module, used)) {
                return Err(SourceError::Circle { path: path.text(), what: kind.name(), does });
            }
            seen.push((module, used));
            let tokens = self.with_library((module, used), seen)?;
            seen.pop();
            library.add(path.literal(), Some(tokens));
        }
        Ok(match item.kind {
            Kind::Function => needed(&library, &item.tokens, &item.name),
            _ => library.before(&item.tokens),
        })
    }

    fn kernel(&self, from: usize, path: &[String]) -> Result<TokenStream, SourceError> {
        match paths::resolve(&self.modules, &self.crates, from, path, Kind::Kernel)? {
            paths::Found::Item(module, item) => self.with_library((module, item), &mut Vec::new()),
            paths::Found::Bundled(_) => Err(SourceError::WrongKind { path: path.join("::"), what: "a profile", wanted: "kernel" }),
        }
    }

    /// Returns a profile, with the profiles that it extends. `seen` has the profiles that extend it, to detect cycles.
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
            return Err(SourceError::Circle { path: path.join("::"), what: "profile", does: "extends" });
        }
        seen.push((module, item));
        let tokens = self.modules[module].items[item].tokens.clone();
        let tree = self.parsed(syntax::profile::parse(tokens, spans).into_result(), spans)?;
        let base = self.profile(module, &texts(&tree.base), spans, seen)?;
        self.parsed(base.extend(&tree), spans)
    }
}

/// Returns an item's own tokens, then the tokens of its library's items. A function follows its name in braces.
fn items_of(tokens: &TokenStream) -> Vec<TokenStream> {
    let (library, own) = Library::split(tokens.clone());
    let unwrapped = |tokens: TokenStream| match &tokens.clone().into_iter().collect::<Vec<_>>()[..] {
        [TokenTree::Ident(_), TokenTree::Group(functions)] => {
            let functions = split(&functions.stream()).into_iter().filter(|item| item.name.is_some());
            functions.map(|item| item.tokens).collect()
        }
        _ => vec![tokens],
    };
    [own].into_iter().chain(library.items().into_iter().flat_map(unwrapped)).collect()
}

fn texts(path: &[Name]) -> Vec<String> {
    path.iter().map(|name| name.text.clone()).collect()
}

fn canonical(file: &Path) -> Result<PathBuf, SourceError> {
    file.canonicalize().map_err(|error| SourceError::Read { path: file.into(), error })
}
