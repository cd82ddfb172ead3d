//! `decompose_winograd(y => v, u, g, m: 4, store: f16, tolerance: 2e-3, points: [0, 1, -1, 2, -2])`: computes a convolution by
//! Winograd's minimal filtering (Lavin and Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016). A tile of `m` results
//! needs `m + r - 1` products instead of `m r` in each dimension.
//!
//! It rewrites the algebra before nests exist: other stages replace the convolution ([`stages`]), and directives schedule them like
//! any other. The result rounds differently, so the expected error is stated ([`error`]) and compared with a tolerance.
//!
//! Refused: a stage that is not a convolution of 3 or 5 taps with stride and dilation 1 in one or two dimensions ([`recognize`]);
//! tiles other than 2, 4 or 6 results for 3 taps, and 2 for 5 taps; names that are already used; points that are equal, or of the
//! wrong number; an error that exceeds the tolerance or is unbounded.

mod error;
pub mod matrices;
mod recognize;
pub(in crate::schedule) mod stages;

use super::new_stages::check_names;
use super::pack::Rewritten;
use crate::diag::{Error, SpanId, list};
use crate::facts::Prover;
use crate::launch::DType;
use crate::nest::{BufferId, Program};
use crate::schedule::number;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};
use crate::syntax::schedule::Winograd;
use error::Model;
pub(crate) use error::Stated;
use matrices::{Matrices, Rational};
use num_traits::CheckedDiv;
use recognize::{Convolution, convolution};
use stages::{Decomposition, Dimension};

/// The possible tiles for windows of 3 and 5 taps.
const TILES: [(usize, &[i64]); 2] = [(3, &[2, 4, 6]), (5, &[2])];

/// Applies the directive, and returns the stored buffers.
pub(in crate::schedule) fn apply(
    program: &mut Program,
    winograd: &Winograd,
    span: SpanId,
    rewritten: &mut Rewritten,
) -> Result<[BufferId; 4], Error> {
    check_names(program, &winograd.stages)?;
    let of = convolution(program, &winograd.result)?;
    let dimensions = dimensions(program, winograd, &of)?;
    let sum = program.exprs.dtype(of.monoid.identity[0]);
    let store = store(winograd, sum)?;
    let additions = channels(program, winograd, &of)?;
    let model = Model { dimensions: dimensions.iter().map(|d| d.matrices.clone()).collect(), store, sum, additions };
    let taps = of.windows.iter().map(|window| window.taps).collect();
    let names = winograd.stages.clone().map(|name| name.text);
    let made = Decomposition { of, dimensions, names, store, span }.make(program);
    rewritten.stated.push(Stated::new(winograd, taps, model, made[2], span)?);
    Ok(made)
}

/// Returns the transforms of each window.
fn dimensions(program: &mut Program, winograd: &Winograd, of: &Convolution) -> Result<Vec<Dimension>, Error> {
    let m = number::positive(program, &winograd.m, "the size of a tile").map_err(|error| {
        if error.help.is_some() { error } else { error.help("tiles of 2, 4 and 6 results are possible for 3 taps, and of 2 for 5") }
    })?;
    if let (Some((_, span)), [a, b]) = (&winograd.points, &of.windows[..])
        && a.taps != b.taps
    {
        let error = Error::new(*span, format!("windows of {} and {} taps have different points", a.taps, b.taps));
        return Err(error.help("leave `points` out"));
    }
    of.windows
        .iter()
        .map(|window| {
            let tiles = tiles(window.taps);
            let Some(m) = tiles.iter().copied().find(|t| *t == m) else {
                let choices = list(tiles.iter().map(|m| format!("m: {m}")));
                let error = Error::new(winograd.m.span, format!("a tile of {m} results is not possible for {} taps", window.taps));
                return Err(error.help(format!("possible for {} taps: {choices}", window.taps)));
            };
            let matrices = matrices(winograd, m as usize, window.taps)?;
            let is_exact = Prover::new(program).divides(m, program.axes[window.out].extent);
            Ok(Dimension { window: *window, m, matrices, is_exact })
        })
        .collect()
}

/// Returns the possible tiles for a window.
fn tiles(taps: usize) -> &'static [i64] {
    TILES.iter().find(|(of, _)| *of == taps).map_or(&[], |(_, tiles)| *tiles)
}

/// Returns F(m, r) at the given points, or at the default ones.
fn matrices(winograd: &Winograd, m: usize, taps: usize) -> Result<Matrices, Error> {
    let count = m + taps - 2;
    let Some((points, span)) = &winograd.points else {
        let usual = matrices::usual(count).and_then(|points| Matrices::new(m, taps, &points));
        return usual.ok_or_else(|| Error::new(winograd.m.span, format!("F({m}, {taps}) needs explicit points")));
    };
    if points.len() != count {
        let error = Error::new(*span, format!("F({m}, {taps}) needs {count} finite points, but {} are given", points.len()));
        return Err(error.help("do not write the infinite point"));
    }
    let points = points.iter().map(rational).collect::<Result<Vec<_>, _>>()?;
    Matrices::new(m, taps, &points).ok_or_else(|| {
        Error::new(*span, "two of the points are equal, or products of them do not fit 64 bits")
            .help("write small, distinct fractions")
    })
}

/// Parses a point, for example `-2 / 3`.
fn rational(expr: &Expr) -> Result<Rational, Error> {
    let small = |n: u64| i64::try_from(n).ok().map(Rational::from_integer);
    let value = match &expr.kind {
        ExprKind::Int { value, suffix: None } => small(*value),
        ExprKind::Neg(a) => Some(-rational(a)?),
        ExprKind::Binary(BinaryOp::Div, _, a, b) => rational(a)?.checked_div(&rational(b)?),
        _ => None,
    };
    let value = value.filter(|value| value.numer().abs() <= 1000 && *value.denom() <= 1000);
    value.ok_or_else(|| Error::new(expr.span, "this is not a small fraction").help("write points as `0`, `-2` or `2/3`"))
}

/// Returns the type in which transformed inputs and filters are stored.
fn store(winograd: &Winograd, sum: DType) -> Result<DType, Error> {
    match winograd.store {
        Some((DType::F32, span)) if sum == DType::F16 => {
            let error = Error::new(span, "values stored as f32 would be summed as f16");
            Err(error.help("leave `store` out, or sum in f32: `x[…] as f32 * w[…] as f32`"))
        }
        Some((dtype, _)) => Ok(dtype),
        None => Ok(sum),
    }
}

/// Returns the maximum number of products of a sum.
fn channels(program: &Program, winograd: &Winograd, of: &Convolution) -> Result<i64, Error> {
    let prover = Prover::new(program);
    of.channels.iter().try_fold(1i64, |product, axis| {
        let extent = program.axes[*axis].extent;
        let most = program.exprs.as_int(extent).or_else(|| prover.upper(extent)).and_then(|n| product.checked_mul(n.max(1)));
        most.ok_or_else(|| {
            let text = crate::nest::print::expr(program, extent);
            let error = Error::new(
                winograd.result.span,
                format!("the number of products that `{}` sums is unbounded, and so is its error", winograd.result),
            );
            error.help(format!("state one in the schedule's header: `where {text} <= 512`"))
        })
    })
}
