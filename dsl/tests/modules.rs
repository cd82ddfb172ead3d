//! Checks the dependencies between modules. For example, the verifier must not use the modules that it checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules, each with the modules of this crate that it may use.
const ALLOWED: [(&str, &[&str]); 2] =
    [("verify", &["arena", "diag", "expr", "facts", "launch", "nest", "profile"]), ("facts", &["arena", "expr", "nest", "table"])];

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

#[test]
fn names_are_found() {
    assert_eq!(named("use crate::lower::local; // crate::schedule"), ["lower"]);
    assert_eq!(named("    let size = crate::lower::local::size(program) + crate::nest::one();"), ["lower", "nest"]);
    assert!(named("use super::site::Site;").is_empty());
}
