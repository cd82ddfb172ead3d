//! `functions!`: checks functions, and makes a module and a carrier for each. `kernel!` and `functions!` call the carriers of the functions
//! that they import. Each leads to `__imported!`, which puts the functions before the item's tokens, and continues.

use super::carrier::{Load, function_carrier};
use super::head::{Head, hidden};
use super::{Backend, Costs, kernel, link, tokens};
use crate::algorithm::check_functions;
use crate::diag::{Errors, Spans};
use crate::syntax::Library;
use crate::syntax::functions::{Import, ItemTokens, imported_paths, imports, kernel_tokens, parse, plain, split};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::BTreeSet;

const FORM: &str = "`functions!` has imports, `use maths::cube;`, and functions, `pub fn name(v: f32) -> f32 { v * v }`";

/// Expands `functions!`.
pub fn functions(tokens: TokenStream) -> TokenStream {
    match tokens::visible(tokens) {
        Ok(tokens) => next("functions", &Library::default(), &tokens).unwrap_or_else(|| define(&Library::default(), &tokens)),
        Err(error) => link::syntax_error(&error, FORM),
    }
}

/// Returns the call of the carrier of the first function that an item imports and that its library does not have. `None` if there is none.
/// `item` is the macro of the item.
pub(super) fn next(item: &str, library: &Library, own: &TokenStream) -> Option<TokenStream> {
    let path = library.missing(imported_paths(own))?;
    let literal = path.literal();
    let carrier = hidden(&syn::parse2(path.tokens).ok()?, "__function");
    // The functions of `functions!` have a `cfg` each.
    let head = if item == "kernel" { Head::of_kernel(kernel_tokens(own)).ok() } else { None };
    let cfg = head.map(|head| head.cfg).unwrap_or_default();
    let (item, whole) = (Ident::new(item, Span::call_site()), library.before(own));
    Some(quote!(#(#cfg)* #carrier ! { #item { #whole } #literal }))
}

/// Expands `__imported!{ kernel {tokens} "path" {function} }`: continues with an item after the carrier of a function that it imports has
/// added the function's tokens, or `broken`.
pub fn imported(tokens: TokenStream, backend: Backend, costs: Costs) -> TokenStream {
    if let Err(error) = tokens::check_depth(&tokens) {
        return link::syntax_error(&error, FORM);
    }
    let mut trees = tokens.into_iter();
    let (Some(item), Some(TokenTree::Group(whole)), Some(path), added) = (trees.next(), trees.next(), trees.next(), trees.next())
    else {
        return TokenStream::new();
    };
    let (mut library, own) = Library::split(whole.stream());
    library.add(path, if let Some(TokenTree::Group(group)) = added { Some(group.stream()) } else { None });
    let item = item.to_string();
    next(&item, &library, &own).unwrap_or_else(|| match item.as_str() {
        "kernel" => kernel::define(library.before(&own), backend, costs),
        _ => define(&library, &own),
    })
}

/// Expands `__not_a_function!{ item {tokens} "path" }` to the item, and the error that the path leads to a kernel or a profile.
pub fn not_a_function(tokens: TokenStream, backend: Backend, costs: Costs) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let [_, TokenTree::Group(whole), TokenTree::Literal(path)] = &trees[..] else { return TokenStream::new() };
    let (_, own) = Library::split(whole.stream());
    let named = imports(&own).into_iter().find(|import| import.path.literal().to_string() == path.to_string());
    let path = named.and_then(|import| syn::parse2(import.path.tokens).ok());
    let error = path.map(|path| link::wrong_kind(&path, "is not a function of `functions!`", FORM)).unwrap_or_default();
    let item = imported(quote!(#tokens broken), backend, costs);
    quote!(#error #item)
}

/// Makes the modules and the carriers of functions.
fn define(library: &Library, own: &TokenStream) -> TokenStream {
    let (mut spans, mut errors) = (Spans::new(), Errors::new());
    let parsed = parse(library.before(own), &mut spans);
    errors.extend(parsed.errors);
    let functions = parsed.tree.unwrap_or_default();
    if errors.is_empty() {
        errors.keep(check_functions(&functions, &[]));
    }
    let is_right = errors.is_empty() && functions.are_whole();
    let reported = errors.to_tokens(&spans);
    let items = split(own);
    let named = items.iter().filter_map(|item| Some((item.name.as_ref()?, &item.tokens)));
    let carriers = named.filter_map(|(name, tokens)| {
        let head = match Head::of_kernel(tokens.clone()) {
            Ok(head) => head,
            Err(error) if errors.is_empty() => return Some(link::syntax_error(&error, FORM)),
            Err(_) => return None,
        };
        let needed = if is_right { needed(library, own, name) } else { TokenStream::new() };
        Some(function_carrier(&head, Load::new(needed, is_right), documentation(&head, tokens)))
    });
    quote!(#reported #(#carriers)*)
}

/// Returns the tokens of a function as carriers pass them on: its name, and in braces the function and the functions of its `functions!` that it
/// calls, after a library of the functions that these import.
pub fn needed(library: &Library, own: &TokenStream, name: &str) -> TokenStream {
    let items = split(own);
    let mut names = BTreeSet::from([name.to_owned()]);
    let is_needed = |item: &&ItemTokens, names: &BTreeSet<String>| item.name.as_ref().is_some_and(|name| names.contains(name));
    loop {
        let calls = items.iter().filter(|item| is_needed(item, &names)).flat_map(|item| called(&item.tokens));
        let more: BTreeSet<String> = calls.chain(names.clone()).collect();
        if more.len() == names.len() {
            break;
        }
        names = more;
    }
    let functions = items.iter().filter(|item| is_needed(item, &names)).map(|item| &item.tokens);
    let needed = imports(own).into_iter().filter(|import| names.contains(&import.name.text));
    let (mut used, mut uses) = (Library::default(), TokenStream::new());
    for Import { path, name } in needed {
        if let Some(tokens) = library.find(&path.text()) {
            used.add(path.literal(), tokens.clone());
        }
        let (path, name) = (path.tokens, syn::parse_str::<Ident>(&name.text).ok());
        uses.extend(name.map(|name| quote!(use #path as #name;)));
    }
    let name = syn::parse_str::<Ident>(name).ok();
    used.before(&quote!(#name { #uses #(#functions)* }))
}

/// Returns the names before parentheses.
fn called(tokens: &TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut last = None;
    for tree in tokens.clone() {
        match &tree {
            TokenTree::Group(group) => {
                found.extend(last.take().filter(|_| group.delimiter() == Delimiter::Parenthesis));
                found.extend(called(&group.stream()));
            }
            TokenTree::Ident(ident) => last = Some(plain(&ident.to_string())),
            _ => last = None,
        }
    }
    found
}

/// Returns the documentation of a function's module: the user's text and the declaration.
fn documentation(head: &Head, tokens: &TokenStream) -> TokenStream {
    let is_body = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let header: TokenStream = tokens.clone().into_iter().take_while(|tree| !is_body(tree)).collect();
    let header = header.into_iter().skip_while(|tree| !matches!(tree, TokenTree::Ident(word) if word == "fn")).collect();
    let declaration = format!("```text\n{}\n```", tokens::text(&header));
    let docs = &head.docs;
    let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#docs)* #gap #[doc = #declaration]).to_token_stream()
}
