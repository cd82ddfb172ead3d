//! The stages that replace a convolution. For windows over `oh` and `ow` (`q` is left out if there is only one window):
//!
//! | stage | axes | value |
//! |---|---|---|
//! | `v` | `p`, `q`, and the input's, with `th`, `tw` for `oh`, `ow` | `BT x B` of the tile's inputs `x`; 0 where no result needs an input |
//! | `u` | `p`, `q`, and the filter's | `G w GT` |
//! | `g` | `p`, `q`, and the result's, with `th`, `tw` | `v * u`, summed over the channels |
//! | `y_tile` | `i`, `j`, and the result's, with `th`, `tw` | `AT g A` |
//! | `y` | as before | the kernel's own value, from `y_tile` at `oh % m`, `ow % m` in the tile `oh / m`, `ow / m` |
//!
//! The dimensions are transformed one after another. The axes of a stage have the order of its factor's first read.

use super::matrices::{Matrices, Rational};
use super::recognize::{Convolution, Window};
use crate::arena::Id;
use crate::diag::SpanId;
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Exprs, Read};
use crate::launch::DType;
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Body, BufferId, Fate, Program, StageId};
use crate::schedule::algebra::new_stages;
use crate::schedule::algebra::pack::rewrite::guard;
use crate::schedule::invocations::atomics;
use num_traits::{One, Signed, Zero};
use std::collections::HashMap;

/// A dimension that is transformed.
pub(super) struct Dimension {
    pub(super) window: Window,
    pub(super) m: i64,
    pub(super) matrices: Matrices,
    /// True if the last tile ends at the end of the result.
    pub(super) is_exact: bool,
}

/// The inputs of the decomposition.
pub(super) struct Decomposition {
    pub(super) of: Convolution,
    pub(super) dimensions: Vec<Dimension>,
    /// The names of `v`, `u` and `g`.
    pub(super) names: [String; 3],
    pub(super) store: DType,
    pub(super) span: SpanId,
}

/// Maps axes of the convolution to the axes of one stage.
struct Renamed {
    /// The stage's axes after the axes of the transforms, each paired with the convolution's axis. A window's axis becomes an axis
    /// over tiles.
    axes: Vec<(AxisId, AxisId)>,
}

impl Decomposition {
    /// Makes the stages before the convolution's stage, which then takes its values from them. Returns the stored buffers: `v`,
    /// `u`, `g` and `y`.
    pub(super) fn make(&self, program: &mut Program) -> [BufferId; 4] {
        let at = self.of.stage;
        new_stages::open_before(program, at, 4);
        let [input, filter, product, tile, y] = std::array::from_fn(|n| StageId::new(at.index() + n));
        let (v, u) = (self.input(program, input), self.filter(program, filter));
        let g = self.product(program, product, (input, &v), (filter, &u));
        self.tile(program, tile, (product, &g));
        self.result(program, y, tile, &g);
        guard(program, input);
        guard(program, filter);
        [input, filter, product, y].map(|stage| program.stages[stage].buffer)
    }

    /// Returns the type of the sum.
    fn dtype(&self, program: &Program) -> DType {
        program.exprs.dtype(self.of.monoid.identity[0])
    }

    /// Defines the transformed inputs.
    fn input(&self, program: &mut Program, stage: StageId) -> Renamed {
        let points = self.points(program, stage, ["p", "q"], |d| d.matrices.input.len());
        let of = self.axes_of(program, self.of.input);
        let renamed = self.rename(program, stage, &of);
        let transform = |program: &Program, at: &[i64]| self.input_at(program, &renamed, at);
        let value = self.transformed(program, &points, |d| (&d.matrices.input, Shared::Rows), &transform);
        let value = program.exprs.cast(self.store, value);
        self.define(program, stage, self.names[0].clone(), (points, &renamed), Body::Map(value), self.store);
        renamed
    }

    /// Returns the input at a place of the tile.
    fn input_at(&self, program: &Program, renamed: &Renamed, at: &[i64]) -> ExprId {
        let exprs = &program.exprs;
        let (mut known, mut inside) = (renamed.known(exprs), None);
        for (d, place) in self.dimensions.iter().zip(at) {
            let Window { out, tap, taps } = d.window;
            let first = exprs.product(known[&out], exprs.int(d.m));
            let here = exprs.sum(first, exprs.int(*place));
            known.insert(out, here);
            known.insert(tap, exprs.int(0));
            // Every tile has at least one result, and all taps of that result are in bounds.
            let extent = program.axes[out].extent;
            if *place >= taps as i64 && !d.is_exact {
                let more = exprs.int(taps as i64 - 1);
                let end = exprs.sum(extent, more);
                let within = exprs.compare(Compare::Lt, here, end);
                inside = Some(crate::nest::points::both(exprs, inside, within));
            }
        }
        let value = replaced(exprs, self.of.input, &known);
        let zero = exprs.constant(Const::number(0.0, exprs.dtype(value)));
        inside.map_or(value, |inside| exprs.select(inside, value, zero))
    }

    /// Defines the transformed filter.
    fn filter(&self, program: &mut Program, stage: StageId) -> Renamed {
        let points = self.points(program, stage, ["p", "q"], |d| d.matrices.filter.len());
        let of = self.axes_of(program, self.of.filter);
        let renamed = self.rename(program, stage, &of);
        let transform = |program: &Program, at: &[i64]| {
            let mut known = renamed.known(&program.exprs);
            let taps = self.dimensions.iter().zip(at);
            known.extend(taps.map(|(d, tap)| (d.window.tap, program.exprs.int(*tap))));
            replaced(&program.exprs, self.of.filter, &known)
        };
        let value = self.transformed(program, &points, |d| (&d.matrices.filter, Shared::Rows), &transform);
        let value = program.exprs.cast(self.store, value);
        self.define(program, stage, self.names[1].clone(), (points, &renamed), Body::Map(value), self.store);
        renamed
    }

    /// Defines the products, summed over the channels.
    fn product(&self, program: &mut Program, stage: StageId, v: (StageId, &Renamed), u: (StageId, &Renamed)) -> Renamed {
        let points = self.points(program, stage, ["p", "q"], |d| d.matrices.input.len());
        let outs = program.stages[StageId::new(stage.index() + 2)].axes.clone();
        let renamed = self.rename(program, stage, &outs);
        let mut over = Vec::new();
        for axis in &self.of.channels {
            let Axis { name, extent, span, .. } = program.axes[*axis].clone();
            let kind = AxisKind::Reduction;
            over.push((*axis, program.axes.push(Axis { name, extent, kind, def: AxisDef::Root(stage), fate: Fate::Live, span })));
        }
        let known: HashMap<AxisId, AxisId> = renamed.axes.iter().chain(&over).copied().collect();
        let dtype = self.dtype(program);
        let read = |program: &Program, (from, of): (StageId, &Renamed)| {
            let own = of.axes.iter().map(|(old, _)| known[old]);
            let index: Vec<ExprId> = points.iter().copied().chain(own).map(|axis| program.exprs.axis(axis)).collect();
            let read = program.exprs.read(program.stages[from].buffer, self.store, index);
            program.exprs.cast(dtype, read)
        };
        let item = program.exprs.product(read(program, v), read(program, u));
        let over: Vec<AxisId> = over.into_iter().map(|(_, new)| new).collect();
        let body = if over.is_empty() {
            Body::Map(item)
        } else {
            let finish = program.exprs.add(Expr::State(0), dtype);
            Body::Reduce { monoid: self.of.monoid.clone(), over, lift: vec![item], finish }
        };
        self.define(program, stage, self.names[2].clone(), (points, &renamed), body, dtype);
        renamed
    }

    /// Defines the results of a tile.
    fn tile(&self, program: &mut Program, stage: StageId, (product, g): (StageId, &Renamed)) {
        let places = self.points(program, stage, ["i", "j"], |d| d.matrices.result.len());
        let outs: Vec<AxisId> = g.axes.iter().map(|(old, _)| *old).collect();
        let renamed = self.rename(program, stage, &outs);
        let (buffer, dtype) = (program.stages[product].buffer, self.dtype(program));
        let transform = |program: &Program, at: &[i64]| {
            let points = at.iter().map(|p| program.exprs.int(*p));
            let own = renamed.axes.iter().map(|(_, new)| program.exprs.axis(*new));
            program.exprs.read(buffer, dtype, points.chain(own).collect::<Vec<_>>())
        };
        let value = self.transformed(program, &places, |d| (&d.matrices.result, Shared::Columns), &transform);
        let of = &program.stages[StageId::new(stage.index() + 1)].name;
        let name = atomics::unused(program, &format!("{of}_tile"));
        self.define(program, stage, name, (places, &renamed), Body::Map(value), dtype);
    }

    /// Redefines the convolution itself: the kernel's finish of a result in its tile.
    fn result(&self, program: &mut Program, stage: StageId, tile: StageId, g: &Renamed) {
        let exprs = &program.exprs;
        let place = |axis: AxisId, op: Binary| {
            let d = self.dimensions.iter().find(|d| d.window.out == axis);
            let value = exprs.axis(axis);
            d.map_or(value, |d| exprs.binary(op, value, exprs.int(d.m)))
        };
        let inner = self.dimensions.iter().map(|d| place(d.window.out, Binary::FloorMod));
        let index: Vec<ExprId> = inner.chain(g.axes.iter().map(|(old, _)| place(*old, Binary::FloorDiv))).collect();
        let sum = exprs.read(program.stages[tile].buffer, self.dtype(program), index);
        let value = exprs.replace(self.of.finish, &mut |exprs, id| matches!(exprs.get(id), Expr::State(0)).then_some(sum));
        program.stages[stage].body = Body::Map(value);
    }

    /// Adds an axis for each dimension, with the extent that `count` returns.
    fn points(&self, program: &mut Program, stage: StageId, names: [&str; 2], count: impl Fn(&Dimension) -> usize) -> Vec<AxisId> {
        let named = self.dimensions.iter().zip(names);
        named.map(|(d, name)| self.axis(program, stage, name, count(d) as i64)).collect()
    }

    fn axis(&self, program: &mut Program, stage: StageId, name: &str, extent: i64) -> AxisId {
        let extent = program.exprs.int(extent);
        let (name, kind, def) = (self.unused(program, stage, name), AxisKind::Parallel, AxisDef::Root(stage));
        program.axes.push(Axis { name, extent, kind, def, fate: Fate::Live, span: self.span })
    }

    /// Returns the axes that a factor depends on besides its taps, in the order of its first read's indices.
    fn axes_of(&self, program: &Program, factor: ExprId) -> Vec<AxisId> {
        let exprs = &program.exprs;
        let mut found = Vec::new();
        let reads = exprs.reads(factor);
        for e in reads.iter().flat_map(|read| read.index.iter().copied()).chain([factor]) {
            exprs.uses_axis(e, &mut |axis| {
                if !found.contains(&axis) && self.dimensions.iter().all(|d| d.window.tap != axis) {
                    found.push(axis);
                }
                false
            });
        }
        found
    }

    /// Adds the stage's own axes for some axes of the convolution. The axis of a window becomes an axis over tiles, named `t` and
    /// the rest of its name.
    fn rename(&self, program: &mut Program, stage: StageId, of: &[AxisId]) -> Renamed {
        let own = |program: &mut Program, axis: &AxisId| {
            let Axis { mut name, mut extent, span, .. } = program.axes[*axis].clone();
            if let Some(d) = self.dimensions.iter().find(|d| d.window.out == *axis) {
                let m = program.exprs.int(d.m);
                extent = program.exprs.ceil_div(extent, m);
                name = self.unused(program, stage, &format!("t{}", name.strip_prefix('o').unwrap_or(&name)));
            }
            let (kind, def) = (AxisKind::Parallel, AxisDef::Root(stage));
            (*axis, program.axes.push(Axis { name, extent, kind, def, fate: Fate::Live, span }))
        };
        Renamed { axes: of.iter().map(|axis| own(program, axis)).collect() }
    }

    /// Returns a name that no axis of the convolution or of the stage has.
    fn unused(&self, program: &Program, stage: StageId, name: &str) -> String {
        let own = program.axes.values().filter(|axis| axis.def == AxisDef::Root(stage));
        let taken: Vec<&str> =
            self.of.axes.iter().map(|axis| &program.axes[*axis]).chain(own).map(|axis| axis.name.as_str()).collect();
        let mut name = name.to_owned();
        while taken.contains(&name.as_str()) {
            name.push('_');
        }
        name
    }

    /// Defines a stage at an id that [`new_stages::open_before`] reserved, on its own axes.
    fn define(
        &self,
        program: &mut Program,
        stage: StageId,
        name: String,
        (points, renamed): (Vec<AxisId>, &Renamed),
        body: Body,
        dtype: DType,
    ) {
        let axes: Vec<AxisId> = points.into_iter().chain(renamed.axes.iter().map(|(_, new)| *new)).collect();
        new_stages::define(program, stage, name, axes, body, (dtype, self.span));
    }

    /// Applies, in each dimension, the matrix row that `points` selects to the items at all places. The dimensions are transformed
    /// one after another.
    fn transformed<'d>(
        &'d self,
        program: &mut Program,
        points: &[AxisId],
        matrix: impl Fn(&'d Dimension) -> Transform<'d>,
        item: &dyn Fn(&Program, &[i64]) -> ExprId,
    ) -> ExprId {
        program.notes.rows.extend(points);
        let dimensions: Vec<_> = points.iter().copied().zip(self.dimensions.iter().map(matrix)).collect();
        along(program, &dimensions, &mut Vec::new(), item)
    }
}

/// The rows of a matrix, and the terms that they share.
type Transform<'m> = (&'m [Vec<Rational>], Shared);

/// Transforms the items along the last dimensions. `at` is the position in the earlier ones.
fn along(
    program: &Program,
    dimensions: &[(AxisId, Transform<'_>)],
    at: &mut Vec<i64>,
    item: &dyn Fn(&Program, &[i64]) -> ExprId,
) -> ExprId {
    let Some(((point, (matrix, shared)), others)) = dimensions.split_first() else { return item(program, at) };
    let items: Vec<ExprId> = (0..matrix[0].len() as i64)
        .map(|place| {
            at.push(place);
            let item = along(program, others, at, item);
            at.pop();
            item
        })
        .collect();
    let exprs = &program.exprs;
    let mut rows = matrix.iter().map(|row| shared.combination(exprs, row, &items)).enumerate().rev();
    let last = rows.next().map(|(_, value)| value);
    // If the axis is unrolled, each copy computes one of these rows.
    let point = exprs.axis(*point);
    let chosen = |others: Option<ExprId>, (n, value): (usize, ExprId)| {
        let is = exprs.compare(Compare::Eq, point, exprs.int(n as i64));
        others.map(|others| exprs.select(is, value, others))
    };
    rows.fold(last, chosen).unwrap_or_else(|| item(program, at))
}

/// The way in which rows have terms in common, which are then computed once.
#[derive(Clone, Copy)]
enum Shared {
    /// The rows of `p` and `-p` have the same even terms, and odd terms with the opposite sign.
    Rows,
    /// The columns of `p` and `-p` have coefficients of the same magnitude in every row.
    Columns,
}

impl Shared {
    /// Returns a row's sum of products. Terms with coefficient 0 are left out, and coefficients of 1 need no multiplication.
    fn combination(self, exprs: &Exprs, row: &[Rational], items: &[ExprId]) -> ExprId {
        let terms: Vec<(Rational, ExprId)> = row.iter().copied().zip(items.iter().copied()).collect();
        let sum = match self {
            Shared::Rows => {
                let half = |odd: usize| total(exprs, terms.iter().copied().skip(odd).step_by(2));
                added(exprs, half(0), half(1))
            }
            Shared::Columns => {
                let mut groups: Vec<(Rational, Vec<(Rational, ExprId)>)> = Vec::new();
                for (c, item) in terms.into_iter().filter(|(c, _)| !c.is_zero()) {
                    match groups.iter_mut().find(|(size, _)| *size == c.abs()) {
                        Some((_, group)) => group.push((c.signum(), item)),
                        None => groups.push((c.abs(), vec![(c.signum(), item)])),
                    }
                }
                let scaled = |(size, group): (Rational, Vec<(Rational, ExprId)>)| {
                    let (sign, sum) = total(exprs, group.into_iter())?;
                    Some((sign, times(exprs, size, sum)))
                };
                groups.into_iter().map(scaled).fold(None, |sum, group| added(exprs, sum, group))
            }
        };
        signed(exprs, sum, items)
    }
}

/// A sign, and a sum whose first term is not negated. `None` is a sum without terms.
type Sum = Option<(Rational, ExprId)>;

/// Returns the sum of terms. A sum and its negation differ only in the sign, so they share an expression.
fn total(exprs: &Exprs, terms: impl Iterator<Item = (Rational, ExprId)>) -> Sum {
    let mut terms = terms.filter(|(c, _)| !c.is_zero());
    let (first, item) = terms.next()?;
    let start = times(exprs, first.abs(), item);
    let sign = first.signum();
    Some((sign, terms.fold(start, |sum, (c, item)| plus(exprs, sum, c * sign, item))))
}

/// Adds two sums.
fn added(exprs: &Exprs, a: Sum, b: Sum) -> Sum {
    match (a, b) {
        (Some((s, a)), Some((t, b))) => Some((s, plus(exprs, a, s * t, b))),
        (one, None) | (None, one) => one,
    }
}

/// Returns the value of a sum. It is 0 if the sum does not have terms.
fn signed(exprs: &Exprs, sum: Sum, items: &[ExprId]) -> ExprId {
    let dtype = items.first().map_or(DType::F32, |item| exprs.dtype(*item));
    match sum {
        Some((sign, sum)) if sign.is_positive() => sum,
        Some((_, sum)) => exprs.unary(crate::expr::Unary::Neg, sum),
        None => exprs.constant(Const::number(0.0, dtype)),
    }
}

/// Returns `sum + c * item`.
fn plus(exprs: &Exprs, sum: ExprId, c: Rational, item: ExprId) -> ExprId {
    let term = times(exprs, c.abs(), item);
    exprs.binary(if c.is_negative() { Binary::Sub } else { Binary::Add }, sum, term)
}

fn times(exprs: &Exprs, c: Rational, item: ExprId) -> ExprId {
    if c.is_one() {
        return item;
    }
    exprs.product(exprs.rational(*c.numer(), *c.denom(), exprs.dtype(item)), item)
}

impl Renamed {
    fn known(&self, exprs: &Exprs) -> HashMap<AxisId, ExprId> {
        self.axes.iter().map(|(old, new)| (*old, exprs.axis(*new))).collect()
    }
}

/// Replaces axes by values in an expression. Indices are kept in linear form.
pub(in crate::schedule) fn replaced(exprs: &Exprs, e: ExprId, known: &HashMap<AxisId, ExprId>) -> ExprId {
    exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(axis) => known.get(axis).copied(),
        Expr::Read(read) => {
            let index = |i: &ExprId| {
                let index = replaced(exprs, *i, known);
                exprs.of_linear(&exprs.linear(index), &[])
            };
            let read = Read { index: read.index.iter().map(index).collect(), ..read.clone() };
            Some(exprs.add(Expr::Read(read), exprs.dtype(id)))
        }
        _ => None,
    })
}
