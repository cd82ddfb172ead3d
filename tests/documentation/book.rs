//! The book has every page of `docs/` once, its examples are compiled, and its listings and errors equal the named files.

use crate::page::{bodies, fences, from_root, of_the_docs, shown, unhidden};
use std::fs;
use std::path::PathBuf;
use tilewright_tests::root;

/// Returns the pages of the book, with their texts.
fn texts() -> Vec<(PathBuf, String)> {
    of_the_docs().into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Returns the chapters of the course, with their texts.
fn chapters() -> Vec<(PathBuf, String)> {
    let chapters: Vec<_> = texts().into_iter().filter(|(path, _)| path.parent().unwrap().ends_with("docs/book")).collect();
    assert!(chapters.len() >= 10, "{} chapters", chapters.len());
    chapters
}

/// `SUMMARY.md` lists every page once, and each entry exists.
#[test]
fn the_book_has_every_page_once() {
    let folder = root().join("docs");
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let entries = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<String> = entries.map(|entry| from_root(&folder.join(entry))).collect();
    listed.sort();
    let mut pages: Vec<String> =
        of_the_docs().iter().map(|page| from_root(page)).filter(|page| page != "docs/SUMMARY.md").collect();
    pages.sort();
    assert_eq!(listed, pages);
}

/// `book.toml` can be read, and the outputs of mdBook are beside the outputs of cargo.
#[test]
fn the_settings_of_the_book_can_be_read() {
    let settings: toml::Table = fs::read_to_string(root().join("docs/book.toml")).unwrap().parse().unwrap();
    assert_eq!(settings["book"]["src"].as_str(), Some("."));
    assert_eq!(settings["build"]["build-dir"].as_str(), Some("../target/book"));
}

/// Each page with examples is in `src/documentation.rs`.
#[test]
fn examples_of_all_pages_are_compiled() {
    let compiled = fs::read_to_string(root().join("src/documentation.rs")).unwrap();
    for page in of_the_docs() {
        let text = fs::read_to_string(&page).unwrap();
        if fences(&text).iter().any(|fence| fence.is_compiled()) {
            let name = from_root(&page);
            assert!(compiled.contains(&format!("\"../{name}\"")), "the examples of {name} are not compiled");
        }
    }
}

/// An example that begins with the path of a file, as `// examples/digits/kernel.rs`, shows items of that file. Comments may differ, and
/// hidden lines can have other items.
#[test]
fn listings_are_of_their_files() {
    let mut checked = 0;
    for (path, page) in texts() {
        for fence in fences(&page) {
            let (code, shown) = (unhidden(fence.text(&page)), shown(fence.text(&page)));
            let first = code.lines().next().unwrap_or_default();
            let Some(file) = first.strip_prefix("// ").filter(|name| fence.is_compiled() && name.ends_with(".rs")) else {
                continue;
            };
            let text = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{}: {file}: {e}", from_root(&path)));
            for name in ["functions", "kernel", "schedule", "profile"] {
                let written: Vec<String> = bodies(&text, name).into_iter().map(plain).collect();
                for item in bodies(&shown, name) {
                    assert!(written.contains(&plain(item)), "{}: {file} lacks {name}! {{{item}}}", from_root(&path));
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 10, "{checked} items");
}

/// Returns an item without comments and line breaks.
fn plain(item: &str) -> String {
    let code = item.lines().map(|line| line.split("//").next().unwrap());
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Each error in the chapter of errors is rustc's whole output for a program of `tests/ui`, and the example before it is that program.
#[test]
fn errors_are_those_of_rustc() {
    let (path, page) = chapters().into_iter().find(|(path, _)| path.ends_with("errors.md")).unwrap();
    let fences = fences(&page);
    let mut checked = 0;
    for (n, fence) in fences.iter().enumerate() {
        let shown = fence.text(&page);
        let Some((_, place)) = shown.split_once("--> ").filter(|_| shown.starts_with("error")) else { continue };
        let file = root().join("tests").join(place.split(':').next().unwrap());
        let name = from_root(&file);
        assert_eq!(shown, fs::read_to_string(file.with_extension("stderr")).unwrap(), "{}: {name}", from_root(&path));
        let (program, code) = (fs::read_to_string(&file).unwrap(), unhidden(fences[n - 1].text(&page)));
        assert_eq!(fences[n - 1].language, "rust,compile_fail", "{name}");
        for item in ["kernel", "schedule"].iter().flat_map(|item| bodies(&program, item)) {
            assert!(plain(&code).contains(&plain(item)), "{}: the example before the error of {name}", from_root(&path));
        }
        checked += 1;
    }
    assert!(checked >= 10, "{checked} errors");
}
