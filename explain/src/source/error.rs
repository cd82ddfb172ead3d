//! Why a variant was not found in the files.

use crate::compare::meant;
use std::path::PathBuf;
use thiserror::Error;

/// Why a variant was not found.
#[derive(Debug, Error)]
pub enum SourceError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file is not Rust.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What syn says.
        message: String,
    },
    /// A `mod name;` whose file is not there.
    #[error("{}: the file of `mod {name};` is not there: looked for {}", from.display(), tried.join(" and "))]
    NoModule {
        /// The file that declares it.
        from: PathBuf,
        /// The module.
        name: String,
        /// Where it could have been.
        tried: Vec<String>,
    },
    /// No schedule of that name in the file.
    #[error("the file has no schedule `{name}`{}; its schedules: {}", meant(name, there), tilewright_dsl::diag::list(there))]
    NoSchedule {
        /// What was asked for.
        name: String,
        /// What there is.
        there: Vec<String>,
    },
    /// A path leads nowhere.
    #[error("`{path}` is found nowhere: {why}")]
    NotFound {
        /// The path.
        path: String,
        /// Where the way ends.
        why: String,
    },
    /// A path leads into another crate.
    #[error("`{path}` stands in `{name}`, which is not read: {why}")]
    OtherCrate {
        /// The path.
        path: String,
        /// The crate, or what is taken for one.
        name: String,
        /// Why it is not read.
        why: String,
    },
    /// A path leads to several items.
    #[error("`{path}` leads to several items: `cfg` is not evaluated here")]
    Several {
        /// The path.
        path: String,
    },
    /// A path leads to an item of another kind.
    #[error("`{path}` is {what}, not a {wanted}")]
    WrongKind {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
        /// What is wanted.
        wanted: &'static str,
    },
    /// A profile extends itself.
    #[error("the profile `{path}` extends itself")]
    Circle {
        /// The path.
        path: String,
    },
    /// The compiler's parsers refuse an item.
    #[error("{errors}")]
    Wrong {
        /// What they say, with places.
        errors: String,
    },
}
