//! Generates `name::DEFAULT`: the planned variant for `vulkan_1_1`. If that variant does not exist, `DEFAULT` is a constant of
//! another type, and each use of it shows the reason.
//!
//! An evaluation error would be shown at the constant's definition instead of at its use. So the constant has a type that no function
//! takes, and a deprecation with the reason as its text, because rustc warns of deprecations before it checks types.

use super::signature::{Dtype, Signature};
use super::{Backend, Costs, variant};
use crate::diag::{Errors, Spans, list};
use crate::launch::DType;
use crate::profile::Profile;
use crate::schedule::statements::tune::Choice;
use crate::syntax::Kernel;
use crate::variant::compile;
use proc_macro2::{Span, TokenStream};
use quote::quote;

/// Generates the constant, if no dtype is open and every Vulkan device can run it.
pub(super) fn of(
    kernel: &Kernel,
    signature: &Signature,
    spans: &Spans,
    backend: Backend,
    costs: Costs,
) -> Result<TokenStream, Missing> {
    if !signature.dtypes.is_empty() {
        return Err(Missing::open(signature));
    }
    let made = variant::make(kernel, &variant::default_schedule(kernel), &Profile::vulkan_1_1(), spans, backend, costs);
    let made = made.map_err(|why| Missing::refused(kernel, signature, &why, backend))?;
    let (value, summary, nest) = (made.value(Span::call_site()), &made.summary, &made.documentation);
    Ok(quote! {
        /// The planned schedule for every Vulkan 1.1 device.
        ///
        #[doc = #summary]
        ///
        #[doc = #nest]
        pub const DEFAULT: ::tilewright::__private::Variant<self::Kernel> = #value;
    })
}

/// Generates the constant of a wrong kernel, so that only the kernel's own errors are shown.
pub(super) fn of_broken(signature: &Signature) -> TokenStream {
    if !signature.dtypes.is_empty() {
        return Missing::open(signature).item();
    }
    let name = &signature.name;
    quote! {
        #[doc(hidden)]
        pub const DEFAULT: ::tilewright::__private::Variant<self::Kernel> = ::tilewright::__private::Variant::__broken(#name);
    }
}

/// The reasons why `DEFAULT` is missing, and the text to write instead.
pub(super) struct Missing {
    /// The kernel.
    kernel: String,
    /// The reasons. A schedule for a more capable device, or with facts or other parameters, may still compile.
    reasons: Vec<String>,
    /// True if the documentation states the reasons. An open dtype is in the declaration already.
    documented: bool,
    /// The line to write.
    help: String,
}

impl Missing {
    /// Returns the reason for a kernel with dtype generics.
    fn open(signature: &Signature) -> Missing {
        let names = list(signature.dtypes.iter().map(|dtype| &dtype.written));
        let reason = match signature.dtypes.as_slice() {
            [_] => format!("the dtype {names} is open"),
            _ => format!("the dtypes {names} are open"),
        };
        let chosen: Vec<DType> = signature.dtypes.iter().map(choice).collect();
        let bindings = signature.dtypes.iter().zip(&chosen).map(|(dtype, chosen)| format!("{} = {chosen}", dtype.written));
        let has = |profile: &Profile| chosen.iter().flat_map(|dtype| dtype.needs()).all(|feature| profile.has(*feature));
        let profile = Profile::all_bundled().into_iter().find(has).unwrap_or_else(Profile::vulkan_1_1);
        let head = format!("{}<{}>", signature.name, bindings.collect::<Vec<_>>().join(", "));
        Missing { kernel: signature.name.clone(), reasons: vec![reason], documented: false, help: plain(&head, &profile) }
    }

    /// Returns the reasons why the empty schedule was refused for `vulkan_1_1`.
    fn refused(kernel: &Kernel, signature: &Signature, why: &Errors, backend: Backend) -> Missing {
        let schedule = variant::default_schedule(kernel);
        let compiles = |profile: &Profile| compile(kernel, &schedule, profile, &Choice::default(), &|_| None, backend).is_ok();
        let help = match Profile::all_bundled().iter().find(|profile| compiles(profile)) {
            Some(profile) => plain(&signature.name, profile),
            None => "write a schedule of your own: its error says more".into(),
        };
        let reasons = why.0.iter().map(|error| error.message.clone()).collect();
        Missing { kernel: signature.name.clone(), reasons, documented: true, help }
    }

    /// Generates lines of the module's documentation.
    pub(super) fn documentation(&self) -> TokenStream {
        let why = self.reasons.iter().filter(|_| self.documented).map(|reason| format!("There is no `DEFAULT`: {reason}."));
        quote!(#(#[doc = ""] #[doc = #why])*)
    }

    /// Generates the constant that cannot be loaded.
    pub(super) fn item(&self) -> TokenStream {
        let Missing { kernel, reasons, help, .. } = self;
        let text = format!("`{kernel}` lacks a default schedule, because {}\n  help: {help}", reasons.join("; "));
        quote! {
            #[doc(hidden)]
            #[deprecated(note = #text)]
            pub const DEFAULT: ::tilewright::__private::NoDefault = ::tilewright::__private::NoDefault;
        }
    }
}

/// Returns the dtype to show for a generic: the first one that needs no feature, or else the first.
fn choice(dtype: &Dtype) -> DType {
    let plain = dtype.choices.iter().find(|choice| choice.needs().is_empty());
    plain.or(dtype.choices.first()).copied().unwrap_or(DType::F32)
}

/// Returns an empty schedule, as a help shows it.
fn plain(kernel: &str, profile: &Profile) -> String {
    format!("write `schedule! {{ pub PLAIN: {kernel} for tilewright::devices::{} {{}} }}` and load `PLAIN`", profile.name)
}
