//! The pages, their fenced blocks, and the items of their examples.

use std::fs;
use std::path::{Path, PathBuf};
use tilewright_tests::root;

/// Returns the pages at the root, and all of `docs/`.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut pages =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(|page| root().join(page)).to_vec();
    pages.extend(of_the_docs());
    pages.sort();
    pages
}

/// Returns the pages in `docs/` and its folders.
pub(crate) fn of_the_docs() -> Vec<PathBuf> {
    let (mut open, mut pages) = (vec![root().join("docs")], Vec::new());
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Returns a path from the repository's root, with slashes.
pub(crate) fn from_root(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/")
}

/// A fenced block: its language, and the position of its content in the page.
pub(crate) struct Fence {
    pub(crate) language: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Fence {
    /// Returns the content.
    pub(crate) fn text<'p>(&self, page: &'p str) -> &'p str {
        &page[self.start..self.end]
    }

    /// True if the content is an example that the tests compile.
    pub(crate) fn is_compiled(&self) -> bool {
        let mut words = self.language.split(',');
        words.next() == Some("rust") && !words.any(|word| word == "ignore")
    }
}

pub(crate) fn fences(page: &str) -> Vec<Fence> {
    let (mut found, mut open, mut at): (Vec<Fence>, Option<Fence>, usize) = (Vec::new(), None, 0);
    for line in page.split_inclusive('\n') {
        let next = at + line.len();
        if let Some(language) = line.strip_prefix("```") {
            match open.take() {
                Some(fence) => found.push(Fence { end: at, ..fence }),
                None => open = Some(Fence { language: language.trim().into(), start: next, end: next }),
            }
        }
        at = next;
    }
    assert!(open.is_none(), "a fence is not closed");
    found
}

/// Returns an example as rustdoc compiles it: its hidden lines are lines like the others.
pub(crate) fn unhidden(example: &str) -> String {
    let line = |line: &str| {
        let text = line.trim_start();
        let shown = if text == "#" { "" } else { text.strip_prefix("# ").unwrap_or(line) };
        format!("{shown}\n")
    };
    example.lines().map(line).collect()
}

/// Returns an example without its hidden lines.
pub(crate) fn shown(example: &str) -> String {
    let is_hidden = |line: &str| line.trim() == "#" || line.trim_start().starts_with("# ");
    example.lines().filter(|line| !is_hidden(line)).map(|line| format!("{line}\n")).collect()
}

/// Returns the text between the braces of each `name! { … }`.
pub(crate) fn bodies<'a>(code: &'a str, name: &str) -> Vec<&'a str> {
    let (start, mut rest, mut found) = (format!("{name}! {{"), code, Vec::new());
    while let Some(at) = rest.find(&start) {
        let (inner, mut depth) = (&rest[at + start.len()..], 1);
        let end = inner.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let end = end.unwrap_or_else(|| panic!("a brace of {name}! is not closed"));
        found.push(&inner[..end]);
        rest = &inner[end..];
    }
    found
}
