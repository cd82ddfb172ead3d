//! Reads a package's manifest: its own crates, and the folders of the crates that it depends on.

use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A package, which may be a workspace, too.
#[derive(Debug)]
pub(super) struct Package {
    folder: PathBuf,
    manifest: Table,
}

/// A crate that another one names.
pub(super) enum Other {
    /// The crate's root file.
    At(PathBuf),
    /// The crate `tilewright`, under any name.
    Tilewright,
    /// The reason why it is not read.
    Unread(String),
}

impl Package {
    /// Returns the package that contains a file.
    pub(super) fn around(file: &Path) -> Option<Package> {
        file.ancestors().skip(1).find_map(Package::at)
    }

    /// Returns the package in a folder. A broken manifest counts as empty.
    fn at(folder: &Path) -> Option<Package> {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        Some(Package { folder: folder.into(), manifest: text.parse().unwrap_or_default() })
    }

    /// Returns the files that may be roots of its crates.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let folder = &self.folder;
        let mut found = vec![folder.join("src/lib.rs"), folder.join("src/main.rs")];
        let targets = ["bin", "example", "test", "bench"].iter().filter_map(|kind| self.manifest.get(*kind)?.as_array()).flatten();
        found.extend(self.manifest.get("lib").into_iter().chain(targets).filter_map(|t| Some(folder.join(text(t, "path")?))));
        for kind in ["src/bin", "examples", "tests", "benches"] {
            let Ok(entries) = std::fs::read_dir(folder.join(kind)) else { continue };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
            paths.sort();
            found.extend(paths.into_iter().map(|path| if path.is_dir() { path.join("main.rs") } else { path }));
        }
        found.retain(|path| path.extension().is_some_and(|e| e == "rs") && path.is_file());
        found
    }

    /// Returns the name of its library, and the library's root file.
    fn library(&self) -> Option<(String, PathBuf)> {
        let lib = self.manifest.get("lib");
        let path = self.folder.join(lib.and_then(|lib| text(lib, "path")).unwrap_or("src/lib.rs"));
        let own = || text(self.manifest.get("package")?, "name");
        let name = lib.and_then(|lib| text(lib, "name")).or_else(own).unwrap_or_default();
        path.is_file().then(|| (rusts(name), path))
    }

    /// Returns the crate that a name means in this package.
    pub(super) fn other(&self, name: &str) -> Other {
        if let Some((_, path)) = self.library().filter(|(own, _)| own == name) {
            return Other::At(path);
        }
        match self.dependency(name) {
            None => Other::Unread("no dependency of the package has that name".to_owned()),
            Some((key, value, _)) if text(&value, "package").unwrap_or(&key) == "tilewright" => Other::Tilewright,
            Some((_, value, base)) => match text(&value, "path").map(|path| base.join(path)) {
                None => Other::Unread("it is not a dependency by `path`".to_owned()),
                Some(folder) => match Package::at(&folder).and_then(|package| package.library()) {
                    Some((_, path)) => Other::At(path),
                    None => Other::Unread(format!("{} does not contain a library", folder.display())),
                },
            },
        }
    }

    /// Returns a dependency as it is written, and the folder that its path is relative to.
    fn dependency(&self, name: &str) -> Option<(String, Value, PathBuf)> {
        let targets = self.manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|t| t.values());
        let holders = [&self.manifest].into_iter().chain(targets.filter_map(Value::as_table));
        let tables = holders.flat_map(|t| ["dependencies", "dev-dependencies", "build-dependencies"].map(|kind| t.get(kind)));
        let (key, value) = tables.flatten().find_map(|table| named(table, name))?;
        if value.get("workspace").and_then(Value::as_bool) != Some(true) {
            return Some((key, value, self.folder.clone()));
        }
        let workspace = self.workspace()?;
        let (key, value) = named(workspace.manifest.get("workspace")?.get("dependencies")?, name)?;
        Some((key, value, workspace.folder))
    }

    /// Returns the workspace that it belongs to.
    fn workspace(&self) -> Option<Package> {
        if let Some(said) = self.manifest.get("package").and_then(|p| text(p, "workspace")) {
            return Package::at(&self.folder.join(said));
        }
        self.folder.ancestors().filter_map(Package::at).find(|package| package.manifest.contains_key("workspace"))
    }
}

fn text<'a>(table: &'a Value, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}

/// Returns a package's name as a Rust identifier.
fn rusts(name: &str) -> String {
    name.replace('-', "_")
}

fn named(table: &Value, name: &str) -> Option<(String, Value)> {
    table.as_table()?.iter().find(|(key, _)| rusts(key) == name).map(|(key, value)| (key.clone(), value.clone()))
}
