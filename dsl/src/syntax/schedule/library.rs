//! The schedules that a schedule applies, as tokens before its own: `__library { "a::TILES" { … } }`.
//!
//! The carriers of `schedule!` and the reader of source files collect them, because the parser does not read other items. The tokens of
//! each have its own library before them.

use crate::diag::Error;
use crate::syntax::Cursor;
use proc_macro2::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};
use quote::quote;

const WORD: &str = "__library";

/// Schedules by the paths that name them.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The tokens are `None` for a schedule with errors, which are already reported.
    entries: Vec<(String, Option<TokenStream>)>,
}

/// A path that a schedule applies.
#[derive(Clone, Debug)]
pub struct AppliedPath {
    /// Its names.
    pub names: Vec<String>,
    /// The tokens.
    pub tokens: TokenStream,
}

impl AppliedPath {
    /// Returns the path as text.
    pub fn text(&self) -> String {
        self.names.join("::")
    }

    /// Returns the text as a literal, by which a carrier passes it on.
    pub fn literal(&self) -> TokenTree {
        Literal::string(&self.text()).into()
    }
}

impl Library {
    /// Separates a schedule's library from its own tokens.
    pub fn split(tokens: TokenStream) -> (Library, TokenStream) {
        let mut trees = tokens.clone().into_iter();
        match (trees.next(), trees.next()) {
            (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group))) if word == WORD => {
                (Library::of(group.stream()), trees.collect())
            }
            _ => (Library::default(), tokens),
        }
    }

    /// Returns a schedule's own tokens with this library before them.
    pub fn before(&self, own: &TokenStream) -> TokenStream {
        if self.entries.is_empty() {
            return own.clone();
        }
        let entries = self.entries.iter().map(|(path, tokens)| {
            let tokens = tokens.as_ref().map_or_else(|| quote!(broken), |tokens| quote!({ #tokens }));
            quote!(#path #tokens)
        });
        let word = Ident::new(WORD, Span::call_site());
        quote!(#word { #(#entries)* } #own)
    }

    /// Adds the tokens of a schedule, or `None` for one with errors. `path` is a literal.
    pub fn add(&mut self, path: TokenTree, tokens: Option<TokenStream>) {
        let path = syn::parse2::<syn::LitStr>(path.into()).ok();
        self.entries.extend(path.map(|path| (path.value(), tokens)));
    }

    /// Returns the tokens of all schedules, without their libraries.
    pub fn schedules(&self) -> Vec<TokenStream> {
        let mut found = Vec::new();
        for tokens in self.entries.iter().filter_map(|(_, tokens)| tokens.clone()) {
            let (library, own) = Library::split(tokens);
            found.push(own);
            found.extend(library.schedules());
        }
        found
    }

    /// True if none of the schedules has errors.
    pub fn is_whole(&self) -> bool {
        self.entries.iter().all(|(_, tokens)| tokens.is_some())
    }

    /// Returns the first path that a schedule applies and that is not here.
    pub fn missing(&self, own: &TokenStream) -> Option<AppliedPath> {
        applied_paths(own).into_iter().find(|path| self.find(&path.text()).is_none())
    }

    /// Reads a library, if it comes next.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Library, Error> {
        if cursor.eat_word(WORD).is_none() {
            return Ok(Library::default());
        }
        let (tokens, _) = cursor.inside(Delimiter::Brace, |cursor| Ok(cursor.rest()))?;
        Ok(Library::of(tokens))
    }

    /// Returns the tokens of a schedule. The inner `None` stands for one with errors.
    pub(super) fn find(&self, path: &str) -> Option<&Option<TokenStream>> {
        self.entries.iter().find(|(known, _)| known == path).map(|(_, tokens)| tokens)
    }

    fn of(tokens: TokenStream) -> Library {
        let mut library = Library::default();
        let mut trees = tokens.into_iter();
        while let (Some(path), Some(item)) = (trees.next(), trees.next()) {
            library.add(path, if let TokenTree::Group(group) = item { Some(group.stream()) } else { None });
        }
        library
    }
}

/// Returns each path that the items in a schedule's braces apply: the names after `apply` at the start of an item.
pub fn applied_paths(own: &TokenStream) -> Vec<AppliedPath> {
    let mut found: Vec<AppliedPath> = Vec::new();
    for tree in own.clone() {
        if let TokenTree::Group(group) = tree
            && group.delimiter() == Delimiter::Brace
        {
            collect(group.stream(), &mut found);
        }
    }
    found
}

fn collect(items: TokenStream, found: &mut Vec<AppliedPath>) {
    let mut trees = items.into_iter().peekable();
    let mut is_start = true;
    while let Some(tree) = trees.next() {
        let was_start = std::mem::replace(&mut is_start, ends_item(&tree));
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => collect(group.stream(), found),
            TokenTree::Ident(word) if was_start && word == "apply" => {
                let mut path = AppliedPath { names: Vec::new(), tokens: TokenStream::new() };
                while let Some(tree) = trees.next_if(|tree| continues(tree, &path)) {
                    if let TokenTree::Ident(name) = &tree {
                        path.names.push(name.to_string());
                    }
                    path.tokens.extend([tree]);
                }
                if !path.names.is_empty() && found.iter().all(|known| known.names != path.names) {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
}

/// True if a token ends an item: `;`, or the braces of a block.
fn ends_item(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// True if a token continues a path: a name after `::` or at the start, or `:`.
fn continues(tree: &TokenTree, path: &AppliedPath) -> bool {
    let last = path.tokens.clone().into_iter().last();
    match tree {
        TokenTree::Ident(_) => !matches!(last, Some(TokenTree::Ident(_))),
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    }
}
