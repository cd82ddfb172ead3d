//! `pin(K)`: makes a dim a specialization constant, which the driver folds when it creates the pipeline.
//!
//! The SPIR-V module stays the same. Each value of the pinned dims has its own pipeline, which is created at the first launch with
//! that value and kept. This pays off for dims with few values: their loops have literal bounds for the driver, and expressions of
//! pinned dims are constants.
//!
//! Refused: a name that is not a symbolic dim; a dim that is pinned twice, or that a fact of the header makes a literal. A pinned dim
//! that no dispatch reads is a warning. In a version under a fact that makes it a literal, a pin is ignored.

use crate::arena::Id;
use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::launch::{self, Size};
use crate::nest::{DimId, Program};
use crate::syntax::Name;
use crate::syntax::kernel::{Generic, GenericKind, Kernel};
use crate::syntax::schedule::{Schedule, StatementKind};

/// Returns every name that a schedule pins.
fn pins(schedule: &Schedule) -> impl Iterator<Item = &Name> {
    schedule.statements().flat_map(|statement| match &statement.kind {
        StatementKind::Pin(names) => names.as_slice(),
        _ => &[],
    })
}

/// Records a schedule's pinned dims in a program that already has its facts.
pub(crate) fn bind(program: &mut Program, kernel: &Kernel, schedule: &Schedule) -> Result<(), Errors> {
    let (mut errors, mut seen) = (Errors::new(), Vec::<&Name>::new());
    for name in pins(schedule) {
        if let Some(first) = seen.iter().find(|n| n.text == name.text) {
            errors.push(Error::new(name.span, format!("`{name}` is pinned twice")).note_at(first.span, "first here"));
            continue;
        }
        seen.push(name);
        if let Some(Some(dim)) = errors.keep(symbolic(program, kernel, schedule, name)) {
            program.statements.pinned.push(dim);
        }
    }
    errors.into_result()
}

/// Returns the symbolic dim of a name, or `None` if a fact of this version makes it a literal.
fn symbolic(program: &Program, kernel: &Kernel, schedule: &Schedule, name: &Name) -> Result<Option<DimId>, Error> {
    let is_dim = |g: &&Generic| matches!(g.kind, GenericKind::Dim);
    let dims = || kernel.generics.iter().filter(is_dim).map(|g| g.name.as_str());
    let there_are = || format!("the dims that are known at launch are {}", list(dims()));
    let Some(generic) = kernel.generics.iter().find(|g| g.name.text == name.text) else {
        let error = Error::new(name.span, format!("`{name}` is not a dim of the kernel"));
        return Err(error.help(did_you_mean(&name.text, dims()).unwrap_or_else(there_are)));
    };
    let found = program.dims.iter().find(|(_, d)| d.name == name.text);
    let (what, help) = match (&generic.kind, found) {
        (GenericKind::Dtype(_), _) => ("is a dtype", there_are()),
        (GenericKind::Value(_), Some(_)) => {
            ("is computed from other dims", format!("pin the dims that it is computed from; {}", there_are()))
        }
        (_, None) => ("is a parameter, which already is a literal", "leave it out".into()),
        (GenericKind::Dim, Some((id, dim))) => {
            return match dim.derived {
                None => Ok(Some(id)),
                Some(_) => literal(program, schedule, id, name).map(|()| None),
            };
        }
    };
    Err(Error::new(name.span, format!("`{name}` {what}, and cannot be pinned")).help(help))
}

/// Checks that the fact that makes a pinned dim a literal belongs to a version, and not to the header.
fn literal(program: &Program, schedule: &Schedule, dim: DimId, name: &Name) -> Result<(), Error> {
    let version = |span: SpanId| schedule.statements().any(|statement| statement.holds(span));
    let names = |side| *program.exprs.get(side) == crate::expr::Expr::Dim(dim);
    let equates = |c: &&crate::nest::Condition| c.relation == launch::Relation::Eq && (names(c.left) || names(c.right));
    let facts: Vec<_> = program.checks.conditions.iter().filter(equates).collect();
    match facts.iter().find(|c| !version(c.span)) {
        Some(fact) => {
            let error = Error::new(name.span, format!("`{name}` already is a literal, and cannot be pinned"));
            Err(error.note_at(fact.span, format!("by the fact `{}`", fact.text)).help("leave it out of `pin`"))
        }
        None => Ok(()),
    }
}

/// Returns warnings for pinned dims that no dispatch reads.
pub(crate) fn unused(program: &Program, launched: &launch::Program, schedule: &Schedule) -> Errors {
    let sizes = || launched.dispatches.iter().flat_map(|d| &d.constants);
    let idle = |name: &&Name| {
        let dim = program.statements.pinned.iter().find(|d| program.dims[**d].name == name.text);
        dim.is_some_and(|dim| !sizes().any(|size| names(launched, size, dim.index() as u32)))
    };
    let warn = |name: &Name| {
        Error::new(name.span, format!("no dispatch reads `{name}`, so pinning it has no effect")).help("leave it out")
    };
    Errors(pins(schedule).filter(idle).map(warn).collect())
}

/// True if a size names a dim, or a dim that is derived from it. Derived dims name only earlier ones, so the recursion ends.
fn names(launched: &launch::Program, size: &Size, dim: u32) -> bool {
    let derived = |d: u32| launched.dims.get(d as usize).and_then(|d| d.derived.as_ref());
    size.any_dim(&|d| d == dim || derived(d).is_some_and(|size| names(launched, size, dim)))
}
