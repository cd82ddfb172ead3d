//! One kernel, its schedules and its sizes; and a plain function in f64 that computes the same, written without the compiler.

use crate::harness::{Fill, Named, profiles, variant};
use std::ops::Index;
use tilewright_dsl::profile::Profile;

/// A kernel of a textbook.
pub struct Case {
    /// Its text.
    pub kernel: &'static str,
    /// What stands behind `NAME: kernel for profile`: facts and a block. The default schedule is one more.
    pub schedules: &'static [&'static str],
    /// As `"N=3 M=7"`. A schedule whose facts do not hold at some sizes is not run there, but at one of them it is.
    pub sizes: &'static [&'static str],
    /// In the kernel's order.
    pub scalars: &'static [f64],
    /// What the inputs hold that are not small numbers.
    pub fill: &'static [(&'static str, Fill)],
    /// One in how many elements may have no bound of its error, as it lies at a jump. 0: none.
    pub vague: usize,
    /// How far the plain function may be off, beside the largest of 1 and the value.
    pub near: f64,
}

impl Case {
    /// What most of them have.
    pub const NEW: Case = Case { kernel: "", schedules: &[], sizes: &[], scalars: &[], fill: &[], vague: 0, near: 1e-4 };

    /// Every schedule at all sizes, on both devices: against the evaluation with its bounds, and against `plain`, which gives results
    /// by name. A result whose values jump (where `vague` is set) is compared with the evaluation alone.
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

/// `"N=3 M=7"` as dims.
pub fn dims(sizes: &'static str) -> Vec<(&'static str, i64)> {
    let one = |pair: &'static str| pair.split_once('=').map(|(name, value)| (name, value.parse().expect("a number")));
    sizes.split_whitespace().map(|pair| one(pair).expect("a size")).collect()
}

/// Where two differ first, and the values there.
fn first_apart(got: &[f64], wanted: &[f64], near: f64) -> Option<(usize, f64, f64)> {
    assert_eq!(got.len(), wanted.len(), "elements");
    let apart = |a: f64, b: f64| !(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= near * b.abs().max(1.0));
    got.iter().zip(wanted).enumerate().find(|(_, (a, b))| apart(**a, **b)).map(|(at, (a, b))| (at, *a, *b))
}

/// What a launch was given.
pub struct Given<'a> {
    dims: &'a [(&'static str, i64)],
    tensors: Named,
    /// In the kernel's order.
    pub scalars: &'a [f64],
}

impl Given<'_> {
    /// Several dims, by names that spaces separate.
    pub fn dims<const N: usize>(&self, names: &str) -> [usize; N] {
        let one = |name: &str| self.dims.iter().find(|(n, _)| *n == name).expect("a dim").1 as usize;
        let all: Vec<usize> = names.split(' ').map(one).collect();
        all.try_into().expect("as many names")
    }

    /// A tensor.
    pub fn grid<const R: usize>(&self, name: &str, shape: [usize; R]) -> Grid<R> {
        let values = self.tensors[name].clone();
        assert_eq!(values.len(), shape.iter().product::<usize>(), "elements of `{name}`");
        Grid { shape, values }
    }
}

/// A tensor of so many dimensions.
pub struct Grid<const R: usize> {
    shape: [usize; R],
    pub values: Vec<f64>,
}

impl<const R: usize> Grid<R> {
    /// Each element by its indices.
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

    /// The nearest element.
    pub fn clamp(&self, at: [isize; R]) -> f64 {
        self[std::array::from_fn(|n| at[n].clamp(0, self.shape[n] as isize - 1) as usize)]
    }

    /// The element, or 0 where there is none.
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

/// The place of the least value; of equals, the first.
pub fn least(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    (0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b])).expect("a value") as f64
}
