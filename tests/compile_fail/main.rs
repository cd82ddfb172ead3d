//! Programs that do not compile, each with rustc's whole output. A different error is a failure, and so is an additional one.
//!
//! Each program of `tests/ui` has its own file, and its errors in a file beside it. `tests/ui/support` has the kernels and profiles that are
//! in other files than the schedules. [`rustc`] compiles the programs of a folder together, because starting rustc takes longer than most
//! programs. A program whose errors then differ is compiled alone, and that output counts.
//!
//! `TILEWRIGHT_UI=overwrite cargo test --workspace --test compile_fail` writes the current errors, for review.
//! `TILEWRIGHT_UI=vectorize` checks only the programs whose paths contain the word.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod diagnostics;
mod program;
mod rustc;

use program::Program;
use std::{env, fs};
use tilewright_tests::root;

/// Declares a test for each folder of programs.
macro_rules! folders {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        const FOLDERS: &[&str] = &[$(stringify!($name)),*];
    };
}

folders!(
    apply,
    compute_at,
    directives,
    families,
    fragment,
    functions,
    head,
    kernel,
    layouts,
    mma,
    pipeline,
    profile,
    promote,
    shared,
    unsafe_code,
);

/// Returns true if the errors are written, and the word that the paths of the programs to check contain.
fn mode() -> (bool, String) {
    let mode = env::var("TILEWRIGHT_UI").unwrap_or_default();
    if mode == "overwrite" { (true, String::new()) } else { (false, mode) }
}

#[test]
fn every_folder_is_checked() {
    let entries = fs::read_dir(root().join("tests/ui")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = entries.filter(|name| name != "support").collect();
    found.sort();
    assert_eq!(found, FOLDERS);
    let (_, word) = mode();
    let has_word = |program: &Program| program.path.contains(&word);
    assert!(FOLDERS.iter().any(|folder| program::of_folder(folder).iter().any(has_word)), "no program's path contains `{word}`");
}

/// Checks the programs of a folder, or writes their errors.
fn check(folder: &str) {
    let (overwrite, word) = mode();
    let programs: Vec<Program> = program::of_folder(folder).into_iter().filter(|program| program.path.contains(&word)).collect();
    let together: Vec<&Program> = programs.iter().filter(|program| program.has_plain_errors()).collect();
    let outputs = rustc::compile_together(&together);
    let mut failures = Vec::new();
    for program in &programs {
        if outputs.get(&program.path) == Some(&program.expected) {
            continue;
        }
        let output = rustc::compile(program);
        if overwrite {
            fs::write(program.file_of_errors(), output).unwrap();
        } else if output != program.expected {
            failures.push(format!("{}\n\n---- expected\n{}\n---- rustc\n{output}", program.path, program.expected));
        }
    }
    assert!(failures.is_empty(), "{} of {} programs:\n\n{}", failures.len(), programs.len(), failures.join("\n\n"));
}
