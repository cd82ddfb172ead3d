//! The check of a kernel for every choice of its dtypes, and its signature for Rust. `kernel!` uses both.

use super::{Bindings, check_functions, check_with, types};
use crate::diag::{Error, Errors};
use crate::nest::Program;
use crate::syntax::kernel::{GenericKind, Type};
use crate::syntax::{Expr, Kernel, Name};
use std::collections::BTreeSet;
use tilewright_launch::DType;

/// The most choices of dtypes that are checked. If there are more, only the first generics are checked with all of their
/// dtypes, and each other generic with one.
const MAX_CHOICES: usize = 64;

/// A kernel's signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Its name.
    pub name: Name,
    /// The dtype generics, and their choices.
    pub dtypes: Vec<(Name, Vec<DType>)>,
    /// Parameters and their defaults.
    pub parameters: Vec<(Name, i64)>,
    /// Symbolic dims.
    pub dims: Vec<Name>,
    /// Derived dims.
    pub derived: Vec<Name>,
    /// The arguments in order.
    pub arguments: Vec<Argument>,
    /// The outputs in order.
    pub outputs: Vec<Tensor>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A tensor that is read.
    Input(Tensor),
    /// A tensor that is updated in place.
    Update(Tensor),
    /// A number or truth value.
    Scalar {
        /// Its name.
        name: Name,
        /// Its type.
        dtype: Element,
    },
    /// A dim that the caller gives, by its name.
    Dim(Name),
}

/// A tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: Name,
    /// The type of its elements.
    pub dtype: Element,
    /// The number of dimensions.
    pub rank: usize,
}

/// A dtype or a generic.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A dtype.
    Plain(DType),
    /// The generic of this name.
    Generic(String),
}

/// Checks a kernel for every choice of its dtypes, with its parameters' defaults.
pub fn check_generic(kernel: &Kernel) -> Result<Signature, Errors> {
    let mut errors = Errors::new();
    for (n, choice) in choices(kernel).into_iter().enumerate() {
        let shown: Vec<String> = choice.iter().map(|(name, dtype)| format!("`{name} = {dtype}`")).collect();
        let bindings = Bindings { dtypes: choice, span: kernel.name.span, ..Bindings::default() };
        // The proofs about sizes do not depend on dtypes, so they are done once.
        let found = match check_with(kernel, &bindings, n == 0) {
            Ok(program) if n == 0 => told_by_shapes(&program),
            Ok(_) => continue,
            Err(found) => found,
        };
        for error in found.0 {
            // Only the first error at a place is reported, because the same mistake reads differently for another dtype.
            if errors.0.iter().any(|e| e.span == error.span) {
                continue;
            }
            let note = (n > 0).then(|| format!("the error occurs with {}", shown.join(" and ")));
            errors.push(match note {
                Some(note) => error.note(note),
                None => error,
            });
        }
    }
    if let Err(found) = check_functions(&kernel.functions, &kernel.generics) {
        // Errors at a place that a call has, too, are reported with the call.
        let new = |error: &Error| !errors.0.iter().any(|e| e.span == error.span);
        let new: Vec<Error> = found.0.into_iter().filter(new).collect();
        errors.extend(Errors(new));
    }
    errors.into_result().map(|()| signature(kernel))
}

/// Returns errors for the arguments of type `dim` that shapes determine, too. (Under a schedule's values, shapes may determine more.)
fn told_by_shapes(program: &Program) -> Errors {
    let told = crate::lower::solve::told_by_shapes(program).into_iter().map(|(dim, tensor)| {
        let (dim, tensor) = (&program.dims[dim], &program.buffers[tensor].name);
        let error = Error::new(
            dim.span,
            format!("the argument `{}` is not needed, because the shape of `{tensor}` determines it", dim.name),
        );
        error.help(format!("leave the argument out, and declare the dim between `<` and `>`: `<{}>`", dim.name))
    });
    Errors(told.collect())
}

/// Returns the choices of dtypes to check.
fn choices(kernel: &Kernel) -> Vec<Vec<(Name, DType)>> {
    let mut all = vec![Vec::new()];
    for (name, dtypes) in dtype_generics(kernel) {
        let fits = all.len() * dtypes.len() <= MAX_CHOICES;
        let taken = if fits { dtypes.len() } else { 1 };
        all = all
            .into_iter()
            .flat_map(|choice: Vec<(Name, DType)>| {
                let name = name.clone();
                let more = move |dtype: &DType| choice.iter().cloned().chain([(name.clone(), *dtype)]).collect();
                dtypes.iter().take(taken).map(more).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// Returns the dtype generics with their supported choices. A generic without a supported choice is left out, because it is an
/// error elsewhere.
fn dtype_generics(kernel: &Kernel) -> Vec<(Name, Vec<DType>)> {
    let mut found: Vec<(Name, Vec<DType>)> = Vec::new();
    for generic in &kernel.generics {
        let GenericKind::Dtype(names) = &generic.kind else { continue };
        let dtypes: BTreeSet<DType> = names.iter().filter_map(|n| types::plain(n).ok()).collect();
        if !dtypes.is_empty() && !found.iter().any(|(name, _)| name.text == generic.name.text) {
            found.push((generic.name.clone(), dtypes.into_iter().collect()));
        }
    }
    found
}

/// Returns the signature of a kernel. For a wrong kernel, it is a best guess.
pub fn signature(kernel: &Kernel) -> Signature {
    let dtypes = dtype_generics(kernel);
    let element = |name: &Name| match DType::from_name(&name.text) {
        Some(dtype) => Element::Plain(dtype),
        None if dtypes.iter().any(|(n, _)| n.text == name.text) => Element::Generic(name.text.clone()),
        None => Element::Plain(DType::F32),
    };
    let tensor = |name: &Name, ty: &Type| Tensor {
        name: name.clone(),
        dtype: element(&ty.dtype),
        rank: ty.shape.as_ref().map_or(0, Vec::len),
    };
    let arguments = kernel.params.iter().map(|p| match (&p.ty.shape, p.update) {
        (None, _) if p.is_dim() => Argument::Dim(p.name.clone()),
        (None, _) => Argument::Scalar { name: p.name.clone(), dtype: element(&p.ty.dtype) },
        (Some(_), false) => Argument::Input(tensor(&p.name, &p.ty)),
        (Some(_), true) => Argument::Update(tensor(&p.name, &p.ty)),
    });
    let (arguments, outputs) = (arguments.collect(), kernel.outputs.iter().map(|o| tensor(&o.name, &o.ty)).collect());
    let (mut dims, mut derived, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
    for generic in &kernel.generics {
        match &generic.kind {
            GenericKind::Dtype(_) => {}
            GenericKind::Dim => dims.push(generic.name.clone()),
            GenericKind::Value(value) => match default(kernel, value, 0) {
                Some(value) => parameters.push((generic.name.clone(), value)),
                None => derived.push(generic.name.clone()),
            },
        }
    }
    Signature { name: kernel.name.clone(), dtypes: dtypes.clone(), parameters, dims, derived, arguments, outputs }
}

/// Returns the value of an expression of literals and parameters.
fn default(kernel: &Kernel, value: &Expr, depth: usize) -> Option<i64> {
    use crate::syntax::expr::ExprKind;
    match &value.kind {
        ExprKind::Int { value, .. } => i64::try_from(*value).ok(),
        ExprKind::Neg(a) => default(kernel, a, depth)?.checked_neg(),
        ExprKind::Name(name) if depth < kernel.generics.len() => {
            let generic = kernel.generics.iter().find(|g| g.name.text == *name)?;
            match &generic.kind {
                GenericKind::Value(value) => default(kernel, value, depth + 1),
                _ => None,
            }
        }
        ExprKind::Binary(op, _, a, b) => op.exact(default(kernel, a, depth)?, default(kernel, b, depth)?),
        _ => None,
    }
}
