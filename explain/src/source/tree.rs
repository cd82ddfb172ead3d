//! Reads the modules of a crate from their files, and the modules of crates that it names if they are in local files.

use super::items::{Import, Kind, MacroCall, imports};
use super::package::{Other, Package};
use super::{File, SourceError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A module.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub(super) name: String,
    /// The module that contains it; `None` for the root.
    pub(super) parent: Option<usize>,
    /// The root of its crate.
    pub(super) root: usize,
    /// True if only its parent and the modules in its parent can name it.
    pub(super) private: bool,
    pub(super) items: Vec<MacroCall>,
    pub(super) imports: Vec<Import>,
    /// Its file.
    file: PathBuf,
}

impl Module {
    /// True if it is a module of the first crate, in this file.
    pub(super) fn is_in(&self, file: &Path) -> bool {
        self.root == 0 && self.file == file
    }

    pub(super) fn find(&self, kind: Kind, name: &str) -> Option<&MacroCall> {
        self.items.iter().find(|item| item.kind == kind && item.name == name)
    }

    /// Returns the names that may be other crates: the first names of paths.
    fn firsts(&self) -> impl Iterator<Item = String> {
        let used = self.imports.iter().filter_map(|import| import.path.first().cloned());
        used.chain(self.items.iter().flat_map(MacroCall::words))
    }
}

/// The meaning of another crate's name.
#[derive(Debug)]
pub(super) enum CrateMeaning {
    /// The crate's root module.
    Root(usize),
    Tilewright,
    /// The reason why it was not read.
    Unread(String),
}

/// The other crates, by the root of the crate that uses the name, and the name.
pub(super) type Crates = HashMap<(usize, String), CrateMeaning>;

/// A crate as it was read, and the crates that it names.
#[derive(Default)]
pub(super) struct Read {
    /// The modules; the root is the first.
    pub(super) modules: Vec<Module>,
    pub(super) crates: Crates,
    /// The files, in the order of reading.
    pub(super) files: Vec<File>,
    seen: Vec<PathBuf>,
}

/// The file of a module, and the folder in which files of its modules are looked up.
#[derive(Clone, Copy)]
struct ModuleFile<'a> {
    file: &'a Path,
    canonical: &'a Path,
    folder: &'a Path,
}

/// Reads the crate of a file: the first of the package's crates that has the file among its modules. If there is none, the file is
/// assumed to be a root itself.
pub(super) fn read(file: &Path) -> Result<Read, SourceError> {
    let package = Package::around(file);
    let (mut read, root) = own(file, package.as_ref())?;
    if let Some(package) = package {
        read.others(root, package);
    }
    Ok(read)
}

/// Reads the crate that a file belongs to, and returns its root file.
///
/// # Errors
/// The file cannot be read. Or no crate of the package has it and one of them cannot be read, because the file may belong to that crate.
fn own(asked: &Path, package: Option<&Package>) -> Result<(Read, PathBuf), SourceError> {
    let roots: Vec<PathBuf> = package.into_iter().flat_map(Package::roots).filter_map(|path| path.canonicalize().ok()).collect();
    let mut unread = None;
    if !roots.iter().any(|root| root == asked) {
        for root in roots {
            match read_root(&root) {
                Ok(read) if read.modules.iter().any(|module| module.is_in(asked)) => return Ok((read, root)),
                Ok(_) => {}
                Err(error) => unread = unread.or(Some(error)),
            }
        }
    }
    match unread {
        Some(error) => Err(error),
        None => Ok((read_root(asked)?, asked.into())),
    }
}

fn read_root(root: &Path) -> Result<Read, SourceError> {
    let mut read = Read::default();
    read.root(root)?;
    Ok(read)
}

impl Read {
    /// Reads a crate from its root file.
    fn root(&mut self, file: &Path) -> Result<usize, SourceError> {
        let root = self.modules.len();
        self.modules.push(Module { root, ..Module::default() });
        self.seen.clear();
        self.file(file, root, file.parent().unwrap_or(Path::new("")))?;
        Ok(root)
    }

    /// Reads the crates that the first crate names, and transitively the crates that they name.
    fn others(&mut self, first: PathBuf, package: Package) {
        let mut packages = HashMap::from([(0, package)]);
        let mut roots: HashMap<PathBuf, Result<usize, String>> = HashMap::from([(first, Ok(0))]);
        let mut next = 0;
        while let Some(module) = self.modules.get(next) {
            let (root, names) = (module.root, module.firsts().collect::<Vec<_>>());
            next += 1;
            let Some(package) = packages.get(&root) else { continue };
            let is_new = |name: &String| name != "tilewright" && !self.crates.contains_key(&(root, name.clone()));
            let new = names.into_iter().filter(is_new);
            let new: Vec<_> = new.map(|name| (package.other(&name), name)).collect();
            for (other, name) in new {
                let known = match other {
                    Other::Tilewright => CrateMeaning::Tilewright,
                    Other::Unread(why) => CrateMeaning::Unread(why),
                    Other::At(path) => {
                        let path = path.canonicalize().unwrap_or(path);
                        let read = || self.root(&path).map_err(|error| error.to_string());
                        let found = roots.entry(path.clone()).or_insert_with(read).clone();
                        if let Some(package) = found.is_ok().then(|| Package::around(&path)).flatten() {
                            packages.entry(found.clone().unwrap_or_default()).or_insert(package);
                        }
                        found.map_or_else(CrateMeaning::Unread, CrateMeaning::Root)
                    }
                };
                self.crates.insert((root, name), known);
            }
        }
    }

    /// Reads a file into a module. Files of its modules are looked up in `folder`.
    fn file(&mut self, file: &Path, module: usize, folder: &Path) -> Result<(), SourceError> {
        let fails = |error| SourceError::Read { path: file.into(), error };
        let (text, canonical) = (std::fs::read_to_string(file).map_err(fails)?, file.canonicalize().map_err(fails)?);
        // A file that is a module of itself would otherwise be read forever.
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
        self.seen.push(canonical.clone());
        self.items(&tree.items, module, ModuleFile { file, canonical: &canonical, folder })
    }

    fn items(&mut self, items: &[syn::Item], module: usize, place: ModuleFile<'_>) -> Result<(), SourceError> {
        self.modules[module].file = place.canonical.into();
        for item in items {
            match item {
                syn::Item::Macro(call) => self.modules[module].items.extend(MacroCall::of(&call.mac)),
                syn::Item::Use(import) => imports(&import.tree, &[], &mut self.modules[module].imports),
                syn::Item::Mod(inner) => self.module(inner, module, place)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a module of another module, in braces or in its own file.
    fn module(&mut self, inner: &syn::ItemMod, parent: usize, place: ModuleFile<'_>) -> Result<(), SourceError> {
        let (name, at) = (inner.ident.to_string(), self.modules.len());
        let root = self.modules[parent].root;
        let private = matches!(inner.vis, syn::Visibility::Inherited);
        self.modules.push(Module { name: name.clone(), parent: Some(parent), root, private, ..Module::default() });
        let own = place.folder.join(&name);
        if let Some((_, items)) = &inner.content {
            return self.items(items, at, ModuleFile { folder: &own, ..place });
        }
        let beside = place.file.parent().unwrap_or(Path::new(""));
        let said = inner.attrs.iter().find_map(path_attribute);
        let tried = match &said {
            Some(path) => vec![beside.join(path)],
            None => vec![place.folder.join(format!("{name}.rs")), own.join("mod.rs")],
        };
        match tried.iter().find(|path| path.is_file()) {
            // Modules of a file that `#[path]` names are in the same folder, as for a `mod.rs`.
            Some(path) if said.is_some() => self.file(path, at, path.parent().unwrap_or(Path::new(""))),
            Some(path) => self.file(path, at, &own),
            // Under a `cfg` that does not hold, the file need not exist.
            None if inner.attrs.iter().any(|a| a.path().is_ident("cfg")) => Ok(()),
            None => {
                let tried = tried.iter().map(|path| path.display().to_string()).collect();
                Err(SourceError::NoModule { from: place.file.into(), name, tried })
            }
        }
    }
}

/// Returns the path of `#[path = "…"]`.
fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) if pair.path.is_ident("path") => Some(text.value()),
        _ => None,
    }
}
