//! Checks the documentation: the nests on its pages are the compiler's, its table of profiles has the compiler's numbers, its links are
//! valid, and the book has every page. (`src/documentation.rs` checks that its examples compile.)
//!
//! `UPDATE_DOCS=1 cargo test -p tilewright-tests --test documentation` rewrites the nests.

#![allow(clippy::unwrap_used, reason = "tests")]

mod book;
mod links;
mod nests;
mod page;

use std::fs;
use std::path::PathBuf;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::schedule::DIRECTIVES;
use tilewright_dsl::syntax::words;
use tilewright_spirv::defects::{DEFECTS, Defect};
use tilewright_tests::root;

/// Packages whose unit tests `cargo test` does not build have none.
#[test]
fn libraries_without_a_test_build_have_no_tests() {
    let mut checked = 0;
    for package in packages() {
        let manifest = fs::read_to_string(root().join(&package).join("Cargo.toml")).unwrap();
        let library = manifest.split_once("[lib]").map_or("", |(_, rest)| rest.split("\n[").next().unwrap());
        if library.contains("test = false") {
            checked += 1;
            for (file, text) in files_in(&format!("{package}/src")) {
                assert!(!text.lines().any(|line| line.trim() == "#[test]"), "{file}");
            }
        }
    }
    assert!(checked >= 9, "{checked} packages");
}

/// Checks that each file of tests is a module of a test program of its package, or such a program.
#[test]
fn files_of_tests_are_built() {
    let (mut wrong, mut programs) = (Vec::new(), 0);
    for package in packages() {
        let manifest = fs::read_to_string(root().join(&package).join("Cargo.toml")).unwrap();
        let tests = files_in(&format!("{package}/tests"));
        let text = |name: String| tests.iter().find(|(other, _)| *other == name).map_or("", |(_, text)| text);
        if !manifest.contains("autotests = false") || text(format!("{package}/tests/main.rs")).is_empty() {
            continue;
        }
        programs += 1;
        for (name, _) in &tests {
            let file = name.strip_suffix("/mod.rs").or(name.strip_suffix(".rs")).unwrap();
            let (folder, module) = file.rsplit_once('/').unwrap();
            let is_listed =
                ["main", "mod"].iter().any(|root| text(format!("{folder}/{root}.rs")).contains(&format!("mod {module};")));
            let is_program = module == "main" || manifest.contains(&format!("path = \"tests/{module}.rs\""));
            // Programs that a test reads are not modules.
            if !is_listed && !is_program && !folder.ends_with("/files") {
                wrong.push(format!("{name} is not a module of a test program"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(programs >= 5, "{programs} programs");
}

/// Returns the folders of the workspace's packages.
fn packages() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    members.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the Rust files in a folder, if it exists, by their paths from the root, and their texts.
fn files_in(folder: &str) -> Vec<(String, String)> {
    if root().join(folder).is_dir() { rust_files(&[folder]) } else { Vec::new() }
}

/// The words of Halide's schedules on the page are directives, or have a row in the compiler's table of other languages' words.
#[test]
fn words_of_halide_have_helps() {
    let page = fs::read_to_string(root().join("docs/halide.md")).unwrap();
    let (_, table) = page.split_once("### The schedule").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let first = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let words: Vec<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    // `f.in(g)` is `in`, and `vectorize(x, 8)` is `vectorize`.
    let names = words.iter().map(|word| word.split('(').next().unwrap()).map(|word| word.rsplit('.').next().unwrap());
    let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_known = |name: &&str| {
        DIRECTIVES.iter().any(|row| row.name == *name) || words::DIRECTIVES.iter().any(|word| word.names.contains(name))
    };
    let (known, unknown): (Vec<&str>, Vec<&str>) = names.filter(is_plain).partition(is_known);
    assert!(unknown.is_empty() && known.len() > 40, "{unknown:?} are not known, {known:?} are");
}

/// Each folder in the code map of `ARCHITECTURE.md` exists and has a function with the name of its entry.
#[test]
fn the_code_map_names_what_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, map) = page.split_once("## The code map").expect("a code map");
    let mut checked = 0;
    for row in map.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        assert_eq!(cells.len(), 6, "{row}");
        let (folder, entry) = (cells[1], cells[3]);
        let files = rust_files(&[folder]);
        assert!(!files.is_empty(), "{folder} has no sources");
        let defined = |text: &str| text.contains(&format!("fn {entry}(")) || text.contains(&format!("fn {entry}<"));
        assert!(files.iter().any(|(_, text)| defined(text)), "{folder} has no function `{entry}`");
        checked += 1;
    }
    assert!(checked > 20, "{checked} rows");
}

/// The backend's table of defects has a row for each defect in `docs/drivers.md`, in the same order and with the same driver. Other drivers
/// in a row are named in the section. The file and the test in each row exist.
#[test]
fn defects_of_drivers_are_documented() {
    let page = fs::read_to_string(root().join("docs/drivers.md")).unwrap();
    let mut sections = Vec::new();
    for part in page.split("\n## ").skip(1) {
        let driver = part.split(" (").next().unwrap();
        sections.extend(part.split("\n### ").skip(1).map(|section| (section, driver)));
    }
    let tests = rust_files(&["tests"]);
    assert_eq!(DEFECTS.len(), sections.len(), "the rows, and the sections of docs/drivers.md");
    for (defect, (section, driver)) in DEFECTS.iter().zip(sections) {
        let Defect { title, found, code, test, .. } = *defect;
        assert_eq!((title, found[0].to_string().as_str()), (section.lines().next().unwrap(), driver));
        for release in &found[1..] {
            let is_named = [release.driver, "Lavapipe"].iter().any(|name| section.contains(name));
            assert!(is_named, "{title}: docs/drivers.md does not name {release}");
        }
        assert!(root().join(code).exists(), "{title}: there is no {code}");
        let is_named = section.contains(test) || section.contains("tests/kernels/");
        assert!(is_named, "{title}: docs/drivers.md does not name {test}");
        let defined = format!("fn {test}(");
        assert!(tests.iter().any(|(_, text)| text.contains(&defined)), "{title}: there is no test {test}");
    }
}

/// Each file and folder that a page of `docs/decisions` names as its place in the code exists, and the index lists each page.
#[test]
fn decisions_name_what_is_there() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut checked = 0;
    for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let file = path.file_name().unwrap().to_str().unwrap();
        if file == "README.md" {
            continue;
        }
        assert!(index.contains(&format!("]({file})")), "the index lacks {file}");
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.contains("\nStatus: in force\n") || page.contains("\nStatus: replaced by "), "{file} has no status");
        let (_, places) = page.split_once("## Where in the code").unwrap_or_else(|| panic!("{file} names no place in the code"));
        for place in places.split('`').skip(1).step_by(2) {
            assert!(root().join(place).exists(), "{file}: there is no {place}");
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked} pages");
}

/// The tables in `docs/profiles.md` have the compiler's numbers: the first one has the guarantees, the second one the figures for estimates.
#[test]
fn profiles_are_the_compilers() {
    let page = fs::read_to_string(root().join("docs/profiles.md")).unwrap();
    for profile in Profile::all_bundled() {
        let start = format!("| `{}` |", profile.name);
        let rows: Vec<&str> = page.lines().filter(|l| l.starts_with(&start)).collect();
        let [row, figures] = rows[..] else { panic!("{} rows for {}", rows.len(), profile.name) };
        let known = [
            profile.gflops,
            profile.matrix_gflops,
            profile.bandwidth,
            profile.registers,
            profile.core_registers,
            profile.core_shared_bytes,
            profile.core_invocations,
            profile.cores,
            profile.l2_bytes,
            profile.banks,
        ];
        let known: Vec<String> = known.iter().map(|n| n.map_or("-".into(), |n| n.to_string())).collect();
        let cells: Vec<&str> = figures.split('|').map(str::trim).collect();
        assert_eq!(cells[2..cells.len() - 1], known, "{figures}");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let subgroup = profile.subgroup.map_or("none".into(), |n| n.to_string());
        let expected = [
            profile.invocations.to_string(),
            profile.local.map(|n| n.to_string()).join(", "),
            profile.shared_bytes.to_string(),
            subgroup,
            profile.subgroups.to_string(),
            profile.push_bytes.to_string(),
        ];
        assert_eq!(cells[2..8], expected, "{row}");
        let lacking = tilewright::Feature::ALL.iter().filter(|(f, _)| !profile.has(*f)).map(|(_, name)| *name).collect::<Vec<_>>();
        match cells[8] {
            "all" => assert_eq!(lacking, [] as [&str; 0]),
            "none" => assert!(profile.features.is_empty()),
            text => assert_eq!(text, format!("all but `{}`", lacking.join("`, `"))),
        }
    }
    for (_, name) in tilewright::Feature::ALL {
        assert!(page.contains(&format!("| `{name}` |")), "the feature {name} is not on the page");
    }
}

/// Checks that the lists of files in `CONTRIBUTING.md` are complete: names that a section claims for all its files occur in no
/// other file, and each file exists.
#[test]
fn lists_of_files_are_whole() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let sources = sources();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for section in page.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap();
        let quoted: Vec<&str> = section.split('`').skip(1).step_by(2).collect();
        let is_path = |text: &&&str| {
            ["dsl/", "codegen/", "backend-spirv/", "launch/", "reference/", "prove/", "schedules/", "src/", "tests/", "docs/"]
                .iter()
                .any(|f| text.starts_with(f))
        };
        let listed: Vec<&str> = quoted.iter().filter(is_path).filter(|text| !text.contains('*')).copied().collect();
        wrong.extend(listed.iter().filter(|path| !root().join(path).exists()).map(|path| format!("{title}: there is no {path}")));
        let words = section.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((_, after)) = words.split_once("ll files that name") else { continue };
        let name = after.split('`').nth(1).unwrap();
        for (path, text) in &sources {
            if text.contains(name) && !listed.contains(&path.as_str()) {
                wrong.push(format!("{title}: {path} names `{name}`, too"));
            }
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(checked, 5, "a directive, a function, a reduction, a dtype, a device");
}

/// Returns the files of the compiler, the runtime and the generator, with their paths from the root.
fn sources() -> Vec<(String, String)> {
    rust_files(&[
        "dsl/src",
        "codegen/src",
        "backend-spirv/src",
        "launch/src",
        "reference/src",
        "src",
        "macros/src",
        "explain/src",
        "check/src",
        "tests/differential/src",
    ])
}

/// The Rust files in folders, by their paths from the root, and their texts.
fn rust_files(folders: &[&str]) -> Vec<(String, String)> {
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    files
}
