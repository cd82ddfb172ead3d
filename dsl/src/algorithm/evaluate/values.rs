//! The values of expressions at a batch of points.
//!
//! The branches of a condition are computed only at the points that choose them, because their reads may be out of bounds at the others.
//! These points are a batch of their own.

use super::column::Column;
use super::{Arithmetic, Fault, Machine, Value};
use crate::arena::Id;
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Outside, Read, Sides, Unary};
use crate::nest::{AxisId, DimId};
use crate::table::Map;
use std::rc::Rc;
use tilewright_launch::{DType, Numbers};

/// The values of an expression.
type Values<F> = Rc<Column<Value<F>>>;

/// The values of an index, which are exact.
type Ints = Rc<Column<i64>>;

/// Points, and the values that are known at them.
pub(super) struct Batch<F> {
    /// The number of points.
    points: usize,
    /// The values of the axes, by the axes' indices.
    pub(super) axes: Vec<Option<Ints>>,
    /// The components of a reduction's state and item, for expressions that name them.
    pub(super) state: Vec<Values<F>>,
    pub(super) item: Vec<Values<F>>,
    /// The values of parts that may be shared.
    values: Map<ExprId, Values<F>>,
    ints: Map<ExprId, Ints>,
}

/// The most parts of an expression that is computed again at a single point, because that is faster than a lookup.
const FEW: u32 = 16;

impl<F: Copy> Batch<F> {
    /// Makes a batch without values.
    pub(super) fn new(points: usize, axes: usize) -> Batch<F> {
        let (state, item) = (Vec::new(), Vec::new());
        Batch { points, axes: vec![None; axes], state, item, values: Map::default(), ints: Map::default() }
    }

    /// Returns some of the points.
    fn some(&self, points: &[usize]) -> Batch<F> {
        let gather = |values: &[Values<F>]| values.iter().map(|column| Rc::new(column.gather(points))).collect();
        let axes = self.axes.iter().map(|axis| axis.as_ref().map(|column| Rc::new(column.gather(points)))).collect();
        let (state, item) = (gather(&self.state), gather(&self.item));
        Batch { points: points.len(), axes, state, item, values: Map::default(), ints: Map::default() }
    }

    /// True if the values of an expression are kept.
    fn keeps(&self, size: u32) -> bool {
        size > if self.points == 1 { FEW } else { 1 }
    }
}

/// Computes values at the points of a batch.
type Side<'s, F> = dyn FnMut(&mut Batch<F>) -> Result<Values<F>, Fault> + 's;

impl<A: Arithmetic> Machine<'_, A> {
    /// Returns the values of an integer expression.
    pub(super) fn ints(&self, id: ExprId, batch: &mut Batch<A::Float>) -> Result<Ints, Fault> {
        let exprs = &self.program.exprs;
        match exprs.get(id) {
            Expr::Axis(axis) => return self.axis(*axis, batch),
            Expr::Dim(dim) => return Ok(Rc::new(Column::Same(self.dim(*dim)?))),
            Expr::Unary(..) | Expr::Binary(..) if exprs.is_index(id) => {}
            _ => return Ok(Rc::new(self.values(id, batch)?.map(|value| value.int()))),
        }
        if let Some(known) = batch.ints.get(&id) {
            return Ok(known.clone());
        }
        let column = Rc::new(self.exact(id, batch)?);
        if batch.keeps(exprs.size(id)) {
            batch.ints.insert(id, column.clone());
        }
        Ok(column)
    }

    /// Computes arithmetic on indices.
    fn exact(&self, id: ExprId, batch: &mut Batch<A::Float>) -> Result<Column<i64>, Fault> {
        match self.program.exprs.get(id) {
            Expr::Unary(op, a) => self.ints(*a, batch)?.map(|a| op.of_int(a)).complete(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.ints(*a, batch)?, self.ints(*b, batch)?);
                let divides = matches!(op, Binary::FloorDiv | Binary::FloorMod);
                a.zip(&b, |a, b| if divides && b == 0 { Some(0) } else { op.exact(a, b) }).complete()
            }
            _ => Column::Same(None).complete(),
        }
    }

    fn axis(&self, axis: AxisId, batch: &Batch<A::Float>) -> Result<Ints, Fault> {
        let name = || format!("axis `{}` is not bound here", self.program.axes[axis].name);
        Ok(batch.axes[axis.index()].clone().ok_or_else(name)?)
    }

    fn dim(&self, dim: DimId) -> Result<i64, Fault> {
        let name = || format!("the value of dim `{}` is missing here", self.program.dims[dim].name);
        Ok(self.dims[dim.index()].ok_or_else(name)?)
    }

    /// Returns values as data: an index wraps to its type.
    pub(super) fn data(&self, id: ExprId, batch: &mut Batch<A::Float>) -> Result<Values<A::Float>, Fault> {
        let values = self.values(id, batch)?;
        Ok(if self.program.exprs.is_index(id) { Rc::new(values.map(|value| wrap(value.int(), DType::I32))) } else { values })
    }

    /// Returns the values of an expression.
    pub(super) fn values(&self, id: ExprId, batch: &mut Batch<A::Float>) -> Result<Values<A::Float>, Fault> {
        if let Some(known) = batch.values.get(&id) {
            return Ok(known.clone());
        }
        let column = self.new_values(id, batch)?;
        if batch.keeps(self.program.exprs.size(id)) {
            batch.values.insert(id, column.clone());
        }
        Ok(column)
    }

    fn new_values(&self, id: ExprId, batch: &mut Batch<A::Float>) -> Result<Values<A::Float>, Fault> {
        let (program, dtype) = (self.program, self.program.exprs.dtype(id));
        let missing = || "the tuple does not have this component".to_owned();
        Ok(Rc::new(match program.exprs.get(id) {
            Expr::Axis(_) | Expr::Dim(_) => self.ints(id, batch)?.map(Value::Int),
            Expr::Unary(..) | Expr::Binary(..) if program.exprs.is_index(id) => self.ints(id, batch)?.map(Value::Int),
            Expr::Const(c) => Column::Same(self.constant(*c)),
            Expr::Scalar(s) => {
                let given = self.given.scalars.get(s).copied();
                Column::Same(given.ok_or_else(|| format!("scalar `{}` is not given", program.scalars[*s].name))?)
            }
            Expr::State(n) => return Ok(batch.state.get(*n as usize).ok_or_else(missing)?.clone()),
            Expr::Item(n) => return Ok(batch.item.get(*n as usize).ok_or_else(missing)?.clone()),
            Expr::Read(read) => return self.read(read, batch),
            Expr::Unary(op, a) => self.data(*a, batch)?.map(|a| self.unary(*op, a, dtype)),
            // An index becomes data if it is an operand of arithmetic on data, but not if it is compared with data.
            Expr::Binary(op @ (Binary::Min | Binary::Max | Binary::Div | Binary::Rem), a, b) => {
                self.values(*a, batch)?.zip(&*self.values(*b, batch)?, |a, b| self.binary(*op, a, b, dtype))
            }
            // The second operand is not computed where it does not matter, because its reads may be out of bounds there.
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) if dtype == DType::Bool => {
                let first = self.values(*a, batch)?;
                let (decides, decided) = (*op == Binary::Or, Rc::new(Column::Same(Value::Bool(*op == Binary::Or))));
                let is_decided = |value: Value<A::Float>| value.truth() == decides;
                return Self::chosen(
                    &first.map(is_decided),
                    &mut |_| Ok(decided.clone()),
                    &mut |batch| self.values(*b, batch),
                    batch,
                );
            }
            Expr::Binary(op, a, b) => self.data(*a, batch)?.zip(&*self.data(*b, batch)?, |a, b| self.binary(*op, a, b, dtype)),
            Expr::Compare(op, a, b) => {
                self.values(*a, batch)?.zip(&*self.values(*b, batch)?, |a, b| Value::Bool(self.compare(*op, a, b)))
            }
            Expr::Select(c, a, b) => {
                let condition = self.values(*c, batch)?.map(|value| value.truth());
                let side = |side: ExprId, batch: &mut Batch<A::Float>| {
                    if program.exprs.is_index(id) { self.values(side, batch) } else { self.data(side, batch) }
                };
                return Self::chosen(&condition, &mut |batch| side(*a, batch), &mut |batch| side(*b, batch), batch);
            }
            Expr::Cast(to, a) => self.values(*a, batch)?.map(|a| self.cast(a, *to)),
            // The product is rounded twice. This is never more precise than rounding once, so the bound holds for both.
            Expr::MulAdd(a, b, c) => {
                let product = self.values(*a, batch)?.zip(&*self.values(*b, batch)?, |a, b| self.binary(Binary::Mul, a, b, dtype));
                product.zip(&*self.values(*c, batch)?, |product, c| self.binary(Binary::Add, product, c, dtype))
            }
        }))
    }

    /// Returns the values of one side where a condition is true, and of the other one elsewhere.
    fn chosen<'s>(
        condition: &Column<bool>,
        yes: &mut Side<'s, A::Float>,
        no: &mut Side<'s, A::Float>,
        batch: &mut Batch<A::Float>,
    ) -> Result<Values<A::Float>, Fault> {
        let (chosen, others): (Vec<usize>, Vec<usize>) = (0..batch.points).partition(|point| condition.at(*point));
        match (chosen.is_empty(), others.is_empty()) {
            (_, true) => yes(batch),
            (true, _) => no(batch),
            (false, false) => {
                let mut all = vec![Value::Int(0); batch.points];
                for (points, side) in [(chosen, yes), (others, no)] {
                    let column = side(&mut batch.some(&points))?;
                    points.iter().enumerate().for_each(|(n, point)| all[*point] = column.at(n));
                }
                Ok(Rc::new(Column::Each(all)))
            }
        }
    }

    /// Reads a tensor.
    fn read(&self, read: &Read, batch: &mut Batch<A::Float>) -> Result<Values<A::Float>, Fault> {
        let index = read.index.iter().map(|i| self.ints(*i, batch)).collect::<Result<Vec<_>, _>>()?;
        let name = || &self.program.buffers[read.buffer].name;
        let Some(tensor) = &self.tensors[read.buffer.index()] else { return Err(format!("`{}` is not given", name()).into()) };
        let dtype = self.program.buffers[read.buffer].dtype;
        // An element that all points read is read once.
        let points = if index.iter().all(|column| matches!(**column, Column::Same(_))) { 1 } else { batch.points };
        let (mut flat, mut filled) = (vec![0i64; points], vec![false; points]);
        for (d, (column, extent)) in index.iter().zip(&tensor.shape).enumerate() {
            for (point, flat) in flat.iter_mut().enumerate() {
                let mut i = column.at(point);
                if !(0..*extent).contains(&i) {
                    let allowed = |sides: &Sides| sides.get(d).is_some_and(|(low, high)| if i < 0 { *low } else { *high });
                    match &read.outside {
                        _ if filled[point] => {}
                        Outside::Clamp(sides) if allowed(sides) => i = i.clamp(0, (extent - 1).max(0)),
                        Outside::Fill(_, sides) if allowed(sides) => filled[point] = true,
                        _ => return Err(format!("`{}` is read at {i} in dimension {d}, whose extent is {extent}", name()).into()),
                    }
                }
                *flat = flat.wrapping_mul(*extent).wrapping_add(i);
            }
        }
        let mut values = Vec::with_capacity(points);
        for (flat, is_filled) in flat.iter().zip(&filled) {
            let value = usize::try_from(*flat).ok().and_then(|flat| tensor.values.get(flat)).copied();
            values.push(match value {
                _ if *is_filled => Value::Int(0),
                Some(Value::Int(stored)) => Value::Int(dtype.element(stored)),
                Some(value) => value,
                None => return Err(format!("element {flat} of `{}` is out of bounds", name()).into()),
            });
        }
        match &read.outside {
            Outside::Fill(fill, _) if !filled.contains(&false) => return self.values(*fill, batch),
            Outside::Fill(fill, _) if filled.contains(&true) => {
                let outside: Vec<usize> = (0..points).filter(|point| filled[*point]).collect();
                let fill = self.values(*fill, &mut batch.some(&outside))?;
                outside.iter().enumerate().for_each(|(n, point)| values[*point] = fill.at(n));
            }
            _ => {}
        }
        Ok(Rc::new(if points == batch.points { Column::Each(values) } else { Column::Same(values[0]) }))
    }
}

/// Wraps an integer to its type.
fn wrap<F>(value: i64, dtype: DType) -> Value<F> {
    Value::Int(dtype.wrapped(value))
}

/// Operations on values of all types.
impl<A: Arithmetic> Machine<'_, A> {
    pub(super) fn constant(&self, c: Const) -> Value<A::Float> {
        match c.dtype.numbers() {
            Numbers::Float(_) => Value::Float(self.arithmetic.constant(c)),
            Numbers::Int { .. } => Value::Int(c.value() as i64),
            Numbers::Bool => Value::Bool(c.value() != 0.0),
        }
    }

    fn unary(&self, op: Unary, a: Value<A::Float>, dtype: DType) -> Value<A::Float> {
        match a {
            Value::Bool(b) => Value::Bool(!b),
            Value::Int(_) if op == Unary::IsNan => Value::Bool(false),
            Value::Int(bits) if op == Unary::FromBits => Value::Float(self.arithmetic.of_bits(bits as u32, dtype)),
            Value::Int(i) => wrap(op.of_int(i).unwrap_or_default(), dtype),
            Value::Float(f) if op == Unary::IsNan => Value::Bool(self.arithmetic.is_nan(f)),
            Value::Float(f) if op == Unary::ToBits => Value::Int(self.arithmetic.to_bits(f, Unary::FromBits.result(dtype))),
            Value::Float(f) => Value::Float(self.arithmetic.unary(op, f, dtype)),
        }
    }

    pub(super) fn binary(&self, op: Binary, a: Value<A::Float>, b: Value<A::Float>, dtype: DType) -> Value<A::Float> {
        match (a, b) {
            (Value::Float(x), Value::Float(y)) => Value::Float(self.arithmetic.binary(op, x, y, dtype)),
            (Value::Bool(x), Value::Bool(y)) => Value::Bool(match op {
                Binary::And | Binary::Min => x && y,
                Binary::Or | Binary::Max => x || y,
                _ => x != y,
            }),
            // The cast and the wrapping keep the low bits, which the exact result and the device's result share.
            _ => wrap(op.of_ints(a.int(), b.int()).unwrap_or_default() as i64, dtype),
        }
    }

    fn compare(&self, op: Compare, a: Value<A::Float>, b: Value<A::Float>) -> bool {
        match (a, b) {
            (Value::Float(x), Value::Float(y)) => self.arithmetic.compare(op, x, y),
            _ => op.holds(a.int(), b.int()),
        }
    }

    /// Converts as Rust's `as` does.
    fn cast(&self, a: Value<A::Float>, to: DType) -> Value<A::Float> {
        match (to.numbers(), a) {
            (Numbers::Bool, Value::Float(f)) => Value::Bool(self.arithmetic.is_nonzero(f)),
            (Numbers::Bool, a) => Value::Bool(a.truth()),
            (Numbers::Float(_), Value::Float(f)) => Value::Float(self.arithmetic.rounded(f, to)),
            (Numbers::Float(_), a) => Value::Float(self.arithmetic.rounded(self.arithmetic.of_int(a.int()), to)),
            (Numbers::Int { .. }, Value::Float(f)) => Value::Int(self.arithmetic.to_int(f, to)),
            (Numbers::Int { .. }, a) => wrap(a.int(), to),
        }
    }
}
