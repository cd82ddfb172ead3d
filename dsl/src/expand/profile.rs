//! `profile!`: checks a profile against the profiles that it extends, and makes its module and its carrier.

use super::carrier::{Load, profile_carrier};
use super::head::{Head, ProfileHead, ScheduleHead, hidden};
use super::link::Linked;
use super::{link, schedule, tokens};
use crate::diag::{Errors, Spans};
use crate::profile::Profile;
use crate::syntax;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

const FORM: &str = "a profile is `pub name: vulkan_1_1 { invocations: 512, features: [f16] }`";

/// Expands `profile!` to a call of the base profile's carrier.
pub fn profile(tokens: TokenStream) -> TokenStream {
    let tokens = match tokens::visible(tokens) {
        Ok(tokens) => tokens,
        Err(error) => return link::syntax_error(&error, FORM),
    };
    let mut spans = Spans::new();
    match ProfileHead::of(tokens.clone()) {
        Ok(ProfileHead { head, base: Some(base) }) => {
            let (cfg, base) = (head.cfg, hidden(&base, "__profile"));
            quote!(#(#cfg)* #base ! { __define_profile profile { #tokens } })
        }
        // A profile without a base cannot be read, nor one with an attribute or path that syn refuses. The parser gives the reason.
        Ok(ProfileHead { head, base: None }) => {
            let errors = syntax::profile::parse(tokens, &mut spans).errors.to_tokens(&spans);
            let item = profile_carrier(&head, Load::Broken, documentation(&head, None));
            quote!(#errors #item)
        }
        Err(error) => {
            let reported = match syntax::profile::parse(tokens.clone(), &mut spans).errors {
                none if none.is_empty() => link::syntax_error(&error, FORM),
                errors => errors.to_tokens(&spans),
            };
            // The item is still defined, so that its uses are not further errors.
            let colon = |tree: &TokenTree| matches!(tree, TokenTree::Punct(p) if p.as_char() == ':');
            let item = Head::guess(tokens, colon).map(|head| profile_carrier(&head, Load::Broken, documentation(&head, None)));
            quote!(#reported #item)
        }
    }
}

/// Expands `__define_profile!` to the profile, after its base's carrier added the profiles that it extends.
pub fn define_profile(tokens: TokenStream) -> TokenStream {
    if let Err(error) = tokens::check_depth(&tokens) {
        return link::syntax_error(&error, FORM);
    }
    let linked = Linked::parse(tokens);
    let tokens = linked.item;
    let Ok(ProfileHead { head, .. }) = ProfileHead::of(tokens.clone()) else { return TokenStream::new() };
    let mut spans = Spans::new();
    let mut errors = Errors::new();
    let tree = errors.keep(syntax::profile::parse(tokens.clone(), &mut spans).into_result());
    // A profile that extends a wrong one is checked against the root, because its own fields can be wrong too.
    let base = match &linked.profiles {
        Some(bases) => errors.keep(resolve(bases, &mut spans)),
        None => Some(Profile::vulkan_1_1()),
    };
    let profile = base.zip(tree).and_then(|(base, tree)| errors.keep(base.extend(&tree)));
    let load = match &linked.profiles {
        Some(bases) => Load::new(quote!(#({ #bases })* { #tokens }), profile.is_some()),
        None => Load::Broken,
    };
    let item = profile_carrier(&head, load, documentation(&head, profile.as_ref()));
    let errors = errors.to_tokens(&spans);
    quote!(#errors #item)
}

/// Expands `__not_a_profile!{ __define_profile profile {…} }` or `{ __compile schedule {…} kernel {…} }` to an error: the path of another
/// item was given for a profile.
pub fn not_a_profile(tokens: TokenStream) -> TokenStream {
    let linked = Linked::parse(tokens.clone());
    let is_schedule = ScheduleHead::of(linked.item.clone()).is_ok();
    let (path, item) = match is_schedule {
        true => (
            ScheduleHead::of(linked.item).ok().and_then(|h| Some(h.target?.profile)),
            schedule::compile(tokens, |_, _, _| Err(Errors::new()), |_, _, _| super::CostText::default()),
        ),
        false => (ProfileHead::of(linked.item).ok().and_then(|h| h.base), define_profile(tokens)),
    };
    let error = path.map(|path| link::wrong_kind(&path, "is not a profile", "the bundled profiles are in `tilewright::devices`"));
    quote!(#error #item)
}

/// Expands `__bundled_profile!{ /// docs pub name }` to a profile of [`Profile::all_bundled`].
pub fn bundled_profile(tokens: TokenStream) -> TokenStream {
    let head = match ProfileHead::of(tokens.clone()) {
        Ok(ProfileHead { head, .. }) => head,
        Err(error) => return error.to_compile_error(),
    };
    let name = &head.name;
    match Profile::bundled(&name.to_string()) {
        Some(profile) => profile_carrier(&head, Load::new(quote!({ #name }), true), documentation(&head, Some(&profile))),
        None => syn::Error::new(name.span(), "no such profile is bundled").to_compile_error(),
    }
}

/// Returns the profile of a chain without errors: the name of a bundled profile, then the profiles that extend it.
pub(super) fn resolve(chain: &[TokenStream], spans: &mut Spans) -> Result<Profile, Errors> {
    let mut profile = Profile::vulkan_1_1();
    for tokens in chain {
        match Profile::bundled(&tokens.to_string()) {
            Some(bundled) => profile = bundled,
            None => profile = profile.extend(&syntax::profile::parse(tokens.clone(), spans).into_result()?)?,
        }
    }
    Ok(profile)
}

/// Returns the module's documentation: the user's text, then the values of the fields.
fn documentation(head: &Head, profile: Option<&Profile>) -> TokenStream {
    let docs = &head.docs;
    let Some(profile) = profile else { return quote!(#(#docs)* #[doc = ""]) };
    let [x, y, z] = profile.local;
    let features: Vec<&str> = profile.features.iter().map(|f| f.name()).collect();
    let text = format!(
        "```text\ninvocations: {}\nlocal: [{x}, {y}, {z}]\nshared_bytes: {}\nsubgroup: {}\nsubgroups: {}\npush_bytes: {}\nfeatures: [{}]\n```",
        profile.invocations,
        profile.shared_bytes,
        profile.subgroup.map_or("none".into(), |s| s.to_string()),
        profile.subgroups,
        profile.push_bytes,
        features.join(", "),
    );
    quote!(#(#docs)* #[doc = ""] #[doc = #text])
}
