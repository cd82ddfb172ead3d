//! Parsers from tokens to trees. The trees hold the source as the user wrote it, unchecked.
//!
//! Every tree holds [`SpanId`]s. The parsers read from a [`Cursor`], which records errors and continues where it can, so that one pass
//! reports several independent mistakes. [`expr`] reads the expressions that kernels and schedules share; [`kernel`] and [`profile`] read
//! the bodies of `kernel!` and `profile!`.

pub mod cursor;
pub mod expr;
pub mod families;
mod foreign;
pub mod functions;
pub mod kernel;
pub mod library;
mod limits;
pub mod profile;
mod replaced;
pub mod schedule;
mod together;
pub mod words;

pub use cursor::{Cursor, Parsed, parse};
pub use expr::{Block, Expr, ExprKind};
pub use functions::{Function, Functions};
pub use kernel::Kernel;
pub use library::Library;

use crate::diag::SpanId;

/// A name and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// The place in the source.
    pub span: SpanId,
}

impl Name {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The documentation, attributes and visibility before an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The lines of `///` comments, without the slashes.
    pub docs: Vec<String>,
    /// Other attributes, as Rust text: `#[allow(dead_code)]`.
    pub attributes: Vec<String>,
    /// The visibility, as Rust text: `pub(crate)`. Empty if none is written.
    pub visibility: String,
}

impl Prefix {
    /// Reads documentation, attributes and visibility.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Prefix, crate::diag::Error> {
        use quote::ToTokens;
        let mut prefix = Prefix::default();
        for attribute in cursor.with(syn::Attribute::parse_outer)? {
            match doc_line(&attribute) {
                Some(line) => prefix.docs.push(line),
                None => prefix.attributes.push(attribute.to_token_stream().to_string()),
            }
        }
        let visibility: syn::Visibility = cursor.with(|s| s.parse())?;
        prefix.visibility = visibility.to_token_stream().to_string();
        Ok(prefix)
    }
}

/// Returns the text of `#[doc = "…"]`.
fn doc_line(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}
