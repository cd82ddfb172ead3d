//! Tokens, before anything is parsed.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The same tokens without invisible groups.
///
/// A `macro_rules!` of the user's that takes `$size:expr` and stamps out a kernel with it passes an invisible group. It
/// becomes parentheses, or nothing where one token or a path needs none.
pub(super) fn visible(tokens: TokenStream) -> TokenStream {
    tokens.into_iter().flat_map(|tree| visible_tree(tree).into_iter()).collect()
}

fn visible_tree(tree: TokenTree) -> TokenStream {
    let TokenTree::Group(group) = tree else { return tree.into() };
    let inner = visible(group.stream());
    let delimiter = match group.delimiter() {
        Delimiter::None if is_atom(&inner) => return inner,
        Delimiter::None => Delimiter::Parenthesis,
        visible => visible,
    };
    let mut shown = Group::new(delimiter, inner);
    shown.set_span(group.span());
    TokenTree::Group(shown).into()
}

/// Whether tokens are one token, or a path.
fn is_atom(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().nth(1).is_none()
        || tokens.clone().into_iter().all(|t| match t {
            TokenTree::Ident(_) => true,
            TokenTree::Punct(p) => p.as_char() == ':',
            _ => false,
        })
}

/// Whether there is a `$` anywhere: such tokens cannot stand in a `macro_rules!`.
pub(super) fn has_dollar(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Punct(p) => p.as_char() == '$',
        TokenTree::Group(g) => has_dollar(&g.stream()),
        _ => false,
    })
}

/// A name that no other item of the crate has: made from the tokens and the place of the macro's call.
///
/// The place tells apart equal tokens in two modules, and, because the compiler's `Debug` of a span shows which expansion
/// it is from, those that a user's `macro_rules!` stamps out twice.
pub(super) fn unique(prefix: &str, tokens: &TokenStream) -> proc_macro2::Ident {
    let mut hasher = DefaultHasher::new();
    tokens.to_string().hash(&mut hasher);
    format!("{:?}", Span::call_site()).hash(&mut hasher);
    quote::format_ident!("__tw_{prefix}_{:016x}", hasher.finish(), span = Span::call_site())
}
