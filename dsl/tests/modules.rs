//! Which modules use which: what is to judge others must not be made of them.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules, and the others of this crate that they may use.
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

/// The modules that a line of code names, by paths that begin at the root or above the module.
fn named(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let paths = code.split("crate::").skip(1);
    paths.map(|path| path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

#[test]
fn modules_use_what_they_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (module, allowed) in ALLOWED {
        let mut sources = Vec::new();
        files(&root.join(module), &mut sources);
        assert!(sources.len() > 5, "`{module}` is not there");
        for source in sources {
            let text = fs::read_to_string(&source).expect("readable");
            for (n, line) in text.lines().enumerate() {
                let others = named(line).into_iter().filter(|name| name != module && !allowed.contains(&name.as_str()));
                wrong.extend(others.map(|name| format!("{}:{}: `{module}` uses `{name}`", source.display(), n + 1)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_found() {
    assert_eq!(named("use crate::lower::local; // crate::schedule"), ["lower"]);
    assert_eq!(named("    let size = crate::lower::local::size(program) + crate::nest::one();"), ["lower", "nest"]);
    assert!(named("use super::site::Site;").is_empty());
}
