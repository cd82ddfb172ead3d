//! The type that packs and prepares the arguments of a loaded kernel, and unpacks its results. `pack_filter` packs an argument for the
//! kernel's schedule, `unpack_output` is its reverse for a result, and `prepare_filter` computes the values that depend only on an
//! argument. Each method exists only if the kernel's type says that the tensor is packed or prepared.

use super::items::{elements, layouts};
use super::signature::{Argument, ArgumentKind, Output, Signature};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

/// Returns the type and its methods.
pub(super) fn items(signature: &Signature) -> TokenStream {
    let made = Made { signature, dtypes: signature.dtypes.iter().map(|dtype| &dtype.name).collect(), all: signature.layouts() };
    let definition = made.definition();
    let inputs = signature.arguments.iter().filter(|a| a.kind == ArgumentKind::Input).flat_map(|a| [made.pack(a), made.prepare(a)]);
    let outputs = signature.outputs.iter().map(|o| made.unpack(o));
    quote!(#definition #(#inputs)* #(#outputs)*)
}

struct Made<'f> {
    signature: &'f Signature,
    dtypes: Vec<&'f Ident>,
    all: Vec<&'f Ident>,
}

impl Made<'_> {
    fn definition(&self) -> TokenStream {
        let (dtypes, all) = (&self.dtypes, &self.all);
        let (elements, layouts) = (elements(dtypes), layouts(all));
        let documentation =
            format!("Packs and prepares the arguments of a loaded [`{}`](self), and unpacks its results.", self.signature.name);
        quote! {
            #[doc = #documentation]
            #[derive(::core::fmt::Debug)]
            pub struct Packing<#elements #layouts> {
                kernel: ::tilewright::__private::DynKernel,
                types: ::core::marker::PhantomData<fn() -> (#(#dtypes,)* #(#all,)*)>,
            }

            impl<#elements #layouts> ::tilewright::__private::Packing for self::Packing<#(#dtypes,)* #(#all,)*> {
                fn new(kernel: ::tilewright::__private::DynKernel) -> Self {
                    Self { kernel, types: ::core::marker::PhantomData }
                }
            }
        }
    }

    /// Returns a method of the type with one packed layout.
    fn method(&self, of: &Ident, method: TokenStream) -> TokenStream {
        let digits = self.digits();
        let packed = quote!(::tilewright::__private::Packed<#digits>);
        self.method_where(of, &packed, &quote!(#digits), method)
    }

    /// Returns a method of the type with one layout equal to `known`.
    fn method_where(&self, of: &Ident, known: &TokenStream, generic: &TokenStream, method: TokenStream) -> TokenStream {
        let (dtypes, elements) = (&self.dtypes, elements(&self.dtypes));
        let others: Vec<&Ident> = self.all.iter().copied().filter(|l| *l != of).collect();
        let others = layouts(&others);
        let arguments = self.all.iter().map(|layout| if *layout == of { known.clone() } else { quote!(#layout) });
        quote! {
            impl<#elements #others #generic> self::Packing<#(#dtypes,)* #(#arguments,)*>
            where
                #known: ::tilewright::__private::Layout,
            {
                #method
            }
        }
    }

    fn prepare(&self, argument: &Argument) -> TokenStream {
        let Some(layout) = &argument.layout else { return TokenStream::new() };
        let (name, element) = (&argument.name, &argument.element);
        let (method, text) = (format_ident!("prepare_{}", name), &argument.written);
        let documentation =
            format!("Computes the values that depend only on `{}`, once for all launches of this kernel.", argument.declaration);
        let known = quote!(::tilewright::__private::Prepared);
        let method = quote! {
            #[doc = #documentation]
            pub fn #method(&self, tensor: &::tilewright::__private::Tensor<#element>)
                -> ::tilewright::__private::Result<::tilewright::__private::Tensor<#element, #known>>
            {
                ::tilewright::__private::AnyTensor::typed_as(self.kernel.prepare(#text, tensor.as_any())?)
            }
        };
        self.method_where(layout, &known, &TokenStream::new(), method)
    }

    /// Returns the generic of a packed layout's components.
    fn digits(&self) -> Ident {
        let mut name = "Digits".to_owned();
        while self.dtypes.iter().any(|dtype| **dtype == name) || self.all.iter().any(|layout| **layout == name) {
            name.push('_');
        }
        Ident::new(&name, Span::call_site())
    }

    fn pack(&self, argument: &Argument) -> TokenStream {
        let Some(layout) = &argument.layout else { return TokenStream::new() };
        let (name, element, digits) = (&argument.name, &argument.element, self.digits());
        let (method, text) = (format_ident!("pack_{}", name), &argument.written);
        let documentation = format!("Packs `{}` for this kernel.", argument.declaration);
        let packed = quote!(::tilewright::__private::Tensor<#element, ::tilewright::__private::Packed<#digits>>);
        let method = quote! {
            #[doc = #documentation]
            pub fn #method(&self, tensor: &::tilewright::__private::Tensor<#element>) -> ::tilewright::__private::Result<#packed> {
                ::tilewright::__private::AnyTensor::typed_as(self.kernel.pack(#text, tensor.as_any())?)
            }
        };
        self.method(layout, method)
    }

    fn unpack(&self, output: &Output) -> TokenStream {
        let (name, element, digits) = (&output.name, &output.element, self.digits());
        let (method, text) = (format_ident!("unpack_{}", name), &output.written);
        let documentation = format!("Unpacks `{name}`, a result of this kernel, to row-major order.");
        let packed = quote!(::tilewright::__private::Tensor<#element, ::tilewright::__private::Packed<#digits>>);
        let method = quote! {
            #[doc = #documentation]
            pub fn #method(&self, tensor: &#packed) -> ::tilewright::__private::Result<::tilewright::__private::Tensor<#element>> {
                ::tilewright::__private::AnyTensor::typed_as(self.kernel.unpack(#text, tensor.as_any())?)
            }
        };
        self.method(&output.layout, method)
    }
}
