//! The modules of a crate, read from their files.

use super::items::{Import, Item, Kind, imports};
use super::{File, SourceError};
use std::path::{Path, PathBuf};

/// A module.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) name: String,
    /// The module that it stands in; the root stands in none.
    pub(super) parent: Option<usize>,
    pub(super) items: Vec<Item>,
    pub(super) imports: Vec<Import>,
}

impl Module {
    pub(super) fn find(&self, kind: Kind, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.kind == kind && item.name == name)
    }
}

/// A crate as it was read.
#[derive(Default)]
pub(super) struct Read {
    /// The root first.
    pub(super) modules: Vec<Module>,
    /// Those of the asked file.
    pub(super) asked: Vec<usize>,
    /// The files, in the order of reading.
    pub(super) files: Vec<File>,
    seen: Vec<PathBuf>,
    asked_path: PathBuf,
}

/// Where a module's text stands, and where those of its modules are looked for.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
    folder: &'a Path,
    /// Whether it is the asked file.
    asked: bool,
}

/// Reads the crate of a file: of the package's crates the first that has the file among its modules; otherwise the file is
/// taken for a root itself.
pub(super) fn read(file: &Path) -> Result<Read, SourceError> {
    let asked = file.canonicalize().map_err(|error| SourceError::Read { path: file.into(), error })?;
    let roots = roots(&asked);
    if !roots.contains(&asked) {
        for root in roots {
            // Another crate's faults are not this file's.
            if let Ok(read) = read_root(&root, &asked)
                && !read.asked.is_empty()
            {
                return Ok(read);
            }
        }
    }
    read_root(&asked, &asked)
}

/// The files of the package around a file that may be roots of crates.
fn roots(file: &Path) -> Vec<PathBuf> {
    let Some(package) = file.ancestors().skip(1).find(|dir| dir.join("Cargo.toml").is_file()) else { return Vec::new() };
    let mut found = vec![package.join("src/lib.rs"), package.join("src/main.rs")];
    for folder in ["src/bin", "examples", "tests", "benches"] {
        let Ok(entries) = std::fs::read_dir(package.join(folder)) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        found.extend(paths.into_iter().map(|path| if path.is_dir() { path.join("main.rs") } else { path }));
    }
    found.retain(|path| path.extension().is_some_and(|e| e == "rs") && path.is_file());
    found
}

fn read_root(root: &Path, asked: &Path) -> Result<Read, SourceError> {
    let mut read = Read { asked_path: asked.into(), ..Read::default() };
    read.modules.push(Module::default());
    read.file(root, 0, root.parent().unwrap_or(Path::new("")))?;
    Ok(read)
}

impl Read {
    /// Reads a file into a module. Files of modules inside it are looked for in `folder`.
    fn file(&mut self, file: &Path, module: usize, folder: &Path) -> Result<(), SourceError> {
        let fails = |error| SourceError::Read { path: file.into(), error };
        let (text, canonical) = (std::fs::read_to_string(file).map_err(fails)?, file.canonicalize().map_err(fails)?);
        // A file that is a module of itself never ends.
        if self.seen.contains(&canonical) {
            return Ok(());
        }
        let tree = syn::parse_file(&text).map_err(|error| {
            let start = error.span().start();
            SourceError::Parse { path: file.into(), line: start.line, column: start.column + 1, message: error.to_string() }
        })?;
        let here = std::env::current_dir().ok();
        let shown = here.and_then(|here| canonical.strip_prefix(here).ok()).unwrap_or(&canonical).display().to_string();
        let name = tree.items.first().map(|item| syn::spanned::Spanned::span(item).file());
        self.files.extend(name.map(|inner| File { inner, path: shown, text }));
        let asked = canonical == self.asked_path;
        self.seen.push(canonical);
        self.items(&tree.items, module, Place { file, folder, asked })
    }

    fn items(&mut self, items: &[syn::Item], module: usize, place: Place<'_>) -> Result<(), SourceError> {
        if place.asked {
            self.asked.push(module);
        }
        for item in items {
            match item {
                syn::Item::Macro(call) => self.modules[module].items.extend(Item::of(&call.mac)),
                syn::Item::Use(import) => imports(&import.tree, &[], &mut self.modules[module].imports),
                syn::Item::Mod(inner) => self.module(inner, module, place)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A module inside another one: in braces, or in a file of its own.
    fn module(&mut self, inner: &syn::ItemMod, parent: usize, place: Place<'_>) -> Result<(), SourceError> {
        let (name, at) = (inner.ident.to_string(), self.modules.len());
        self.modules.push(Module { name: name.clone(), parent: Some(parent), ..Module::default() });
        let own = place.folder.join(&name);
        if let Some((_, items)) = &inner.content {
            return self.items(items, at, Place { folder: &own, ..place });
        }
        let beside = place.file.parent().unwrap_or(Path::new(""));
        let said = inner.attrs.iter().find_map(path_attribute);
        let tried = match &said {
            Some(path) => vec![beside.join(path)],
            None => vec![place.folder.join(format!("{name}.rs")), own.join("mod.rs")],
        };
        match tried.iter().find(|path| path.is_file()) {
            // The modules of a file that `#[path]` names stand beside it, as those of a `mod.rs`.
            Some(path) if said.is_some() => self.file(path, at, path.parent().unwrap_or(Path::new(""))),
            Some(path) => self.file(path, at, &own),
            // Behind a `cfg` that does not hold, a file need not be there.
            None if inner.attrs.iter().any(|a| a.path().is_ident("cfg")) => Ok(()),
            None => {
                let tried = tried.iter().map(|path| path.display().to_string()).collect();
                Err(SourceError::NoModule { from: place.file.into(), name, tried })
            }
        }
    }
}

/// The path of `#[path = "…"]`.
fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) if pair.path.is_ident("path") => Some(text.value()),
        _ => None,
    }
}
