//! The sizes at which a schedule is run: those around the boundaries of its tiles, each dim apart and all together, least first.
//!
//! The tiles come from the splits of the compiled nest. For each tile `t` of an axis, the sizes are those at which the axis has 0, 1,
//! `t - 1`, `t`, `t + 1`, `2 t - 1`, `2 t` or `2 t + 1` points. If facts exclude a size, the next one that they admit is taken.
//! The tiles of an axis that is fused with others are tried for each dim apart.

use crate::launch::{admits, dim_values};
use crate::{Dims, named};
use std::collections::{BTreeMap, BTreeSet};
use tilewright_dsl::algorithm::evaluate::{Given, indices};
use tilewright_dsl::expr::{Expr, ExprId, Exprs};
use tilewright_dsl::nest::{AxisDef, AxisId, Body, Fate, Program, Stage};
use tilewright_launch as launch;

/// The most points of all stages at one size.
const MOST_POINTS: f64 = 5e6;

/// The most steps of 1 by which a size is moved until facts admit it.
const REACH: i64 = 256;

/// Sizes, and the number of points of all stages at them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) dims: Dims,
    pub(crate) points: f64,
    /// True if all axes have points in more than one tile. These sizes are run even if smaller ones have reached each block, because at
    /// one point, all elements are the same.
    pub(crate) is_required: bool,
}

/// Returns the sizes at which a launch takes a version, least first. `nest` is the version's nest. `scale` multiplies the limit of the
/// work.
pub(crate) fn candidates(
    algorithm: &Program,
    nest: &Program,
    versions: &[launch::Program],
    version: usize,
    scale: f64,
) -> Vec<Candidate> {
    let names: Vec<&str> = symbolic(algorithm).collect();
    let tiles = tiles(algorithm, nest);
    let of = |name: &str| tiles.get(name).cloned().unwrap_or_default();
    let mut wanted: Vec<(Dims, bool)> = Vec::new();
    let dims = |value: &dyn Fn(&str) -> i64| names.iter().map(|name| ((*name).to_owned(), value(name))).collect::<Dims>();
    for (n, class) in CLASSES.into_iter().enumerate() {
        for last in [true, false] {
            let together = dims(&|name| around(algorithm, nest, name, class(nth(&of(name).own, last))));
            wanted.push((together, (n, last) == (0, true) || (n, last) == (1, false)));
        }
    }
    for apart in &names {
        let Tiles { own, fused } = of(apart);
        for (tile, class) in own.union(&fused).chain([&1]).flat_map(|tile| CLASSES.map(|class| (*tile, class))) {
            let base = |name: &str| around(algorithm, nest, name, nth(&of(name).own, false) + 1);
            let value = |name: &str| if name == *apart { around(algorithm, nest, name, class(tile)) } else { base(name) };
            wanted.push((dims(&value), false));
        }
    }
    let mut found: Vec<Candidate> = Vec::new();
    for (dims, is_required) in wanted {
        let Some(dims) = taken(versions, version, dims) else { continue };
        let Some(points) = points(algorithm, &dims).filter(|points| *points <= MOST_POINTS * scale) else { continue };
        match found.iter_mut().find(|known| known.dims == dims) {
            Some(known) => known.is_required |= is_required,
            None => found.push(Candidate { dims, points, is_required }),
        }
    }
    found.sort_by(|a, b| a.points.total_cmp(&b.points).then_with(|| a.dims.cmp(&b.dims)));
    found
}

/// The numbers of points around the boundaries of a tile.
const CLASSES: [fn(i64) -> i64; 8] = [|t| t + 1, |t| 2 * t + 1, |_| 1, |t| t, |t| t - 1, |t| 2 * t - 1, |t| 2 * t, |_| 0];

/// The tiles of a dim: of axes over it alone, and of axes that are fused with others.
#[derive(Clone, Debug, Default)]
struct Tiles {
    own: BTreeSet<i64>,
    fused: BTreeSet<i64>,
}

/// Returns the largest or the least tile; 1 if there is none.
fn nth(tiles: &BTreeSet<i64>, last: bool) -> i64 {
    (if last { tiles.last() } else { tiles.first() }).copied().unwrap_or(1)
}

/// Returns the names of the dims that a caller chooses.
pub(crate) fn symbolic(algorithm: &Program) -> impl Iterator<Item = &str> {
    algorithm.dims.values().filter(|dim| dim.derived.is_none()).map(|dim| dim.name.as_str())
}

/// The size of the other dims while one is chosen. It exceeds the windows of usual kernels, because their derived dims are negative at
/// smaller sizes.
const OTHERS: i64 = 64;

/// Returns the least size of a dim at which some axis over it has at least this number of points, if the others are large.
fn around(algorithm: &Program, nest: &Program, name: &str, points: i64) -> i64 {
    let extents: Vec<ExprId> = roots(nest).filter(|extent| names_in(nest, *extent).contains(name)).collect();
    let reaches = |size: i64| {
        let given = symbolic(algorithm)
            .fold(Given::default(), |given, other| given.dim(nest, other, if other == name { size } else { OTHERS }));
        indices(nest, &given, &extents).is_ok_and(|values| values.iter().any(|value| *value >= points))
    };
    if extents.is_empty() { points.max(0) } else { (0..4 * points.max(1) + 64).find(|size| reaches(*size)).unwrap_or(points) }
}

/// Returns the extents of the algorithm's axes.
fn roots(nest: &Program) -> impl Iterator<Item = ExprId> {
    nest.axes.values().filter(|axis| matches!(axis.def, AxisDef::Root(_))).map(|axis| axis.extent)
}

/// Returns the tiles of each dim.
fn tiles(algorithm: &Program, nest: &Program) -> BTreeMap<String, Tiles> {
    let mut tiles: BTreeMap<String, Tiles> = BTreeMap::new();
    for (id, axis) in nest.axes.iter() {
        let Fate::Split(split) = &axis.fate else { continue };
        let names: Vec<String> =
            dims_of(nest, id).into_iter().filter(|name| symbolic(algorithm).any(|known| known == name)).collect();
        let mut size = 1i64;
        for part in split.parts.iter().skip(1).rev() {
            size = size.saturating_mul(nest.exprs.as_int(nest.axes[*part].extent).unwrap_or(1));
            if !(2..=4096).contains(&size) {
                continue;
            }
            for name in &names {
                let of = tiles.entry(name.clone()).or_default();
                if names.len() == 1 { &mut of.own } else { &mut of.fused }.insert(size);
            }
        }
    }
    tiles
}

/// Returns the names of the dims that the root axes of an axis range over.
fn dims_of(nest: &Program, axis: AxisId) -> BTreeSet<String> {
    match &nest.axes[axis].def {
        AxisDef::Part { of, .. } => dims_of(nest, *of),
        AxisDef::Fused(of) => of.iter().flat_map(|axis| dims_of(nest, *axis)).collect(),
        AxisDef::Root(_) | AxisDef::Made => names_in(nest, nest.axes[axis].extent),
    }
}

/// Returns the names of the dims in an index.
fn names_in(nest: &Program, index: ExprId) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![index];
    while let Some(id) = open.pop() {
        match nest.exprs.get(id) {
            Expr::Dim(dim) => match nest.dims[*dim].derived {
                Some(derived) => open.push(derived),
                None => _ = names.insert(nest.dims[*dim].name.clone()),
            },
            _ => open.extend(operands(&nest.exprs, id)),
        }
    }
    names
}

fn operands(exprs: &Exprs, id: ExprId) -> Vec<ExprId> {
    match exprs.get(id) {
        Expr::Unary(_, a) | Expr::Cast(_, a) => vec![*a],
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => vec![*a, *b],
        Expr::Select(a, b, c) | Expr::MulAdd(a, b, c) => vec![*a, *b, *c],
        _ => Vec::new(),
    }
}

/// Moves sizes upwards, dim by dim, until a launch takes a version at them. Returns `None` if that does not succeed.
fn taken(versions: &[launch::Program], version: usize, mut dims: Dims) -> Option<Dims> {
    let program = versions.get(version)?;
    let admit = |dims: &Dims| versions[..version].iter().filter(|earlier| admits(earlier, &named(dims)) == Some(true)).count();
    let unmet = |dims: &Dims| {
        let values = dim_values(program, &named(dims));
        let own = values.map(|values| program.facts.iter().filter(|fact| !fact.condition.holds_of_sizes(&values)).count());
        own.map_or(usize::MAX, |own| own + admit(dims))
    };
    for (name, size) in &mut dims {
        *size = program.literal(&program.facts, name).unwrap_or(*size);
    }
    for at in 0..dims.len() {
        let (before, size) = (unmet(&dims), dims[at].1);
        let moved = |size: i64| {
            let mut dims = dims.clone();
            dims[at].1 = size;
            (unmet(&dims), size)
        };
        // A sum keeps the position of the size within its tiles.
        let far = (0..24).flat_map(|power| [1i64, 3].map(|n| n << power));
        let far = far.flat_map(|far| [far, far + size]).filter(|far| *far >= size + REACH);
        let best = if before > 0 { (size..size + REACH).chain(far).map(moved).min() } else { None };
        dims[at].1 = best.filter(|(unmet, _)| *unmet < before).map_or(size, |(_, size)| size);
    }
    (unmet(&dims) == 0).then_some(dims)
}

/// Returns the number of points of all stages of an algorithm.
fn points(algorithm: &Program, dims: &Dims) -> Option<f64> {
    let given = dims.iter().fold(Given::default(), |given, (name, value)| given.dim(algorithm, name, *value));
    let of = |stage: &Stage| {
        let over = if let Body::Reduce { over, .. } = &stage.body { &over[..] } else { &[] };
        // The extent of a triangular range depends on other axes, so it counts as 64.
        let extents: Vec<ExprId> = stage.axes.iter().chain(over).map(|axis| algorithm.axes[*axis].extent).collect();
        let sizes = extents.iter().map(|extent| indices(algorithm, &given, &[*extent]).ok().map_or(64.0, |v| v[0] as f64));
        sizes.product::<f64>()
    };
    let all: f64 = algorithm.stages.values().map(of).sum();
    all.is_finite().then_some(all)
}
