//! What stands in a kernel's module: its arguments as a struct, and its type.
//!
//! Every path is absolute and every trait method is called by its trait: the user may have no prelude, and modules and types
//! of any name.

use super::face::{Argument, ArgumentKind, Face};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// Items of a kernel's module.
pub(super) fn items(face: &Face) -> TokenStream {
    let arguments = Arguments::new(face);
    let definition = arguments.definition();
    let conversions = arguments.conversions();
    let list = arguments.list();
    let kernel = kernel(face, &arguments);
    quote!(#definition #conversions #list #kernel)
}

/// The type `Args<'a, T>`: without the lifetime where no tensor is passed, and of those dtypes only that are.
struct Arguments<'f> {
    face: &'f Face,
    lifetime: Option<TokenStream>,
    dtypes: Vec<&'f Ident>,
}

impl Arguments<'_> {
    fn new(face: &Face) -> Arguments<'_> {
        let borrows = face.arguments.iter().any(|a| a.kind != ArgumentKind::Scalar);
        let used = |name: &&Ident| face.arguments.iter().any(|a| a.generic.as_ref() == Some(*name));
        Arguments {
            face,
            lifetime: borrows.then(|| quote!('a,)),
            dtypes: face.dtypes.iter().map(|(name, _)| name).filter(used).collect(),
        }
    }

    /// `Args<'a, T>`.
    fn ty(&self) -> TokenStream {
        let (lifetime, dtypes) = (&self.lifetime, &self.dtypes);
        quote!(Args<#lifetime #(#dtypes),*>)
    }

    /// `'a, T: Element`.
    fn generics(&self) -> TokenStream {
        let (lifetime, dtypes) = (&self.lifetime, &self.dtypes);
        quote!(#lifetime #(#dtypes: ::tilewright::__private::Element),*)
    }

    fn names(&self) -> Vec<&Ident> {
        self.face.arguments.iter().map(|a| &a.name).collect()
    }

    fn definition(&self) -> TokenStream {
        let generics = self.generics();
        let documentation = format!("The arguments of [`{}`](self), by name.", self.face.name);
        let fields = self.face.arguments.iter().map(|argument| {
            let (name, ty) = (&argument.name, rust_type(argument));
            let documentation = format!("`{}`", argument.declaration);
            quote!(#[doc = #documentation] pub #name: #ty)
        });
        quote! {
            #[doc = #documentation]
            #[derive(::core::fmt::Debug)]
            pub struct Args<#generics> { #(#fields,)* }
        }
    }

    /// `From` the tuple of the arguments, and from the argument itself where there is one.
    fn conversions(&self) -> TokenStream {
        let (generics, target, names) = (self.generics(), self.ty(), self.names());
        let types: Vec<TokenStream> = self.face.arguments.iter().map(rust_type).collect();
        let conversion = |from: TokenStream, pattern: TokenStream| {
            quote! {
                impl<#generics> ::core::convert::From<#from> for #target {
                    fn from(#pattern: #from) -> Self {
                        Self { #(#names),* }
                    }
                }
            }
        };
        let tuple = conversion(quote!((#(#types,)*)), quote!((#(#names,)*)));
        let single = match (types.as_slice(), names.as_slice()) {
            ([ty], [name]) => Some(conversion(quote!(#ty), quote!(#name))),
            _ => None,
        };
        quote!(#tuple #single)
    }

    /// What the runtime takes: the arguments in order, their types forgotten.
    fn list(&self) -> TokenStream {
        let (generics, target) = (self.generics(), self.ty());
        // The trait has the lifetime, also where no argument does.
        let lifetime = self.lifetime.is_none().then(|| quote!('a,));
        let items = self.face.arguments.iter().map(|argument| {
            let name = &argument.name;
            let argument_type = quote!(::tilewright::__private::Argument<'a>);
            match argument.kind {
                ArgumentKind::Scalar => quote! {
                    ::tilewright::__private::Argument::Scalar(
                        <::tilewright::__private::Scalar as ::core::convert::From<_>>::from(self.#name)
                    )
                },
                _ => quote!(<#argument_type as ::core::convert::From<_>>::from(self.#name)),
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

/// The Rust type of an argument.
fn rust_type(argument: &Argument) -> TokenStream {
    let element = &argument.element;
    match argument.kind {
        ArgumentKind::Input => quote!(&'a ::tilewright::__private::Tensor<#element>),
        ArgumentKind::Update => quote!(&'a mut ::tilewright::__private::Tensor<#element>),
        ArgumentKind::Scalar => quote!(#element),
    }
}

/// The type that stands for the kernel, and what the runtime knows of it.
fn kernel(face: &Face, arguments: &Arguments<'_>) -> TokenStream {
    let dtypes: Vec<&Ident> = face.dtypes.iter().map(|(name, _)| name).collect();
    let documentation = format!("The kernel [`{}`](self), as a type.", face.name);
    let (name, args) = (&face.name, arguments.ty());
    let outputs = match face.outputs.as_slice() {
        [one] => quote!(::tilewright::__private::Tensor<#one>),
        all => quote!((#(::tilewright::__private::Tensor<#all>,)*)),
    };
    let generics = quote!(#(#dtypes: ::tilewright::__private::Element),*);
    quote! {
        #[doc = #documentation]
        #[derive(::core::fmt::Debug)]
        pub struct Kernel<#generics>(::core::marker::PhantomData<fn() -> (#(#dtypes,)*)>);

        impl<#generics> ::tilewright::__private::Kernel for Kernel<#(#dtypes),*> {
            const NAME: &'static ::core::primitive::str = #name;
            type Args<'a> = #args;
            type Outputs = #outputs;
        }
    }
}
