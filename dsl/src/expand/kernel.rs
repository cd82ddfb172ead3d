//! `kernel!`: checks a kernel, and makes its module and its carrier.

use super::carrier::{Load, kernel_carrier};
use super::head::Head;
use super::items::items;
use super::signature::Signature;
use super::source::{documented, split_source};
use super::{Backend, Costs, default, functions, link, tokens};
use crate::algorithm::check_generic;
use crate::diag::{Error, Errors, Spans};
use crate::syntax::functions::kernel_tokens;
use crate::syntax::{self, Kernel, Library, Name, families};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::quote;

/// The last paragraph of a kernel's documentation. A schedule is an item of its own, which the kernel does not know.
const SCHEDULES: &str =
    "A schedule of this kernel is a constant of the type `Variant<Kernel>`, made by `schedule!`. Its page has a link to this one.";

const FORM: &str = "a kernel is `pub fn name<T: f32 | f16, N>(x: T[N]) -> y: T[N] { y[i] = x[i]; }`";

/// Expands `kernel!`. First the carriers of the functions that it imports are called.
pub fn kernel(tokens: TokenStream, backend: Backend, costs: Costs) -> TokenStream {
    match tokens::visible(tokens) {
        Ok(tokens) => {
            let tokens = documented(tokens);
            let next = functions::next("kernel", &Library::default(), &tokens);
            next.unwrap_or_else(|| define(tokens, backend, costs))
        }
        Err(error) => link::syntax_error(&error, FORM),
    }
}

/// Makes the module and the carrier of a kernel, whose tokens follow the [`Library`] of the functions that it imports.
pub(super) fn define(tokens: TokenStream, backend: Backend, costs: Costs) -> TokenStream {
    let own = kernel_tokens(&Library::split(tokens.clone()).1);
    let mut spans = Spans::new();
    let mut errors = Errors::new();
    let parsed = syntax::kernel::parse(tokens.clone(), &mut spans);
    errors.extend(parsed.errors);
    let checked = parsed.tree.as_ref().filter(|k| k.whole).and_then(|k| errors.keep(check_generic(k)));
    let reported = errors.to_tokens(&spans);
    let head = match Head::of_kernel(own.clone()) {
        Ok(head) => head,
        Err(error) => {
            let reported = match &parsed.tree {
                _ if !errors.is_empty() => reported,
                Some(kernel) if syn::parse_str::<Ident>(&kernel.name.text).is_err() => keyword(&kernel.name).to_tokens(&spans),
                _ => link::syntax_error(&error, FORM),
            };
            return reported.into_iter().chain(unreadable(own)).collect();
        }
    };
    let signature = match &parsed.tree {
        Some(kernel) => Signature::new(kernel, &own, &spans),
        None => Signature::unknown(&head),
    };
    let (mut items, mut docs) = (items(&signature), documentation(&head, &signature));
    let is_right = errors.is_empty() && checked.is_some();
    items.extend(match (checked, &parsed.tree) {
        (Some(_), Some(kernel)) if errors.is_empty() => match default::of(kernel, &signature, &spans, backend, costs) {
            Ok(default) => default,
            Err(missing) => {
                docs.extend(missing.documentation());
                missing.item()
            }
        },
        _ => default::of_broken(&signature),
    });
    if let (true, Some(kernel)) = (is_right, &parsed.tree) {
        items.extend(unused(kernel, &spans));
    }
    let item = kernel_carrier(&head, Load::new(tokens, is_right), &signature, docs, items);
    quote!(#reported #item)
}

/// Returns a constant for rustc's lint `unused_variables`, with a variable for each `let` that no statement of the kernel uses.
fn unused(kernel: &Kernel, spans: &Spans) -> Option<TokenStream> {
    let variable = |name: &Name| {
        let text = families::parts(&name.text).map_or(name.as_str(), |(family, _)| family);
        let mut variable: Ident = syn::parse_str(text).ok()?;
        variable.set_span(spans.get(name.span)?.0);
        Some(variable)
    };
    let variables: Vec<Ident> = crate::algorithm::unused(kernel).into_iter().filter_map(variable).collect();
    (!variables.is_empty()).then(|| quote!(const _: () = { #(let #variables = 0;)* };))
}

/// Returns the module of a kernel whose header cannot be read. The error is already reported.
fn unreadable(tokens: TokenStream) -> TokenStream {
    let opens = |tree: &TokenTree| match tree {
        TokenTree::Punct(p) => p.as_char() == '<',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        _ => false,
    };
    let Some(head) = Head::guess(tokens, opens) else { return TokenStream::new() };
    let signature = Signature::unknown(&head);
    let (mut items, documentation) = (items(&signature), documentation(&head, &signature));
    items.extend(default::of_broken(&signature));
    kernel_carrier(&head, Load::Broken, &signature, documentation, items)
}

/// Refuses a kernel whose name is a keyword of Rust.
fn keyword(name: &Name) -> Errors {
    let error = Error::new(name.span, format!("`{name}` is a keyword of Rust, and the kernel becomes a module of that name"));
    error.help(format!("write another name, or `fn r#{name}`")).into()
}

/// Returns the module's documentation: the user's text, the kernel as it is written, and how to find its schedules. If the compiler does
/// not know the source text, the declaration takes its place.
fn documentation(head: &Head, signature: &Signature) -> TokenStream {
    let (own, source) = split_source(&head.docs);
    let declaration = source.is_empty().then(|| {
        let declaration = format!("```text\n{}\n```", signature.declaration);
        quote!(#[doc = #declaration])
    });
    let gap = (!own.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#own)* #gap #(#source)* #declaration #[doc = ""] #[doc = #SCHEDULES])
}
