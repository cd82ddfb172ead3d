//! The relevant items of a module: calls of Tilewright's macros, and `use` declarations.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::UseTree;
use tilewright_dsl::syntax::functions::{imported_paths, split};
use tilewright_dsl::syntax::library::ItemPath;
use tilewright_dsl::syntax::schedule::applied::applied_paths;

/// The macro that defines an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kernel,
    Schedule,
    Profile,
    Function,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Kernel, Kind::Schedule, Kind::Profile, Kind::Function];

    /// Returns the name of the kind.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Kernel => "kernel",
            Kind::Schedule => "schedule",
            Kind::Profile => "profile",
            Kind::Function => "function",
        }
    }

    /// Returns the name of its macro.
    fn macro_name(self) -> &'static str {
        if self == Kind::Function { "functions" } else { self.name() }
    }

    /// Returns the name with an article.
    pub(super) fn a(self) -> &'static str {
        match self {
            Kind::Kernel => "a kernel",
            Kind::Schedule => "a schedule",
            Kind::Profile => "a profile",
            Kind::Function => "a function",
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
    /// Returns the items of a macro call, if the macro is one of Tilewright's. Each function of `functions!` is an item, with the tokens of
    /// the whole call.
    pub(super) fn of(call: &syn::Macro) -> Vec<MacroCall> {
        let called = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let (kind, tokens) = (Kind::ALL.into_iter().find(|kind| called == kind.macro_name()), call.tokens.clone());
        match kind {
            Some(Kind::Function) => {
                let names = split(&tokens).into_iter().filter_map(|item| item.name);
                names.map(|name| MacroCall { kind: Kind::Function, name, tokens: tokens.clone(), is_list: false }).collect()
            }
            Some(kind) => MacroCall::with(kind, tokens).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns a call of the macro of a kind. `None` if the tokens define no name.
    pub(super) fn with(kind: Kind, tokens: TokenStream) -> Option<MacroCall> {
        let is_colon = |tree: TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ':');
        let is_list = kind == Kind::Schedule && !tokens.clone().into_iter().any(is_colon);
        Some(MacroCall { kind, name: name(kind, &tokens)?, tokens, is_list })
    }

    /// Returns the paths of the items that it uses, without the kernel and the profile in a header.
    pub(super) fn used(&self) -> Vec<ItemPath> {
        match self.kind {
            Kind::Kernel | Kind::Function => imported_paths(&self.tokens),
            Kind::Schedule | Kind::Profile => applied_paths(&self.tokens),
        }
    }

    /// Returns the names that may begin paths: the identifiers in a header, and the first name of each path that it uses.
    pub(super) fn words(&self) -> impl Iterator<Item = String> + use<> {
        let word = |tree| if let TokenTree::Ident(word) = tree { Some(word.to_string()) } else { None };
        let used = self.used().into_iter().filter_map(|path| path.names.into_iter().next());
        let has_header = matches!(self.kind, Kind::Schedule | Kind::Profile);
        self.tokens.clone().into_iter().filter(move |_| has_header).filter_map(word).chain(used)
    }
}

/// Returns the name that an item's tokens define: after the last `fn`, or before the first `:`, `<` or brace.
fn name(kind: Kind, tokens: &TokenStream) -> Option<String> {
    if kind == Kind::Kernel {
        return split(tokens).into_iter().rev().find_map(|item| item.name);
    }
    let mut last = None;
    for tree in tokens.clone() {
        match (&tree, kind) {
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
