//! The items of a kernel's module: structs for its arguments and its results, and its type.
//!
//! Every path is absolute and every trait method is called by its trait, because the user's crate may have no prelude, and modules and
//! types of any name.

use super::outputs::Outputs;
use super::packing;
use super::signature::{Argument, ArgumentKind, Signature};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// Returns the items of a kernel's module.
pub(super) fn items(signature: &Signature) -> TokenStream {
    let arguments = Arguments::new(signature);
    let definition = arguments.definition();
    let conversions = arguments.conversions();
    let list = arguments.list();
    let outputs = Outputs::new(signature);
    let kernel = kernel(signature, &arguments, &outputs);
    let outputs = outputs.items();
    let packing = packing::items(signature);
    quote!(#definition #conversions #list #outputs #kernel #packing)
}

/// The type `Args<'a, T, Layout_x>`. It has the lifetime only if a tensor is passed, and only the dtype generics that an argument uses.
struct Arguments<'f> {
    signature: &'f Signature,
    lifetime: Option<TokenStream>,
    dtypes: Vec<&'f Ident>,
    layouts: Vec<&'f Ident>,
}

impl Arguments<'_> {
    fn new(signature: &Signature) -> Arguments<'_> {
        let borrows = signature.arguments.iter().any(|a| matches!(a.kind, ArgumentKind::Input | ArgumentKind::Update));
        let used = |name: &&Ident| signature.arguments.iter().any(|a| a.generic.as_ref() == Some(*name));
        Arguments {
            signature,
            lifetime: borrows.then(|| quote!('a,)),
            dtypes: signature.dtypes.iter().map(|dtype| &dtype.name).filter(used).collect(),
            layouts: signature.arguments.iter().filter_map(|a| a.layout.as_ref()).collect(),
        }
    }

    /// Returns `Args<'a, T, Layout_x>`.
    fn ty(&self) -> TokenStream {
        let (lifetime, dtypes, layouts) = (&self.lifetime, &self.dtypes, &self.layouts);
        quote!(self::Args<#lifetime #(#dtypes,)* #(#layouts,)*>)
    }

    /// Returns `'a, T: Element, Layout_x: Layout`.
    fn generics(&self) -> TokenStream {
        let (lifetime, dtypes, layouts) = (&self.lifetime, elements(&self.dtypes), layouts(&self.layouts));
        quote!(#lifetime #dtypes #layouts)
    }

    fn names(&self) -> Vec<&Ident> {
        self.signature.arguments.iter().map(|a| &a.name).collect()
    }

    fn definition(&self) -> TokenStream {
        let (lifetime, dtypes, layouts) = (&self.lifetime, elements(&self.dtypes), row_major(&self.layouts));
        let documentation = format!("The arguments of [`{}`](self), by name.", self.signature.name);
        let fields = self.signature.arguments.iter().map(|argument| {
            let (name, ty) = (&argument.name, rust_type(argument));
            let documentation = format!("`{}`", argument.declaration);
            quote!(#[doc = #documentation] pub #name: #ty)
        });
        quote! {
            #[doc = #documentation]
            #[derive(::core::fmt::Debug)]
            pub struct Args<#lifetime #dtypes #layouts> { #(#fields,)* }
        }
    }

    /// Returns `From` for the tuple of the arguments and, if there is one argument, for the argument itself.
    fn conversions(&self) -> TokenStream {
        let (generics, target, names) = (self.generics(), self.ty(), self.names());
        let bound = positional(names.len());
        let types: Vec<TokenStream> = self.signature.arguments.iter().map(rust_type).collect();
        let conversion = |from: TokenStream, pattern: TokenStream| {
            quote! {
                impl<#generics> ::core::convert::From<#from> for #target {
                    fn from(#pattern: #from) -> Self {
                        Self { #(#names: #bound),* }
                    }
                }
            }
        };
        let tuple = conversion(quote!((#(#types,)*)), quote!((#(#bound,)*)));
        let single = match (types.as_slice(), bound.as_slice()) {
            ([ty], [name]) => Some(conversion(quote!(#ty), quote!(#name))),
            _ => None,
        };
        quote!(#tuple #single)
    }

    /// Returns the implementation of the runtime's trait, which lists the arguments in order, without their static types.
    fn list(&self) -> TokenStream {
        let (generics, target) = (self.generics(), self.ty());
        // The trait has the lifetime even if no argument uses it.
        let lifetime = self.lifetime.is_none().then(|| quote!('a,));
        let items = self.signature.arguments.iter().map(|argument| {
            let name = &argument.name;
            let argument_type = quote!(::tilewright::__private::Argument<'a>);
            match argument.kind {
                ArgumentKind::Scalar => quote! {
                    ::tilewright::__private::Argument::Scalar(
                        <::tilewright::__private::Scalar as ::core::convert::From<_>>::from(self.#name)
                    )
                },
                ArgumentKind::Input | ArgumentKind::Update | ArgumentKind::Size => {
                    quote!(<#argument_type as ::core::convert::From<_>>::from(self.#name))
                }
            }
        });
        let count = items.len();
        quote! {
            impl<#lifetime #generics> ::tilewright::__private::Arguments<'a> for #target {
                fn list(self) -> ::tilewright::__private::Vec<::tilewright::__private::Argument<'a>> {
                    <::tilewright::__private::Vec<_> as ::core::convert::From<[_; #count]>>::from([#(#items),*])
                }
            }
        }
    }
}

/// Returns `count` names of values. The user's own names are not used, because a pattern like `None` or `DEFAULT` names an item of
/// Rust or of the module.
pub(super) fn positional(count: usize) -> Vec<Ident> {
    (0..count).map(|n| Ident::new(&format!("value_{n}"), Span::mixed_site())).collect()
}

/// Returns the Rust type of an argument.
fn rust_type(argument: &Argument) -> TokenStream {
    let element = &argument.element;
    match argument.kind {
        ArgumentKind::Input => {
            let layout = &argument.layout;
            quote!(&'a ::tilewright::__private::Tensor<#element, #layout>)
        }
        ArgumentKind::Update => quote!(&'a mut ::tilewright::__private::Tensor<#element>),
        ArgumentKind::Scalar | ArgumentKind::Size => quote!(#element),
    }
}

/// Returns `T: Element,` for each dtype generic.
pub(super) fn elements(dtypes: &[&Ident]) -> TokenStream {
    quote!(#(#dtypes: ::tilewright::__private::Element,)*)
}

/// Returns `Layout_x: Layout,` for each layout generic.
pub(super) fn layouts(layouts: &[&Ident]) -> TokenStream {
    quote!(#(#layouts: ::tilewright::__private::Layout,)*)
}

/// Returns `Layout_x = RowMajor,` for each layout generic, as in a definition.
pub(super) fn row_major(layouts: &[&Ident]) -> TokenStream {
    quote!(#(#layouts: ::tilewright::__private::Layout = ::tilewright::__private::RowMajor,)*)
}

/// Returns the type that represents the kernel, and the runtime's traits for it.
fn kernel(signature: &Signature, arguments: &Arguments<'_>, outputs: &Outputs<'_>) -> TokenStream {
    let dtypes: Vec<&Ident> = signature.dtypes.iter().map(|dtype| &dtype.name).collect();
    let all = signature.layouts();
    let documentation = format!("The kernel [`{}`](self), as a type.", signature.name);
    let (name, args) = (&signature.name, arguments.ty());
    let outputs = outputs.ty();
    let (elements, defaults, layouts) = (elements(&dtypes), row_major(&all), layouts(&all));
    quote! {
        #[doc = #documentation]
        #[derive(::core::fmt::Debug)]
        pub struct Kernel<#elements #defaults>(::core::marker::PhantomData<fn() -> (#(#dtypes,)* #(#all,)*)>);

        impl<#elements #layouts> ::tilewright::__private::Kernel for self::Kernel<#(#dtypes,)* #(#all,)*> {
            const NAME: &'static ::core::primitive::str = #name;
            type Args<'a> = #args;
            type Outputs = #outputs;
            type Packing = self::Packing<#(#dtypes,)* #(#all,)*>;
        }
    }
}
