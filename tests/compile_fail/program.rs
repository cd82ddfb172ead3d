//! The programs of `tests/ui`, with the errors that they should have.

use std::fs;
use std::path::PathBuf;
use tilewright_tests::root;

/// A program that should not compile.
pub(crate) struct Program {
    /// The file, from the folder `tests`: the path that rustc prints.
    pub(crate) path: String,
    /// The errors that rustc should print. They are empty until that file exists.
    pub(crate) expected: String,
}

impl Program {
    /// Returns the file of the errors.
    pub(crate) fn file_of_errors(&self) -> PathBuf {
        folder_of_tests().join(&self.path).with_extension("stderr")
    }

    /// True if all expected errors are errors of macros in the program's own file. Only such programs are compiled together: after an error
    /// of rustc's own, or in a file that several programs share, rustc may not reach the other programs.
    pub(crate) fn has_plain_errors(&self) -> bool {
        let is_plain = |line: &str| !line.starts_with("error[") && !line.starts_with("warning");
        let is_own =
            |line: &str| line.trim_start().strip_prefix("--> ").is_none_or(|place| place.starts_with(&format!("{}:", self.path)));
        !self.expected.is_empty() && self.expected.lines().all(|line| is_plain(line) && is_own(line))
    }
}

/// Returns the folder in which rustc runs.
pub(crate) fn folder_of_tests() -> PathBuf {
    root().join("tests")
}

/// Returns the programs of a folder of `tests/ui`, by name.
pub(crate) fn of_folder(folder: &str) -> Vec<Program> {
    let entries = fs::read_dir(folder_of_tests().join("ui").join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<String> = names.filter(|name| name.ends_with(".rs")).map(|name| format!("ui/{folder}/{name}")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no programs");
    let with_errors = |path: String| {
        let mut program = Program { path, expected: String::new() };
        program.expected = fs::read_to_string(program.file_of_errors()).unwrap_or_default();
        program
    };
    paths.into_iter().map(with_errors).collect()
}
