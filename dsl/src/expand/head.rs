//! Reads the parts of an item that the chain needs before the item is parsed: attributes, visibility, name, and the paths it refers to.

use super::signature::plain;
use crate::diag::{SpanId, Spans};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Path, Token, Visibility};

/// The attributes, visibility and name of an item.
pub(super) struct Head {
    /// `cfg` and `cfg_attr`: for everything that the item expands to.
    pub(super) cfg: Vec<Attribute>,
    /// The documentation.
    pub(super) docs: Vec<Attribute>,
    /// Other attributes: for the item itself.
    pub(super) attrs: Vec<Attribute>,
    /// The visibility.
    pub(super) vis: Visibility,
    /// The name.
    pub(super) name: Ident,
}

impl Head {
    /// Reads attributes, visibility, the tokens that `keyword` reads, and the name.
    fn parse(input: ParseStream<'_>, keyword: impl FnOnce(ParseStream<'_>) -> syn::Result<()>) -> syn::Result<Head> {
        let (mut cfg, mut docs, mut attrs) = (Vec::new(), Vec::new(), Vec::new());
        for attribute in input.call(Attribute::parse_outer)? {
            match attribute.path().get_ident().map(Ident::to_string).as_deref() {
                Some("cfg" | "cfg_attr") => cfg.push(attribute),
                Some("doc") => docs.push(attribute),
                _ => attrs.push(attribute),
            }
        }
        let vis = input.parse()?;
        keyword(input)?;
        Ok(Head { cfg, docs, attrs, vis, name: plain(input.parse()?) })
    }

    /// Reads the header of `pub fn name<…>(…) -> …`.
    pub(super) fn of_kernel(tokens: TokenStream) -> syn::Result<Head> {
        let parser = |input: ParseStream<'_>| {
            let head = Head::parse(input, |i| i.parse::<Token![fn]>().map(drop))?;
            input.parse::<TokenStream>()?;
            Ok(head)
        };
        parser.parse2(tokens)
    }

    /// Guesses the name and visibility of an item whose header cannot be parsed: the last name before a token for which `ends` is true.
    /// Without the guess, every path to the item would be a further error.
    pub(super) fn guess(tokens: TokenStream, ends: impl Fn(&TokenTree) -> bool) -> Option<Head> {
        let (mut vis, mut name, mut is_whole) = (Visibility::Inherited, None, false);
        for tree in tokens {
            match &tree {
                tree if ends(tree) && name.is_some() => {
                    is_whole = true;
                    break;
                }
                TokenTree::Ident(ident) if ident == "pub" => vis = syn::parse_quote!(pub),
                TokenTree::Ident(ident) if ident != "fn" => name = Some(ident.clone()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return None,
                _ => {}
            }
        }
        // A keyword cannot name a module.
        let name = name.filter(|name| is_whole && syn::parse2::<Ident>(name.to_token_stream()).is_ok())?;
        Some(Head { cfg: Vec::new(), docs: Vec::new(), attrs: Vec::new(), vis, name })
    }

    /// Returns the place of the name, for generated tokens, so that rustc shows errors in them there. (`__compile!` is called in the
    /// kernel's file.)
    pub(super) fn here(&self) -> Span {
        self.name.span().resolved_at(Span::call_site())
    }

    /// True if other crates may see the item. In that case its carrier has to be exported.
    pub(super) fn is_pub(&self) -> bool {
        matches!(self.vis, Visibility::Public(_))
    }

    /// Returns the visibility of the carrier inside the item's module. A `macro_rules!` that is not exported is visible at most in its
    /// crate. The module has the user's visibility anyway.
    pub(super) fn carrier_vis(&self) -> TokenStream {
        if self.is_pub() { quote::quote!(pub) } else { quote::quote!(pub(crate)) }
    }
}

/// The header of `profile!{ pub name: base { … } }`.
pub(super) struct ProfileHead {
    /// Attributes, visibility and name.
    pub(super) head: Head,
    /// The profile that it extends. `None` for the root.
    pub(super) base: Option<Path>,
}

impl ProfileHead {
    pub(super) fn of(tokens: TokenStream) -> syn::Result<ProfileHead> {
        let parser = |input: ParseStream<'_>| {
            let head = Head::parse(input, |_| Ok(()))?;
            let base = match input.parse::<Option<Token![:]>>()? {
                Some(_) => Some(Path::parse_mod_style(input)?),
                None => None,
            };
            input.parse::<TokenStream>()?;
            Ok(ProfileHead { head, base })
        };
        parser.parse2(tokens)
    }
}

/// The header of `schedule!{ pub NAME<R = 32>: kernel<T = f32> for profile … }`.
pub(super) struct ScheduleHead {
    /// Attributes, visibility and name.
    pub(super) head: Head,
    /// The kernel and the profile. `None` for a list of directives, `NAME<R = 32> { … }`.
    pub(super) target: Option<ScheduleTarget>,
}

/// The kernel that a schedule schedules, and the profile.
pub(super) struct ScheduleTarget {
    /// The kernel.
    pub(super) kernel: Path,
    /// The profile.
    pub(super) profile: Path,
    /// The tokens between `<` and `>`.
    pub(super) arguments: TokenStream,
}

impl Parse for ScheduleHead {
    fn parse(input: ParseStream<'_>) -> syn::Result<ScheduleHead> {
        let head = Head::parse(input, |_| Ok(()))?;
        angled(input)?;
        if input.peek(syn::token::Brace) {
            return Ok(ScheduleHead { head, target: None });
        }
        input.parse::<Token![:]>()?;
        let kernel = Path::parse_mod_style(input)?;
        let arguments = angled(input)?;
        input.parse::<Token![for]>()?;
        let profile = Path::parse_mod_style(input)?;
        Ok(ScheduleHead { head, target: Some(ScheduleTarget { kernel, profile, arguments }) })
    }
}

impl ScheduleHead {
    /// Reads the header of a schedule without its library.
    pub(super) fn of(tokens: TokenStream) -> syn::Result<ScheduleHead> {
        let parser = |input: ParseStream<'_>| {
            let head = input.parse()?;
            input.parse::<TokenStream>()?;
            Ok(head)
        };
        parser.parse2(tokens)
    }
}

impl ScheduleTarget {
    /// Returns the place of the kernel and its bindings: `conv2d<T = f16, S = 2`.
    pub(super) fn blame(&self, spans: &mut Spans) -> SpanId {
        let first = self.kernel.segments.first().map_or_else(Span::call_site, |s| s.ident.span());
        let last = self.kernel.segments.last().map_or_else(Span::call_site, |s| s.ident.span());
        let last = self.arguments.clone().into_iter().last().map_or(last, |t| t.span());
        spans.add_range(first, last)
    }
}

/// Reads the tokens in `<…>`, if that comes next.
fn angled(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut inner = TokenStream::new();
    if input.parse::<Option<Token![<]>>()?.is_none() {
        return Ok(inner);
    }
    let mut depth = 1;
    loop {
        let tree: TokenTree = input.parse().map_err(|e| syn::Error::new(e.span(), "expected `>`"))?;
        match &tree {
            TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
            TokenTree::Punct(p) if p.as_char() == '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(inner);
        }
        inner.extend([tree]);
    }
}

/// Returns the path with a hidden item's name appended. All tokens have the span of the path's last segment, so that rustc shows errors
/// where the user wrote the path.
pub(super) fn hidden(path: &Path, name: &str) -> TokenStream {
    let span = path.segments.last().map_or_else(Span::call_site, |s| s.ident.span());
    let name = Ident::new(name, span);
    let path = path.to_token_stream();
    quote::quote_spanned!(span=> #path::#name)
}
