//! Adds the text of a schedule or of a kernel to its documentation.

use crate::syntax::functions::kernel_tokens;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue};

/// Returns the tokens of a `schedule!` or of a `kernel!`. If the compiler knows the source text, it is appended to the documentation of the
/// schedule, or of the kernel, which follows its imports and functions.
pub(super) fn documented(tokens: TokenStream) -> TokenStream {
    let Some(text) = Span::call_site().source_text().as_deref().and_then(paragraph) else { return tokens };
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_attribute = |pair: &&[TokenTree]| match pair {
        [TokenTree::Punct(mark), TokenTree::Group(group)] => mark.as_char() == '#' && group.delimiter() == Delimiter::Bracket,
        _ => false,
    };
    let item = kernel_tokens(&trees.iter().cloned().collect()).into_iter().count();
    let start = trees.len().saturating_sub(item);
    let attributes = trees[start..].chunks_exact(2).take_while(is_attribute).count();
    let (before, behind) = trees.split_at(start + 2 * attributes);
    quote!(#(#before)* #[doc = #text] #(#behind)*)
}

/// Splits the documentation of an item into the user's text and the source text that [`documented`] appends.
pub(super) fn split_source(docs: &[Attribute]) -> (&[Attribute], &[Attribute]) {
    let is_source = |doc: &Attribute| match &doc.meta {
        Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), .. }) => {
            text.value().starts_with("\n```")
        }
        _ => false,
    };
    docs.split_at(docs.len() - usize::from(docs.last().is_some_and(is_source)))
}

/// Returns the text between the brackets of a macro's call, without its indentation and without the lines of its attributes,
/// which may follow imports. Returns `None` if another macro makes the call, because the text is then that macro's pattern, with `$`.
pub fn paragraph(call: &str) -> Option<String> {
    let (_, call) = call.split_once('!')?;
    let inner = call.get(call.find(['{', '(', '['])? + 1..call.rfind(['}', ')', ']'])?)?;
    let is_documentation =
        |line: &&str| line.trim().is_empty() || ["///", "#["].iter().any(|mark| line.trim_start().starts_with(mark));
    let mut is_before = true;
    let is_shown = |line: &&str| {
        let is_left_out = is_before && is_documentation(line);
        is_before &= is_left_out || line.trim_start().starts_with("use ");
        !is_left_out
    };
    let lines: Vec<&str> = inner.lines().filter(is_shown).collect();
    if lines.is_empty() || inner.contains('$') {
        return None;
    }
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(least..).unwrap_or("").trim_end()).collect();
    let text = lines.join("\n");
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    Some(format!("\n{fence}text\n{}\n{fence}\n", text.trim_end()))
}
