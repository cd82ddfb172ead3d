//! Checks the dependencies between modules. For example, the verifier must not use the modules that it checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules, each with the modules of this crate that it may use.
const ALLOWED: [(&str, &[&str]); 2] =
    [("verify", &["arena", "diag", "expr", "facts", "launch", "nest", "profile"]), ("facts", &["arena", "expr", "nest", "table"])];

/// Folders of modules, each in its order: a folder uses only the folders before it. The files beside the folders are shared, and
/// have no place in the order.
const ORDERED: [(&str, &str, &[&str]); 5] = [
    ("src", "schedule", &["loops", "invocations", "algebra", "memory", "matrices", "statements"]),
    ("src", "facts", &["polynomials", "refutation", "sources", "proof"]),
    ("src", "verify", &["loops", "reductions", "memory", "values"]),
    ("../codegen/src", "", &["values", "formulas", "drivers", "cost"]),
    ("../src", "", &["device", "tensor", "launch", "reference", "vulkan", "kernel", "program"]),
];

fn files(at: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Returns the modules that a line of code names, by paths that begin at the root or above the module.
fn named(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let paths = code.split("crate::").skip(1);
    paths.map(|path| path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

/// Returns each line that names another module, as its position, its module, and the named module.
fn uses() -> Vec<(String, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut sources, mut found) = (Vec::new(), Vec::new());
    files(&root, &mut sources);
    for source in sources {
        let text = fs::read_to_string(&source).expect("readable");
        let path = source.strip_prefix(&root).expect("within").with_extension("");
        let module = path.iter().next().expect("a name").to_string_lossy().into_owned();
        for (n, line) in text.lines().enumerate() {
            let others = named(line).into_iter().filter(|name| *name != module);
            assert!(named(line).iter().all(|name| !name.is_empty()), "{line}: one module a line");
            found.extend(others.map(|name| (format!("{}:{}", source.display(), n + 1), module.clone(), name)));
        }
    }
    found
}

#[test]
fn modules_use_what_they_may() {
    let uses = uses();
    let mut wrong = Vec::new();
    for (module, allowed) in ALLOWED {
        let mut its = uses.iter().filter(|(_, of, _)| of == module).peekable();
        assert!(its.peek().is_some(), "`{module}` is not there");
        let not_allowed = its.filter(|(_, _, name)| !allowed.contains(&name.as_str()));
        wrong.extend(not_allowed.map(|(at, _, name)| format!("{at}: `{module}` uses `{name}`")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Modules do not depend on each other in a cycle.
#[test]
fn modules_have_an_order() {
    let mut left = uses();
    assert!(left.len() > 100);
    // Removes the modules that use no remaining module.
    loop {
        let users: BTreeSet<String> = left.iter().map(|(_, module, _)| module.clone()).collect();
        let before = left.len();
        left.retain(|(_, _, name)| users.contains(name));
        if left.len() == before {
            break;
        }
    }
    let lines: Vec<String> = left.iter().map(|(at, module, name)| format!("{at}: `{module}` uses `{name}`")).collect();
    assert!(left.is_empty(), "in a cycle, or before one:\n{}", lines.join("\n"));
}

/// Returns the modules within `layer` that a line names: by paths from the root, or by paths above `module`, which contains the line.
fn within(line: &str, layer: &[String], module: &[String]) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..at].ends_with(is_word) {
            continue;
        }
        let path: Vec<&str> = code[at..].split(|c| !is_word(c)).next().unwrap_or_default().split("::").collect();
        let above = path.iter().take_while(|name| **name == "super").count();
        let from: &[String] = if above == 0 { &[] } else { &module[..module.len().saturating_sub(above)] };
        let named = path.iter().skip(above.max(1)).map(|name| (*name).to_owned());
        let full: Vec<String> = from.iter().cloned().chain(named).collect();
        let Some(rest) = full.strip_prefix(layer) else { continue };
        match rest.first() {
            Some(name) if !name.is_empty() => found.push(name.clone()),
            // The names in braces.
            _ => {
                let braces = code[at..].split_once('{').map_or("", |(_, list)| list.split('}').next().unwrap_or_default());
                found.extend(braces.split(',').filter_map(|path| path.trim().split("::").next()).map(str::to_owned));
            }
        }
    }
    found
}

/// Returns the folders in a folder.
fn folders(at: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(at).expect("a folder").map(|entry| entry.expect("readable").path());
    entries.filter(|path| path.is_dir()).map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
}

#[test]
fn folders_have_an_order() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for (root, layer, order) in ORDERED {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
        let layer: Vec<String> = layer.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let at = layer.iter().fold(root.clone(), |at, name| at.join(name));
        assert_eq!(folders(&at), order.iter().map(|name| (*name).to_owned()).collect(), "the folders of {}", at.display());
        for (n, folder) in order.iter().enumerate() {
            let mut sources = Vec::new();
            files(&at.join(folder), &mut sources);
            for source in sources {
                let path = source.strip_prefix(&root).expect("within").with_extension("");
                let mut module: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                module.retain(|name| name != "mod");
                for line in fs::read_to_string(&source).expect("readable").replace("{\n", "{").lines() {
                    let later = within(line, &layer, &module).into_iter().filter(|name| order[n + 1..].contains(&name.as_str()));
                    wrong.extend(later.map(|name| format!("{}: `{folder}` uses `{name}`: {line}", source.display())));
                    checked += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty() && checked > 10_000, "{}", wrong.join("\n"));
}

#[test]
fn names_are_found() {
    assert_eq!(named("use crate::lower::local; // crate::schedule"), ["lower"]);
    assert_eq!(named("    let size = crate::lower::local::size(program) + crate::nest::one();"), ["lower", "nest"]);
    assert!(named("use super::site::Site;").is_empty());
    let path = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let within = |line: &str| within(line, &path("schedule"), &path("schedule loops split"));
    assert_eq!(within("use crate::schedule::memory::{copies, promote};"), ["memory"]);
    assert_eq!(within("use crate::schedule::{Applied, loops::split};"), ["Applied", "loops"]);
    assert_eq!(within("use super::super::memory::copies;"), ["memory"]);
    assert!(within("use crate::nest::memory; // crate::schedule::memory").is_empty());
}
