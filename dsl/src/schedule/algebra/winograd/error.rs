//! The error of a decomposed convolution, computed before it runs: the expected root mean square of the errors, relative to the
//! root mean square of the results, for independent inputs and weights with mean 0.
//!
//! With `P` the growth of the transforms ([`Matrices::growth`], one for each dimension) and `e` the unit roundoff:
//! - storing values with roundoff `e` contributes `0.58 e sqrt(P P')`, because `v` and `u` are each rounded once;
//! - a sequential sum of `C` products contributes `e sqrt(P P') sqrt(1.5 + 0.085 C)`, including the rounding of the transforms. A
//!   sum in blocks of `B` does `B` additions and then `C / B`, so it counts as `B + C / B` products ([`additions`]).
//!
//! The constants were fitted to measured errors of F(2, 3), F(4, 3) and F(6, 3).
//!
//! Directives decide how the products are summed, so the error is compared with the tolerance after all of them are applied.

use super::matrices::{self, Matrices};
use super::tiles;
use crate::diag::{Error, SpanId};
use crate::expr::Expr;
use crate::facts::Prover;
use crate::launch::{DType, FloatFormat};
use crate::nest::{AxisId, Body, BufferId, Program, Rounding, StageId, State};
use crate::syntax::Name;
use crate::syntax::schedule::Winograd;

/// A decomposition whose error must be stated.
#[derive(Clone)]
pub(crate) struct Stated {
    result: Name,
    tolerance: (f64, SpanId),
    taps: Vec<usize>,
    model: Model,
    /// The name of the sum of products, and its buffer.
    products: (Name, BufferId),
    span: SpanId,
}

impl Stated {
    /// Creates the statement of a decomposition with its tolerance.
    ///
    /// # Errors
    /// Reports a missing tolerance.
    pub(super) fn new(
        winograd: &Winograd,
        taps: Vec<usize>,
        model: Model,
        products: BufferId,
        span: SpanId,
    ) -> Result<Stated, Error> {
        let products = (winograd.stages[2].clone(), products);
        let stated = |tolerance| Stated { result: winograd.result.clone(), tolerance, taps, model, products, span };
        let Some(tolerance) = winograd.tolerance else {
            let stated = stated((0.0, span));
            let expected = stated.model.expected();
            let error = Error::new(span, "`decompose_winograd` needs a `tolerance`: its result rounds more than a direct sum");
            return Err(error
                .note(format!("{} {}", stated.what(), stated.figures()))
                .help(format!("write `tolerance: {:.1e}`, or the largest error that you accept", expected * 1.2)));
        };
        Ok(stated(tolerance))
    }

    fn what(&self) -> String {
        format!("the expected relative error of `{}` is", self.result)
    }

    /// Returns the error for each possible tile, as text.
    fn figures(&self) -> String {
        let of_window = |m: i64, taps: usize| {
            let points = matrices::usual(m as usize + taps - 2)?;
            Matrices::new(m as usize, taps, &points)
        };
        let figure = |m: &i64| {
            let all = self.taps.iter().map(|taps| tiles(*taps).contains(m).then(|| of_window(*m, *taps)).flatten());
            let dimensions = all.collect::<Option<Vec<_>>>()?;
            let expected = Model { dimensions, ..self.model }.expected();
            Some(format!("{expected:.1e} with `m: {m}`"))
        };
        tiles(self.taps[0]).iter().filter_map(figure).collect::<Vec<_>>().join(", ")
    }

    /// Compares the expected error with the tolerance.
    pub(in crate::schedule) fn judge(mut self, program: &mut Program) -> Result<(), Error> {
        let lengths = program.definition(self.products.1).and_then(|stage| additions(program, stage)).unwrap_or_default();
        if !lengths.is_empty() {
            self.model.additions = lengths.iter().sum();
        }
        let (expected, what, (tolerance, at)) = (self.model.expected(), self.what(), self.tolerance);
        if expected > tolerance {
            let error = Error::new(at, format!("{what} {expected:.1e}, above the tolerance {tolerance:e}"));
            let error = error.note(format!("at the default points it is {}", self.figures()));
            let blocks = if lengths.len() > 1 { "" } else { " sums in blocks," };
            return Err(error.help(format!("write a smaller `m`, other points,{blocks} or a larger tolerance")));
        }
        let worst = self.model.worst();
        program.report.rounding.push(Rounding { result: self.result.text.clone(), expected, worst });
        let range = if self.model.store == DType::F16 { ", and tiles within the normal range of f16" } else { "" };
        let lengths: Vec<String> = lengths.iter().map(i64::to_string).collect();
        let blocks = if lengths.len() > 1 {
            format!(", `{}` summed in blocks ({} additions)", self.products.0, lengths.join(", then "))
        } else {
            String::new()
        };
        program.owe(
            format!(
                "{what} {expected:.1e}, within the tolerance {tolerance:e}, for independent inputs and weights{range}{blocks}; an error is at most \
                 {worst:.1e} of the largest input times the largest weight times the number of products"
            ),
            State::Assumed,
            self.span,
        );
        Ok(())
    }
}

/// Returns the number of sequential additions of a sum. If it sums the results of other sums, as with `rfactor`, it returns several
/// numbers, innermost first. Returns `None` if one of them is unbounded.
fn additions(program: &Program, stage: StageId) -> Option<Vec<i64>> {
    let Body::Reduce { monoid, over, lift, .. } = &program.stages[stage].body else { return None };
    let prover = Prover::new(program);
    let most = |product: i64, axis: &AxisId| product.checked_mul(prover.upper(program.axes[*axis].extent)?.max(1));
    let own = over.iter().try_fold(1, most)?;
    let parts = if let Expr::Read(read) = program.exprs.get(lift[0]) { program.definition(read.buffer) } else { None };
    let parts =
        parts.filter(|of| matches!(&program.stages[*of].body, Body::Reduce { monoid: same, .. } if same.name == monoid.name));
    let mut lengths = match parts {
        Some(parts) => additions(program, parts)?,
        None => Vec::new(),
    };
    lengths.push(own);
    Some(lengths)
}

/// The quantities that determine a decomposition's error.
#[derive(Clone)]
pub(super) struct Model {
    /// The matrices of each dimension.
    pub(super) dimensions: Vec<Matrices>,
    /// The type of transformed inputs and filters.
    pub(super) store: DType,
    /// The type of the sum.
    pub(super) sum: DType,
    /// The maximum number of additions that a product takes part in.
    pub(super) additions: i64,
}

impl Model {
    /// The expected error, relative to the results.
    fn expected(&self) -> f64 {
        let growth = self.dimensions.iter().map(|m| m.growth()).product::<f64>().sqrt();
        let summed = growth * roundoff(self.sum) * (1.5 + 0.085 * self.additions as f64).sqrt();
        let stored = if self.store == self.sum { 0.0 } else { 0.58 * growth * roundoff(self.store) };
        summed.hypot(stored)
    }

    /// Returns the largest possible error, relative to the product of the largest input, the largest weight and the number of
    /// products.
    fn worst(&self) -> f64 {
        let growth = self.dimensions.iter().map(|m| m.worst()).product::<f64>();
        // A transform rounds once for each term and dimension, and rounds its coefficients. The sum rounds once for each product,
        // and a store once.
        let transforms: usize = self.dimensions.iter().map(|m| 2 * m.input.len() + m.filter[0].len() + 3).sum();
        let rounded = (transforms as f64 + self.additions as f64) * roundoff(self.sum) + 2.0 * roundoff(self.store);
        growth * rounded / self.dimensions.iter().map(|m| m.filter[0].len() as f64).product::<f64>()
    }
}

/// Returns the unit roundoff of a dtype. Floats that are computed from integers are f32.
fn roundoff(dtype: DType) -> f64 {
    dtype.float_format().unwrap_or(FloatFormat::F32).roundoff()
}
