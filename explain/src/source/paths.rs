//! Resolves paths through modules, `use` declarations and bundled profiles.

use super::SourceError;
use super::items::Kind;
use super::tree::{CrateMeaning, Crates, Module};
use tilewright_dsl::diag::{did_you_mean, list};
use tilewright_dsl::profile::Profile;

/// The item that a path names.
pub(super) enum Found {
    /// A module's item, by their indices.
    Item(usize, usize),
    /// A profile of `tilewright::devices`.
    Bundled(Profile),
}

/// The meaning of a name or of a part of a path.
#[derive(Clone, PartialEq)]
enum Meaning {
    Module(usize),
    Item(usize, usize),
    /// `tilewright`.
    Tilewright,
    /// `tilewright::devices`.
    Devices,
    Bundled(String),
    /// Another crate: its name, and the reason why it was not read.
    Crate(String, String),
}

/// The most imports that one path may pass, because circular imports would never end.
const IMPORTS: usize = 64;

/// Returns the item of a kind that a path in the module `from` names.
pub(super) fn resolve(modules: &[Module], crates: &Crates, from: usize, path: &[String], kind: Kind) -> Result<Found, SourceError> {
    let text = path.join("::");
    let mut way = Way { modules, crates, path: &text, kind, passed: 0, globs: Vec::new() };
    let places = way.walk(from, path)?;
    let mut wanted: Vec<&Meaning> = places.iter().filter(|place| way.is_wanted(place)).collect();
    wanted.dedup();
    match wanted.as_slice() {
        [Meaning::Item(module, item)] => Ok(Found::Item(*module, *item)),
        [Meaning::Bundled(name)] => Profile::bundled(name).map(Found::Bundled).ok_or_else(|| way.not_bundled(name)),
        [_, _, ..] => Err(SourceError::Several { path: text }),
        _ => Err(way.unwanted(&places)),
    }
}

struct Way<'a> {
    modules: &'a [Module],
    crates: &'a Crates,
    path: &'a str,
    kind: Kind,
    passed: usize,
    /// The `*` imports whose paths are being resolved: module and index.
    globs: Vec<(usize, usize)>,
}

impl Way<'_> {
    fn nowhere(&self, why: impl Into<String>) -> SourceError {
        SourceError::NotFound { path: self.path.into(), why: why.into() }
    }

    fn not_bundled(&self, name: &str) -> SourceError {
        let names = Profile::all_bundled().map(|p| p.name);
        let help = did_you_mean(name, names.iter().map(String::as_str));
        self.nowhere(help.unwrap_or_else(|| format!("the bundled profiles are {}", list(names))))
    }

    fn is_wanted(&self, place: &Meaning) -> bool {
        match place {
            Meaning::Item(module, item) => self.modules[*module].items[*item].kind == self.kind,
            Meaning::Bundled(_) => self.kind == Kind::Profile,
            _ => false,
        }
    }

    /// Returns the error if no place has the wanted kind.
    fn unwanted(&self, places: &[Meaning]) -> SourceError {
        let (path, wanted) = (self.path.to_owned(), self.kind.name());
        match places.first() {
            // A name alone is not a path into a crate.
            Some(Meaning::Crate(name, _)) if name == self.path => self.nowhere("an item of that name does not exist here"),
            Some(Meaning::Crate(name, why)) => SourceError::OtherCrate { path, name: name.clone(), why: why.clone() },
            Some(Meaning::Item(module, item)) => {
                SourceError::WrongKind { path, what: self.modules[*module].items[*item].kind.a(), wanted }
            }
            Some(Meaning::Bundled(_)) => SourceError::WrongKind { path, what: "a profile", wanted },
            Some(_) => SourceError::WrongKind { path, what: "a module", wanted },
            None => self.nowhere("an item of that name does not exist here"),
        }
    }

    /// Returns everything that a path may mean in a module.
    fn walk(&mut self, from: usize, path: &[String]) -> Result<Vec<Meaning>, SourceError> {
        let Some((first, rest)) = path.split_first() else { return Ok(Vec::new()) };
        let mut places = self.first(from, first)?;
        for name in rest {
            let mut next = Vec::new();
            for place in &places {
                next.extend(self.inside(place, name)?);
            }
            if next.is_empty() {
                return Err(self.nowhere(format!("`{name}` does not exist there")));
            }
            places = next;
        }
        Ok(places)
    }

    /// Returns everything that the first name of a path may mean.
    fn first(&mut self, from: usize, name: &str) -> Result<Vec<Meaning>, SourceError> {
        match name {
            "crate" => return Ok(vec![Meaning::Module(self.modules[from].root)]),
            "self" => return Ok(vec![Meaning::Module(from)]),
            "super" => return Ok(vec![self.outside(from)]),
            _ => {}
        }
        let here = self.named(from, name)?;
        Ok(match name {
            _ if !here.is_empty() => here,
            "tilewright" => vec![Meaning::Tilewright],
            _ => vec![self.another(from, name)],
        })
    }

    /// Returns the meaning of another crate's name.
    fn another(&self, from: usize, name: &str) -> Meaning {
        let unread = |why: &str| Meaning::Crate(name.into(), why.into());
        match self.crates.get(&(self.modules[from].root, name.into())) {
            Some(CrateMeaning::Root(root)) => Meaning::Module(*root),
            Some(CrateMeaning::Tilewright) => Meaning::Tilewright,
            Some(CrateMeaning::Unread(why)) => unread(why),
            None => unread("no dependency of the package has that name"),
        }
    }

    fn outside(&self, module: usize) -> Meaning {
        Meaning::Module(self.modules[module].parent.unwrap_or(self.modules[module].root))
    }

    fn inside(&mut self, place: &Meaning, name: &str) -> Result<Vec<Meaning>, SourceError> {
        Ok(match (place, name) {
            (Meaning::Module(module), "super") => vec![self.outside(*module)],
            (Meaning::Module(module), _) => self.named(*module, name)?,
            (Meaning::Tilewright, "devices") => vec![Meaning::Devices],
            (Meaning::Tilewright, _) => {
                vec![Meaning::Crate("tilewright".into(), "only `tilewright::devices` of it is known".into())]
            }
            (Meaning::Devices, _) => vec![Meaning::Bundled(name.into())],
            (Meaning::Crate(..), _) => vec![place.clone()],
            (Meaning::Item(..) | Meaning::Bundled(_), _) => Vec::new(),
        })
    }

    /// Returns everything that a name may mean in a module: its own items and modules, else names that it imports, else names that
    /// a `*` imports.
    fn named(&mut self, module: usize, name: &str) -> Result<Vec<Meaning>, SourceError> {
        let mut found = self.own(module, name, true);
        let modules = self.modules;
        let imports = modules[module].imports.iter().enumerate();
        let (globs, names): (Vec<_>, Vec<_>) = imports.partition(|(_, import)| import.name.is_none());
        if found.is_empty() {
            for (_, import) in names.iter().filter(|(_, import)| import.name.as_deref() == Some(name)) {
                self.pass()?;
                found.extend(self.walk(module, &import.path)?);
            }
        }
        if found.is_empty() {
            for (n, import) in globs {
                // An import is not used to resolve its own path.
                if self.globs.contains(&(module, n)) {
                    continue;
                }
                self.pass()?;
                self.globs.push((module, n));
                let places = self.walk(module, &import.path);
                self.globs.pop();
                for place in places? {
                    // The names that another crate's `*` imports are unknown, so it is assumed to import none.
                    let inside = if matches!(place, Meaning::Crate(..)) { Vec::new() } else { self.inside(&place, name)? };
                    let known = |p: &Meaning| !matches!(p, Meaning::Bundled(name) if Profile::bundled(name).is_none());
                    found.extend(inside.into_iter().filter(known));
                }
            }
        }
        // An item of the same name but of another kind is returned for the error message.
        Ok(if found.is_empty() { self.own(module, name, false) } else { found })
    }

    /// Returns a module's own items of the wanted kind, or of any kind, and its modules.
    fn own(&self, module: usize, name: &str, wanted: bool) -> Vec<Meaning> {
        let items = self.modules[module].items.iter().enumerate();
        let items = items.filter(|(_, i)| i.name == name && (!wanted || i.kind == self.kind));
        let child = |(n, m): (usize, &Module)| (m.parent == Some(module) && m.name == name).then_some(Meaning::Module(n));
        items.map(|(n, _)| Meaning::Item(module, n)).chain(self.modules.iter().enumerate().filter_map(child)).collect()
    }

    fn pass(&mut self) -> Result<(), SourceError> {
        self.passed += 1;
        if self.passed > IMPORTS { Err(self.nowhere("its imports are circular")) } else { Ok(()) }
    }
}
