//! The items that an item uses, as tokens before its own: `__library { "a::TILES" { … } }`. A schedule uses the schedules that it applies,
//! and a kernel or a function the functions that it imports.
//!
//! The carriers of the items and the reader of source files collect them, because the parser does not read other items. The tokens of
//! each have its own library before them.

use crate::diag::Error;
use crate::syntax::Cursor;
use proc_macro2::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};
use quote::quote;

const WORD: &str = "__library";

/// Items by the paths that name them.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The tokens are `None` for an item with errors, which are already reported.
    entries: Vec<(String, Option<TokenStream>)>,
}

/// The path of an item that another one uses.
#[derive(Clone, Debug, Default)]
pub struct ItemPath {
    /// Its names.
    pub names: Vec<String>,
    /// The tokens.
    pub tokens: TokenStream,
}

impl ItemPath {
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
    /// Separates an item's library from its own tokens.
    pub fn split(tokens: TokenStream) -> (Library, TokenStream) {
        let mut trees = tokens.clone().into_iter();
        match (trees.next(), trees.next()) {
            (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group))) if word == WORD => {
                (Library::of(group.stream()), trees.collect())
            }
            _ => (Library::default(), tokens),
        }
    }

    /// Returns an item's own tokens with this library before them.
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

    /// Adds the tokens of an item, or `None` for one with errors. `path` is a literal.
    pub fn add(&mut self, path: TokenTree, tokens: Option<TokenStream>) {
        let path = syn::parse2::<syn::LitStr>(path.into()).ok();
        self.entries.extend(path.map(|path| (path.value(), tokens)));
    }

    /// Returns the tokens of all items, without their libraries.
    pub fn items(&self) -> Vec<TokenStream> {
        let mut found = Vec::new();
        for tokens in self.entries.iter().filter_map(|(_, tokens)| tokens.clone()) {
            let (library, own) = Library::split(tokens);
            found.push(own);
            found.extend(library.items());
        }
        found
    }

    /// True if none of the items has errors.
    pub fn is_whole(&self) -> bool {
        self.entries.iter().all(|(_, tokens)| tokens.is_some())
    }

    /// Returns the first of the paths that is not here.
    pub fn missing(&self, paths: Vec<ItemPath>) -> Option<ItemPath> {
        paths.into_iter().find(|path| self.find(&path.text()).is_none())
    }

    /// Reads a library, if it comes next.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Library, Error> {
        if cursor.eat_word(WORD).is_none() {
            return Ok(Library::default());
        }
        let (tokens, _) = cursor.inside(Delimiter::Brace, |cursor| Ok(cursor.rest()))?;
        Ok(Library::of(tokens))
    }

    /// Returns the tokens of an item. The inner `None` stands for one with errors.
    pub fn find(&self, path: &str) -> Option<&Option<TokenStream>> {
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
