//! A kernel as its callers see it. Its Rust items are made from this. It is known as soon as the kernel can be read, even if the body has
//! errors.

use super::head::Head;
use super::tokens;
use crate::diag::Spans;
use crate::launch::DType;
use crate::syntax::Name;
use crate::syntax::kernel::{GenericKind, Kernel, Type};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use std::collections::HashSet;

/// A kernel as its callers see it.
pub(super) struct Signature {
    /// The name.
    pub(super) name: String,
    /// The dtype generics in order.
    pub(super) dtypes: Vec<Dtype>,
    /// The arguments in order.
    pub(super) arguments: Vec<Argument>,
    /// The outputs in order.
    pub(super) outputs: Vec<Output>,
    /// The declaration as Rust text, without attributes and body.
    pub(super) declaration: String,
}

/// A dtype generic.
pub(super) struct Dtype {
    /// The name in the kernel.
    pub(super) written: String,
    /// The generic of the items. It has the same name, unless an item of the kernel's module has that name.
    pub(super) name: Ident,
    /// The dtypes that the generic can be.
    pub(super) choices: Vec<DType>,
}

/// The items of a kernel's module that have dtype generics.
const ITEMS: [&str; 5] = ["Args", "Kernel", "Outputs", "OutputsMut", "Packing"];

/// An argument.
pub(super) struct Argument {
    /// The name in the kernel.
    pub(super) written: String,
    /// The name of the field.
    pub(super) name: Ident,
    /// The Rust type of an element, or of the scalar.
    pub(super) element: TokenStream,
    /// The dtype generic, if the type is one.
    pub(super) generic: Option<Ident>,
    /// The kind of argument.
    pub(super) kind: ArgumentKind,
    /// The generic of an input's layout.
    pub(super) layout: Option<Ident>,
    /// The declaration: `input: T[N, C]`.
    pub(super) declaration: String,
}

/// An output.
pub(super) struct Output {
    /// The name in the kernel.
    pub(super) written: String,
    /// The name of the field.
    pub(super) name: Ident,
    /// The Rust type of an element.
    pub(super) element: TokenStream,
    /// The dtype generic, if the type is one.
    pub(super) generic: Option<Ident>,
    /// The generic of the output's layout.
    pub(super) layout: Ident,
}

/// The kinds of arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    Input,
    Update,
    Scalar,
    Size,
}

impl Signature {
    /// Returns the layout generics of inputs, then of outputs.
    pub(super) fn layouts(&self) -> Vec<&Ident> {
        self.arguments.iter().filter_map(|a| a.layout.as_ref()).chain(self.outputs.iter().map(|o| &o.layout)).collect()
    }

    /// Returns the signature of a kernel that was read from these tokens, as far as it could be read.
    pub(super) fn new(kernel: &Kernel, tokens: &TokenStream, spans: &Spans) -> Signature {
        let ident = |name: &Name| identifier(name, spans);
        let dtypes = dtypes(kernel, spans);
        let generic = |ty: &Type| dtypes.iter().find(|dtype| dtype.written == ty.dtype.text).map(|dtype| dtype.name.clone());
        let element = |ty: &Type| match generic(ty) {
            Some(name) => quote!(#name),
            // An unknown dtype is reported where the kernel is checked.
            None => rust_type(DType::from_name(&ty.dtype.text).unwrap_or(DType::F32), Span::call_site()),
        };
        let (declaration, parameters) = declarations(tokens);
        let mut parameters = parameters.into_iter();
        let arguments = kernel.params.iter().map(|param| Argument {
            written: param.name.text.clone(),
            name: ident(&param.name),
            element: if param.is_dim() { quote!(::core::primitive::usize) } else { element(&param.ty) },
            generic: generic(&param.ty),
            kind: match &param.ty.shape {
                _ if param.update => ArgumentKind::Update,
                Some(_) => ArgumentKind::Input,
                None if param.is_dim() => ArgumentKind::Size,
                None => ArgumentKind::Scalar,
            },
            layout: (!param.update && param.ty.shape.is_some()).then(|| layout(&param.name.text, &dtypes)),
            declaration: parameters.next().unwrap_or_default(),
        });
        // A name given twice is reported where the kernel is checked.
        let mut seen = HashSet::new();
        let arguments = arguments.filter(|a| seen.insert(a.written.clone())).collect();
        let output = |output: &crate::syntax::kernel::Output| Output {
            written: output.name.text.clone(),
            name: ident(&output.name),
            element: element(&output.ty),
            generic: generic(&output.ty),
            layout: layout(&output.name.text, &dtypes),
        };
        let outputs = kernel.outputs.iter().filter(|o| seen.insert(o.name.text.clone())).map(output).collect();
        Signature { name: kernel.name.text.clone(), dtypes, arguments, outputs, declaration }
    }

    /// Returns the signature of a kernel if only the name is known.
    pub(super) fn unknown(head: &Head) -> Signature {
        let name = head.name.to_string();
        Signature { declaration: format!("fn {name}"), name, dtypes: Vec::new(), arguments: Vec::new(), outputs: Vec::new() }
    }
}

/// Returns the dtype generics of a kernel.
fn dtypes(kernel: &Kernel, spans: &Spans) -> Vec<Dtype> {
    let mut dtypes: Vec<Dtype> = Vec::new();
    for generic in &kernel.generics {
        let GenericKind::Dtype(choices) = &generic.kind else { continue };
        let (written, mut name) = (generic.name.text.clone(), identifier(&generic.name, spans));
        // A name given twice is reported where the kernel is checked.
        if dtypes.iter().any(|other| other.written == written) {
            continue;
        }
        while ITEMS.iter().any(|item| name == item) || dtypes.iter().any(|other| other.name == name) {
            name = Ident::new(&format!("{name}_"), name.span());
        }
        dtypes.push(Dtype { written, name, choices: choices.iter().filter_map(|c| DType::from_name(&c.text)).collect() });
    }
    dtypes
}

/// Returns the generic of a tensor's layout. Its prefix begins no name of a dtype generic, so different tensors have different
/// generics.
fn layout(tensor: &str, dtypes: &[Dtype]) -> Ident {
    let mut prefix = "Layout_".to_owned();
    while dtypes.iter().any(|dtype| dtype.written.starts_with(&prefix)) {
        prefix.push('_');
    }
    Ident::new(&(prefix + tensor.trim_start_matches("r#")), Span::call_site())
}

/// Makes a name an identifier at its place. A keyword of Rust that is not a keyword of kernels becomes a raw identifier. For example,
/// `box` is the field `r#box`.
fn identifier(name: &Name, spans: &Spans) -> Ident {
    let span = spans.get(name.span).map_or_else(Span::call_site, |(first, _)| first);
    let mut ident = match syn::parse_str::<Ident>(&name.text) {
        Ok(ident) => plain(ident),
        Err(_) => Ident::new_raw(&name.text, span),
    };
    ident.set_span(span);
    ident
}

/// Makes an identifier valid in every edition. For example, `gen` is a keyword since 2024, but syn accepts it.
pub(super) fn plain(ident: Ident) -> Ident {
    if ident == "gen" { Ident::new_raw("gen", ident.span()) } else { ident }
}

/// Returns the Rust type of an element, as tokens at a place.
pub(super) fn rust_type(dtype: DType, at: Span) -> TokenStream {
    let name = Ident::new(dtype.name(), at);
    match dtype {
        DType::F16 | DType::BF16 => quote_spanned!(at=> ::tilewright::__private::#name),
        DType::F32 | DType::I32 | DType::U32 | DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64 | DType::Bool => {
            quote_spanned!(at=> ::core::primitive::#name)
        }
    }
}

/// Returns the text of a kernel's declaration without attributes and body, and the texts of its arguments.
fn declarations(tokens: &TokenStream) -> (String, Vec<String>) {
    let mut trees = tokens.clone().into_iter().skip_while(|t| !matches!(t, TokenTree::Ident(i) if i == "fn")).peekable();
    let (mut declaration, mut parameters) = (TokenStream::new(), Vec::new());
    let mut angles = 0i32;
    while let Some(tree) = trees.next() {
        match &tree {
            TokenTree::Punct(p) if p.as_char() == '<' => angles += 1,
            TokenTree::Punct(p) if p.as_char() == '>' => angles = (angles - 1).max(0),
            TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis && angles == 0 && parameters.is_empty() => {
                parameters = comma_separated(g.stream());
            }
            _ => {}
        }
        let is_body = trees.peek().is_none() && matches!(&tree, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
        if !is_body {
            declaration.extend([tree]);
        }
    }
    (tokens::text(&declaration), parameters)
}

fn comma_separated(tokens: TokenStream) -> Vec<String> {
    let mut items = vec![TokenStream::new()];
    for tree in tokens {
        match &tree {
            TokenTree::Punct(p) if p.as_char() == ',' => items.push(TokenStream::new()),
            _ => items.last_mut().into_iter().for_each(|item| item.extend([tree.clone()])),
        }
    }
    items.iter().map(tokens::text).collect()
}
