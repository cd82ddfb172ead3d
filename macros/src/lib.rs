//! The macros of Tilewright. [`tilewright_dsl::expand`] does all of their work; the crate `tilewright` re-exports and documents them.

use proc_macro::TokenStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright_codegen::cost;
use tilewright_dsl::expand;

/// Defines a kernel: `pub fn name<generics>(arguments) -> outputs where facts { definitions }`.
#[proc_macro]
pub fn kernel(tokens: TokenStream) -> TokenStream {
    guarded(tokens, |tokens| expand::kernel(tokens, tilewright_spirv::compile, cost::text))
}

/// Defines how a kernel runs on a device: `pub NAME: kernel<T = f32> for profile where facts { directives }`.
#[proc_macro]
pub fn schedule(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::schedule)
}

/// Defines the guarantees of a device: `pub name: base { fields }`.
#[proc_macro]
pub fn profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::profile)
}

/// Defines functions that kernels call: `pub fn name(parameters) -> dtype { value }`.
#[proc_macro]
pub fn functions(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::functions)
}

/// Continues with a kernel or functions that import functions, after the carrier of one of them.
#[doc(hidden)]
#[proc_macro]
pub fn __imported(tokens: TokenStream) -> TokenStream {
    guarded(tokens, |tokens| expand::imported(tokens, tilewright_spirv::compile, cost::text))
}

/// Reports that another item's path was given for a function. The modules of kernels and profiles have it as `__function`.
#[doc(hidden)]
#[proc_macro]
pub fn __not_a_function(tokens: TokenStream) -> TokenStream {
    guarded(tokens, |tokens| expand::not_a_function(tokens, tilewright_spirv::compile, cost::text))
}

/// Ends the chain of `schedule!`.
#[doc(hidden)]
#[proc_macro]
pub fn __compile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, |tokens| expand::compile(tokens, tilewright_spirv::compile, cost::text))
}

/// Continues with a schedule that applies others, after the carrier of one of them.
#[doc(hidden)]
#[proc_macro]
pub fn __applied(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::applied)
}

/// Ends the chain of `profile!`.
#[doc(hidden)]
#[proc_macro]
pub fn __define_profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::define_profile)
}

/// Reports that another item's path was given for a profile. The modules of kernels and functions have it as `__profile`.
#[doc(hidden)]
#[proc_macro]
pub fn __not_a_profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::not_a_profile)
}

/// Reports that another item's path was given for a kernel. The modules of profiles and functions have it as `__kernel`.
#[doc(hidden)]
#[proc_macro]
pub fn __not_a_kernel(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::not_a_kernel)
}

/// Defines a profile that is bundled with the compiler.
#[doc(hidden)]
#[proc_macro]
pub fn __bundled_profile(tokens: TokenStream) -> TokenStream {
    guarded(tokens, expand::bundled_profile)
}

/// Expands, and reports a panic as a defect of the compiler.
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
