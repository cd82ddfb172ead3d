//! Finds the kernels of the requested file, and makes schedules for them that are not in a file.

use super::items::{Kind, MacroCall};
use super::{Source, SourceError, Subject, Tokens, paths};
use crate::source::tree::CrateMeaning;
use proc_macro2::{Span, TokenStream, TokenTree};
use std::rc::Rc;
use tilewright_dsl::profile::Profile;

/// An item that a schedule names, with the path by which another module of the crate can name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its path, for example `crate::kernels::matmul`.
    pub path: String,
}

/// The value of a generic, as in the header of a schedule: `T = f32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The generic.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Source {
    /// Returns the kernels of the requested file, in order.
    pub fn kernels(&self) -> Vec<Item> {
        let of = |module: usize| self.modules[module].items.iter().map(move |item| (module, item));
        let kernels = self.asked.iter().copied().flat_map(of).filter(|(_, item)| item.kind == Kind::Kernel);
        kernels.map(|(module, item)| Item { name: item.name.clone(), path: self.kernel_path(module, &item.name) }).collect()
    }

    /// Returns the schedule `{}` of a kernel of the requested file, for any profile.
    ///
    /// # Errors
    /// The file does not have exactly one such kernel, or the kernel cannot be parsed.
    pub fn unscheduled(&self, kernel: &str, profile: &Profile, bound: &[Bound]) -> Result<Subject, SourceError> {
        let (at, item) = self.asked_kernel(kernel)?;
        let own = &self.modules[at].items[item].tokens;
        let bound: Vec<String> = bound.iter().map(|b| format!("{} = {}", b.name, b.value)).collect();
        let text = format!("PLAN: {kernel}<{}> for {} {{}}", bound.join(", "), profile.name);
        let tokens: TokenStream = text.parse().map_err(|error| SourceError::Wrong { errors: format!("`{text}`: {error}") })?;
        let schedule = placed(tokens, named(own, kernel));
        let with_functions = self.with_library((at, item), &mut Vec::new())?;
        let tokens = Tokens { schedule, kernel: with_functions, profile: profile.clone(), files: self.files.clone() };
        tokens.parse().map_err(|errors| SourceError::Wrong { errors: self.place(errors.trim_end()) })
    }

    /// Adds a schedule to the module of a kernel of the requested file, as if it were written there. `text` is the content of
    /// `schedule!`.
    ///
    /// # Errors
    /// The file does not have exactly one such kernel, or the text is not the content of `schedule!`.
    pub fn add_schedule(&mut self, kernel: &str, text: &str) -> Result<(), SourceError> {
        self.asked_kernel(kernel)?;
        let wrong = |what: String| SourceError::Wrong { errors: format!("`{text}`: {what}") };
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| wrong(error.to_string()))?;
        let call = MacroCall::with(Kind::Schedule, tokens).ok_or_else(|| wrong("it does not name a schedule".to_owned()))?;
        let holds = |module: &&usize| self.modules[**module].find(Kind::Kernel, kernel).is_some();
        if let Some(module) = self.asked.iter().find(holds).copied() {
            Rc::make_mut(&mut self.modules)[module].items.push(call);
        }
        Ok(())
    }

    /// Returns the path of a profile that [`Source::profile_named`] finds.
    ///
    /// # Errors
    /// The path does not exist or leads to a crate that is not read.
    pub fn profile_path(&self, name: &str) -> Result<Item, SourceError> {
        let bundled =
            |profile: Profile| Item { path: format!("{}::devices::{}", self.tilewright(), profile.name), name: profile.name };
        if let Some(profile) = Profile::bundled(name) {
            return Ok(bundled(profile));
        }
        let path: Vec<String> = name.split("::").map(|part| part.trim().to_owned()).collect();
        match paths::resolve(&self.modules, &self.crates, self.first(), &path, Kind::Profile)? {
            paths::Found::Bundled(profile) => Ok(bundled(profile)),
            paths::Found::Item(module, item) => {
                let name = self.modules[module].items[item].name.clone();
                Ok(Item { path: self.path(module, &name), name })
            }
        }
    }

    /// Returns the name of the crate `tilewright` in the requested file's crate.
    pub fn tilewright(&self) -> &str {
        self.other_crate(|meaning| matches!(meaning, CrateMeaning::Tilewright)).unwrap_or("tilewright")
    }

    fn first(&self) -> usize {
        self.asked.first().copied().unwrap_or_default()
    }

    /// Returns the module and the item of a kernel of the requested file.
    fn asked_kernel(&self, name: &str) -> Result<(usize, usize), SourceError> {
        let of = |module: usize| self.modules[module].items.iter().enumerate().map(move |(n, item)| ((module, n), item));
        let items = self.asked.iter().copied().flat_map(of);
        let found: Vec<(usize, usize)> =
            items.filter(|(_, item)| item.kind == Kind::Kernel && item.name == name).map(|(at, _)| at).collect();
        match found[..] {
            [kernel] => Ok(kernel),
            [] => {
                let there = self.kernels().into_iter().map(|kernel| kernel.name).collect();
                Err(SourceError::NoKernel { name: name.into(), there })
            }
            _ => Err(SourceError::Several { path: name.into() }),
        }
    }

    /// Returns the path of a kernel of a module. If a private module contains it, an outer module that imports it is preferred, because
    /// `pub use` is the usual way to make such a kernel public.
    fn kernel_path(&self, module: usize, name: &str) -> String {
        let outer = std::iter::successors(Some(module), |at| self.modules[*at].parent);
        let within: Vec<usize> = outer.collect();
        // All modules of a crate can name the private modules of its root.
        let hidden = within.iter().rev().skip(2).position(|at| self.modules[*at].private);
        let reachable = hidden.and_then(|at| within.iter().rev().nth(at + 1)).filter(|outer| self.imports(**outer, module, name));
        self.path(reachable.copied().unwrap_or(module), name)
    }

    /// True if a name in a module is the kernel of another module.
    fn imports(&self, outer: usize, module: usize, name: &str) -> bool {
        let found = paths::resolve(&self.modules, &self.crates, outer, &["self".into(), name.into()], Kind::Kernel);
        matches!(found, Ok(paths::Found::Item(at, _)) if at == module)
    }

    /// Returns the path of an item of a module, from the root of the requested file's crate.
    fn path(&self, module: usize, name: &str) -> String {
        let (mut parts, mut at) = (vec![name], module);
        while let Some(parent) = self.modules[at].parent {
            parts.push(&self.modules[at].name);
            at = parent;
        }
        let own = at == self.modules[self.first()].root;
        let other = || self.other_crate(|meaning| matches!(meaning, CrateMeaning::Root(root) if *root == at));
        parts.push(if own { "crate" } else { other().unwrap_or("crate") });
        parts.reverse();
        parts.join("::")
    }

    /// Returns the name of another crate in the requested file's crate. If it has several names, the first one by the alphabet counts.
    fn other_crate(&self, is_wanted: impl Fn(&CrateMeaning) -> bool) -> Option<&str> {
        let root = self.modules[self.first()].root;
        let named = self.crates.iter().filter(|((from, _), meaning)| *from == root && is_wanted(meaning));
        named.map(|((_, name), _)| name.as_str()).min()
    }
}

/// Returns the place of a kernel's name, which errors of a schedule that is not in a file point to.
fn named(kernel: &TokenStream, name: &str) -> Span {
    let name = kernel.clone().into_iter().find(|tree| matches!(tree, TokenTree::Ident(ident) if ident == name));
    name.map_or_else(Span::call_site, |name| name.span())
}

fn placed(tokens: TokenStream, span: Span) -> TokenStream {
    let placed = |mut tree: TokenTree| {
        tree.set_span(span);
        tree
    };
    tokens.into_iter().map(placed).collect()
}
