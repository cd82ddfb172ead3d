//! Points at which a question's facts hold. A goal that is negative at one of them is refuted, so the prover does not search for a proof.
//!
//! Samples are only used to refute goals. So their number and distribution only affect how fast the prover gives up.

use super::eval::{Eval, Point, Values};
use crate::arena::Id as _;
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::{Atom, Formula};
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::Poly;
use crate::nest::{AxisId, DimId};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The number of sizes that are kept.
const SIZES: usize = 6;
/// The most sizes that are tried to find these.
const TRIES: usize = 240;
/// The number of points for each of the sizes.
const POINTS: u64 = 3;

/// Values of the dims, including derived dims.
pub(in crate::facts) type Sizes = Rc<Vec<Values<DimId>>>;

/// A point, and the values of atoms at it that were computed so far.
#[derive(Debug)]
pub(in crate::facts) struct Sample {
    point: Point,
    /// The values by atom. The outer `None` means that a value was not computed.
    values: Vec<Option<Option<i128>>>,
}

/// Pseudorandom numbers, the same in every run.
struct Mixer(u64);

impl Mixer {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n.max(1)
    }
}

impl Context<'_> {
    /// Returns some sizes that satisfy the program's conditions.
    pub(in crate::facts) fn sizes(&mut self) -> Sizes {
        if let Some(sizes) = &self.sizes {
            return sizes.clone();
        }
        let sizes = Rc::new(self.find_sizes());
        self.sizes = Some(sizes.clone());
        sizes
    }

    fn find_sizes(&mut self) -> Vec<Values<DimId>> {
        let program = self.program;
        let eval = Eval { program, view: self.view };
        let dims: BTreeSet<DimId> = program.dims.iter().map(|(id, _)| id).collect();
        let conditions: Vec<usize> = (0..program.checks.conditions.len()).collect();
        let candidates = self.candidates(&dims, &conditions);
        let mut mixer = Mixer(1);
        let mut found: Vec<Values<DimId>> = Vec::new();
        for _ in 0..TRIES {
            let mut pick = |values: &Vec<i64>| values.get(mixer.below(values.len() as u64) as usize).copied().unwrap_or(1);
            let dims = candidates.iter().map(|(dim, values)| (*dim, pick(values))).collect();
            let mut sample = Sample { point: Point { dims, axes: Values::new() }, values: Vec::new() };
            self.follow_equations(&mut sample);
            let mut point = sample.point;
            if eval.admits(&conditions, &dims_of(program), &mut point) && !found.contains(&point.dims) {
                found.push(point.dims);
                if found.len() == SIZES {
                    break;
                }
            }
        }
        found
    }

    /// Gives symbolic dims the values that equations give them in terms of free dims.
    fn follow_equations(&self, sample: &mut Sample) {
        for (id, dim) in self.program.dims.iter() {
            if dim.derived.is_none()
                && let Some(atom) = self.atoms.find(&Atom::Dim(id))
                && let Some(value) = self.equal.get(&atom)
                && let Some(value) = self.value_at(value, sample)
                && let Ok(value) = i64::try_from(value)
            {
                sample.point.dims.insert(id, value);
                sample.values.clear();
            }
        }
    }

    /// Returns sample points with these axes in range.
    pub(in crate::facts) fn samples(&mut self, axes: &[AxisId]) -> Vec<Sample> {
        let (sizes, axes) = (self.sizes(), self.outer_first(axes));
        let eval = Eval { program: self.program, view: self.view };
        let mut samples = Vec::new();
        for dims in sizes.iter() {
            for kind in 0..POINTS {
                let mut point = Point { dims: dims.clone(), axes: Values::new() };
                let mut mixer = Mixer(kind);
                let complete = axes.iter().all(|axis| {
                    let extent = eval.value(self.program.axes[*axis].extent, &point).unwrap_or(0);
                    let value = match kind {
                        0 => extent - 1,
                        1 => 0,
                        _ => mixer.below(extent.max(1) as u64) as i64,
                    };
                    point.axes.insert(*axis, value);
                    extent >= 1
                });
                if complete {
                    samples.push(Sample { point, values: Vec::new() });
                }
                if axes.is_empty() {
                    break;
                }
            }
        }
        // The sizes satisfy the program's conditions, but assumptions are also about axes.
        if self.assumes {
            samples.retain_mut(|sample| self.agrees(sample));
        }
        samples
    }

    /// True if all facts hold at the point.
    fn agrees(&self, sample: &mut Sample) -> bool {
        let holds = |p: &Poly, sample: &mut Sample, f: fn(i128) -> bool| self.value_at(p, sample).is_some_and(f);
        self.equal.iter().all(|(id, value)| {
            let own = self.atom_at(*id, sample);
            own.is_some() && own == self.value_at(value, sample)
        }) && self.facts.iter().all(|p| holds(p, sample, |v| v >= 0))
            && self.zeros.iter().all(|p| holds(p, sample, |v| v == 0))
            && self.nonzeros.iter().all(|p| holds(p, sample, |v| v != 0))
    }

    /// Returns the value of a polynomial at the point.
    pub(in crate::facts) fn value_at(&self, p: &Poly, sample: &mut Sample) -> Option<i128> {
        let mut sum: i128 = 0;
        for (mono, c) in &p.terms {
            let mut term = *c;
            for id in mono.atoms() {
                term = term.checked_mul(self.atom_at(id, sample)?)?;
            }
            sum = sum.checked_add(term)?;
        }
        Some(sum)
    }

    fn atom_at(&self, id: AtomId, sample: &mut Sample) -> Option<i128> {
        if let Some(Some(known)) = sample.values.get(id.index()) {
            return *known;
        }
        let value = match &self.atoms.get(id).atom {
            Atom::Dim(dim) => sample.point.dims.get(*dim).map(i128::from),
            Atom::Axis(axis) => sample.point.axes.get(*axis).map(i128::from),
            Atom::Floor { num, den } | Atom::Quotient { num, den } => {
                let sides = self.value_at(num, sample).zip(self.value_at(den, sample));
                sides.filter(|(_, den)| *den >= 1).map(|(num, den)| num.div_euclid(den))
            }
            Atom::Min0(p) => self.value_at(p, sample).map(|v| v.min(0)),
            Atom::Select(select) => match self.formula_at(&select.yes, sample) {
                Some(true) => self.value_at(&select.then, sample),
                Some(false) => self.value_at(&select.other, sample),
                None => None,
            },
            Atom::Element { of, to, index } => {
                let index = index.iter().map(|at| self.value_at(at, sample)).collect::<Option<Vec<_>>>();
                index.and_then(|index| self.element_at(*of, *to, &index))
            }
            Atom::Data { .. } => None,
        };
        if sample.values.len() <= id.index() {
            sample.values.resize(id.index() + 1, None);
        }
        sample.values[id.index()] = Some(value);
        value
    }

    fn formula_at(&self, formula: &Formula, sample: &mut Sample) -> Option<bool> {
        match formula {
            Formula::NonNeg(p) => Some(self.value_at(p, sample)? >= 0),
            Formula::Zero(p) => Some(self.value_at(p, sample)? == 0),
            Formula::NonZero(p) => Some(self.value_at(p, sample)? != 0),
            Formula::All(parts) => parts.iter().try_fold(true, |all, part| Some(all && self.formula_at(part, sample)?)),
            Formula::Any(parts) => parts.iter().try_fold(false, |any, part| Some(any || self.formula_at(part, sample)?)),
            Formula::Unknown => None,
        }
    }
}

impl From<Point> for Sample {
    fn from(point: Point) -> Sample {
        Sample { point, values: Vec::new() }
    }
}

/// Returns all dims.
fn dims_of(program: &crate::nest::Program) -> BTreeSet<DimId> {
    program.dims.iter().map(|(id, _)| id).collect()
}
