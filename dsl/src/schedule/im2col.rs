//! `decompose_im2col(y => cols, gemm)`: a convolution as explicit columns and a matrix product (Chellapilla, Puri and Simard, *High Performance
//! Convolutional Neural Networks for Document Processing*, 2006).
//!
//! It rewrites the algebra, before there are nests: in the sum of products `y`, the factor over which a filter slides becomes a read of a stage
//! `cols` before it, which has the value of that factor at each point. For `y[n, oh, ow, oc]`, a sum over `fh`, `fw` and `ic`:
//!
//! | stage | axes | what |
//! |---|---|---|
//! | `cols` | those of the result and then those of the sum that the factor names: `n`, `oh`, `ow`, `fh`, `fw`, `ic` | the factor, padded as it was |
//! | `gemm` | as `y` | the sum of `cols` times the filter, and what the kernel makes of it |
//!
//! Nothing is computed otherwise: each product has the same factors, and the sum is the same one, so it rounds as before. `gemm` is `y` itself
//! under another name, with its epilogue: that is done in the product's registers. The sum's axes stay apart, as the filter is indexed by them;
//! `fuse(fh, fw, ic => k)` makes one of them.
//!
//! Refused: a stage that is not a sum of products; products in which nothing names both an axis of the result and one of the sum, or in which
//! several factors slide; an index that depends on data; columns whose sizes other axes tell; names that are used.

use super::convolution::{self, Sum};
use super::renamed::Renamed;
use crate::arena::Id;
use crate::diag::{Error, SpanId, list};
use crate::expr::{Expr, ExprId, Read};
use crate::nest::fill::at_fill;
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Body, BufferId, Fate, Program, Space, StageId, State, print};
use crate::syntax::Name;
use crate::syntax::schedule::Im2col;
use std::cmp::Reverse;

/// What is wanted of a stage.
const SUM: &str = "im2col is for a sum of products: `y[i] = sum(f in 0..3, c in 0..C) { x[i * 2 + f, c] * w[f, c] }`";

/// A stage that is a convolution, or a matrix product.
struct Convolution {
    sum: Sum,
    /// The factor that becomes columns, without conversions that only make it larger.
    input: ExprId,
    /// The axes that it names: those of the result, and then those of the sum.
    axes: Vec<AxisId>,
}

/// The directive. Gives what is stored where no directive places it: the columns. `placed`: whether one does.
pub(super) fn apply(program: &mut Program, im2col: &Im2col, placed: bool, span: SpanId) -> Result<BufferId, Error> {
    convolution::check_names(program, &im2col.stages)?;
    let of = recognized(program, &im2col.result)?;
    let [columns, product] = im2col.stages.clone().map(|name| name.text);
    let at = of.sum.stage;
    convolution::open_before(program, at, 1);
    let (buffer, read) = define(program, at, columns, &of, span);
    multiply(program, StageId::new(at.index() + 1), product, &of, read);
    let what = stated(program, im2col, &of, (!placed).then_some(buffer));
    program.owe(what, State::Proved, span);
    Ok(buffer)
}

/// The convolution of a name.
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
        let error = Error::new(name.span, format!("which element of `{tensor}` is read depends on data"));
        return Err(error.help("im2col is for indices that axes and sizes tell; leave the sum as it is"));
    }
    let axes = program.root_axes(sum.stage).into_iter().filter(|axis| names(program, input, &[*axis])).collect::<Vec<_>>();
    convolution::check_ranges(program, name, &axes, "columns are a box: im2col is for ranges that sizes alone tell")?;
    Ok(Convolution { sum, input, axes })
}

/// The factor that becomes columns: that which slides, or else has the most windows, and names the most axes of the result.
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
    // Of equals, the first.
    let found = fitting.into_iter().min_by_key(|e| Reverse((slides(e), windows(*e), named(*e))));
    found.ok_or_else(|| {
        let error = format!("no factor of `{name}` is read at an axis of the result and at one of the sum: there are no columns");
        Error::new(name.span, error).help(SUM)
    })
}

/// Whether an expression names one of some axes.
fn names(program: &Program, e: ExprId, axes: &[AxisId]) -> bool {
    program.exprs.uses_axis(e, &mut |axis| axes.contains(&axis))
}

/// Whether one of the reads in it does.
fn names_in_read(program: &Program, e: ExprId, axes: &[AxisId]) -> bool {
    program.exprs.reads(e).iter().flat_map(|read| &read.index).any(|index| names(program, *index, axes))
}

/// A value without conversions to types that are no smaller: they are made where it is read.
fn unconverted(program: &Program, e: ExprId) -> ExprId {
    let Expr::Cast(to, a) = *program.exprs.get(e) else { return e };
    let from = program.exprs.dtype(a);
    let is_plain = !program.exprs.is_index(a) && from.bytes() <= to.bytes();
    if is_plain { unconverted(program, a) } else { e }
}

/// The stage of columns, in the place that is open for it: its buffer, and what the convolution reads of it.
fn define(program: &mut Program, stage: StageId, name: String, of: &Convolution, span: SpanId) -> (BufferId, ExprId) {
    let axis = |axis: &AxisId| {
        let (kind, def, fate) = (AxisKind::Parallel, AxisDef::Root(stage), Fate::Live);
        program.axes.push(Axis { kind, def, fate, ..program.axes[*axis].clone() })
    };
    let axes: Vec<AxisId> = of.axes.iter().map(axis).collect();
    let own = Renamed { axes: of.axes.iter().copied().zip(axes.iter().copied()).collect() };
    let value = own.expr(program, of.input);
    let dtype = program.exprs.dtype(value);
    let buffer = convolution::define(program, stage, name, axes, Body::Map(value), (dtype, span));
    if dtype.is_float() && at_fill(program, value, &|_| false).is_finite() {
        program.finite.push(buffer);
    }
    let index: Vec<ExprId> = of.axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
    (buffer, program.exprs.read(buffer, dtype, index))
}

/// The convolution as the product of its columns with the filter.
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

/// That nothing is computed otherwise, and what it costs where the columns lie in device memory.
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
        "`{product}` sums the products of `{result}`, with what is read of {} in `{columns_name}`",
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

/// How many bytes a buffer takes, as text.
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
