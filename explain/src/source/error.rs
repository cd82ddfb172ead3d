//! Errors of finding a variant in the files.

use crate::compare::meant;
use std::path::PathBuf;
use thiserror::Error;

/// The reason for which a variant was not found.
#[derive(Debug, Error)]
pub enum SourceError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
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
        /// The message of syn.
        message: String,
    },
    /// The file of a `mod name;` does not exist.
    #[error("{}: the file of `mod {name};` does not exist: looked for {}", from.display(), tried.join(" and "))]
    NoModule {
        /// The file that declares it.
        from: PathBuf,
        /// The module.
        name: String,
        /// The paths that were tried.
        tried: Vec<String>,
    },
    /// The file has no schedule of that name.
    #[error("`{name}` is not a schedule of the file{}; its schedules: {}", meant(name, there), tilewright_dsl::diag::list(there))]
    NoSchedule {
        /// The requested name.
        name: String,
        /// The names of the file's schedules.
        there: Vec<String>,
    },
    /// The file does not have a kernel of that name.
    #[error("`{name}` is not a kernel of the file{}; its kernels: {}", meant(name, there), tilewright_dsl::diag::list(there))]
    NoKernel {
        /// The requested name.
        name: String,
        /// The names of the file's kernels.
        there: Vec<String>,
    },
    /// A path does not exist.
    #[error("cannot find `{path}`: {why}")]
    NotFound {
        /// The path.
        path: String,
        /// The reason.
        why: String,
    },
    /// A path leads into another crate.
    #[error("`{path}` is in the crate `{name}`, which is not read: {why}")]
    OtherCrate {
        /// The path.
        path: String,
        /// The crate, or the name that is assumed to be one.
        name: String,
        /// The reason why it is not read.
        why: String,
    },
    /// A path leads to several items.
    #[error("`{path}` names several items, because `cfg` is not evaluated here")]
    Several {
        /// The path.
        path: String,
    },
    /// A path leads to an item of another kind.
    #[error("`{path}` is {what}, not a {wanted}")]
    WrongKind {
        /// The path.
        path: String,
        /// The kind of the item.
        what: &'static str,
        /// The expected kind.
        wanted: &'static str,
    },
    /// A profile extends itself, or a schedule applies itself.
    #[error("the {what} `{path}` {does} itself")]
    Circle {
        /// The path.
        path: String,
        /// The kind of the item.
        what: &'static str,
        /// The verb.
        does: &'static str,
    },
    /// The compiler's parsers refuse an item.
    #[error("{errors}")]
    Wrong {
        /// The parsers' errors, with places.
        errors: String,
    },
}
