//! Runs rustc on programs, with the libraries that the tests were built with.

use crate::diagnostics::{self, Diagnostic};
use crate::program::{Program, folder_of_tests};
use std::collections::HashMap;
use std::env;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The libraries that programs use.
const LIBRARIES: [&str; 2] = ["tilewright", "chain_kernels"];

/// Returns the folder of the tests' libraries.
fn folder_of_libraries() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Returns the files of [`LIBRARIES`]. Cargo names them, because a target folder may have the libraries of several builds.
fn libraries() -> &'static HashMap<String, PathBuf> {
    static FOUND: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let folder = folder_of_libraries();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--workspace", "--locked", "--test", "compile_fail", "--no-run", "--message-format", "json"]);
        cargo.arg("--target-dir").arg(folder.ancestors().nth(2).unwrap()).current_dir(folder_of_tests());
        let output = cargo.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "cargo does not build the libraries");
        let found: HashMap<String, PathBuf> = String::from_utf8(output.stdout).unwrap().lines().filter_map(library).collect();
        assert_eq!(found.len(), LIBRARIES.len(), "{found:?}");
        found
    })
}

/// Returns the library of a message of cargo, with its name.
fn library(message: &str) -> Option<(String, PathBuf)> {
    let message: serde_json::Value = serde_json::from_str(message).unwrap();
    let name = message["target"]["name"].as_str()?;
    let is_library = message["reason"] == "compiler-artifact" && message["target"]["kind"][0] == "lib" && LIBRARIES.contains(&name);
    let mut files = message["filenames"].as_array().filter(|_| is_library)?.iter().filter_map(|file| file.as_str());
    files.find(|file| file.ends_with(".rlib")).map(|file| (name.to_owned(), Path::new(file).to_owned()))
}

/// Returns what rustc prints about a file, or about a source if the file is `-`.
fn diagnostics_of(file: &str, source: &str) -> Vec<Diagnostic> {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
    rustc.args([
        file,
        "--crate-name",
        "program",
        "--crate-type",
        "bin",
        "--edition",
        "2024",
        "--emit",
        "metadata",
        "--error-format",
        "json",
    ]);
    rustc.arg("--verbose"); // whole types
    rustc.arg("--out-dir").arg(env!("CARGO_TARGET_TMPDIR"));
    rustc.arg("-L").arg(format!("dependency={}", folder_of_libraries().display()));
    for (name, file) in libraries() {
        rustc.arg("--extern").arg(format!("{name}={}", file.display()));
    }
    rustc.current_dir(folder_of_tests()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = rustc.spawn().unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "rustc succeeds: {file}\n{source}");
    printed.lines().filter_map(diagnostics::parse).collect()
}

/// Returns what rustc prints about a program.
pub(crate) fn compile(program: &Program) -> String {
    diagnostics::text(&diagnostics_of(&program.path, ""))
}

/// Returns what rustc prints about each of several programs, by their paths. They are modules of one crate. The result is empty if there is
/// an error outside of them, because their own errors may then be incomplete.
pub(crate) fn compile_together(programs: &[&Program]) -> HashMap<String, String> {
    let mut source = String::new();
    for (n, program) in programs.iter().enumerate() {
        writeln!(source, "#[path = {:?}] mod program_{n};", program.path).unwrap();
    }
    let diagnostics = if programs.is_empty() { Vec::new() } else { diagnostics_of("-", &(source + "fn main() {}")) };
    let mut of_programs: HashMap<String, Vec<Diagnostic>> =
        programs.iter().map(|program| (program.path.clone(), Vec::new())).collect();
    for diagnostic in diagnostics {
        match of_programs.get_mut(&diagnostic.file) {
            Some(own) => own.push(diagnostic),
            None => return HashMap::new(),
        }
    }
    of_programs.into_iter().map(|(path, own)| (path, diagnostics::text(&own))).collect()
}
