//! Finds the paths of the schedules that a schedule applies, in tokens that are not parsed yet.

use crate::syntax::library::ItemPath;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns each path that the items in a schedule's braces apply: the names after `apply` at the start of an item.
pub fn applied_paths(own: &TokenStream) -> Vec<ItemPath> {
    let mut found: Vec<ItemPath> = Vec::new();
    for tree in own.clone() {
        if let TokenTree::Group(group) = tree
            && group.delimiter() == Delimiter::Brace
        {
            collect(group.stream(), &mut found);
        }
    }
    found
}

fn collect(items: TokenStream, found: &mut Vec<ItemPath>) {
    let mut trees = items.into_iter().peekable();
    let mut is_start = true;
    while let Some(tree) = trees.next() {
        let was_start = std::mem::replace(&mut is_start, ends_item(&tree));
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => collect(group.stream(), found),
            TokenTree::Ident(word) if was_start && word == "apply" => {
                let mut path = ItemPath::default();
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
fn continues(tree: &TokenTree, path: &ItemPath) -> bool {
    let last = path.tokens.clone().into_iter().last();
    match tree {
        TokenTree::Ident(_) => !matches!(last, Some(TokenTree::Ident(_))),
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    }
}
