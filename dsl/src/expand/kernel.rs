//! `kernel!`: checks a kernel, and makes its module and its carrier.

use super::carrier::{Load, kernel_carrier};
use super::head::Head;
use super::items::items;
use super::signature::Signature;
use super::{Backend, link, tokens, variant};
use crate::algorithm::check_generic;
use crate::diag::{Errors, Spans};
use crate::profile::Profile;
use crate::syntax::{self, Kernel};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;

const FORM: &str = "a kernel is `pub fn name<T: f32 | f16, N>(x: T[N]) -> y: T[N] { y[i] = x[i]; }`";

/// `kernel!`.
pub fn kernel(tokens: TokenStream, backend: Backend) -> TokenStream {
    let tokens = match tokens::visible(tokens) {
        Ok(tokens) => tokens,
        Err(error) => return link::syntax_error(&error, FORM),
    };
    let mut spans = Spans::new();
    let mut errors = Errors::new();
    let parsed = syntax::kernel::parse(tokens.clone(), &mut spans);
    errors.extend(parsed.errors);
    let checked = parsed.tree.as_ref().filter(|k| k.whole).and_then(|k| errors.keep(check_generic(k)));
    let reported = errors.to_tokens(&spans);
    let head = match Head::of_kernel(tokens.clone()) {
        Ok(head) => head,
        Err(error) => {
            let reported = if errors.is_empty() { link::syntax_error(&error, FORM) } else { reported };
            return reported.into_iter().chain(unreadable(tokens)).collect();
        }
    };
    let signature = match &parsed.tree {
        Some(kernel) => Signature::new(kernel, &tokens, &spans),
        None => Signature::unknown(&head),
    };
    let (mut items, mut docs) = (items(&signature), documentation(&head, &signature));
    if let (Some(_), Some(kernel), true) = (checked, &parsed.tree, errors.is_empty()) {
        match default(kernel, &signature, &spans, backend) {
            Ok(default) => items.extend(default),
            Err(why) => docs.extend(without_default(&why)),
        }
    }
    let item = kernel_carrier(&head, Load::new(tokens, errors.is_empty()), &signature, docs, items);
    quote!(#reported #item)
}

/// The module of a kernel whose head cannot be read, which is reported.
fn unreadable(tokens: TokenStream) -> TokenStream {
    let opens = |tree: &TokenTree| match tree {
        TokenTree::Punct(p) => p.as_char() == '<',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        _ => false,
    };
    let Some(head) = Head::guess(tokens, opens) else { return TokenStream::new() };
    let signature = Signature::unknown(&head);
    let (items, documentation) = (items(&signature), documentation(&head, &signature));
    kernel_carrier(&head, Load::Broken, &signature, documentation, items)
}

/// `DEFAULT`, where no dtype is open and every Vulkan device can run it.
fn default(kernel: &Kernel, signature: &Signature, spans: &Spans, backend: Backend) -> Result<TokenStream, Errors> {
    if !signature.dtypes.is_empty() {
        return Ok(TokenStream::new());
    }
    let made = variant::make(kernel, &variant::default_schedule(kernel), &Profile::vulkan_1_1(), spans, backend)?;
    let (value, nest) = (made.value(Span::call_site()), &made.documentation);
    Ok(quote! {
        /// The heuristic schedule, for every device: right everywhere, fast nowhere in particular.
        ///
        #[doc = #nest]
        pub const DEFAULT: ::tilewright::__private::Variant<Kernel> = #value;
    })
}

/// Why there is no `DEFAULT`. It is no error: a schedule for a better device, with facts or other parameters, may work or say more.
fn without_default(why: &Errors) -> TokenStream {
    let why = why.0.iter().map(|error| format!("There is no `DEFAULT`: {}.", error.message));
    quote!(#(#[doc = ""] #[doc = #why])*)
}

/// The module's documentation: the user's, and the declaration.
fn documentation(head: &Head, signature: &Signature) -> TokenStream {
    let docs = &head.docs;
    let declaration = format!("```text\n{}\n```", signature.declaration);
    let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#docs)* #gap #[doc = #declaration])
}
