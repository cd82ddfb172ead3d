//! Facts in the `where` of a kernel or of a schedule's header: comparisons of sizes, comparisons of scalars with numbers
//! ([`scalars`]), and `finite(x)`.
//!
//! Errors: other facts; sizes that contain anything but dims, parameters and whole numbers; names that the kernel does not have.

mod scalars;

use super::sizes::{MADE_OF, called, extremum, shifted};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::expr::{Binary, Expr as Node, ExprId};
use crate::nest::{Buffer, Condition, Program, Space, Strided, print};
use crate::syntax::Name;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};
use crate::syntax::kernel::{Generic, GenericKind, Kernel};
use tilewright_launch::Relation;

/// Returns the value of a whole number.
pub(crate) fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => i64::try_from(*value).ok(),
        ExprKind::Neg(a) => number(a)?.checked_neg(),
        _ => None,
    }
}

/// Returns the name and the number of a fact `N == 3`.
pub(crate) fn literal(fact: &Expr) -> Option<(Name, i64)> {
    let ExprKind::Compare(crate::expr::Compare::Eq, _, a, b) = &fact.kind else { return None };
    match (&a.kind, &b.kind) {
        (ExprKind::Name(dim), _) => Some((Name { text: dim.clone(), span: a.span }, number(b)?)),
        (_, ExprKind::Name(dim)) => Some((Name { text: dim.clone(), span: b.span }, number(a)?)),
        _ => None,
    }
}

/// Does the same as [`literal`], for symbolic dims only.
pub(crate) fn equated(kernel: &Kernel, fact: &Expr) -> Option<(Name, i64)> {
    let (dim, value) = literal(fact)?;
    let symbolic = |g: &Generic| g.name.text == dim.text && matches!(g.kind, GenericKind::Dim);
    kernel.generics.iter().any(symbolic).then_some((dim, value))
}

/// Records a fact. `needed` is true for a fact of the kernel, because it holds for all its schedules.
pub(crate) fn note(program: &mut Program, fact: &Expr, needed: bool) -> Result<(), Error> {
    if let Some(noted) = scalars::note(program, fact, needed) {
        return noted;
    }
    match &fact.kind {
        ExprKind::Compare(relation, _, a, b) => {
            let (left, right) = (size(program, a, needed)?, size(program, b, needed)?);
            let show = |e| print::expr(program, e);
            let text = match (&a.kind, &b.kind) {
                (ExprKind::Name(name), _) => format!("{name} {} {}", relation.symbol(), show(right)),
                (_, ExprKind::Name(name)) => format!("{} {} {name}", show(left), relation.symbol()),
                _ => format!("{} {} {}", show(left), relation.symbol(), show(right)),
            };
            let whole = Condition { left, relation: *relation, right, text, span: fact.span, needed };
            let parts = parts(program, left, *relation, right);
            let part = |(left, right)| Condition {
                left,
                right,
                text: format!("{} {} {}", show(left), relation.symbol(), show(right)),
                ..whole.clone()
            };
            let found = if parts.len() == 1 { vec![whole] } else { parts.into_iter().map(part).collect() };
            program.checks.conditions.extend(found);
            Ok(())
        }
        ExprKind::Binary(BinaryOp::And, _, a, b) => note(program, a, needed).and_then(|()| note(program, b, needed)),
        ExprKind::Call { function, args } if function.text == "finite" => finite(program, args, fact),
        _ => Err(Error::new(fact.span, "this is not a fact").help(
            "a fact compares two sizes, `OW % 8 == 0`, or a scalar with a number, `scale > 0.0`, or says `finite(x)` of a tensor",
        )),
    }
}

fn finite(program: &mut Program, args: &[Expr], fact: &Expr) -> Result<(), Error> {
    let [Expr { kind: ExprKind::Name(name), span }] = args else {
        return Err(Error::new(fact.span, "`finite` takes one tensor"));
    };
    let given = |b: &&Buffer| matches!(b.space, Space::Input | Space::Update);
    let Some((id, buffer)) = program.buffers.iter().find(|(_, b)| b.name == *name && given(b)) else {
        let names = list(program.buffers.values().filter(given).map(|b| &b.name));
        return Err(Error::new(*span, format!("unknown input `{name}`")).help(format!("the inputs are {names}")));
    };
    if !buffer.dtype.is_float() {
        return Err(Error::new(*span, format!("`{name}` has the dtype {}, whose values are always finite", buffer.dtype)));
    }
    program.checks.finite.push(id);
    Ok(())
}

/// Checks a size over a program's dims and parameters. A divisor that is not a number is a fact of its own: it is at least 1.
fn size(program: &mut Program, expr: &Expr, needed: bool) -> Result<ExprId, Error> {
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => match i32::try_from(*value) {
            Ok(value) => Ok(program.exprs.int(i64::from(value))),
            Err(_) => Err(Error::new(expr.span, "this size does not fit in 32 bits")),
        },
        ExprKind::Name(name) => named(program, name, expr),
        ExprKind::Neg(a) => {
            let (zero, a) = (program.exprs.int(0), size(program, a, needed)?);
            Ok(program.exprs.difference(zero, a))
        }
        ExprKind::Binary(symbol, _, a, b) => {
            let (a, b) = (size(program, a, needed)?, size(program, b, needed)?);
            let (symbol, b) = shifted(&program.exprs, *symbol, b);
            let Some(op) = symbol.of_sizes() else {
                return Err(Error::new(expr.span, format!("sizes do not have `{}`", symbol.symbol())));
            };
            if matches!(op, Binary::FloorDiv | Binary::FloorMod) {
                match program.exprs.as_int(b) {
                    Some(1..) => {}
                    Some(_) => return Err(Error::new(expr.span, "the divisor of a fact must be at least 1")),
                    None => divides(program, b, expr.span, needed),
                }
            }
            Ok(program.exprs.binary(op, a, b))
        }
        ExprKind::Method { receiver, name, args } if name.text == "stride" => stride(program, receiver, args, expr),
        ExprKind::Method { receiver, name, args } => match extremum(name.as_str(), args) {
            Some((op, b)) => {
                let (a, b) = (size(program, receiver, needed)?, size(program, b, needed)?);
                Ok(program.exprs.binary(op, a, b))
            }
            None => Err(Error::new(name.span, format!("sizes do not have `{name}`")).help(MADE_OF)),
        },
        ExprKind::Call { function, args } => Err(Error::new(expr.span, "this is not a size").help(called(function, args))),
        ExprKind::Block(block) if block.lets.is_empty() => size(program, &block.value, needed),
        _ => Err(Error::new(expr.span, "this is not a size").help(MADE_OF)),
    }
}

/// Returns the comparisons that a comparison with a minimum or a maximum consists of: `min(a, b) >= c` is `a >= c` and `b >= c`.
fn parts(program: &Program, left: ExprId, relation: Relation, right: ExprId) -> Vec<(ExprId, ExprId)> {
    let (of_left, of_right) = match relation {
        Relation::Ge | Relation::Gt => (Binary::Min, Binary::Max),
        Relation::Le | Relation::Lt => (Binary::Max, Binary::Min),
        Relation::Eq | Relation::Ne => return vec![(left, right)],
    };
    let both = |e: ExprId, wanted: Binary| match program.exprs.get(e) {
        Node::Binary(op, a, b) if *op == wanted => Some([*a, *b]),
        _ => None,
    };
    match (both(left, of_left), both(right, of_right)) {
        (Some(two), _) => two.into_iter().flat_map(|one| parts(program, one, relation, right)).collect(),
        (_, Some(two)) => two.into_iter().flat_map(|one| parts(program, left, relation, one)).collect(),
        _ => vec![(left, right)],
    }
}

/// Records that a divisor is at least 1.
fn divides(program: &mut Program, divisor: ExprId, span: SpanId, needed: bool) {
    let one = program.exprs.int(1);
    let text = format!("{} >= 1", print::expr(program, divisor));
    let known = |c: &Condition| (c.left, c.relation, c.right) == (divisor, Relation::Ge, one);
    if !program.checks.conditions.iter().any(known) {
        program.checks.conditions.push(Condition { left: divisor, relation: Relation::Ge, right: one, text, span, needed });
    }
}

/// Checks `x.stride(0)`.
fn stride(program: &mut Program, tensor: &Expr, args: &[Expr], expr: &Expr) -> Result<ExprId, Error> {
    let (ExprKind::Name(tensor), [Expr { kind: ExprKind::Int { value: axis, suffix: None }, .. }]) = (&tensor.kind, args) else {
        let error = Error::new(expr.span, "`stride` needs a tensor and the number of an axis");
        return Err(error.help("write `x.stride(0)`"));
    };
    let name = Strided::dim(tensor, usize::try_from(*axis).unwrap_or(usize::MAX));
    match program.dims.iter().find(|(_, d)| d.name == name) {
        Some((id, _)) => Ok(program.exprs.dim(id)),
        None => Err(Error::new(expr.span, format!("the stride `{name}` is not free"))
            .help(format!("`strided({tensor}[{axis}])` in a schedule frees it for the facts of that schedule"))),
    }
}

fn named(program: &mut Program, name: &str, expr: &Expr) -> Result<ExprId, Error> {
    if let Some((_, value)) = program.parameters.iter().find(|(n, _)| n == name) {
        let value = *value;
        return Ok(program.exprs.int(value));
    }
    if let Some((id, _)) = program.dims.iter().find(|(_, d)| d.name == name) {
        // The dim may be bound to a literal. Then the launch compares the shapes that name it with the literal.
        return Ok(program.exprs.dim(id));
    }
    let names = program.dims.values().map(|d| d.name.as_str()).chain(program.parameters.iter().map(|(n, _)| n.as_str()));
    let help = did_you_mean(name, names.clone()).unwrap_or_else(|| format!("the dims and parameters are {}", list(names)));
    Err(Error::new(expr.span, format!("`{name}` is not a dim of the kernel")).help(help))
}
