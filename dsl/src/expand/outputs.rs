//! The results of a kernel by name: a struct for several results.
//!
//! Up to eight results are a tuple, from which the struct is made. More results are the struct itself, because the runtime has no longer
//! tuples.

use super::items::{elements, layouts, positional, row_major};
use super::signature::{Output, Signature};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// The most outputs of a tuple, as in `tuples!` of the runtime.
const TUPLE: usize = 8;

/// The type `Outputs<T, Layout_y>`. Its dtype generics are those that an output uses.
pub(super) struct Outputs<'f> {
    name: &'f str,
    outputs: &'f [Output],
    dtypes: Vec<&'f Ident>,
    layouts: Vec<&'f Ident>,
}

impl Outputs<'_> {
    pub(super) fn new(signature: &Signature) -> Outputs<'_> {
        let outputs = &signature.outputs;
        let used = |name: &&Ident| outputs.iter().any(|o| o.generic.as_ref() == Some(*name));
        Outputs {
            name: &signature.name,
            outputs,
            dtypes: signature.dtypes.iter().map(|dtype| &dtype.name).filter(used).collect(),
            layouts: outputs.iter().map(|o| &o.layout).collect(),
        }
    }

    /// Returns the type of a launch's results: a tensor, a tuple, or the struct.
    pub(super) fn ty(&self) -> TokenStream {
        match self.outputs {
            [one] => tensor(one),
            several if several.len() <= TUPLE => self.tuple(),
            _ => self.named(),
        }
    }

    /// Returns the struct and its conversions.
    pub(super) fn items(&self) -> TokenStream {
        match self.outputs.len() {
            0 | 1 => TokenStream::new(),
            2..=TUPLE => [self.definition(), self.conversion()].into_iter().collect(),
            _ => [self.definition(), self.in_place(), self.implementation()].into_iter().collect(),
        }
    }

    fn named(&self) -> TokenStream {
        let (dtypes, layouts) = (&self.dtypes, &self.layouts);
        quote!(self::Outputs<#(#dtypes,)* #(#layouts,)*>)
    }

    fn tuple(&self) -> TokenStream {
        let tensors = self.outputs.iter().map(tensor);
        quote!((#(#tensors,)*))
    }

    fn names(&self) -> Vec<&Ident> {
        self.outputs.iter().map(|o| &o.name).collect()
    }

    fn generics(&self) -> TokenStream {
        let (elements, layouts) = (elements(&self.dtypes), layouts(&self.layouts));
        quote!(#elements #layouts)
    }

    fn definition(&self) -> TokenStream {
        let (elements, defaults) = (elements(&self.dtypes), row_major(&self.layouts));
        let documentation = format!("The results of [`{}`](self), by name.", self.name);
        let fields = self.outputs.iter().map(|output| {
            let (name, ty, documentation) = (&output.name, tensor(output), format!("`{}`", output.name));
            quote!(#[doc = #documentation] pub #name: #ty)
        });
        quote! {
            #[doc = #documentation]
            #[derive(::core::fmt::Debug)]
            pub struct Outputs<#elements #defaults> { #(#fields,)* }
        }
    }

    fn conversion(&self) -> TokenStream {
        let (generics, tuple, named, names) = (self.generics(), self.tuple(), self.named(), self.names());
        let bound = positional(names.len());
        quote! {
            impl<#generics> ::core::convert::From<#tuple> for #named {
                fn from((#(#bound,)*): #tuple) -> Self {
                    Self { #(#names: #bound),* }
                }
            }
        }
    }

    /// Returns the struct of the caller's tensors, by name.
    fn in_place(&self) -> TokenStream {
        let (elements, defaults) = (elements(&self.dtypes), row_major(&self.layouts));
        let documentation = format!("The tensors into which [`{}`](self) writes its results, by name.", self.name);
        let fields = self.outputs.iter().map(|output| {
            let (name, ty, documentation) = (&output.name, tensor(output), format!("`{}`", output.name));
            quote!(#[doc = #documentation] pub #name: &'a mut #ty)
        });
        quote! {
            #[doc = #documentation]
            #[derive(::core::fmt::Debug)]
            pub struct OutputsMut<'a, #elements #defaults> { #(#fields,)* }
        }
    }

    fn implementation(&self) -> TokenStream {
        let (generics, named, names, count) = (self.generics(), self.named(), self.names(), self.outputs.len());
        let (dtypes, layouts, bound) = (&self.dtypes, &self.layouts, positional(count));
        let list = quote!(::tilewright::__private::Vec);
        quote! {
            impl<#generics> ::tilewright::__private::Sealed for #named {}

            impl<#generics> ::tilewright::__private::Outputs for #named {
                type Into<'a> = self::OutputsMut<'a, #(#dtypes,)* #(#layouts,)*>;

                fn into_list<'a>(into: Self::Into<'a>) -> #list<&'a mut ::tilewright::__private::AnyTensor> {
                    <#list<_> as ::core::convert::From<[_; #count]>>::from(
                        [#(::tilewright::__private::Tensor::as_any_mut(into.#names)),*]
                    )
                }

                fn from_list(list: #list<::tilewright::__private::AnyTensor>) -> ::tilewright::__private::Result<Self> {
                    let [#(#bound),*] = ::tilewright::__private::exactly::<#count>(list)?;
                    ::core::result::Result::Ok(Self { #(#names: ::tilewright::__private::AnyTensor::typed_as(#bound)?),* })
                }
            }
        }
    }
}

/// Returns the Rust type of an output.
fn tensor(output: &Output) -> TokenStream {
    let Output { element, layout, .. } = output;
    quote!(::tilewright::__private::Tensor<#element, #layout>)
}
