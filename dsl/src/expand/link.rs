//! The end of the chain: reads the tokens that arrive at `__compile!` and `__define_profile!`.

use crate::diag::{Error, Errors, Spans};
use crate::syntax::Library;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens that the carriers collected. A field is `None` if its item has errors.
#[derive(Default)]
pub(super) struct Linked {
    /// `schedule {…}` or `profile {…}`: the tokens of the item that began the chain, without a schedule's library.
    pub(super) item: TokenStream,
    /// The schedules that a schedule applies.
    pub(super) library: Library,
    /// `kernel {…}`.
    pub(super) kernel: Option<TokenStream>,
    /// `dtypes { "T" "U" }`: the dtype generics of a missing kernel.
    pub(super) dtypes: Vec<String>,
    /// `profiles { {…} {…} }`, the root first.
    pub(super) profiles: Option<Vec<TokenStream>>,
}

impl Linked {
    /// Reads repeated `word {…}`. The word `broken` marks a missing item.
    pub(super) fn parse(tokens: TokenStream) -> Linked {
        let mut linked = Linked::default();
        let mut word = String::new();
        for tree in tokens {
            match tree {
                TokenTree::Ident(ident) => word = ident.to_string(),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => match word.as_str() {
                    "schedule" => (linked.library, linked.item) = Library::split(group.stream()),
                    "profile" => linked.item = group.stream(),
                    "kernel" => linked.kernel = Some(group.stream()),
                    "dtypes" => linked.dtypes = strings(group.stream()),
                    "profiles" => linked.profiles = Some(groups(group.stream())),
                    _ => {}
                },
                _ => {}
            }
        }
        linked
    }
}

/// Returns the values of string literals.
fn strings(tokens: TokenStream) -> Vec<String> {
    let string = |tree: TokenTree| syn::parse2::<syn::LitStr>(tree.into()).ok().map(|literal| literal.value());
    tokens.into_iter().filter_map(string).collect()
}

fn groups(tokens: TokenStream) -> Vec<TokenStream> {
    let group = |tree| if let TokenTree::Group(g) = tree { Some(g.stream()) } else { None };
    tokens.into_iter().filter_map(group).collect()
}

/// Converts an error of syn to this crate's form.
pub(super) fn syntax_error(error: &syn::Error, form: &str) -> TokenStream {
    let mut spans = Spans::new();
    let mut errors = Errors::new();
    for single in error.clone() {
        let at = spans.add(single.span());
        errors.push(Error::new(at, single.to_string()).help(form));
    }
    errors.to_tokens(&spans)
}

/// Returns the error that a path leads to an item of the other kind.
pub(super) fn wrong_kind(path: &syn::Path, what: &str, help: &str) -> TokenStream {
    let mut spans = Spans::new();
    let Some(last) = path.segments.last() else { return TokenStream::new() };
    let at = spans.add(last.ident.span());
    Errors::from(Error::new(at, format!("`{}` {what}", last.ident)).help(help)).to_tokens(&spans)
}
