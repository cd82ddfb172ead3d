//! The sizes at which a schedule is run: those around the boundaries of its tiles, each dim apart and all together, least first.
//!
//! The tiles come from the splits of the compiled nest. For each tile `t` of an axis, the sizes are those at which the axis has 0, 1,
//! `t - 1`, `t`, `t + 1`, `2 t - 1`, `2 t` or `2 t + 1` points. If facts exclude a size, the next one that they admit is taken.

use crate::Dims;
use crate::launch::admits;
use std::collections::{BTreeMap, BTreeSet};
use tilewright_dsl::algorithm::evaluate::{Given, indices};
use tilewright_dsl::expr::{Expr, ExprId, Exprs};
use tilewright_dsl::nest::{AxisDef, AxisId, Body, Fate, Program, Stage};
use tilewright_launch as launch;

/// The most points of all stages at one size.
const MOST_POINTS: f64 = 5e6;

/// The most candidates.
const MOST_CANDIDATES: usize = 96;

/// The most steps of 1 by which a size is moved until facts admit it.
const REACH: i64 = 256;

/// Sizes, and the number of points of all stages at them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) dims: Dims,
    pub(crate) points: f64,
}

/// Returns the sizes for a version of a program, least first. `nest` is the version's nest. `scale` multiplies the limit of the work.
pub(crate) fn candidates(algorithm: &Program, nest: &Program, program: &launch::Program, scale: f64) -> Vec<Candidate> {
    let names: Vec<&str> = symbolic(algorithm).collect();
    let tiles = tiles(algorithm, nest);
    let of = |name: &str| tiles.get(name).cloned().unwrap_or_default();
    let mut wanted: Vec<Dims> = Vec::new();
    let dims = |value: &dyn Fn(&str) -> i64| names.iter().map(|name| ((*name).to_owned(), value(name))).collect::<Dims>();
    for class in CLASSES {
        for last in [true, false] {
            wanted.push(dims(&|name| around(algorithm, nest, name, class(nth(&of(name), last)))));
        }
    }
    for apart in &names {
        for (tile, class) in of(apart).into_iter().chain([1]).flat_map(|tile| CLASSES.map(|class| (tile, class))) {
            let base = |name: &str| around(algorithm, nest, name, nth(&of(name), false) + 1);
            wanted.push(dims(&|name| if name == *apart { around(algorithm, nest, name, class(tile)) } else { base(name) }));
        }
    }
    let mut found: Vec<Candidate> = Vec::new();
    for dims in wanted {
        let Some(dims) = admitted(program, dims) else { continue };
        let Some(points) = points(algorithm, &dims).filter(|points| *points <= MOST_POINTS * scale) else { continue };
        if found.iter().all(|known| known.dims != dims) {
            found.push(Candidate { dims, points });
        }
    }
    found.sort_by(|a, b| a.points.total_cmp(&b.points).then_with(|| a.dims.cmp(&b.dims)));
    found.truncate(MOST_CANDIDATES);
    found
}

/// The numbers of points around the boundaries of a tile.
const CLASSES: [fn(i64) -> i64; 8] = [|t| t + 1, |_| 1, |t| 2 * t + 1, |t| t, |t| t - 1, |t| 2 * t - 1, |t| 2 * t, |_| 0];

/// Returns the largest or the least tile of a dim; 1 if it has none.
fn nth(tiles: &BTreeSet<i64>, last: bool) -> i64 {
    (if last { tiles.last() } else { tiles.first() }).copied().unwrap_or(1)
}

/// Returns the names of the dims that a caller chooses.
pub(crate) fn symbolic(algorithm: &Program) -> impl Iterator<Item = &str> {
    algorithm.dims.values().filter(|dim| dim.derived.is_none()).map(|dim| dim.name.as_str())
}

/// Returns the least size of a dim at which some axis over it has at least this number of points, if the others are large.
fn around(algorithm: &Program, nest: &Program, name: &str, points: i64) -> i64 {
    let extents: Vec<ExprId> = roots(nest).filter(|extent| names_in(nest, *extent).contains(name)).collect();
    let reaches = |size: i64| {
        let given =
            symbolic(algorithm).fold(Given::default(), |given, other| given.dim(nest, other, if other == name { size } else { 3 }));
        indices(nest, &given, &extents).is_ok_and(|values| values.iter().any(|value| *value >= points))
    };
    if extents.is_empty() { points.max(0) } else { (0..4 * points.max(1) + 64).find(|size| reaches(*size)).unwrap_or(points) }
}

/// Returns the extents of the algorithm's axes.
fn roots(nest: &Program) -> impl Iterator<Item = ExprId> {
    nest.axes.values().filter(|axis| matches!(axis.def, AxisDef::Root(_))).map(|axis| axis.extent)
}

/// Returns the tiles of each dim.
fn tiles(algorithm: &Program, nest: &Program) -> BTreeMap<String, BTreeSet<i64>> {
    let mut tiles: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    for (id, axis) in nest.axes.iter() {
        let Fate::Split(split) = &axis.fate else { continue };
        let mut size = 1i64;
        for part in split.parts.iter().skip(1).rev() {
            size = size.saturating_mul(nest.exprs.as_int(nest.axes[*part].extent).unwrap_or(1));
            if (2..=4096).contains(&size) {
                for name in dims_of(nest, id) {
                    if symbolic(algorithm).any(|known| known == name) {
                        tiles.entry(name).or_default().insert(size);
                    }
                }
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

/// Moves sizes upwards, dim by dim, until a program admits them. Returns `None` if that does not succeed.
fn admitted(program: &launch::Program, mut dims: Dims) -> Option<Dims> {
    let unmet = |dims: &Dims| {
        let named: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        let values = crate::launch::dim_values(program, &named);
        values.map_or(usize::MAX, |values| program.facts.iter().filter(|fact| !fact.condition.holds_of_sizes(&values)).count())
    };
    for (name, size) in &mut dims {
        *size = crate::literal(program, name).unwrap_or(*size);
    }
    for at in 0..dims.len() {
        let (before, size) = (unmet(&dims), dims[at].1);
        if before == 0 {
            break;
        }
        let moved = |size: i64| {
            let mut dims = dims.clone();
            dims[at].1 = size;
            (unmet(&dims), size)
        };
        let far = (0..24).flat_map(|power| [1i64, 3].map(|n| n << power)).filter(|far| *far >= size + REACH);
        let best = (size..size + REACH).chain(far).map(moved).min().filter(|(unmet, _)| *unmet < before);
        dims[at].1 = best.map_or(size, |(_, size)| size);
    }
    let named: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    (admits(program, &named) == Some(true)).then_some(dims)
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
