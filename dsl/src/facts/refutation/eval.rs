//! Evaluation of expressions at one point.

use crate::expr::{Binary, Expr, ExprId};
use crate::facts::View;
use crate::nest::meaning::{self, IndexAlgebra};
use crate::nest::{AxisId, DimId, Program};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use tilewright_launch::DType;

/// The maximum depth of an expression that is evaluated. Deeper expressions are not evaluated.
const MAX_DEPTH: u32 = 120;

/// Values by id, sorted by id. A sorted list is enough, because there are few values and points are copied often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::facts) struct Values<I>(SmallVec<[(I, i64); 8]>);

impl<I: Ord + Copy> Values<I> {
    pub(in crate::facts) fn new() -> Values<I> {
        Values(SmallVec::new())
    }

    fn place(&self, id: I) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |(id, _)| *id)
    }

    pub(in crate::facts) fn get(&self, id: I) -> Option<i64> {
        self.place(id).ok().map(|place| self.0[place].1)
    }

    pub(in crate::facts) fn insert(&mut self, id: I, value: i64) {
        match self.place(id) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (id, value)),
        }
    }

    pub(in crate::facts) fn remove(&mut self, id: I) {
        if let Ok(place) = self.place(id) {
            self.0.remove(place);
        }
    }

    pub(in crate::facts) fn iter(&self) -> impl Iterator<Item = &(I, i64)> {
        self.0.iter()
    }
}

impl<I: Ord + Copy> FromIterator<(I, i64)> for Values<I> {
    fn from_iter<T: IntoIterator<Item = (I, i64)>>(values: T) -> Values<I> {
        let mut all = Values::new();
        values.into_iter().for_each(|(id, value)| all.insert(id, value));
        all
    }
}

/// Values of dims and axes.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(in crate::facts) dims: Values<DimId>,
    pub(in crate::facts) axes: Values<AxisId>,
}

/// Evaluates expressions of a program.
#[derive(Clone, Copy)]
pub(super) struct Eval<'p> {
    pub(in crate::facts) program: &'p Program,
    pub(in crate::facts) view: View,
}

impl Eval<'_> {
    /// Returns the value of an index or a bool (0 or 1). `None` if it depends on data, or on a dim or axis without a value.
    pub(in crate::facts) fn value(&self, e: ExprId, at: &Point) -> Option<i64> {
        self.deep(e, at, MAX_DEPTH)
    }

    fn deep(&self, e: ExprId, at: &Point, depth: u32) -> Option<i64> {
        if !self.program.exprs.is_walkable(e) {
            return None;
        }
        let depth = depth.checked_sub(1)?;
        let exprs = &self.program.exprs;
        let dtype = exprs.dtype(e);
        if dtype.is_float() {
            return None;
        }
        let value = match exprs.get(e) {
            Expr::Const(c) => c.value() as i64,
            Expr::Dim(dim) => at.dims.get(*dim)?,
            Expr::Axis(axis) => self.axis(*axis, at, depth)?,
            Expr::Unary(op, a) => {
                let a = self.deep(*a, at, depth)?;
                if dtype == DType::Bool { i64::from(a == 0) } else { op.of_int(a)? }
            }
            Expr::Binary(op, a, b) => op.exact(self.deep(*a, at, depth)?, self.deep(*b, at, depth)?)?,
            Expr::Compare(op, a, b) => i64::from(op.holds(self.deep(*a, at, depth)?, self.deep(*b, at, depth)?)),
            Expr::Select(c, a, b) => self.deep(if self.deep(*c, at, depth)? != 0 { *a } else { *b }, at, depth)?,
            Expr::Cast(_, a) => self.deep(*a, at, depth)?,
            Expr::Scalar(_) | Expr::Read(_) | Expr::MulAdd(..) | Expr::State(_) | Expr::Item(_) => return None,
        };
        // An index has any size. Data must fit in its type, because evaluation does not wrap.
        let fits = |(least, greatest)| (least..=greatest).contains(&value);
        (exprs.is_index(e) || dtype.int_range().is_none_or(fits)).then_some(value)
    }

    /// Computes the derived dims among `dims`, and checks `conditions` and that no dim is negative. An equation can give a symbolic dim
    /// a negative value, which no launch has.
    pub(in crate::facts) fn admits(&self, conditions: &[usize], dims: &BTreeSet<DimId>, point: &mut Point) -> bool {
        for dim in dims {
            if let Some(value) = self.program.dims[*dim].derived {
                match self.value(value, point) {
                    Some(value) if value >= 0 => point.dims.insert(*dim, value),
                    _ => return false,
                };
            }
        }
        point.dims.iter().all(|(_, value)| *value >= 0)
            && conditions.iter().all(|i| {
                let condition = &self.program.checks.conditions[*i];
                let sides = self.value(condition.left, point).zip(self.value(condition.right, point));
                sides.is_some_and(|(a, b)| condition.relation.holds(a, b))
            })
    }

    /// Returns the value of an axis in this view.
    fn axis(&self, axis: AxisId, at: &Point, depth: u32) -> Option<i64> {
        match at.axes.get(axis) {
            Some(value) => Some(value),
            None if self.view == View::Roots => None,
            None => meaning::value(self.program, axis, &mut Numbers { eval: *self, at, depth: depth.checked_sub(1)? }).ok(),
        }
    }
}

/// Numbers at a point, as far as they fit in 64 bits.
struct Numbers<'e, 'p> {
    eval: Eval<'p>,
    at: &'e Point,
    depth: u32,
}

impl IndexAlgebra for Numbers<'_, '_> {
    type Index = i64;
    type Failure = ();

    const NESTED: bool = true;

    fn apply(&mut self, op: Binary, a: i64, b: i64) -> Result<i64, ()> {
        op.exact(a, b).ok_or(())
    }

    fn extent(&mut self, axis: AxisId) -> Result<i64, ()> {
        self.eval.deep(self.eval.program.axes[axis].extent, self.at, self.depth).ok_or(())
    }

    fn axis(&mut self, axis: AxisId) -> Result<i64, ()> {
        self.eval.axis(axis, self.at, self.depth).ok_or(())
    }

    fn live(&mut self, _: AxisId) -> Result<i64, ()> {
        Err(())
    }
}
