//! One kernel, its schedules and its sizes, with a plain function in f64 that computes the same, written without the compiler.

use crate::harness::{Fill, Named, profiles, variant};
use std::ops::Index;
use tilewright_dsl::profile::Profile;

/// A kernel from a textbook.
pub struct Case {
    /// The kernel's text.
    pub kernel: &'static str,
    /// The part of each schedule after `NAME: kernel for profile`: facts and a block. The default schedule is tested too.
    pub schedules: &'static [&'static str],
    /// Sizes, as `"N=3 M=7"`. A schedule is not run at sizes where its facts do not hold, but it must run at one of them.
    pub sizes: &'static [&'static str],
    /// The scalars, in the kernel's order.
    pub scalars: &'static [f64],
    /// The contents of the inputs that do not hold small numbers.
    pub fill: &'static [(&'static str, Fill)],
    /// One in this many elements may have no error bound, because it lies at a jump. 0 means none.
    pub vague: usize,
    /// The largest allowed error of the plain function, relative to the value, or to 1 if that is larger.
    pub near: f64,
}

impl Case {
    /// The values that most cases use.
    pub const NEW: Case = Case { kernel: "", schedules: &[], sizes: &[], scalars: &[], fill: &[], vague: 0, near: 1e-4 };

    /// Runs every schedule at all sizes on both devices. Compares the results with the evaluation within its bounds, and with
    /// `plain`, which returns results by name. A result whose values jump (where `vague` is set) is compared with the evaluation
    /// alone.
    pub fn check(&self, plain: impl Fn(&Given<'_>) -> Vec<(&'static str, Vec<f64>)>) {
        let name = self.kernel["fn ".len()..].split(['<', '(']).next().expect("a name");
        let fill = |tensor: &str| self.fill.iter().find(|(n, _)| *n == tensor).map_or(Fill::Small, |(_, fill)| *fill);
        for (n, schedule) in ["{}"].iter().chain(self.schedules).enumerate() {
            let subgroups = ["lane(", "subgroup"].iter().any(|word| schedule.contains(word));
            let profile = if subgroups || n % 2 == 0 { Profile::mesa_lavapipe() } else { profiles()[1].clone() };
            let made = variant(self.kernel, &format!("V: {name} for p {schedule}"), &profile);
            let mut runs = 0;
            for sizes in self.sizes {
                let dims = dims(sizes);
                if !made.admits(&dims) {
                    continue;
                }
                runs += 1;
                let vague = |n: usize| n.checked_div(self.vague).map_or(0, |share| 2 + share);
                let (tensors, results) = made.checked(&dims, self.scalars, &fill, vague);
                let given = Given { dims: &dims, tensors, scalars: self.scalars };
                let wanted = plain(&given);
                for result in &results {
                    for (name, values) in &wanted {
                        let at = first_apart(&result[*name], values, self.near);
                        assert!(at.is_none(), "`{name}` at {sizes} under {schedule}: {at:?}");
                    }
                }
            }
            assert!(runs > 0, "no sizes for {schedule}");
        }
    }
}

/// Parses `"N=3 M=7"` as dims.
pub fn dims(sizes: &'static str) -> Vec<(&'static str, i64)> {
    let one = |pair: &'static str| pair.split_once('=').map(|(name, value)| (name, value.parse().expect("a number")));
    sizes.split_whitespace().map(|pair| one(pair).expect("a size")).collect()
}

/// Returns the first place where two lists differ, and the values there.
fn first_apart(got: &[f64], wanted: &[f64], near: f64) -> Option<(usize, f64, f64)> {
    assert_eq!(got.len(), wanted.len(), "elements");
    let apart = |a: f64, b: f64| !(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= near * b.abs().max(1.0));
    got.iter().zip(wanted).enumerate().find(|(_, (a, b))| apart(**a, **b)).map(|(at, (a, b))| (at, *a, *b))
}

/// The arguments of a launch.
pub struct Given<'a> {
    dims: &'a [(&'static str, i64)],
    tensors: Named,
    /// The scalars, in the kernel's order.
    pub scalars: &'a [f64],
}

impl Given<'_> {
    /// Returns the values of several dims, whose names are separated by spaces.
    pub fn dims<const N: usize>(&self, names: &str) -> [usize; N] {
        let one = |name: &str| self.dims.iter().find(|(n, _)| *n == name).expect("a dim").1 as usize;
        let all: Vec<usize> = names.split(' ').map(one).collect();
        all.try_into().expect("as many names")
    }

    /// Returns a tensor.
    pub fn grid<const R: usize>(&self, name: &str, shape: [usize; R]) -> Grid<R> {
        let values = self.tensors[name].clone();
        assert_eq!(values.len(), shape.iter().product::<usize>(), "elements of `{name}`");
        Grid { shape, values }
    }
}

/// A tensor of `R` dimensions.
pub struct Grid<const R: usize> {
    shape: [usize; R],
    pub values: Vec<f64>,
}

impl<const R: usize> Grid<R> {
    /// Makes a grid, with each element computed from its indices.
    pub fn new(shape: [usize; R], element: impl Fn([usize; R]) -> f64) -> Grid<R> {
        let indices = |mut at: usize| {
            let mut indices = [0; R];
            for n in (0..R).rev() {
                indices[n] = at % shape[n];
                at /= shape[n];
            }
            indices
        };
        Grid { shape, values: (0..shape.iter().product()).map(|at| element(indices(at))).collect() }
    }

    /// Returns the element at these indices, or the nearest one where they are outside.
    pub fn clamp(&self, at: [isize; R]) -> f64 {
        self[std::array::from_fn(|n| at[n].clamp(0, self.shape[n] as isize - 1) as usize)]
    }

    /// Returns the element, or 0 outside the grid.
    pub fn pad(&self, at: [isize; R]) -> f64 {
        let inside = (0..R).all(|n| (0..self.shape[n] as isize).contains(&at[n]));
        if inside { self.clamp(at) } else { 0.0 }
    }
}

impl<const R: usize> Index<[usize; R]> for Grid<R> {
    type Output = f64;

    fn index(&self, at: [usize; R]) -> &f64 {
        assert!((0..R).all(|n| at[n] < self.shape[n]), "{at:?} in {:?}", self.shape);
        &self.values[(0..R).fold(0, |offset, n| offset * self.shape[n] + at[n])]
    }
}

/// Returns the index of the smallest value, and the first of equal ones.
pub fn least(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    (0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b])).expect("a value") as f64
}
