//! Layouts: the orders of a tensor's elements in memory, other than row-major.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A one-to-one map from a tensor's indices to places. Each dimension in memory, outermost first, is a component of an index.
///
/// All components of an index together determine it: for example, `c / 4` and `c % 4` determine `c`. If the extent is not a multiple of the
/// modulo, memory is longer than the tensor, and the rest of it holds a fill value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout(pub Vec<Digit>);

/// A component of an index: `index[axis] / divide % modulo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digit {
    /// The number of the index.
    pub axis: u32,
    /// The divisor, which is applied first.
    pub divide: u32,
    /// The number of values of the component. `None` for the highest component, which has as many values as the extent needs.
    pub modulo: Option<u32>,
}

impl Digit {
    /// Returns the number of values for an extent of its index.
    fn extent(self, extent: usize) -> usize {
        self.modulo.map_or_else(|| extent.div_ceil(self.divide.max(1) as usize), |n| n as usize)
    }

    /// Returns its value for its index.
    fn of(self, index: usize) -> usize {
        let quotient = index / self.divide.max(1) as usize;
        self.modulo.map_or(quotient, |n| quotient % (n.max(1) as usize))
    }
}

impl Layout {
    /// Returns the shape in memory of a tensor with a shape. `None` if the tensor has too few dimensions.
    pub fn memory(&self, shape: &[usize]) -> Option<Vec<usize>> {
        self.0.iter().map(|digit| Some(digit.extent(*shape.get(digit.axis as usize)?))).collect()
    }

    /// Returns the place in memory of each element, in row-major order. The tensor must have as many dimensions as the layout maps, and a
    /// number of places that fits in `usize`.
    pub fn places<'a>(&'a self, shape: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let memory = self.memory(shape).unwrap_or_default();
        let count = if shape.contains(&0) { 0 } else { shape.iter().product() };
        let mut index = vec![0usize; shape.len()];
        (0..count).map(move |_| {
            let digit = |d: &Digit| d.of(index.get(d.axis as usize).copied().unwrap_or_default());
            let place = self.0.iter().zip(&memory).fold(0, |place, (d, extent)| place * extent + digit(d));
            for (i, extent) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *extent {
                    break;
                }
                *i = 0;
            }
            place
        })
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |d: &Digit| {
            let quotient = if d.divide > 1 { format!("i{} / {}", d.axis, d.divide) } else { format!("i{}", d.axis) };
            d.modulo.map_or(quotient.clone(), |n| format!("{quotient} % {n}"))
        };
        write!(f, "[{}]", self.0.iter().map(digit).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digit(axis: u32, divide: u32, modulo: Option<u32>) -> Digit {
        Digit { axis, divide, modulo }
    }

    #[test]
    fn every_element_has_a_place_of_its_own() {
        // [a, b] => [b / 6, a, b / 2 % 3, b % 2]
        let layout = Layout(vec![digit(1, 6, None), digit(0, 1, None), digit(1, 2, Some(3)), digit(1, 1, Some(2))]);
        assert_eq!(layout.memory(&[2, 7]), Some(vec![2, 2, 3, 2]));
        let mut places: Vec<usize> = layout.places(&[2, 7]).collect();
        assert_eq!(places[..8], [0, 1, 2, 3, 4, 5, 12, 6]);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 14);
        assert_eq!(layout.places(&[2, 0]).count(), 0);
        assert_eq!(layout.places(&[usize::MAX, 2, 0]).count(), 0);
        assert_eq!(layout.memory(&[2]), None);
        assert_eq!(layout.to_string(), "[i1 / 6, i0, i1 / 2 % 3, i1 % 2]");
    }
}
