//! Splits the tokens of `functions!` and `kernel!` into their items before they are parsed.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// An import, a function or a kernel.
#[derive(Clone, Debug, Default)]
pub struct ItemTokens {
    /// The name after `fn`. `None` for an import.
    pub name: Option<String>,
    /// The tokens.
    pub tokens: TokenStream,
}

/// Splits tokens without their library: an import ends at its `;`, and a function at its body.
pub fn split(own: &TokenStream) -> Vec<ItemTokens> {
    let (mut items, mut item) = (Vec::new(), ItemTokens::default());
    let (mut first, mut last) = (String::new(), String::new());
    for tree in own.clone() {
        let word = tree.to_string();
        if item.tokens.is_empty() {
            first.clone_from(&word);
        }
        let is_import = first == "use";
        if last == "fn" && item.name.is_none() && !is_import {
            item.name = Some(plain(&word));
        }
        let ends = match &tree {
            TokenTree::Punct(punct) => is_import && punct.as_char() == ';',
            TokenTree::Group(group) => !is_import && group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        item.tokens.extend([tree]);
        last = word;
        if ends {
            items.push(std::mem::take(&mut item));
        }
    }
    if !item.tokens.is_empty() {
        items.push(item);
    }
    items
}

/// Returns a name as the parser does: without `r#`, unless it is a keyword.
pub fn plain(name: &str) -> String {
    let is_plain = |text: &&str| syn::parse_str::<syn::Ident>(text).is_ok();
    name.strip_prefix("r#").filter(is_plain).unwrap_or(name).to_owned()
}

/// Returns the tokens of a kernel without the functions before it: the last item with a `fn`, and what follows it.
pub fn kernel_tokens(own: &TokenStream) -> TokenStream {
    let items = split(own);
    let kernel = items.iter().rposition(|item| item.name.is_some()).unwrap_or(0);
    items.into_iter().skip(kernel).map(|item| item.tokens).collect()
}
