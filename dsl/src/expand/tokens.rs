//! Functions on tokens before they are parsed.

use proc_macro2::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns the same tokens without invisible groups.
///
/// A `macro_rules!` of the user that takes `$size:expr` and expands to a kernel with it passes an invisible group. Such a group becomes
/// parentheses, unless it is a single token or a path, which need none. Tokens that nest too deep are an error.
pub fn visible(tokens: TokenStream) -> syn::Result<TokenStream> {
    check_depth(&tokens)?;
    // A group that is made anew loses the places of its delimiters.
    Ok(if has_invisible(&tokens) { shown(tokens) } else { tokens })
}

fn has_invisible(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::None || has_invisible(&group.stream()),
        _ => false,
    })
}

/// The greatest nesting depth of groups. It is limited because parsers recurse into groups on rustc's stack.
const DEEPEST: usize = 128;

/// Checks that groups do not nest too deep.
pub(super) fn check_depth(tokens: &TokenStream) -> syn::Result<()> {
    let mut open = vec![tokens.clone().into_iter()];
    while let Some(trees) = open.last_mut() {
        match trees.next() {
            Some(TokenTree::Group(group)) if open.len() > DEEPEST => {
                return Err(syn::Error::new(group.span_open(), format!("groups are nested more than {DEEPEST} deep")));
            }
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(_) => {}
            None => drop(open.pop()),
        }
    }
    Ok(())
}

fn shown(tokens: TokenStream) -> TokenStream {
    tokens.into_iter().flat_map(|tree| visible_tree(tree).into_iter()).collect()
}

fn visible_tree(tree: TokenTree) -> TokenStream {
    let TokenTree::Group(group) = tree else { return tree.into() };
    let inner = shown(group.stream());
    let delimiter = match group.delimiter() {
        Delimiter::None if is_atom(&inner) => return inner,
        Delimiter::None => Delimiter::Parenthesis,
        visible => visible,
    };
    let mut shown = Group::new(delimiter, inner);
    shown.set_span(group.span());
    TokenTree::Group(shown).into()
}

/// True if the tokens are a single token or a path.
fn is_atom(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().nth(1).is_none()
        || tokens.clone().into_iter().all(|t| match t {
            TokenTree::Ident(_) => true,
            TokenTree::Punct(p) => p.as_char() == ':',
            _ => false,
        })
}

/// True if the tokens contain a `$`. Such tokens cannot be in a `macro_rules!`.
pub(super) fn has_dollar(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Punct(p) => p.as_char() == '$',
        TokenTree::Group(g) => has_dollar(&g.stream()),
        _ => false,
    })
}

/// Returns tokens as a person would write them, on one line, because rustc does not keep the original text.
pub fn text(tokens: &TokenStream) -> String {
    let mut text = String::new();
    let mut before = String::new();
    for word in words(tokens) {
        let opens = word.starts_with(['(', '[']);
        let after_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '>') && before != "->";
        let glued = matches!(word.as_str(), "," | ";" | ":" | ">" | "<" | "::")
            || matches!(before.as_str(), "" | "<" | "&" | "::")
            || (opens && after_name);
        if !glued {
            text.push(' ');
        }
        text += &word;
        before = word;
    }
    text
}

/// Returns operators, names, literals, and groups with their contents.
fn words(tokens: &TokenStream) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut joint = false;
    for tree in tokens.clone() {
        let was_joint = std::mem::take(&mut joint);
        match tree {
            TokenTree::Group(group) => {
                let inside = text(&group.stream());
                words.push(match group.delimiter() {
                    Delimiter::Parenthesis => format!("({inside})"),
                    Delimiter::Bracket => format!("[{inside}]"),
                    Delimiter::Brace => format!("{{ {inside} }}"),
                    Delimiter::None => inside,
                });
            }
            TokenTree::Punct(punct) => {
                joint = punct.spacing() == Spacing::Joint;
                match words.last_mut() {
                    Some(last) if was_joint => last.push(punct.as_char()),
                    _ => words.push(punct.as_char().into()),
                }
            }
            other => words.push(other.to_string()),
        }
    }
    words
}

/// Returns a name that no other item of the crate has, made from the tokens and the place of the macro's call.
///
/// The place distinguishes equal tokens in two modules. It also distinguishes equal items that a user's `macro_rules!` expands to twice,
/// because the compiler's `Debug` of a span shows its expansion.
pub(super) fn unique(prefix: &str, tokens: &TokenStream) -> proc_macro2::Ident {
    let mut hasher = DefaultHasher::new();
    tokens.to_string().hash(&mut hasher);
    format!("{:?}", Span::call_site()).hash(&mut hasher);
    quote::format_ident!("__tw_{prefix}_{:016x}", hasher.finish(), span = Span::call_site())
}
