//! Checks that a reduction which is computed in another dtype than the algorithm's has the same result: both have the same items, every
//! operation on them is exact in both dtypes, and so is every partial result.

use crate::diag::{Error, Errors};
use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::facts::Prover;
use crate::launch::{DType, Numbers};
use crate::nest::{Accumulated, Body, Program};
use crate::verify::Rule;

/// The numbers from the first to the second.
type Range = (i128, i128);

/// Checks every such reduction.
pub(in crate::verify) fn check(program: &Program, errors: &mut Errors) {
    for changed in &program.notes.accumulated {
        if let Some(why) = wrong(program, changed) {
            let name = &program.stages[changed.stage].name;
            errors.push(Error::new(changed.span, format!("{}: the reduction of `{name}` in another dtype {why}", Rule::Value)));
        }
    }
}

/// Returns the reason why a reduction differs from the declared one.
fn wrong(program: &Program, changed: &Accumulated) -> Option<&'static str> {
    let exprs = &program.exprs;
    let (Body::Reduce { monoid: own, over, lift, finish }, Body::Reduce { monoid: declared, over: all, lift: items, finish: ends }) =
        (&changed.body, &changed.declared)
    else {
        return Some("is not a reduction");
    };
    let (Some((op, dtype)), Some((meant, from))) = (own.operation(exprs), declared.operation(exprs)) else {
        return Some("is not one operation");
    };
    let ([item], [wanted]) = (&lift[..], &items[..]) else { return Some("does not have one item") };
    if op != meant || over != all {
        return Some("combines other items");
    }
    if exprs.dtype(*item) != dtype || !same(program, *wanted, *item) {
        return Some("has other items, or items that are rounded or wrap");
    }
    let state = exprs.cast(from, exprs.add(Expr::State(0), dtype));
    let converted = exprs.replace(*ends, &mut |exprs, e| matches!(exprs.get(e), Expr::State(0)).then_some(state));
    if converted != *finish {
        return Some("has another finish");
    }
    let (low, high) = range(program, *wanted);
    let count = || over.iter().map(|axis| program.axes[*axis].extent).reduce(|n, extent| exprs.product(n, extent));
    let prover = Prover::on_leaves(program);
    let ((least, greatest), (lowest, highest)) = (numbers(dtype), numbers(from));
    let (least, greatest) = (least.max(lowest), greatest.min(highest));
    let is_exact = match op {
        Binary::Add => {
            let fits = |n: i128| least <= n * low.min(0) && n * high.max(0) <= greatest;
            // The greatest number of items whose sums fit, found bit by bit.
            let most = (0..31).rev().fold(0, |most, bit| if fits(most | 1 << bit) { most | 1 << bit } else { most });
            fits(i32::MAX.into()) || prover.less_equal(count().unwrap_or_else(|| exprs.int(1)), exprs.int(most as i64))
        }
        Binary::Min | Binary::Max => {
            let fits = least <= low && high <= greatest;
            fits && (dtype.is_float() || count().is_none_or(|count| prover.positive(count)))
        }
        _ => false,
    };
    (!is_exact).then_some("may have partial results that its dtype does not have")
}

/// Returns the integers that a dtype has without gaps.
fn numbers(dtype: DType) -> Range {
    match dtype.numbers() {
        Numbers::Float(format) => (-(1 << format.digits), 1 << format.digits),
        Numbers::Int { least, greatest } => (least.into(), greatest.into()),
        Numbers::Bool => (0, 1),
    }
}

fn is_in((low, high): Range, dtype: DType) -> bool {
    let (least, greatest) = numbers(dtype);
    least <= low && high <= greatest
}

/// True if two expressions are the same integer, although their operations may have different dtypes.
fn same(program: &Program, a: ExprId, b: ExprId) -> bool {
    let exprs = &program.exprs;
    let kept = |e: ExprId| match *exprs.get(e) {
        // An item that is an index fits in 32 bits: the algorithm's check proves it, or the launch checks it.
        Expr::Cast(DType::I32, of) if exprs.is_index(of) => Some(of),
        Expr::Cast(to, of) if !exprs.is_index(of) && exprs.dtype(of).is_int() && is_in(range(program, of), to) => Some(of),
        _ => None,
    };
    if a == b {
        return true;
    }
    if let Some(inner) = kept(a) {
        return same(program, inner, b);
    }
    if let Some(inner) = kept(b) {
        return same(program, a, inner);
    }
    match (exprs.get(a), exprs.get(b)) {
        (Expr::Const(x), Expr::Const(y)) => x.value() == y.value() && is_in((x.value() as i128, x.value() as i128), y.dtype),
        (Expr::Select(c, x, y), Expr::Select(d, z, w)) => c == d && same(program, *x, *z) && same(program, *y, *w),
        (Expr::Binary(op, x, y), Expr::Binary(other, z, w)) => {
            let is_plain =
                |e: ExprId| !exprs.is_index(e) && of_operation(program, e).is_some_and(|range| is_in(range, exprs.dtype(e)));
            op == other && is_plain(a) && is_plain(b) && same(program, *x, *z) && same(program, *y, *w)
        }
        _ => false,
    }
}

/// Returns the range of a value. A result that wraps can be any integer of its dtype. A float that is not known to be an integer has a range
/// that no dtype includes.
fn range(program: &Program, e: ExprId) -> Range {
    let dtype = program.exprs.dtype(e);
    of_operation(program, e).filter(|range| is_in(*range, dtype)).unwrap_or(match dtype.is_float() {
        true => (i128::from(i64::MIN), i128::from(i64::MAX)),
        false => numbers(dtype),
    })
}

/// Returns the range of an operation's exact result, if it is known.
fn of_operation(program: &Program, e: ExprId) -> Option<Range> {
    let exprs = &program.exprs;
    let part = |e: ExprId| range(program, e);
    let hull = |all: [i128; 4]| all.into_iter().fold((all[0], all[0]), |(low, high), n| (low.min(n), high.max(n)));
    if !exprs.is_walkable(e) {
        return None;
    }
    match *exprs.get(e) {
        Expr::Const(c) if c.value().fract() == 0.0 => Some((c.value() as i128, c.value() as i128)),
        Expr::Axis(axis) => Some((0, i128::from(exprs.as_int(program.axes[axis].extent)?) - 1)),
        _ if exprs.is_index(e) => None,
        Expr::Cast(_, of) if exprs.dtype(of).is_int() || exprs.dtype(of) == DType::Bool => Some(part(of)),
        Expr::Select(_, a, b) => {
            let ((a, b), (c, d)) = (part(a), part(b));
            Some(hull([a, b, c, d]))
        }
        Expr::Unary(Unary::Neg, a) => Some((-part(a).1, -part(a).0)),
        Expr::Unary(Unary::Abs, a) => match part(a) {
            (low, high) if low >= 0 => Some((low, high)),
            (low, high) => Some(((-high).max(0), high.max(-low))),
        },
        Expr::Unary(op, _) => op.range().map(|(least, greatest)| (least.into(), greatest.into())),
        Expr::Binary(op, a, b) => {
            let ((a, b), (c, d)) = (part(a), part(b));
            match op {
                Binary::Add => Some((a + c, b + d)),
                Binary::Sub => Some((a - d, b - c)),
                Binary::Mul => Some(hull([a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?])),
                Binary::Min => Some((a.min(c), b.min(d))),
                Binary::Max => Some((a.max(c), b.max(d))),
                Binary::And if a >= 0 || c >= 0 => Some((
                    0,
                    if a >= 0 && c >= 0 {
                        b.min(d)
                    } else if a >= 0 {
                        b
                    } else {
                        d
                    },
                )),
                _ => None,
            }
        }
        _ => None,
    }
}
