//! A case: a kernel, a schedule, a profile and launches, determined by a seed and a number. The shrinker changes the case, and the
//! judge takes its text.

use crate::board;
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, Range, Stage, Type};
use crate::kernel::{self, Kernel, combined, together};
use crate::members::{looped, renamed};
use crate::schedule::tree::{Fact, Schedule};
use crate::schedule::{self, Product, facts};
use crate::shifted::shifted;
use fastrand::Rng;
use std::collections::BTreeSet;
use tilewright_check::Fill;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{DType, Feature};

/// The most points that a launch computes, because the evaluation is slow.
const POINTS: i64 = 6_000;

/// The limit for products on matrix units, whose matrices are whole.
const MATRIX_POINTS: i64 = 40_000;

/// The limit for products whose rows are reduced: their columns are several matrices, and so are the columns of a second product.
const ROW_POINTS: i64 = 150_000;

/// The limit for large cases, and the interval of large cases.
const LARGE_POINTS: i64 = 100_000;
const LARGE: u64 = 32;

/// The interval of cases whose intermediates are members of a family.
const FAMILIES: u64 = 4;

/// The interval of cases whose intermediates have ranges of indices. Half of them are families, too.
const RANGES: u64 = 6;

/// The interval of cases in which a further result is defined together with another one.
const TOGETHER: u64 = 16;

/// The interval of cases in which a reduction has a combiner of the kernel.
const COMBINED: u64 = 12;

/// A case as trees.
#[derive(Clone, Debug)]
pub struct Case {
    /// The algorithm.
    pub kernel: Kernel,
    /// The dtype of the generic.
    pub generic: DType,
    /// The schedule.
    pub schedule: Schedule,
    /// The profile that it is made for.
    pub profile: Profile,
    /// The symbolic dims of each launch.
    pub launches: Vec<Vec<(String, i64)>>,
    /// Scalars, in the kernel's order.
    pub scalars: Vec<f64>,
    /// The fills of inputs; inputs that are not named have small values.
    pub fills: Vec<(String, Fill)>,
    /// The seed of the inputs' values.
    pub values: u64,
    /// True if indices have terms that exceed 2^31.
    pub large: bool,
}

/// A case as text: everything that is needed to compile and run it.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The content of `kernel!`.
    pub kernel: String,
    /// The content of `schedule!`, from the variant's name on.
    pub schedule: String,
    /// The profile that it is made for; the schedule calls it `p`.
    pub profile: Profile,
    /// The symbolic dims of each launch.
    pub dims: Vec<Vec<(String, i64)>>,
    /// Scalars, in the kernel's order.
    pub scalars: Vec<f64>,
    /// The fills of inputs; inputs that are not named have small values.
    pub fills: Vec<(String, Fill)>,
    /// The seed of the inputs' values.
    pub values: u64,
}

/// Returns the pair of a seed and a number, which determine it.
pub fn pair(seed: u64, case: u64) -> Pair {
    Case::new(seed, case).pair()
}

impl Case {
    /// Returns the case of a seed and a number.
    pub fn new(seed: u64, case: u64) -> Case {
        let mut random = Rng::with_seed(mix(seed).wrapping_add(mix(case.wrapping_add(0x5851_f42d_4c95_7f2d))));
        let large = Case::is_large(seed, case);
        let made = kernel::generate(&mut random, large);
        let (mut kernel, mut fills) = (made.kernel, made.fills);
        let generic = if random.bool() { DType::F16 } else { DType::F32 };
        let products = kernel.stages.iter().any(|stage| Product::of(&kernel, stage, generic).is_some());
        let profile = board::generate(&in_memory(&kernel, generic), products, &mut random);
        let schedule = schedule::generate(&kernel, generic, &profile, &mut random);
        // A tensor that is stated to be finite gets no infinities, because then no result would be right.
        let is_finite =
            |name: &String| kernel.facts.iter().chain(&schedule.facts).any(|f| matches!(f, Fact::Finite(of) if of == name));
        fills.retain(|(name, fill)| *fill != Fill::Wild || !is_finite(name));
        let launches = (0..2).map(|_| {
            let met = met(&kernel, &schedule, &mut random);
            let dims = launch(&kernel, &met, &mut random);
            if large { enlarged(&kernel, &met, dims, &mut random) } else { dims }
        });
        let launches = launches.collect();
        let scalars = kernel.arguments.iter().filter(|a| a.kind == ArgumentKind::Scalar).map(|a| match a.ty {
            Type::Is(DType::Bool) => f64::from(random.u8(..2)),
            t if t.is_float() => {
                let stated = [&kernel.facts[..], &schedule.facts].concat();
                let value = random.choice([0.5, -1.25, 2.0, 0.0]).unwrap_or(0.5);
                if facts::admit(&stated, &a.name, value) { value } else { 0.5 }
            }
            _ => random.choice([0.0, 1.0, 3.0, 7.0]).unwrap_or(1.0),
        });
        let scalars = scalars.collect();
        let values = random.u64(..);
        if !large && values % TOGETHER == 1 {
            together::joined(&mut Rng::with_seed(values), &mut kernel);
        }
        if !large && values % COMBINED == 2 {
            combined::combined(&mut Rng::with_seed(values), &mut kernel);
        }
        Case { kernel, generic, schedule, profile, launches, scalars, fills, values, large }
    }

    /// Returns true if a case is one of those whose indices exceed 2^31.
    pub fn is_large(seed: u64, case: u64) -> bool {
        mix(seed ^ mix(case)).is_multiple_of(LARGE)
    }

    /// Returns true if the intermediates are members of a family in the text.
    pub fn is_family(&self) -> bool {
        self.values.is_multiple_of(FAMILIES)
    }

    /// Returns true if the indices of the intermediates do not begin at 0 in the text.
    pub fn has_ranges(&self) -> bool {
        !self.large && self.values % RANGES == 2
    }

    /// Returns the case as text.
    pub fn pair(&self) -> Pair {
        let (mut kernel, mut schedule) = (self.kernel.to_string(), self.schedule.to_string());
        if self.has_ranges() {
            kernel = shifted(&kernel);
        }
        if self.is_family() {
            (kernel, schedule) = (looped(&renamed(&kernel)), renamed(&schedule));
        }
        Pair {
            kernel,
            schedule,
            profile: self.profile.clone(),
            dims: self.launches.clone(),
            scalars: self.scalars.clone(),
            fills: self.fills.clone(),
            values: self.values,
        }
    }

    /// Returns true if the kernel's and the schedule's facts hold for sizes.
    pub fn facts_hold(&self, dims: &[(String, i64)]) -> bool {
        [&self.kernel.facts, &self.schedule.facts].into_iter().all(|facts| facts::hold(&self.kernel, facts, dims))
    }

    /// Returns true if a launch has a size below 1, or a reduction's range that can be too short, which the runtime may refuse.
    pub fn has_open_sizes(&self, launch: usize) -> bool {
        let dims = &self.launches[launch];
        let small = |size: &Expr| self.kernel.size(size, dims).is_some_and(|n| n < 1);
        let generics = self.kernel.generics.iter().any(|g| small(&Expr::name(&g.name)));
        let shapes = self.kernel.arguments.iter().any(|a| match &a.kind {
            ArgumentKind::Input(shape) | ArgumentKind::Update(shape) => shape.iter().any(small),
            ArgumentKind::Scalar | ArgumentKind::Size => false,
        });
        let short = |range: &Range| match (self.kernel.size(&range.low, dims), self.kernel.size(&range.high, dims)) {
            (Some(low), Some(high)) => high - low < 1,
            _ => false,
        };
        let ranges = self.kernel.stages.iter().flat_map(Stage::reductions).any(|(_, ranges)| ranges.iter().any(short));
        generics || shapes || ranges
    }
}

/// Spreads a number over all bits.
pub(crate) fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Returns the features that a kernel's tensors and its arithmetic need.
fn in_memory(kernel: &Kernel, generic: DType) -> BTreeSet<Feature> {
    let arguments = kernel.arguments.iter().map(|a| a.ty);
    let types = arguments.chain(kernel.stages.iter().map(|s| s.ty));
    types.flat_map(|ty| ty.dtype(generic).needs()).copied().collect()
}

/// Generates sizes for a launch: odd sizes, small sizes, and sizes that meet the facts, without too many points.
fn launch(kernel: &Kernel, schedule: &Schedule, random: &mut Rng) -> Vec<(String, i64)> {
    let mut most = random.choice([4, 9, 9, 13, 17, 33, 40]).unwrap_or(9);
    let least = if random.u8(..100) < 6 { 0 } else { 1 };
    let limit = match schedule.has("mma") {
        true if schedule.has_key("fragment", "by") => ROW_POINTS,
        true => MATRIX_POINTS,
        false => POINTS,
    };
    let mut dims = Vec::new();
    for attempt in 0..60 {
        dims = kernel.dims().map(|name| (name.to_owned(), random.i64(least..=most.max(1)))).collect();
        equate(schedule, &mut dims, random);
        let sound = kernel.generics.iter().all(|g| kernel.size(&Expr::name(&g.name), &dims).is_none_or(|n| n >= least));
        if sound && facts::hold(kernel, &schedule.facts, &dims) && points(kernel, &dims) <= limit {
            break;
        }
        // Smaller sizes have fewer points, but larger sizes fit more windows.
        if attempt % 8 == 7 {
            most = if points(kernel, &dims) > limit { (most / 2).max(2) } else { most + 3 };
        }
    }
    while points(kernel, &dims) > limit && dims.iter().any(|(_, n)| *n > 1) {
        dims.iter_mut().for_each(|(_, n)| *n = (*n + 1) / 2);
    }
    dims
}

/// Makes one dim so large that products of it exceed 2^31, if the other sizes allow it. They shrink as far as facts allow.
fn enlarged(kernel: &Kernel, schedule: &Schedule, dims: Vec<(String, i64)>, random: &mut Rng) -> Vec<(String, i64)> {
    let long = random.choice([1_291, 1_300, 2_049, 4_099, 46_341, 46_342, 50_000]).unwrap_or(2_049);
    let fits = |dims: &[(String, i64)]| {
        let sound = kernel.generics.iter().all(|g| kernel.size(&Expr::name(&g.name), dims).is_none_or(|n| n >= 0));
        sound && facts::hold(kernel, &schedule.facts, dims) && large_points(kernel, dims) <= LARGE_POINTS
    };
    let first = random.usize(..dims.len().max(1));
    for others in [3, 2, 1] {
        for n in 0..dims.len() {
            let at = (first + n) % dims.len();
            for value in [long, long / 8 * 8] {
                let mut made = dims.clone();
                made.iter_mut().for_each(|(_, size)| *size = (*size).min(others));
                made[at].1 = value;
                if fits(&made) {
                    return made;
                }
            }
        }
    }
    dims
}

/// Returns the number of points that a launch computes, plus the elements that it is given.
fn large_points(kernel: &Kernel, dims: &[(String, i64)]) -> i64 {
    let elements = |shape: &[Expr]| shape.iter().fold(1i64, |n, e| n.saturating_mul(kernel.size(e, dims).unwrap_or(i64::MAX)));
    let given = kernel.arguments.iter().map(|a| match &a.kind {
        ArgumentKind::Input(shape) | ArgumentKind::Update(shape) => elements(shape),
        ArgumentKind::Scalar | ArgumentKind::Size => 0,
    });
    given.fold(points(kernel, dims), i64::saturating_add)
}

/// Returns the facts that a launch should meet: the facts of the kernel and of the schedule, and sometimes of one of its
/// versions.
fn met(kernel: &Kernel, schedule: &Schedule, random: &mut Rng) -> Schedule {
    let mut met = schedule.clone();
    met.facts.extend(kernel.facts.iter().cloned());
    if let (Some(facts), true) = (random.choice(&schedule.versions), random.bool()) {
        met.facts.extend(facts.iter().cloned());
    }
    met
}

/// Sets dims to the values that simple facts require.
fn equate(schedule: &Schedule, dims: &mut [(String, i64)], random: &mut Rng) {
    for fact in &schedule.facts {
        let schedule::tree::Fact::Size(left, op, right) = fact else { continue };
        let (name, by) = match &left.kind {
            ExprKind::Name(name) => (name, None),
            ExprKind::Infix("%", a, by) => match &a.kind {
                ExprKind::Name(name) => (name, by.as_int()),
                _ => continue,
            },
            _ => continue,
        };
        let Some((_, value)) = dims.iter_mut().find(|(n, _)| n == name) else { continue };
        *value = match (by, *op) {
            (Some(by), _) => by * random.i64(1..=3),
            (None, "==") => *right,
            (None, "<=") => (*value).min(*right),
            _ => (*value).max(*right),
        };
    }
}

/// Returns the approximate number of points that a launch computes.
pub(crate) fn points(kernel: &Kernel, dims: &[(String, i64)]) -> i64 {
    kernel.stages.iter().map(|stage| stage_points(kernel, stage, dims)).fold(0, i64::saturating_add)
}

fn stage_points(kernel: &Kernel, stage: &Stage, dims: &[(String, i64)]) -> i64 {
    let sizes: Vec<i64> = stage.shape.iter().map(|e| kernel.size(e, dims).unwrap_or(1)).collect();
    let points = sizes.iter().fold(1i64, |p, n| p.saturating_mul(*n));
    let bound = |range: &Range| {
        let axis = range.high.names().into_iter().find_map(|n| stage.axes.iter().position(|a| a == n));
        kernel.size(&range.high, dims).or_else(|| axis.map(|at| sizes[at] + 1)).unwrap_or(1)
    };
    let of_ranges = |ranges: &[Range]| ranges.iter().fold(points, |p, range| p.saturating_mul(bound(range)));
    stage.reductions().into_iter().map(|(_, ranges)| of_ranges(ranges)).fold(points, i64::saturating_add)
}
