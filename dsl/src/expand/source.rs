//! Adds a schedule's own text to its documentation.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;

/// Returns the tokens of a `schedule!`. If the compiler knows the source text, it is appended to the documentation.
pub(super) fn documented(tokens: TokenStream) -> TokenStream {
    let Some(text) = Span::call_site().source_text().as_deref().and_then(paragraph) else { return tokens };
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_attribute = |pair: &&[TokenTree]| match pair {
        [TokenTree::Punct(mark), TokenTree::Group(group)] => mark.as_char() == '#' && group.delimiter() == Delimiter::Bracket,
        _ => false,
    };
    let attributes = trees.chunks_exact(2).take_while(is_attribute).count();
    let (before, behind) = trees.split_at(2 * attributes);
    quote!(#(#before)* #[doc = #text] #(#behind)*)
}

/// Returns the text between the brackets of a macro's call, without the lines of its attributes and without its indentation. Returns `None`
/// if another macro makes the call, because the text is then that macro's pattern, with `$`.
pub fn paragraph(call: &str) -> Option<String> {
    let (_, call) = call.split_once('!')?;
    let inner = call.get(call.find(['{', '(', '['])? + 1..call.rfind(['}', ')', ']'])?)?;
    let is_documentation =
        |line: &&str| line.trim().is_empty() || ["///", "#["].iter().any(|mark| line.trim_start().starts_with(mark));
    let lines: Vec<&str> = inner.lines().skip_while(is_documentation).collect();
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
