//! `decompose_im2col(y => cols, gemm)`: computes a convolution as explicit columns and a matrix product (Chellapilla, Puri and
//! Simard, *High Performance Convolutional Neural Networks for Document Processing*, 2006).
//!
//! It rewrites the algebra before nests exist. In the sum of products `y`, the factor over which a filter slides becomes a read of
//! a new stage `cols`, which holds the value of that factor at each point. For example, for `y[n, oh, ow, oc]`, a sum over `fh`,
//! `fw` and `ic`:
//!
//! | stage | axes | value |
//! |---|---|---|
//! | `cols` | the axes of the result and then the axes of the sum that the factor names: `n`, `oh`, `ow`, `fh`, `fw`, `ic` | the factor, with its padding |
//! | `gemm` | as `y` | the sum of `cols` times the filter, with the kernel's epilogue |
//!
//! The computed values do not change: each product has the same factors, and the sum has the same order, so it rounds as before.
//! `gemm` is `y` itself under another name; its epilogue runs in the registers of the product. The axes of the sum stay separate,
//! because they index the filter. `fuse(fh, fw, ic => k)` fuses them.
//!
//! Refused: a stage that is not a sum of products; products in which no factor names both an axis of the result and an axis of the
//! sum, or in which several factors slide; an index that depends on data; columns whose sizes depend on other axes; names that are
//! already used.

use super::convolution::{self, Sum};
use super::new_stages;
use super::renamed::Renamed;
use crate::arena::Id;
use crate::diag::{Error, SpanId, list};
use crate::expr::{Expr, ExprId, Read};
use crate::nest::fill::at_fill;
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Body, BufferId, Fate, Program, Space, StageId, State, print};
use crate::syntax::Name;
use crate::syntax::schedule::Im2col;
use std::cmp::Reverse;

/// The required form of a stage.
const SUM: &str = "im2col is for a sum of products: `y[i] = sum(f in 0..3, c in 0..C) { x[i * 2 + f, c] * w[f, c] }`";

/// A stage that is a convolution, or a matrix product.
struct Convolution {
    sum: Sum,
    /// The factor that becomes columns, without widening conversions.
    input: ExprId,
    /// The axes that the factor names: axes of the result, and then axes of the sum.
    axes: Vec<AxisId>,
}

/// Applies the directive, and returns the buffer of the columns. `placed` is true if another directive places the columns;
/// otherwise they are stored in device memory.
pub(in crate::schedule) fn apply(program: &mut Program, im2col: &Im2col, placed: bool, span: SpanId) -> Result<BufferId, Error> {
    new_stages::check_names(program, &im2col.stages)?;
    let of = recognized(program, &im2col.result)?;
    let [columns, product] = im2col.stages.clone().map(|name| name.text);
    let at = of.sum.stage;
    new_stages::open_before(program, at, 1);
    let (buffer, read) = define(program, at, columns, &of, span);
    multiply(program, StageId::new(at.index() + 1), product, &of, read);
    let what = stated(program, im2col, &of, (!placed).then_some(buffer));
    program.owe(what, State::Proved, span);
    Ok(buffer)
}

/// Recognizes the convolution that a name denotes.
fn recognized(program: &Program, name: &Name) -> Result<Convolution, Error> {
    let sum = convolution::sum(program, name, SUM)?;
    let factors = convolution::factors(program, sum.item);
    if factors.len() < 2 {
        return Err(convolution::no_sum(name, "a sum whose items are not products", SUM));
    }
    let input = unconverted(program, input(program, name, &sum, &factors)?);
    let by_data = |read: &&Read| read.index.iter().any(|index| !program.exprs.reads(*index).is_empty());
    if let Some(read) = program.exprs.reads(input).iter().find(by_data) {
        let tensor = &program.buffers[read.buffer].name;
        let error =
            Error::new(name.span, format!("`{tensor}` is read at an index that depends on data, so columns cannot be made"));
        return Err(error.help("im2col needs indices that depend on axes and sizes only: leave `decompose_im2col` out"));
    }
    let axes = program.root_axes(sum.stage).into_iter().filter(|axis| names(program, input, &[*axis])).collect::<Vec<_>>();
    convolution::check_ranges(program, name, &axes, "the columns form a box, so im2col needs extents that depend on sizes only")?;
    Ok(Convolution { sum, input, axes })
}

/// Returns the factor that becomes columns: a sliding factor is preferred, then the most windows, then the most axes of the result.
fn input(program: &Program, name: &Name, sum: &Sum, factors: &[ExprId]) -> Result<ExprId, Error> {
    let outs = program.stages[sum.stage].axes.clone();
    let slides = |e: &ExprId| !convolution::pairs(program, *e, &outs, &sum.over).is_empty();
    let fits = |e: &&ExprId| names_in_read(program, **e, &outs) && names_in_read(program, **e, &sum.over);
    let fitting: Vec<ExprId> = factors.iter().filter(fits).copied().collect();
    if fitting.iter().filter(|e| slides(e)).count() > 1 {
        return Err(convolution::no_sum(name, "a sum of products in which several factors slide", SUM));
    }
    let windows = |e: ExprId| {
        let reads = program.exprs.reads(e);
        let both = |index: &&ExprId| names(program, **index, &outs) && names(program, **index, &sum.over);
        reads.iter().flat_map(|read| &read.index).filter(both).count()
    };
    let named = |e: ExprId| outs.iter().filter(|axis| names(program, e, &[**axis])).count();
    // `min_by_key` takes the first of equal factors.
    let found = fitting.into_iter().min_by_key(|e| Reverse((slides(e), windows(*e), named(*e))));
    found.ok_or_else(|| {
        let error = format!(
            "no factor of `{name}` is indexed by both an axis of the result and an axis of the sum, so columns cannot be made"
        );
        Error::new(name.span, error).help(SUM)
    })
}

/// True if an expression names one of `axes`.
fn names(program: &Program, e: ExprId, axes: &[AxisId]) -> bool {
    program.exprs.uses_axis(e, &mut |axis| axes.contains(&axis))
}

/// True if one of the reads in an expression names one of `axes`.
fn names_in_read(program: &Program, e: ExprId, axes: &[AxisId]) -> bool {
    program.exprs.reads(e).iter().flat_map(|read| &read.index).any(|index| names(program, *index, axes))
}

/// Strips conversions to types that are not smaller. They are applied to the read instead.
fn unconverted(program: &Program, e: ExprId) -> ExprId {
    let Expr::Cast(to, a) = *program.exprs.get(e) else { return e };
    let from = program.exprs.dtype(a);
    let is_plain = !program.exprs.is_index(a) && from.bytes() <= to.bytes();
    if is_plain { unconverted(program, a) } else { e }
}

/// Defines the stage of columns at the id that is reserved for it. Returns its buffer, and the read that replaces the factor.
fn define(program: &mut Program, stage: StageId, name: String, of: &Convolution, span: SpanId) -> (BufferId, ExprId) {
    let axis = |axis: &AxisId| {
        let (kind, def, fate) = (AxisKind::Parallel, AxisDef::Root(stage), Fate::Live);
        program.axes.push(Axis { kind, def, fate, ..program.axes[*axis].clone() })
    };
    let axes: Vec<AxisId> = of.axes.iter().map(axis).collect();
    let own = Renamed { axes: of.axes.iter().copied().zip(axes.iter().copied()).collect() };
    let value = own.expr(program, of.input);
    let dtype = program.exprs.dtype(value);
    let buffer = new_stages::define(program, stage, name, axes, Body::Map(value), (dtype, span));
    if dtype.is_float() && at_fill(program, value, &|_| false).is_finite() {
        program.checks.finite.push(buffer);
    }
    let index: Vec<ExprId> = of.axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
    (buffer, program.exprs.read(buffer, dtype, index))
}

/// Rewrites the convolution as the product of its columns with the filter.
fn multiply(program: &mut Program, stage: StageId, name: String, of: &Convolution, read: ExprId) {
    let item = program.exprs.replace(of.sum.item, &mut |_, e| (e == of.input).then_some(read));
    let Sum { monoid, over, finish, .. } = &of.sum;
    program.stages[stage].body = Body::Reduce { monoid: monoid.clone(), over: over.clone(), lift: vec![item], finish: *finish };
    let buffer = program.stages[stage].buffer;
    // The caller's tensors keep their names.
    if program.buffers[buffer].space == Space::Temporary {
        program.buffers[buffer].name.clone_from(&name);
    }
    program.stages[stage].name = name;
}

/// Describes the rewrite, and the memory that the columns take if they are stored in device memory.
fn stated(program: &Program, im2col: &Im2col, of: &Convolution, columns: Option<BufferId>) -> String {
    let mut tensors: Vec<BufferId> = Vec::new();
    for read in program.exprs.reads(of.input) {
        if !tensors.contains(&read.buffer) {
            tensors.push(read.buffer);
        }
    }
    let name = |buffer: &BufferId| &program.buffers[*buffer].name;
    let takes = |buffer: &BufferId| format!("`{}` takes {} bytes", name(buffer), bytes(program, *buffer));
    let ([columns_name, product], result) = (&im2col.stages, &im2col.result);
    let what = format!(
        "`{product}` sums the products of `{result}`, with the reads of {} gathered in `{columns_name}`",
        list(tensors.iter().map(name))
    );
    match columns {
        Some(columns) => {
            let others: Vec<String> = tensors.iter().map(takes).collect();
            format!("{what}: {}, and {}", takes(&columns), others.join(" and "))
        }
        None => what,
    }
}

/// Returns the size of a buffer in bytes, as text.
fn bytes(program: &Program, buffer: BufferId) -> String {
    let buffer = &program.buffers[buffer];
    let (mut literal, mut sizes) = (i128::from(buffer.dtype.bytes()), Vec::new());
    for extent in &buffer.shape {
        match program.exprs.as_int(*extent) {
            Some(n) => literal = literal.saturating_mul(i128::from(n)),
            None => sizes.push(print::expr(program, *extent)),
        }
    }
    let factor = |text: String| if text.contains(' ') { format!("({text})") } else { text };
    [literal.to_string()].into_iter().chain(sizes.into_iter().map(factor)).collect::<Vec<_>>().join(" * ")
}
