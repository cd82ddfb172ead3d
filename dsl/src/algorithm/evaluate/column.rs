//! The values of an expression at the points of a batch.

use super::Fault;

/// A value at each point.
#[derive(Clone, Debug)]
pub(super) enum Column<T> {
    /// The same value at all points.
    Same(T),
    /// One value for each point.
    Each(Vec<T>),
}

impl<T: Copy> Column<T> {
    /// Returns the value at a point.
    #[inline]
    pub(super) fn at(&self, point: usize) -> T {
        match self {
            Column::Same(value) => *value,
            Column::Each(values) => values[point],
        }
    }

    /// Applies a function at each point.
    #[inline]
    pub(super) fn map<R>(&self, f: impl Fn(T) -> R) -> Column<R> {
        match self {
            Column::Same(value) => Column::Same(f(*value)),
            Column::Each(values) => Column::Each(values.iter().map(|value| f(*value)).collect()),
        }
    }

    /// Applies a function of two values at each point.
    #[inline]
    pub(super) fn zip<U: Copy, R>(&self, other: &Column<U>, f: impl Fn(T, U) -> R) -> Column<R> {
        match (self, other) {
            (Column::Same(a), Column::Same(b)) => Column::Same(f(*a, *b)),
            (Column::Same(a), Column::Each(b)) => Column::Each(b.iter().map(|b| f(*a, *b)).collect()),
            (Column::Each(a), Column::Same(b)) => Column::Each(a.iter().map(|a| f(*a, *b)).collect()),
            (Column::Each(a), Column::Each(b)) => Column::Each(a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()),
        }
    }

    /// Returns the values at some of the points.
    pub(super) fn gather(&self, points: &[usize]) -> Column<T> {
        match self {
            Column::Same(value) => Column::Same(*value),
            Column::Each(values) => Column::Each(points.iter().map(|point| values[*point]).collect()),
        }
    }
}

impl Column<i64> {
    /// Makes a column of the values of an axis.
    pub(super) fn of(values: Vec<i64>) -> Column<i64> {
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => Column::Same(*first),
            _ => Column::Each(values),
        }
    }
}

impl Column<Option<i64>> {
    /// Returns the numbers if there is one at each point.
    pub(super) fn complete(self) -> Result<Column<i64>, Fault> {
        let missing = || Fault::from("an index does not fit in 64 bits".to_owned());
        Ok(match self {
            Column::Same(value) => Column::Same(value.ok_or_else(missing)?),
            Column::Each(values) => Column::Each(values.into_iter().collect::<Option<_>>().ok_or_else(missing)?),
        })
    }
}
