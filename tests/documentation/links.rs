//! The links of the pages lead somewhere, in the repository and in the built book.

use crate::page::{fences, from_root, pages};
use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use tilewright_tests::root;

/// The address of the repository's files and folders.
const REPOSITORY: &str = "https://github.com/tilewright/tilewright/";

/// Checks that links to files and headings are valid. The built book has the files of `docs/` only, so its pages link to other files
/// by the repository's address.
#[test]
fn links_lead_somewhere() {
    let (mut wrong, mut headings) = (Vec::new(), HashMap::new());
    for page in pages() {
        let text = without_code(&fs::read_to_string(&page).unwrap());
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if let Err(why) = lead(&page, target, &mut headings) {
                wrong.push(format!("{}: the link {target} {why}", from_root(&page)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks one link of a page.
fn lead(page: &Path, target: &str, headings: &mut HashMap<PathBuf, Vec<String>>) -> Result<(), String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let is_of_the_docs = from_root(page).starts_with("docs/");
    let file = match path.strip_prefix(REPOSITORY) {
        Some(rest) => match rest.strip_prefix("blob/main/").or(rest.strip_prefix("tree/main/")) {
            Some(path) => root().join(path),
            None => return Ok(()),
        },
        None if path.contains("://") => return Ok(()),
        None if path.is_empty() => page.to_owned(),
        None => {
            let file = plain(&page.parent().unwrap().join(path));
            if is_of_the_docs && !file.starts_with(root().join("docs")) {
                return Err(format!("leaves the book: write {REPOSITORY}blob/main/{}", from_root(&file)));
            }
            file
        }
    };
    if !file.exists() {
        return Err("leads nowhere".into());
    }
    if heading.is_empty() || file.extension().is_none_or(|extension| extension != "md") {
        return Ok(());
    }
    let known = headings.entry(file.clone()).or_insert_with(|| anchors(&fs::read_to_string(&file).unwrap()));
    if known.iter().any(|known| known == heading) { Ok(()) } else { Err("names a heading that is not on the page".into()) }
}

/// Returns a path without its `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(component);
        }
    }
    plain
}

/// Returns a page without its fenced blocks.
fn without_code(page: &str) -> String {
    let mut text = page.to_owned();
    for fence in fences(page).iter().rev() {
        text.replace_range(fence.start..fence.end, "");
    }
    text
}

/// Returns the names by which links address the headings of a page, as mdBook and the repository's site make them.
fn anchors(page: &str) -> Vec<String> {
    let text = without_code(page);
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: char| (c.is_alphanumeric() || c == '-' || c == '_').then(|| c.to_ascii_lowercase());
    headings.map(|heading| heading.chars().filter_map(|c| if c == ' ' { Some('-') } else { kept(c) }).collect()).collect()
}
