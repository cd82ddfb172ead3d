//! The relevant items of a module: calls of Tilewright's macros, and `use` declarations.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::UseTree;
use tilewright_dsl::syntax::schedule::library::applied_paths;

/// The macro that defines an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kernel,
    Schedule,
    Profile,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Kernel, Kind::Schedule, Kind::Profile];

    /// Returns the macro's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Kernel => "kernel",
            Kind::Schedule => "schedule",
            Kind::Profile => "profile",
        }
    }

    /// Returns the name with an article.
    pub(super) fn a(self) -> &'static str {
        match self {
            Kind::Kernel => "a kernel",
            Kind::Schedule => "a schedule",
            Kind::Profile => "a profile",
        }
    }
}

/// A call of one of Tilewright's macros, for example `kernel! { … }`.
#[derive(Clone, Debug)]
pub(super) struct MacroCall {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) tokens: TokenStream,
    /// True for a list of directives, which other schedules apply.
    pub(super) is_list: bool,
}

impl MacroCall {
    /// Returns a macro call as an item, if it is one of Tilewright's.
    pub(super) fn of(call: &syn::Macro) -> Option<MacroCall> {
        let called = &call.path.segments.last()?.ident;
        MacroCall::with(Kind::ALL.into_iter().find(|kind| called == kind.name())?, call.tokens.clone())
    }

    /// Returns a call of the macro of a kind. `None` if the tokens define no name.
    pub(super) fn with(kind: Kind, tokens: TokenStream) -> Option<MacroCall> {
        let is_colon = |tree: TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ':');
        let is_list = kind == Kind::Schedule && !tokens.clone().into_iter().any(is_colon);
        Some(MacroCall { kind, name: name(kind, &tokens)?, tokens, is_list })
    }

    /// Returns the names that may begin paths: the identifiers outside of its groups, and the first name of each path that it applies.
    pub(super) fn words(&self) -> impl Iterator<Item = String> + use<> {
        let word = |tree| if let TokenTree::Ident(word) = tree { Some(word.to_string()) } else { None };
        let applied = applied_paths(&self.tokens).into_iter().filter_map(|path| path.names.into_iter().next());
        self.tokens.clone().into_iter().filter_map(word).chain(applied)
    }
}

/// Returns the name that an item's tokens define: after `fn`, or before the first `:`, `<` or brace.
fn name(kind: Kind, tokens: &TokenStream) -> Option<String> {
    let mut last = None;
    for tree in tokens.clone() {
        match (&tree, kind) {
            (TokenTree::Ident(ident), Kind::Kernel) if last.as_deref() == Some("fn") => return Some(ident.to_string()),
            (TokenTree::Punct(p), Kind::Schedule | Kind::Profile) if [':', '<'].contains(&p.as_char()) => return last,
            (TokenTree::Group(group), Kind::Schedule) if group.delimiter() == Delimiter::Brace => return last,
            (TokenTree::Ident(ident), _) => last = Some(ident.to_string()),
            _ => {}
        }
    }
    None
}

/// A name that a `use` imports into a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The imported name; `None` imports everything (`*`).
    pub(super) name: Option<String>,
    /// The path.
    pub(super) path: Vec<String>,
}

/// Collects the imports of a `use` tree under a path.
pub(super) fn imports(tree: &UseTree, path: &[String], found: &mut Vec<Import>) {
    let with = |ident: &syn::Ident| path.iter().cloned().chain([ident.to_string()]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(p) => imports(&p.tree, &with(&p.ident), found),
        UseTree::Name(n) if n.ident == "self" => found.push(Import { name: path.last().cloned(), path: path.to_vec() }),
        UseTree::Name(n) => found.push(Import { name: Some(n.ident.to_string()), path: with(&n.ident) }),
        UseTree::Rename(r) => {
            let path = if r.ident == "self" { path.to_vec() } else { with(&r.ident) };
            found.push(Import { name: Some(r.rename.to_string()), path });
        }
        UseTree::Glob(_) => found.push(Import { name: None, path: path.to_vec() }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, path, found)),
    }
}
