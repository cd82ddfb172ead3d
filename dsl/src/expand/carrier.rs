//! Carriers: the macros that pass an item's tokens on, and the modules that contain them.

use super::head::Head;
use super::signature::Signature;
use super::tokens;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// The part that a carrier adds to the tokens that pass through it.
pub(super) enum Load {
    /// The tokens of a correct item.
    Whole(TokenStream),
    /// The item has errors, which are already reported.
    Broken,
}

impl Load {
    /// Returns the tokens of an item that may have errors. Tokens with a `$` are not carried, because a `macro_rules!` cannot contain it. A
    /// correct item has none.
    pub(super) fn new(tokens: TokenStream, right: bool) -> Load {
        if right && !tokens::has_dollar(&tokens) { Load::Whole(tokens) } else { Load::Broken }
    }
}

/// Returns a `macro_rules!` with the given rule. The user's tokens in it may name `crate`, because their paths are followed where they
/// are written, before the macro is made.
fn definition(head: &Head, name: &Ident, rule: TokenStream) -> TokenStream {
    let cfg = &head.cfg;
    let export = head.is_pub().then(|| quote!(#[macro_export]));
    quote! {
        #(#cfg)* #export #[doc(hidden)] #[allow(unused_macros, non_local_definitions, clippy::crate_in_macro_def)]
        macro_rules! #name { #rule }
    }
}

/// Returns the line that names a carrier inside the item's module.
fn line(head: &Head, name: &Ident, alias: &str) -> TokenStream {
    let (vis, alias) = (head.carrier_vis(), Ident::new(alias, name.span()));
    quote! {
        #[doc(hidden)] #[allow(unused_imports)]
        #vis use #name as #alias;
    }
}

/// The kinds of items that have modules, with the names of their carriers and of the macros that report another item in their place.
const KINDS: [(&str, &str); 3] =
    [("__kernel", "__not_a_kernel"), ("__profile", "__not_a_profile"), ("__function", "__not_a_function")];

/// Returns the module of an item, with the user's attributes and visibility, and the carrier under the name `own`. In place of the carriers
/// of the other kinds of items, it has macros that report the mistake. For example, a kernel's module has `__not_a_profile` as `__profile`.
fn module(head: &Head, documentation: TokenStream, carrier: &Ident, own: &str, items: TokenStream) -> TokenStream {
    let Head { cfg, attrs, vis, name, .. } = head;
    let others = KINDS.into_iter().filter(|(kind, _)| *kind != own).map(|(kind, report)| {
        let [kind, report] = [kind, report].map(|name| Ident::new(name, carrier.span()));
        quote!(#report as #kind)
    });
    let line = line(head, carrier, own);
    let line = quote! {
        #line
        #[doc(hidden)] #[allow(unused_imports)]
        pub use ::tilewright::__private::{#(#others),*};
    };
    quote! {
        #(#cfg)* #(#attrs)* #documentation
        #[allow(non_snake_case, non_camel_case_types)]
        #vis mod #name { #line #items }
    }
}

/// Returns a kernel's carrier and module. The carrier passes `{schedule} path::of::__profile` on to the profile's carrier, with the
/// kernel's tokens or, for a kernel with errors, the names of its dtypes.
pub(super) fn kernel_carrier(
    head: &Head,
    load: Load,
    signature: &Signature,
    documentation: TokenStream,
    items: TokenStream,
) -> TokenStream {
    let hash = match &load {
        Load::Whole(tokens) => tokens::unique("kernel", tokens),
        Load::Broken => tokens::unique("kernel", &items),
    };
    // Schedules of a kernel with errors still reach their profiles, because the paths to those are used and can be wrong themselves.
    let kernel = match load {
        Load::Whole(kernel) => quote!(kernel { #kernel }),
        Load::Broken => {
            let dtypes = signature.dtypes.iter().map(|dtype| &dtype.written);
            quote!(dtypes { #(#dtypes)* })
        }
    };
    let next = quote!($($profile)* ! { __compile schedule { $($schedule)* } #kernel });
    let rule = quote!(({ $($schedule:tt)* } $($profile:tt)*) => { #next };);
    let definition = definition(head, &hash, rule);
    let module = module(head, documentation, &hash, "__kernel", items);
    quote!(#definition #module)
}

/// Returns a profile's carrier and module. The carrier passes `then …` on to the macro `then`, with all profiles, the root first.
pub(super) fn profile_carrier(head: &Head, load: Load, documentation: TokenStream) -> TokenStream {
    let (hash, profiles) = match load {
        Load::Whole(profiles) => (tokens::unique("profile", &profiles), quote!(profiles { #profiles })),
        Load::Broken => (tokens::unique("profile", &documentation), quote!(broken)),
    };
    let rule = quote!(($then:ident $($rest:tt)*) => { ::tilewright::__private::$then! { $($rest)* #profiles } };);
    let definition = definition(head, &hash, rule);
    let module = module(head, documentation, &hash, "__profile", TokenStream::new());
    quote!(#definition #module)
}

/// Returns a function's carrier and module. The carrier passes `item {tokens} "path"` on to `__imported!`, with the function's tokens.
pub(super) fn function_carrier(head: &Head, load: Load, documentation: TokenStream) -> TokenStream {
    let (hash, tokens) = match load {
        Load::Whole(tokens) => (tokens::unique("function", &tokens), quote!({ #tokens })),
        Load::Broken => (tokens::unique("function", &documentation), quote!(broken)),
    };
    let next = quote!(::tilewright::__private::__imported! { $item { $($tokens)* } $path #tokens });
    let definition = definition(head, &hash, quote!(($item:ident { $($tokens:tt)* } $path:tt) => { #next };));
    let module = module(head, documentation, &hash, "__function", TokenStream::new());
    quote!(#definition #module)
}

/// Returns a schedule's carrier, which other schedules apply, under the schedule's own name. (Macros and constants have different
/// namespaces.) The carrier passes `{schedule} "path"` on to `__applied!`, with this schedule's tokens.
pub(super) fn schedule_carrier(head: &Head, load: Load) -> TokenStream {
    let Head { cfg, vis, name, .. } = head;
    let (hash, tokens) = match load {
        Load::Whole(tokens) => (tokens::unique("schedule", &tokens), quote!({ #tokens })),
        Load::Broken => (tokens::unique("schedule", &quote!(#name)), quote!(broken)),
    };
    let next = quote!(::tilewright::__private::__applied! { { $($schedule)* } $path #tokens });
    let definition = definition(head, &hash, quote!(({ $($schedule:tt)* } $path:tt) => { #next };));
    quote! {
        #definition
        #(#cfg)* #[doc(hidden)] #[allow(unused_imports)]
        #vis use #hash as #name;
    }
}
