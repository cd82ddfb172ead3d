//! Solves for the dims: determines which tensor's shape gives which symbolic dim, and in what order.
//!
//! A launch is given dim arguments, and the shapes of inputs and of tensors that are updated in place. A dimension whose size is `divide *
//! dim + minus` determines `dim` if it is the only unknown dim. `N / 2` does not determine `N`, because two sizes have the same half.

use crate::arena::Id;
use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::lower::launch::{Tensors, size};
use crate::nest::{Argument, BufferId, DimId, Program};
use tilewright_launch::{Size, Solve};

/// Returns the order in which shapes determine the symbolic dims that are not arguments. The error holds the dims that no shape determines.
pub fn plan(program: &Program) -> Result<Vec<Solve>, Vec<DimId>> {
    let mut known: Vec<bool> = vec![false; program.dims.len()];
    sizes(program).chain(strides(program)).for_each(|dim| known[dim.index()] = true);
    let found = by_shapes(program, &mut known);
    let missing: Vec<DimId> = program.dims.ids().filter(|d| program.dims[*d].derived.is_none() && !known[d.index()]).collect();
    if missing.is_empty() { Ok(found) } else { Err(missing) }
}

/// Returns the dims that are arguments although a shape determines them, each with the tensor of that shape.
pub fn told_by_shapes(program: &Program) -> Vec<(DimId, BufferId)> {
    let tensors = Tensors::of(program);
    let found = by_shapes(program, &mut vec![false; program.dims.len()]);
    let told = |dim: DimId| {
        let solve = found.iter().find(|s| s.dim as usize == dim.index())?;
        Some((dim, *tensors.arguments().get(solve.tensor as usize)?))
    };
    sizes(program).filter_map(told).collect()
}

/// Returns the dims that are arguments.
fn sizes(program: &Program) -> impl Iterator<Item = DimId> {
    program.arguments.iter().filter_map(|a| if let Argument::Dim(dim) = a { Some(*dim) } else { None })
}

/// Returns the dims that are strides of the launch's tensors.
fn strides(program: &Program) -> impl Iterator<Item = DimId> {
    let tensors = Tensors::of(program);
    let given = program.statements.strided.iter().filter(move |s| tensors.buffers().contains(&s.buffer));
    given.flat_map(|strided| strided.free.iter().copied())
}

/// Determines further dims from shapes, given the known ones.
fn by_shapes(program: &Program, known: &mut [bool]) -> Vec<Solve> {
    let tensors = Tensors::of(program);
    let mut found = Vec::new();
    let mut shapes: Vec<(u32, u32, ExprId)> = Vec::new();
    for (n, buffer) in tensors.arguments().iter().enumerate() {
        let shape = program.packed(*buffer).map_or(&program.buffers[*buffer].shape, |p| &p.shape);
        for (axis, extent) in shape.iter().enumerate() {
            shapes.push((n as u32, axis as u32, *extent));
        }
    }
    loop {
        settle_derived(program, known);
        // A dimension that is the dim itself is preferred, because it gives the clearest error for a wrong shape. Next are literal
        // divisors, because they are never 0.
        let best = shapes.iter().filter_map(|(tensor, axis, extent)| {
            let mut line = affine(program, *extent, known, &mut { STEPS })?;
            let (dim, divide) = line.unknown.take()?;
            let rank = match (&divide, &line.rest) {
                (Size::Const(1), Size::Const(0)) => 0,
                (Size::Const(0), _) => return None,
                (Size::Const(_), _) => 1,
                _ => 2,
            };
            Some((rank, dim, Solve { dim: dim.index() as u32, tensor: *tensor, axis: *axis, minus: line.rest, divide }))
        });
        // `min_by_key` keeps the first of equals: the order of the arguments.
        let Some((_, dim, solve)) = best.min_by_key(|(rank, ..)| *rank) else { break };
        known[dim.index()] = true;
        found.push(solve);
    }
    found
}

/// Marks the derived dims whose dims are all known.
fn settle_derived(program: &Program, known: &mut [bool]) {
    for (id, dim) in program.dims.iter() {
        if let Some(value) = dim.derived
            && !known[id.index()]
        {
            known[id.index()] = !program.exprs.any(value, &mut |e| matches!(e, Expr::Dim(d) if !known[d.index()]));
        }
    }
}

/// `factor * dim + rest` with at most one unknown dim, and only known dims in `factor` and `rest`.
struct Affine {
    unknown: Option<(DimId, Size)>,
    rest: Size,
}

/// The most parts of an extent that are examined. The definition of a derived dim counts each time the dim is named.
const STEPS: u32 = 1 << 10;

fn affine(program: &Program, id: ExprId, known: &[bool], left: &mut u32) -> Option<Affine> {
    *left = left.checked_sub(1)?;
    let unknown = |e: &Expr| matches!(e, Expr::Dim(d) if !known[d.index()]);
    if !program.exprs.any(id, &mut |e| unknown(e)) {
        return Some(Affine { unknown: None, rest: size(program, id)? });
    }
    match program.exprs.get(id) {
        Expr::Dim(dim) => match program.dims[*dim].derived {
            Some(value) => affine(program, value, known, left),
            None => Some(Affine { unknown: Some((*dim, Size::Const(1))), rest: Size::Const(0) }),
        },
        Expr::Unary(Unary::Neg, a) => Some(scale(affine(program, *a, known, left)?, Size::Const(-1))),
        Expr::Binary(Binary::Add, a, b) => add(affine(program, *a, known, left)?, affine(program, *b, known, left)?),
        Expr::Binary(Binary::Sub, a, b) => {
            add(affine(program, *a, known, left)?, scale(affine(program, *b, known, left)?, Size::Const(-1)))
        }
        Expr::Binary(Binary::Mul, a, b) => {
            let (a, b) = (affine(program, *a, known, left)?, affine(program, *b, known, left)?);
            match (&a.unknown, &b.unknown) {
                (_, None) => Some(scale(a, b.rest)),
                (None, _) => Some(scale(b, a.rest)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn add(a: Affine, b: Affine) -> Option<Affine> {
    let unknown = match (a.unknown, b.unknown) {
        (Some((x, m)), Some((y, n))) if x == y => Some((x, m.plus(n))),
        (Some(_), Some(_)) => return None,
        (one, None) | (None, one) => one,
    };
    Some(Affine { unknown, rest: a.rest.plus(b.rest) })
}

fn scale(a: Affine, by: Size) -> Affine {
    Affine { unknown: a.unknown.map(|(dim, factor)| (dim, factor.times(by.clone()))), rest: a.rest.times(by) }
}
