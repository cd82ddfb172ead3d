//! Checks that each published package is complete: `cargo package` would otherwise succeed here, and fail for its users.
//!
//! The files are those that `cargo package --list` names. CI also builds all packages from their files alone (`.github/workflows/ci.yml`).

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use tilewright_tests::root;

/// Returns the packages that `scripts/package` leaves out.
fn unpublished() -> BTreeSet<String> {
    let script = fs::read_to_string(root().join("scripts/package")).unwrap();
    let (_, rest) = script.split_once("UNPUBLISHED='").unwrap();
    rest.split('\'').next().unwrap().split_whitespace().map(str::to_owned).collect()
}

/// A package of the workspace that is published.
struct Package {
    name: String,
    folder: PathBuf,
    manifest: Value,
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the published packages.
fn published() -> Vec<Package> {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let (published, others): (Vec<&Value>, Vec<_>) = packages.partition(|p| p["publish"].is_null());
    let names: BTreeSet<_> = others.iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, unpublished(), "the packages with `publish = false`, and those that scripts/package leaves out");
    let package = |p: &Value| Package {
        name: p["name"].as_str().unwrap().to_owned(),
        folder: Path::new(p["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned(),
        manifest: p.clone(),
    };
    published.into_iter().map(package).collect()
}

/// Returns the files of a package, relative to its folder.
fn files(package: &Package) -> BTreeSet<PathBuf> {
    let list = cargo(&["package", "--list", "--offline", "--allow-dirty", "-p", &package.name]);
    list.lines().map(PathBuf::from).collect()
}

/// Returns the paths that a Rust file reads at compile time.
fn included(text: &str) -> Vec<&str> {
    const STARTS: [&str; 4] = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| STARTS.iter().filter_map(move |start| line.split_once(start)?.1.split('"').next())).collect()
}

/// Returns a path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(normal.pop(), "{} leaves the package", path.display()),
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn packages_have_all_files_that_they_read() {
    let mut checked = 0;
    for package in published() {
        let files = files(&package);
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml"] {
            assert!(files.contains(Path::new(file)), "{} lacks {file}", package.name);
        }
        let targets = package.manifest["targets"].as_array().unwrap();
        assert!(
            targets.iter().any(|t| files.contains(relative(&package, t))),
            "{} has neither a library nor a program",
            package.name
        );
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
            let path = package.folder.join(file);
            assert!(!path.is_symlink(), "{} is a link", path.display());
            for name in included(&fs::read_to_string(&path).unwrap()) {
                let read = normal(&file.parent().unwrap().join(name));
                assert!(files.contains(&read), "{}: {} reads {name}, which is not in the package", package.name, file.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked} files are read");
}

fn relative<'a>(package: &Package, target: &'a Value) -> &'a Path {
    Path::new(target["src_path"].as_str().unwrap()).strip_prefix(&package.folder).unwrap()
}

/// The license's text is in each package, because each is distributed alone. A link would not survive a checkout on Windows.
#[test]
fn packages_have_the_license() {
    for package in published() {
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let path = package.folder.join(file);
            assert!(!path.is_symlink(), "{} is a link", path.display());
            assert_eq!(fs::read(&path).unwrap(), fs::read(root().join(file)).unwrap(), "{}", path.display());
        }
    }
}

/// The registry refuses packages without a description or a license, and dependencies without a version.
#[test]
fn packages_say_what_the_registry_needs() {
    let packages = published();
    let versions: BTreeMap<&str, &str> =
        packages.iter().map(|p| (p.name.as_str(), p.manifest["version"].as_str().unwrap())).collect();
    for package in &packages {
        for key in ["description", "license", "repository", "readme", "rust_version"] {
            assert!(package.manifest[key].is_string(), "{} lacks `{key}`", package.name);
        }
        let keywords = package.manifest["keywords"].as_array().unwrap();
        assert!((1..=5).contains(&keywords.len()), "{} has {} keywords", package.name, keywords.len());
        for dependency in package.manifest["dependencies"].as_array().unwrap() {
            // Cargo leaves dev-dependencies without a version out of the package.
            let (name, required) = (dependency["name"].as_str().unwrap(), dependency["req"].as_str().unwrap());
            assert!(required != "*" || dependency["kind"] == "dev", "{}: `{name}` has no version", package.name);
            if dependency["path"].is_string() && dependency["kind"] != "dev" {
                let version = versions.get(name).unwrap_or_else(|| panic!("{}: `{name}` is not published", package.name));
                assert_eq!(required, format!("^{version}"), "{}: `{name}`", package.name);
            }
        }
    }
}
