//! The points of a stage, and its results. Points are collected in batches, because an expression is walked once for each batch.

use super::column::Column;
use super::values::Batch;
use super::{Arithmetic, Fault, Machine, Value};
use crate::arena::Id;
use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{AxisId, Body, Monoid, Stage};
use std::rc::Rc;

/// The most points of a batch.
const MOST: usize = 512;

/// The points that are collected: the values of some axes.
struct Points<'s> {
    /// The axes, from outer to inner, and their values at each point.
    axes: &'s [AxisId],
    values: Vec<Vec<i64>>,
    /// The values of the axes at the current point.
    current: Vec<i64>,
    /// The number of leading axes that tell results apart, and the number of the current result and of each point's.
    leading: usize,
    result: usize,
    results: Vec<usize>,
}

/// The state of a reduction for each result.
struct States<A: Arithmetic> {
    /// The components, one after the other for each result.
    values: Vec<Value<A::Float>>,
    /// The facts about products of floats.
    products: Vec<A::Product>,
    components: usize,
}

impl<A: Arithmetic> Machine<'_, A> {
    /// Computes all values that a stage stores: its own, and the other components of a reduction.
    pub(super) fn results(&self, stage: &Stage) -> Result<Vec<Vec<Value<A::Float>>>, Fault> {
        let mut results = vec![Vec::new(); stage.buffers().len()];
        let (values, states) = match &stage.body {
            Body::Map(_) => (stage.stored(), None),
            Body::Reduce { monoid, over, lift, .. } => (stage.stored(), Some(self.reduced(&stage.axes, over, monoid, lift)?)),
        };
        self.visit(&stage.axes, stage.axes.len(), &mut |batch, points| {
            if let Some(states) = &states {
                batch.state = (0..states.components).map(|n| states.column(n, points)).collect();
            }
            for (results, value) in results.iter_mut().zip(&values) {
                let column = self.data(*value, batch)?;
                results.extend((0..points.len()).map(|point| column.at(point)));
            }
            Ok(())
        })?;
        Ok(results)
    }

    /// Computes the states of a reduction at all points of the axes.
    fn reduced(&self, axes: &[AxisId], over: &[AxisId], monoid: &Monoid, lift: &[ExprId]) -> Result<States<A>, Fault> {
        let mut states = States { values: Vec::new(), products: Vec::new(), components: monoid.identity.len() };
        self.visit(axes, axes.len(), &mut |batch, points| {
            let identity = monoid.identity.iter().map(|value| self.values(*value, batch)).collect::<Result<Vec<_>, _>>()?;
            for point in 0..points.len() {
                states.values.extend(identity.iter().map(|component| component.at(point)));
                states.products.extend(identity.iter().map(|_| A::Product::default()));
            }
            Ok(())
        })?;
        let all: Vec<AxisId> = axes.iter().chain(over).copied().collect();
        let operation = monoid.operation(&self.program.exprs).filter(|_| states.components == 1 && lift.len() == 1);
        let is_product: Vec<bool> = (0..states.components).map(|n| self.is_product(monoid, n)).collect();
        self.visit(&all, axes.len(), &mut |batch, points| {
            let items = lift.iter().map(|part| self.data(*part, batch)).collect::<Result<Vec<_>, _>>()?;
            for (point, result) in points.iter().enumerate() {
                let at = *result * states.components;
                for (n, item) in items.iter().enumerate().filter(|(n, _)| is_product.get(*n) == Some(&true)) {
                    if let Value::Float(item) = item.at(point) {
                        self.arithmetic.multiply(&mut states.products[at + n], item);
                    }
                }
                match operation {
                    Some((op, dtype)) => states.values[at] = self.binary(op, states.values[at], items[0].at(point), dtype),
                    None => self.combine(monoid, &mut states.values[at..][..monoid.identity.len()], &items, point)?,
                }
            }
            Ok(())
        })?;
        for (at, (value, product)) in states.values.iter_mut().zip(&states.products).enumerate() {
            let component = at % states.components;
            if let (true, Value::Float(whole)) = (is_product[component], value) {
                let dtype = self.program.exprs.dtype(monoid.combine[component]);
                *whole = self.arithmetic.in_any_order(product, *whole, dtype);
            }
        }
        Ok(states)
    }

    /// Combines a state with the items of a point.
    fn combine(
        &self,
        monoid: &Monoid,
        state: &mut [Value<A::Float>],
        items: &[Rc<Column<Value<A::Float>>>],
        point: usize,
    ) -> Result<(), Fault> {
        let mut batch = Batch::new(1, self.program.axes.len());
        batch.state = state.iter().map(|value| Rc::new(Column::Same(*value))).collect();
        batch.item = items.iter().map(|item| Rc::new(Column::Same(item.at(point)))).collect();
        for (state, part) in state.iter_mut().zip(&monoid.combine) {
            *state = self.values(*part, &mut batch)?.at(0);
        }
        Ok(())
    }

    /// True if a component of a reduction's state is the product of its items.
    fn is_product(&self, monoid: &Monoid, component: usize) -> bool {
        let exprs = &self.program.exprs;
        let is = |e: ExprId| match *exprs.get(e) {
            Expr::State(n) | Expr::Item(n) => n as usize == component,
            _ => false,
        };
        let of = monoid.combine.get(component).map(|e| exprs.get(*e));
        matches!(of, Some(Expr::Binary(Binary::Mul, a, b)) if a != b && is(*a) && is(*b))
    }

    /// Calls `f` with batches of all points of the axes, row-major, and with the number of the result that each point belongs to: the points
    /// with the same values of the leading axes belong to one.
    fn visit(&self, axes: &[AxisId], leading: usize, f: &mut Visit<'_, A>) -> Result<(), Fault> {
        let values = vec![Vec::new(); axes.len()];
        let mut points = Points { axes, values, current: Vec::new(), leading, result: 0, results: Vec::new() };
        self.points(&mut points, f)?;
        self.flush(&mut points, f)
    }

    /// Visits all points with the current values of the first axes. Extents may depend on these.
    fn points(&self, points: &mut Points<'_>, f: &mut Visit<'_, A>) -> Result<(), Fault> {
        let depth = points.current.len();
        if depth == points.axes.len() {
            points.values.iter_mut().zip(&points.current).for_each(|(values, value)| values.push(*value));
            points.results.push(points.result);
            if points.results.len() == MOST {
                self.flush(points, f)?;
            }
        } else {
            let mut batch = Batch::new(1, self.program.axes.len());
            for (axis, value) in points.axes.iter().zip(&points.current) {
                batch.axes[axis.index()] = Some(Rc::new(Column::Same(*value)));
            }
            let extent = self.ints(self.program.axes[points.axes[depth]].extent, &mut batch)?.at(0);
            for value in 0..extent {
                points.current.push(value);
                self.points(points, f)?;
                points.current.pop();
            }
        }
        if depth == points.leading {
            points.result += 1;
        }
        Ok(())
    }

    /// Calls `f` with the collected points.
    fn flush(&self, points: &mut Points<'_>, f: &mut Visit<'_, A>) -> Result<(), Fault> {
        let results = std::mem::take(&mut points.results);
        if results.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new(results.len(), self.program.axes.len());
        for (axis, values) in points.axes.iter().zip(&mut points.values) {
            batch.axes[axis.index()] = Some(Rc::new(Column::of(std::mem::take(values))));
        }
        f(&mut batch, &results)
    }
}

/// A function of a batch, and of the number of the result for each of its points.
type Visit<'f, A> = dyn FnMut(&mut Batch<<A as Arithmetic>::Float>, &[usize]) -> Result<(), Fault> + 'f;

impl<A: Arithmetic> States<A> {
    /// Returns a component of the states of some results.
    fn column(&self, component: usize, results: &[usize]) -> Rc<Column<Value<A::Float>>> {
        Rc::new(Column::Each(results.iter().map(|result| self.values[result * self.components + component]).collect()))
    }
}
