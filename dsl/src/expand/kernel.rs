//! `kernel!`: checks a kernel, and makes its module and its carrier.

use super::carrier::{Load, kernel_carrier};
use super::face::Face;
use super::head::Head;
use super::items::items;
use super::{link, tokens};
use crate::diag::Spans;
use crate::syntax;
use proc_macro2::TokenStream;
use quote::quote;

const FORM: &str = "a kernel is `pub fn name<T: f32 | f16, N>(x: T[N]) -> y: T[N] { y[i] = x[i]; }`";

/// `kernel!`.
pub fn kernel(tokens: TokenStream) -> TokenStream {
    let tokens = tokens::visible(tokens);
    let mut spans = Spans::new();
    let parsed = syntax::kernel::parse(tokens.clone(), &mut spans);
    let errors = parsed.errors.to_tokens(&spans);
    let right = parsed.errors.is_empty();
    let head = match Head::of_kernel(tokens.clone()) {
        Ok(head) => head,
        Err(_) if !right => return errors,
        Err(error) => return link::syntax_error(&error, FORM),
    };
    let face = match &parsed.tree {
        Some(kernel) => Face::new(kernel, &tokens, &spans),
        None => Face::unknown(&head),
    };
    let item = kernel_carrier(&head, Load::new(tokens, right), &face, documentation(&head, &face), items(&face));
    quote!(#errors #item)
}

/// The module's documentation: the user's, and the declaration.
fn documentation(head: &Head, face: &Face) -> TokenStream {
    let docs = &head.docs;
    let declaration = format!("```text\n{}\n```", face.declaration);
    let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#docs)* #gap #[doc = #declaration])
}
