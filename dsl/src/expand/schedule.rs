//! `schedule!` calls the carriers of the schedules that it applies. Each leads to `__applied!`, and the last one to the kernel's carrier.
//! `__compile!`, at the end of the chain, makes the variant.

use super::carrier::{Load, schedule_carrier};
use super::head::{Head, ScheduleHead, ScheduleTarget, hidden};
use super::link::{self, Linked};
use super::shared::Refused;
use super::signature::{Signature, rust_type};
use super::source::{documented, split_source};
use super::{Backend, Costs, profile, tokens, variant};
use crate::diag::{Errors, Spans};
use crate::launch::{DType, Digit};
use crate::syntax;
use crate::syntax::Library;
use crate::syntax::functions::kernel_tokens;
use crate::syntax::schedule::Schedule;
use crate::syntax::schedule::applied::applied_paths;
use crate::variant::{Form, forms_asked_for};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

const FORM: &str = "a schedule is `pub NAME: kernel<T = f32> for profile where facts { directives }`";

/// Expands `schedule!`. First the carriers of the schedules that it applies are called, then the kernel's. The braces are read only at the
/// end of the chain.
pub fn schedule(tokens: TokenStream) -> TokenStream {
    let tokens = match tokens::visible(tokens) {
        Ok(tokens) => tokens,
        Err(error) => return link::syntax_error(&error, FORM),
    };
    match ScheduleHead::of(tokens.clone()) {
        Ok(head) => next(&head, &Library::default(), &documented(tokens)),
        Err(error) => match syntax_errors(tokens) {
            none if none.is_empty() => link::syntax_error(&error, FORM),
            errors => errors,
        },
    }
}

/// Expands `__applied!{ {schedule} "path" {tokens} }`: continues with a schedule after the carrier of another one, which it applies, has
/// added its tokens, or `broken`.
pub fn applied(tokens: TokenStream) -> TokenStream {
    if let Err(error) = tokens::check_depth(&tokens) {
        return link::syntax_error(&error, FORM);
    }
    let mut trees = tokens.into_iter();
    let (Some(TokenTree::Group(schedule)), Some(path), added) = (trees.next(), trees.next(), trees.next()) else {
        return TokenStream::new();
    };
    let (mut library, own) = Library::split(schedule.stream());
    let added = if let Some(TokenTree::Group(group)) = added { Some(group.stream()) } else { None };
    library.add(path, added);
    // `schedule!` has read this header without an error.
    ScheduleHead::of(own.clone()).map(|head| next(&head, &library, &own)).unwrap_or_default()
}

/// Calls the carrier of the next schedule that this one applies. If there are no more, defines the schedule's own carrier, and calls the
/// kernel's.
fn next(head: &ScheduleHead, library: &Library, own: &TokenStream) -> TokenStream {
    let whole = library.before(own);
    let cfg = &head.head.cfg;
    if let Some(path) = library.missing(applied_paths(own)) {
        let (carrier, literal) = (&path.tokens, path.literal());
        return quote!(#(#cfg)* #carrier ! { { #whole } #literal });
    }
    let errors = syntax_errors(whole.clone());
    let load = Load::new(whole.clone(), errors.is_empty() && library.is_whole());
    let carrier = schedule_carrier(&head.head, load);
    let Some(target) = &head.target else { return quote!(#errors #carrier) };
    let (kernel, profile) = (hidden(&target.kernel, "__kernel"), hidden(&target.profile, "__profile"));
    quote!(#carrier #(#cfg)* #kernel ! { { #whole } #profile })
}

/// Returns the errors of the parser in a schedule, with its library, or in a list of directives.
fn syntax_errors(tokens: TokenStream) -> TokenStream {
    let mut spans = Spans::new();
    let errors = syntax::parse(tokens, &mut spans, syntax::schedule::check).errors;
    errors.to_tokens(&spans)
}

/// Expands `__not_a_kernel!{ {schedule} profile }` to an error: the path of another item was given for a kernel. It defines no variant,
/// because the variant's type is unknown.
pub fn not_a_kernel(tokens: TokenStream) -> TokenStream {
    let Some(TokenTree::Group(schedule)) = tokens.into_iter().next() else { return TokenStream::new() };
    let (_, own) = Library::split(schedule.stream());
    let target = ScheduleHead::of(own).ok().and_then(|head| head.target);
    target.map(|target| link::wrong_kind(&target.kernel, "is not a kernel", FORM)).unwrap_or_default()
}

/// Expands `__compile!` to the variant, or to errors and a constant of its type.
pub fn compile(tokens: TokenStream, backend: Backend, costs: Costs) -> TokenStream {
    if let Err(error) = tokens::check_depth(&tokens) {
        return link::syntax_error(&error, FORM);
    }
    let linked = Linked::parse(tokens);
    // `schedule!` has read this header without an error.
    let Ok(ScheduleHead { head, target: Some(target) }) = ScheduleHead::of(linked.item.clone()) else { return TokenStream::new() };
    let mut spans = Spans::new();
    let mut errors = Errors::new();
    let whole = linked.library.before(&linked.item);
    let schedule = errors.keep(syntax::parse(whole, &mut spans, Schedule::parse).into_result());
    // The errors of a schedule that is applied are reported where it is.
    let schedule = schedule.filter(|_| linked.library.is_whole());
    let before = spans.last();
    let kernel = linked.kernel.as_ref().and_then(|k| errors.keep(syntax::kernel::parse(k.clone(), &mut spans).into_result()));
    let after = spans.last();
    let profile = linked.profiles.as_ref().and_then(|p| errors.keep(profile::resolve(p, &mut spans)));
    let dtypes = match (&kernel, &linked.kernel) {
        (Some(kernel), Some(tokens)) => {
            let own = kernel_tokens(&Library::split(tokens.clone()).1);
            let dtypes = Signature::new(kernel, &own, &spans).dtypes;
            dtypes.into_iter().map(|dtype| (dtype.written, dtype.choices.first().copied())).collect()
        }
        _ => linked.dtypes.iter().map(|name| (name.clone(), None)).collect::<Vec<_>>(),
    };
    let made = match (&schedule, &kernel, &profile) {
        (Some(schedule), Some(kernel), Some(profile)) => {
            let blamed = target.blame(&mut spans);
            let name = head.name.span();
            let refused = Refused { kernel, schedule, backend, head: blamed, name, in_kernel: (before, after) };
            let made = variant::make(kernel, schedule, profile, &spans, backend, costs);
            errors.keep(made.map_err(|e| refused.said(e, &mut spans)))
        }
        _ => None,
    };
    let reported = errors.to_tokens(&spans);
    let forms = match (&made, &schedule, &kernel) {
        (Some(made), ..) => made.forms(),
        (None, Some(schedule), Some(kernel)) => forms_asked_for(kernel, schedule),
        _ => Vec::new(),
    };
    let item = VariantConstant { head: &head, target: &target, ty: kernel_type(&head, &target, dtypes, &forms) };
    let item = match made {
        Some(made) => item.whole(&made, &spans),
        None => item.broken(),
    };
    quote!(#reported #item)
}

/// Returns `path::conv2d::Kernel<f32>`. Each dtype generic has the dtype of the schedule's header, if that is a valid dtype. The layouts of
/// inputs and outputs are added if one of them is not row-major.
fn kernel_type(head: &Head, target: &ScheduleTarget, dtypes: Vec<(String, Option<DType>)>, forms: &[Form]) -> TokenStream {
    let bound = bindings(target.arguments.clone());
    let plain = forms.iter().all(|form| *form == Form::RowMajor);
    let layouts = forms.iter().filter(|_| !plain).map(|form| layout_type(form, head.here()));
    let arguments = dtypes.into_iter().map(|(name, first)| {
        let said = bound.iter().find(|(generic, _)| *generic == name).and_then(|(_, value)| DType::from_name(value));
        rust_type(said.or(first).unwrap_or(DType::F32), head.here())
    });
    let kernel = hidden(&target.kernel, "Kernel");
    quote_spanned!(head.here()=> #kernel<#(#arguments,)* #(#layouts,)*>)
}

/// Returns a layout as a Rust type.
fn layout_type(form: &Form, at: Span) -> TokenStream {
    let layout = match form {
        Form::RowMajor => return quote_spanned!(at=> ::tilewright::__private::RowMajor),
        Form::Prepared => return quote_spanned!(at=> ::tilewright::__private::Prepared),
        Form::Packed(layout) => layout,
    };
    let digit = |d: &Digit| {
        let Digit { axis, divide, .. } = d;
        match (d.divide, d.modulo) {
            (1, None) => quote_spanned!(at=> ::tilewright::__private::Axis<#axis>),
            (_, None) => quote_spanned!(at=> ::tilewright::__private::Quotient<#axis, #divide>),
            (1, Some(modulo)) => quote_spanned!(at=> ::tilewright::__private::Remainder<#axis, #modulo>),
            (_, Some(modulo)) => quote_spanned!(at=> ::tilewright::__private::Middle<#axis, #divide, #modulo>),
        }
    };
    let digits = layout.0.iter().map(digit);
    quote_spanned!(at=> ::tilewright::__private::Packed<(#(#digits,)*)>)
}

/// Returns every `name = word`.
fn bindings(tokens: TokenStream) -> Vec<(String, String)> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let binding = |window: &[TokenTree]| match window {
        [TokenTree::Ident(name), TokenTree::Punct(p), TokenTree::Ident(value)] if p.as_char() == '=' => {
            Some((name.to_string(), value.to_string()))
        }
        _ => None,
    };
    trees.windows(3).filter_map(binding).collect()
}

/// The constant that `schedule!` defines.
struct VariantConstant<'a> {
    head: &'a Head,
    target: &'a ScheduleTarget,
    ty: TokenStream,
}

impl VariantConstant<'_> {
    /// Returns the constant, with the summary after the user's text, and the rest of the documentation after the schedule's source.
    fn constant(&self, summary: &impl ToTokens, documentation: &impl ToTokens, value: TokenStream) -> TokenStream {
        let Head { docs, attrs, vis, name, .. } = self.head;
        let ty = &self.ty;
        let (own, source) = split_source(docs);
        quote_spanned! {self.head.here()=>
            #(#own)* #summary #(#source)* #documentation #(#attrs)*
            #vis const #name: ::tilewright::__private::Variant<#ty> = #value;
        }
    }

    /// Returns the kernel, as a link to its module, and the profile. A path with a raw name is not a link.
    fn kernel(&self) -> String {
        let text = |path: &syn::Path| path.to_token_stream().to_string().replace(' ', "");
        let last = |path: &syn::Path| path.segments.last().map_or_else(String::new, |segment| segment.ident.to_string());
        let (path, kernel) = (text(&self.target.kernel), last(&self.target.kernel));
        let link = if path.contains('#') { format!("`{kernel}`") } else { format!("[`{kernel}`](mod@{path})") };
        format!("A schedule of {link} for `{}`.", last(&self.target.profile))
    }

    fn whole(&self, made: &variant::Made, spans: &Spans) -> TokenStream {
        let (own, _) = split_source(&self.head.docs);
        let gap = (!own.is_empty()).then(|| quote!(#[doc = ""]));
        let (text, summary) = (&made.documentation, format!("{}  \n{}", self.kernel(), made.summary));
        let (summary, text) = (quote!(#gap #[doc = #summary]), quote!(#[doc = ""] #[doc = #text]));
        let constant = self.constant(&summary, &text, made.value(self.head.here()));
        let warnings = made.warnings(spans, &self.head.attrs);
        quote!(#warnings #constant)
    }

    fn broken(&self) -> TokenStream {
        let name = self.head.name.to_string();
        let value = quote_spanned!(self.head.here()=> ::tilewright::__private::Variant::__broken(#name));
        self.constant(&TokenStream::new(), &quote!(#[doc = ""]), value)
    }
}
