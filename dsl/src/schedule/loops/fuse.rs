//! `fuse(oh, ow => p)`: fuses several axes into one that runs over all their points; the first axis varies slowest. The new loop
//! takes the place of the outermost of them. Extents may be symbolic.
//!
//! Refused: parallel axes together with a reduction's; an axis whose extent depends on another of the axes, or on a loop between
//! them; axes whose loops are not plain serial loops.

use super::split;
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, ExprId, Exprs};
use crate::nest::path::Frame;
use crate::nest::{Axis, AxisDef, AxisId, Exec, Fate};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name], into: &Name, span: SpanId) -> Applied {
    let axes = nest.axes(names)?;
    if axes.len() < 2 {
        return Err(Error::new(span, "`fuse` needs at least two axes"));
    }
    nest.fresh(&into.text, into.span, "… => another_name")?;
    for (axis, name) in axes.iter().zip(names) {
        split::plain(nest, *axis, name.span)?;
        if nest.is_reduction(*axis) != nest.is_reduction(axes[0]) {
            let error = Error::new(name.span, format!("`{}` and `{name}` are not of the same kind", names[0]));
            return Err(error.note("one is a reduction's axis, the other is parallel").help("fuse axes of the same kind"));
        }
        // An axis of extent 1 is not a loop, but it is treated as bound here.
        let mut bound = nest.bound_axes();
        bound.extend(&axes);
        let extent = nest.program.over_leaves(nest.program.axes[*axis].extent, &bound);
        if nest.program.exprs.uses_axis(extent, &mut |a| axes.contains(&a)) {
            let text = nest.text(extent);
            let error = Error::new(name.span, format!("the extent `{text}` of `{name}` depends on an axis that it is fused with"));
            return Err(error.help("only axes with independent extents can be fused"));
        }
    }
    fuse(nest, &axes, into.text.clone(), span).map(|_| ())
}

/// Fuses plain axes into a new one and returns it.
pub fn fuse(nest: &mut StageNest<'_>, axes: &[AxisId], name: String, span: SpanId) -> Result<AxisId, Error> {
    let extent = product(nest, axes);
    let kind = nest.program.axes[axes[0]].kind;
    let fused = nest.add_axis(Axis { name, extent, kind, def: AxisDef::Fused(axes.to_vec()), fate: Fate::Live, span });
    let mut place = None;
    for (digit, axis) in axes.iter().enumerate() {
        nest.program.axes[*axis].fate = Fate::Fused { into: fused, digit, span };
    }
    let positions: Vec<usize> = axes.iter().filter_map(|a| nest.path.position(*a)).collect();
    for axis in axes {
        if let Some(at) = nest.path.position(*axis) {
            place = positions.iter().min().copied();
            nest.path.remove(at);
        }
    }
    if !nest.program.is_single(fused) {
        let at = place.unwrap_or(nest.path.frames.len());
        nest.path.frames.insert(at, Frame::looped(fused, Exec::Serial, span));
    }
    if axes.iter().all(|a| nest.serial.contains(a)) {
        nest.serial.insert(fused);
    }
    nest.take_hulls(span)?;
    nest.refresh();
    Ok(fused)
}

/// Returns the number of points of the fused axes. Out of bounds of an outer axis, the length of a range that depends on it can be
/// negative. Two negative lengths would have a positive product although both ranges are empty, so they are clamped to 0.
fn product(nest: &mut StageNest<'_>, axes: &[AxisId]) -> ExprId {
    let extents: Vec<ExprId> = axes.iter().map(|axis| nest.program.axes[*axis].extent).collect();
    let exprs = &nest.program.exprs;
    let negative = |exprs: &Exprs, extent: ExprId| exprs.uses_axis(extent, &mut |_| true) && !exprs.is_never_negative(extent);
    let several = extents.iter().filter(|extent| negative(exprs, **extent)).count() > 1;
    let (zero, one) = (exprs.int(0), exprs.int(1));
    extents.into_iter().fold(one, |product, mut extent| {
        if several && negative(exprs, extent) {
            extent = exprs.binary(Binary::Max, extent, zero);
        }
        exprs.product(product, extent)
    })
}
