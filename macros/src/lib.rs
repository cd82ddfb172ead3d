//! The macros of Tilewright: tokens in, tokens out. All they do is done in [`tilewright_dsl::expand`]; the crate `tilewright`
//! has them, with documentation.

use proc_macro::TokenStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright_dsl::expand;

/// What is computed: `pub fn name<generics>(arguments) -> outputs where facts { definitions }`.
#[proc_macro]
pub fn kernel(tokens: TokenStream) -> TokenStream {
    guarded(tokens, |tokens| expand::kernel(tokens, tilewright_spirv::compile))
}

/// How a kernel runs on a device: `pub NAME: kernel<T = f32> for profile where facts { directives }`.
#[proc_macro]
pub fn schedule(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::schedule)
}

/// What a device guarantees: `pub name: base { what differs }`.
#[proc_macro]
pub fn profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::profile)
}

/// The end of `schedule!`'s chain.
#[doc(hidden)]
#[proc_macro]
pub fn __compile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, |tokens| expand::compile(tokens, tilewright_spirv::compile))
}

/// The end of `profile!`'s chain.
#[doc(hidden)]
#[proc_macro]
pub fn __define_profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::define_profile)
}

/// What a kernel's module has for `__profile`.
#[doc(hidden)]
#[proc_macro]
pub fn __not_a_profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::not_a_profile)
}

/// What a profile's module has for `__kernel`.
#[doc(hidden)]
#[proc_macro]
pub fn __not_a_kernel(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::not_a_kernel)
}

/// A profile that the compiler brings.
#[doc(hidden)]
#[proc_macro]
pub fn __bundled_profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::bundled_profile)
}

/// Expands; a panic is a defect of the compiler's, and said to be one.
fn guarded(tokens: TokenStream, expand: impl FnOnce(proc_macro2::TokenStream) -> proc_macro2::TokenStream) -> TokenStream {
    match catch_unwind(AssertUnwindSafe(|| expand(tokens.into()))) {
        Ok(expanded) => expanded.into(),
        Err(panic) => {
            let reason = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
            let text = format!(
                "Tilewright's compiler has a defect: {}\n  help: please report it, with this item",
                reason.unwrap_or("it panicked")
            );
            quote::quote!(::core::compile_error! { #text }).into()
        }
    }
}
