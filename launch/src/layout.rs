//! Layouts: how the elements of a tensor lie in memory, other than row by row.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A one-to-one map from a tensor's indices to places: each dimension in memory, outermost first, is a digit of an index.
///
/// The digits of an index make it up: `c / 4` and `c % 4`. Where the last one does not divide the extent, memory is longer than
/// the tensor, and holds a filling there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout(pub Vec<Digit>);

/// A digit of an index: `index[axis] / divide % modulo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digit {
    /// Which index.
    pub axis: u32,
    /// What it is divided by first.
    pub divide: u32,
    /// How many values the digit has; `None`: it is the highest, and has as many as are needed.
    pub modulo: Option<u32>,
}

impl Digit {
    /// How many values it has for an extent of its index.
    fn extent(self, extent: usize) -> usize {
        self.modulo.map_or_else(|| extent.div_ceil(self.divide.max(1) as usize), |n| n as usize)
    }

    /// Its value for its index.
    fn of(self, index: usize) -> usize {
        let quotient = index / self.divide.max(1) as usize;
        self.modulo.map_or(quotient, |n| quotient % (n.max(1) as usize))
    }
}

impl Layout {
    /// The shape in memory of a tensor of a shape; `None`: the tensor has not as many dimensions.
    pub fn memory(&self, shape: &[usize]) -> Option<Vec<usize>> {
        self.0.iter().map(|digit| Some(digit.extent(*shape.get(digit.axis as usize)?))).collect()
    }

    /// For each element, row by row, its place in memory. The shape is that of a tensor: it has as many dimensions as the layout
    /// maps, and its places can be counted.
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
