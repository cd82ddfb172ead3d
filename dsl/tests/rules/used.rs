//! The places in the code that use a rule.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tilewright_dsl::expr::rules::{Rule, Table, tables};

/// The folders whose code uses rules, from the root of the repository.
const FOLDERS: [&str; 3] = ["dsl/src", "codegen/src", "backend-spirv/src"];

/// The folder that defines the rules.
const DEFINED: &str = "dsl/src/expr/rules";

/// The files that use a rule: in code, or in a comment beside the algorithm that the rule is part of.
#[derive(Default, Clone)]
pub(crate) struct Uses {
    pub(crate) applied: Vec<String>,
    pub(crate) stated: Vec<String>,
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(at: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Returns the places of each rule and each table.
pub(crate) fn uses() -> BTreeMap<String, Uses> {
    let (root, mut sources) = (root(), Vec::new());
    FOLDERS.iter().for_each(|folder| files(&root.join(folder), &mut sources));
    sources.sort();
    let mut found: BTreeMap<String, Uses> = BTreeMap::new();
    for source in sources {
        let path = source.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        if path.starts_with(DEFINED) {
            continue;
        }
        for line in fs::read_to_string(&source).unwrap().lines() {
            let (code, comment) = line.split_once("//").map_or((line, ""), |(code, comment)| (code, comment));
            for (text, is_code) in [(code, true), (comment, false)] {
                for word in text.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')) {
                    let uses = found.entry(word.to_owned()).or_default();
                    let places = if is_code { &mut uses.applied } else { &mut uses.stated };
                    if !places.contains(&path) {
                        places.push(path.clone());
                    }
                }
            }
        }
    }
    found
}

/// Returns the places of a rule: by its own name, or by the name of its table.
pub(crate) fn uses_of(uses: &BTreeMap<String, Uses>, table: &Table, rule: &Rule) -> Uses {
    uses.get(rule.name).or_else(|| uses.get(table.name)).cloned().unwrap_or_default()
}

#[test]
fn each_rule_is_used() {
    let uses = uses();
    let mut unused = Vec::new();
    for table in tables() {
        for rule in table.rules {
            let of = uses_of(&uses, &table, rule);
            if of.applied.is_empty() && of.stated.is_empty() {
                unused.push(rule.name);
            }
        }
    }
    assert!(unused.is_empty(), "no code names {unused:?}");
}
