//! Reductions: `sum(k in 0..K) { … }` and the others.
//!
//! A stage has at most one reduction, and `several` splits definitions with more. The item of a reduction is the *lift*. The expression
//! around it is the *finish*, which uses the result. `combined` checks the combiners of `reduce`.

use super::names::Symbol;
use super::types::article;
use super::{Checked, Checker, Poisoned};
use crate::arena::Id;
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Compare, Const, Expr as Node, ExprId, Exprs, Unary};
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, BufferId, Fate, Monoid, StageId};
use crate::syntax::Name;
use crate::syntax::expr::{Block, Expr, ExprKind, Range, Reduce, ReduceOp};
use crate::syntax::families::identifier;
use std::collections::HashSet;
use tilewright_launch::DType;

/// The reduction of a definition.
pub(super) struct Found {
    /// How items are combined.
    pub(super) monoid: Monoid,
    /// The axes that it runs over.
    pub(super) over: Vec<AxisId>,
    /// The item.
    pub(super) lift: Vec<ExprId>,
    /// The fewest items for which the results are defined.
    pub(super) least: i64,
    /// Its header, `sum(k in 0..K)`.
    pub(super) head: SpanId,
}

/// The results of a reduction, one for each component.
#[derive(Clone)]
pub(super) enum Reduced {
    /// Values over the state of the definition's own reduction.
    Own(Vec<ExprId>),
    /// Elements of intermediates on these axes of the definition.
    Stored {
        /// The intermediates.
        buffers: Vec<BufferId>,
        /// Their axes.
        axes: Vec<AxisId>,
    },
    /// The reduction is wrong, which was reported.
    Wrong,
}

/// An axis of a reduction, with the bounds of its range.
struct Running {
    axis: AxisId,
    low: ExprId,
    high: ExprId,
    span: SpanId,
}

impl Checker<'_> {
    /// Checks a reduction, and returns its result for the finish.
    pub(super) fn reduce(&mut self, reduce: &Reduce, span: SpanId, wanted: Option<DType>) -> Checked<ExprId> {
        // The components of a result, and tensors that are defined together, name one reduction several times.
        let known = self.together.reduced.get(&reduce.head).cloned();
        let reduced = match known {
            Some(known) => known,
            None => {
                let reduced = self.reduced(reduce, span, wanted).unwrap_or(Reduced::Wrong);
                self.together.reduced.insert(reduce.head, reduced.clone());
                reduced
            }
        };
        let count = reduce.items.len();
        if reduce.component.is_none() && count > 1 {
            let names = ["a", "b", "c", "d", "e", "f", "g", "h"].get(..count).unwrap_or_default().join(", ");
            let error = Error::new(reduce.head, format!("this reduction has {count} results, and one value is needed here"));
            return self.fail(error.help(format!("name all of them, and use these: `let ({names}) = reduce(…) …;`")));
        }
        let component = reduce.component.unwrap_or_default();
        match reduced {
            Reduced::Own(results) => results.get(component).copied().ok_or(Poisoned),
            Reduced::Stored { buffers, axes } => Ok(self.element(*buffers.get(component).ok_or(Poisoned)?, &axes, reduce)),
            Reduced::Wrong => Err(Poisoned),
        }
    }

    /// Checks a reduction at its first use.
    fn reduced(&mut self, reduce: &Reduce, span: SpanId, wanted: Option<DType>) -> Checked<Reduced> {
        self.may_reduce(reduce, span)?;
        let check = |c: &mut Self| {
            let scope = c.names.enter();
            c.definition.inside = true;
            let results = c.reduce_in_scope(reduce, wanted);
            c.definition.inside = false;
            c.definition.running.clear();
            c.names.leave(scope);
            results
        };
        if self.together.is_alone() { check(self).map(Reduced::Own) } else { self.as_intermediate(reduce, check) }
    }

    /// Checks that a reduction is allowed here: inside a definition, without another reduction.
    fn may_reduce(&mut self, reduce: &Reduce, span: SpanId) -> Checked<()> {
        let op = reduce.op.name();
        if self.definition.inside {
            let error = Error::new(span, format!("`{op}` is inside another reduction"));
            let (name, axes) = (identifier(&self.definition.name), self.axes_of(reduce).join(", "));
            let element = format!("`let {name}_{op}[{axes}]: f32[…] = {op}(…) {{ … }};`");
            return self.fail(
                error.help(format!("define it as an intermediate first, on the axes that it uses: {element}, and read that")),
            );
        }
        if self.definition.buffer.is_none() {
            let error = Error::new(span, "a plain `let` cannot be a reduction");
            return self.fail(error.help(format!("make it a tensor: `let t[]: f32[] = {op}(…) {{ … }};`, read as `t[]`")));
        }
        if reduce.ranges.is_empty() {
            let error = Error::new(reduce.head, format!("`{op}` needs a range"));
            return self.fail(error.help(format!("name an axis and its range: `{op}(k in 0..K) {{ … }}`")));
        }
        Ok(())
    }

    /// Returns the names of the definition's axes and of the running reduction's that a reduction uses.
    fn axes_of(&self, reduce: &Reduce) -> Vec<&str> {
        let mut used = HashSet::new();
        reduce.each(&mut |e| {
            if let ExprKind::Name(name) = &e.kind {
                used.insert(name.as_str());
            }
        });
        let axes = self.definition.axes.iter().chain(&self.definition.running);
        axes.map(|axis| self.program.axes[*axis].name.as_str()).filter(|name| used.contains(name)).collect()
    }

    /// Checks a reduction in the scope of its axes, and returns its results.
    fn reduce_in_scope(&mut self, reduce: &Reduce, wanted: Option<DType>) -> Checked<Vec<ExprId>> {
        let mut running = Vec::new();
        let mut wrong = false;
        for range in &reduce.ranges {
            match self.range(range, reduce.head) {
                Ok(axis) => running.push(axis),
                Err(_) => {
                    (wrong, self.definition.unclear) = (true, true);
                    self.poison(&range.axis);
                }
            }
        }
        let arg = matches!(reduce.op, ReduceOp::Argmin | ReduceOp::Argmax);
        let wanted = match reduce.op {
            ReduceOp::Any | ReduceOp::All => Some(DType::Bool),
            _ if arg => None,
            _ => wanted,
        };
        let only = reduce.only.as_ref().map(|only| self.value_as(only, DType::Bool));
        let items: Vec<Checked<ExprId>> = reduce.items.iter().map(|item| self.item(reduce, item, only.as_ref(), wanted)).collect();
        let items = items.into_iter().collect::<Checked<Vec<ExprId>>>();
        let over: Vec<AxisId> = running.iter().map(|r| r.axis).collect();
        if let Some(combiner) = &reduce.combiner {
            let (items, only) = (items?, only.transpose()?);
            return if wrong { Err(Poisoned) } else { self.combined(reduce, combiner, over, items, only) };
        }
        let (Some(body), item) = (reduce.items.first(), items.map(|items| items.first().copied())) else { return Err(Poisoned) };
        let item = item?.ok_or(Poisoned)?;
        let dtype = self.program.exprs.dtype(item);
        let monoid =
            if arg { arg_monoid(&self.program.exprs, reduce.op, dtype) } else { monoid(&self.program.exprs, reduce.op, dtype) };
        self.definition.reduction = Some(Found { monoid, over, lift: vec![item], least: i64::from(arg), head: reduce.head });
        let only = only.transpose()?;
        if wrong {
            return Err(Poisoned);
        }
        let fits = match reduce.op {
            ReduceOp::Any | ReduceOp::All => dtype == DType::Bool,
            _ => dtype != DType::Bool,
        };
        if !fits {
            let error = Error::new(body.value.span, format!("there is no `{}` of {}", reduce.op.name(), article(dtype)));
            let help = if dtype == DType::Bool { "count by `… as i32`; or use `any` and `all`" } else { "compare: `… != 0`" };
            return self.fail(error.help(help));
        }
        if matches!(reduce.op, ReduceOp::Min | ReduceOp::Max | ReduceOp::Argmin | ReduceOp::Argmax) && self.is_index(item) {
            self.must_fit(item, body.value.span)?;
        }
        if arg {
            return Ok(vec![self.arg_result(item, only, &running, reduce.head)?]);
        }
        if let (Some(only), Some(found)) = (only, &mut self.definition.reduction) {
            found.lift = vec![self.program.exprs.select(only, item, found.monoid.identity[0])];
        }
        Ok(vec![self.program.exprs.add(Node::State(0), dtype)])
    }

    /// Checks an item, or a component of it.
    fn item(&mut self, reduce: &Reduce, item: &Block, only: Option<&Checked<ExprId>>, wanted: Option<DType>) -> Checked<ExprId> {
        let value = match only {
            Some(only) => self.branch(item, only, true, wanted),
            None => self.block(item, wanted),
        }?;
        self.computes(&format!("`{}`", reduce.op.name()), item.value.span, &[(&item.value, value)]).map(|()| value)
    }

    /// Declares the axis of a range.
    fn range(&mut self, range: &Range, head: SpanId) -> Checked<Running> {
        let (low, high) = (self.bound(&range.low), self.bound(&range.high));
        let (low, mut high) = (low?, high?);
        if range.inclusive {
            let one = self.program.exprs.int(1);
            high = self.program.exprs.sum(high, one);
        }
        let extent = self.program.exprs.difference(high, low);
        self.length(extent, 0, range, head)?;
        let axis = self.axis(&range.axis, extent, AxisKind::Reduction);
        let value = self.program.exprs.axis(axis);
        let value = self.program.exprs.sum(value, low);
        self.declare(&range.axis, Symbol::Axis(value))?;
        self.definition.running.push(axis);
        Ok(Running { axis, low, high, span: range.axis.span })
    }

    /// Checks an end of a range, which may contain dims and axes that are already bound.
    fn bound(&mut self, e: &Expr) -> Checked<ExprId> {
        let id = self.value(e, Some(DType::I32))?;
        let exprs = &self.program.exprs;
        let chosen = exprs.any(id, &mut |e| matches!(e, Node::Select(..) | Node::Unary(..)));
        if exprs.is_index(id) && !chosen {
            self.divide_in(id, e.span);
            return Ok(id);
        }
        let error = Error::new(e.span, "the ends of a range must consist of dims, outer axes and whole numbers");
        self.fail(error.help("run over the whole range and choose the item: `if k < n[i] { … } else { 0.0 }`"))
    }

    /// Makes sure that a range has at least `least` values. This is proved, or checked at launch if only dims determine it.
    fn length(&mut self, extent: ExprId, least: i64, range: &Range, head: SpanId) -> Checked<()> {
        let bound = self.program.exprs.int(least);
        let rest = self.program.exprs.difference(extent, bound);
        if self.proves_nonneg(rest) {
            return Ok(());
        }
        // The extent of the range between the same ends in the other order.
        let from = self.program.exprs.int(if range.inclusive { 2 } else { 0 });
        let reversed = self.program.exprs.difference(from, extent);
        if self.proves_nonneg(reversed) {
            let error = Error::new(head, format!("the range of `{}` ends before it begins", range.axis));
            let (low, high, dots) = (range.high.short(), range.low.short(), if range.inclusive { "..=" } else { ".." });
            let help = format!("a reduction is unordered, so begin at the smaller end: `{} in {low}{dots}{high}`", range.axis);
            return self.fail(error.help(help));
        }
        let uses_axes = self.program.exprs.uses_axis(extent, &mut |_| true);
        if !uses_axes && self.program.exprs.as_int(extent).is_none() {
            self.at_least(extent, least, head);
            return Ok(());
        }
        let shown = super::bounds::show(&self.program, extent);
        let error = Error::new(head, format!("cannot prove that the range of `{}` has a length of at least {least}", range.axis));
        self.fail(
            error
                .note(format!("its length is `{shown}`"))
                .help("begin at the smaller end, or run over the whole range and choose the item by `if`"),
        )
    }

    /// Makes a new axis of the definition.
    pub(super) fn axis(&mut self, name: &Name, extent: ExprId, kind: AxisKind) -> AxisId {
        let stage = StageId::new(self.program.stages.len());
        let axis = Axis { name: name.text.clone(), extent, kind, def: AxisDef::Root(stage), fate: Fate::Live, span: name.span };
        self.program.axes.push(axis)
    }

    /// Returns the result of argmin or argmax: the index, or the first index if all items are NaN or left out by the condition `only`.
    fn arg_result(&mut self, item: ExprId, only: Option<ExprId>, running: &[Running], head: SpanId) -> Checked<ExprId> {
        let inner = std::mem::take(&mut self.definition.running);
        let result = self.not_empty(running);
        self.definition.running = inner;
        result?;
        let exprs = &self.program.exprs;
        // For one range the result is the axis's value, for several the position, row-major.
        let (mut position, mut first) = (exprs.int(0), exprs.int(0));
        for r in running {
            let extent = self.program.axes[r.axis].extent;
            if running.len() > 1 && exprs.uses_axis(extent, &mut |a| running.iter().any(|r| r.axis == a)) {
                let error = Error::new(r.span, "this range depends on another one, so a row-major position is not defined");
                return self.fail(error.help("run over the whole range and choose the item by `if`"));
            }
            let axis = exprs.axis(r.axis);
            position = exprs.product(position, extent);
            position = exprs.sum(position, axis);
        }
        // The number of positions must fit in 32 bits, too, because the highest index marks an empty state.
        let extents = running.iter().map(|r| self.program.axes[r.axis].extent);
        let mut end = extents.reduce(|all, extent| exprs.product(all, extent)).unwrap_or(position);
        if let [only] = running {
            position = exprs.sum(position, only.low);
            (first, end) = (only.low, only.high);
        }
        self.must_fit(first, head)?;
        self.must_fit(end, head)?;
        let exprs = &self.program.exprs;
        let Some(found) = &mut self.definition.reduction else { return Err(Poisoned) };
        let (worst, none) = (found.monoid.identity[0], found.monoid.identity[1]);
        // NaN items and those left out lose to every other item, like the identity.
        let nan = exprs.dtype(item).is_float().then(|| exprs.unary(Unary::IsNan, item));
        let out = only.map(|only| exprs.unary(Unary::Not, only)).into_iter().chain(nan);
        let index = exprs.add(Node::State(1), DType::I32);
        let Some(out) = out.reduce(|a, b| exprs.binary(Binary::Or, a, b)) else {
            found.lift = vec![item, position];
            return Ok(index);
        };
        found.lift = vec![exprs.select(out, worst, item), exprs.select(out, none, position)];
        let nothing = exprs.compare(Compare::Eq, index, none);
        Ok(exprs.select(nothing, first, index))
    }

    /// Checks that the ranges are not empty.
    fn not_empty(&mut self, running: &[Running]) -> Checked<()> {
        for r in running {
            let extent = self.program.axes[r.axis].extent;
            let name = Name { text: self.program.axes[r.axis].name.clone(), span: r.span };
            let one = self.program.exprs.int(1);
            let rest = self.program.exprs.difference(extent, one);
            if self.proves_nonneg(rest) {
                continue;
            }
            if self.program.exprs.uses_axis(extent, &mut |_| true) || self.program.exprs.as_int(extent).is_some() {
                let shown = super::bounds::show(&self.program, extent);
                let error = Error::new(r.span, format!("the range of `{name}` may be empty: its length is `{shown}`"));
                return self.fail(
                    error
                        .note("an empty range has neither a lowest nor a highest item")
                        .help("widen the range so that it has at least one value"),
                );
            }
            self.at_least(extent, 1, r.span);
        }
        Ok(())
    }
}

/// Makes the monoid of a reduction whose state is one value.
pub(crate) fn monoid(exprs: &Exprs, op: ReduceOp, dtype: DType) -> Monoid {
    let (binary, identity) = match op {
        ReduceOp::Sum => (Binary::Add, Const::number(0.0, dtype)),
        ReduceOp::Prod => (Binary::Mul, Const::number(1.0, dtype)),
        ReduceOp::Min => (Binary::Min, highest(dtype)),
        ReduceOp::Max => (Binary::Max, lowest(dtype)),
        ReduceOp::All => (Binary::And, Const { dtype: DType::Bool, bits: 1 }),
        // The others have states or combiners of their own.
        ReduceOp::Any | ReduceOp::Argmin | ReduceOp::Argmax | ReduceOp::Reduce => {
            (Binary::Or, Const { dtype: DType::Bool, bits: 0 })
        }
    };
    let (state, item) = (exprs.add(Node::State(0), identity.dtype), exprs.add(Node::Item(0), identity.dtype));
    let combine = vec![exprs.binary(binary, state, item)];
    Monoid { name: op.name().into(), identity: vec![exprs.constant(identity)], combine }
}

/// Makes the monoid of argmin or argmax: the best value and its index, which is the lowest among equal values. The identity has
/// the highest index, so it loses to every item.
fn arg_monoid(exprs: &Exprs, op: ReduceOp, dtype: DType) -> Monoid {
    let (worst, better) = match op {
        ReduceOp::Argmin => (highest(dtype), Compare::Lt),
        _ => (lowest(dtype), Compare::Gt),
    };
    let (value, new_value) = (exprs.add(Node::State(0), dtype), exprs.add(Node::Item(0), dtype));
    let (index, new_index) = (exprs.add(Node::State(1), DType::I32), exprs.add(Node::Item(1), DType::I32));
    let (wins, ties) = (exprs.compare(better, new_value, value), exprs.compare(Compare::Eq, new_value, value));
    let earlier = exprs.compare(Compare::Lt, new_index, index);
    let takes = exprs.binary(Binary::And, ties, earlier);
    let takes = exprs.binary(Binary::Or, wins, takes);
    let combine = vec![exprs.select(takes, new_value, value), exprs.select(takes, new_index, index)];
    let identity = vec![exprs.constant(worst), exprs.constant(Const::index(i32::MAX))];
    Monoid { name: op.name().into(), identity, combine }
}

/// Returns the identity of `max`.
fn lowest(dtype: DType) -> Const {
    let value = match dtype.int_range() {
        Some((least, _)) => least as f64,
        None if dtype.is_float() => f64::NEG_INFINITY,
        None => 0.0,
    };
    Const::number(value, dtype)
}

/// Returns the identity of `min`.
fn highest(dtype: DType) -> Const {
    Const::number(dtype.int_range().map_or(f64::INFINITY, |(_, greatest)| greatest as f64), dtype)
}
