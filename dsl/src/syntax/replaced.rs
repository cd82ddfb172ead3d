//! Replaces names by numbers in tokens that are not parsed yet: the numbers of a schedule, and the variables of loops over stages.

use proc_macro2::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};

/// True for the `=` after the name of another schedule's number.
pub(super) fn is_equals(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == '=' && p.spacing() == Spacing::Alone)
}

/// Replaces names by their values, except before `=`: in `apply TILES<R = R * 2>`, the first `R` is a number of `TILES`.
pub(super) fn replaced(tokens: TokenStream, values: &[(&str, TokenStream)]) -> TokenStream {
    let mut trees = tokens.into_iter().peekable();
    let mut valued = TokenStream::new();
    while let Some(tree) = trees.next() {
        let is_bound = is_equals(trees.peek());
        let tree = match tree {
            TokenTree::Ident(name) if !is_bound => match values.iter().find(|(number, _)| name == number) {
                Some((_, value)) => atom(value.clone(), name.span()),
                None => TokenTree::Ident(name),
            },
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), replaced(group.stream(), values));
                inside.set_span(group.span());
                TokenTree::Group(inside)
            }
            other => other,
        };
        valued.extend([tree]);
    }
    valued
}

/// Returns a value as one token tree. A literal gets the place at which it stands for the name.
fn atom(value: TokenStream, place: Span) -> TokenTree {
    let mut trees = value.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Literal(mut literal)), None) => {
            literal.set_span(place);
            TokenTree::Literal(literal)
        }
        (Some(tree), None) => tree,
        _ => TokenTree::Group(Group::new(Delimiter::Parenthesis, value)),
    }
}
