//! `border(y, x)`: the interior of a nest, in which no read along these axes is out of bounds, has a body without clamps. Lowering duplicates
//! the nest, and a branch chooses between the two (`lower::branches`).
//!
//! Refused: a reduction axis; a second `border` in a nest, because one condition decides; the nest of a copy or of a stage that is
//! computed in another nest, because the branch encloses that nest.

use crate::diag::{Error, SpanId, list};
use crate::nest::{Interior, State};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name], span: SpanId) -> Applied {
    if nest.is_hosted() {
        let error = Error::new(span, "`border` encloses the whole nest, so it cannot be used in a block of a part of it");
        return Err(error.help("write it beside the directives that distribute the nest to workgroups"));
    }
    if let Some(other) = nest.program.notes.interiors.iter().find(|other| other.stage == nest.stage) {
        let error = Error::new(span, "this nest has a `border` already").note_at(other.span, "it is here");
        return Err(error.help("name all axes in one `border`"));
    }
    let named = nest.axes(names)?;
    for (axis, name) in named.iter().zip(names) {
        if nest.is_reduction(*axis) {
            let error =
                Error::new(name.span, format!("`{name}` is a reduction axis, and a border belongs to the elements of the result"));
            let parallel = nest.path.axes().filter(|axis| !nest.is_reduction(*axis)).map(|axis| nest.name(axis));
            return Err(error.help(format!("the axes of elements are {}", list(parallel))));
        }
    }
    let roots = nest.program.stages[nest.stage].axes.iter().copied();
    let axes = roots.filter(|root| named.iter().any(|axis| nest.program.passes(*root, *axis))).collect();
    let what = format!("the interior along {} runs without clamps, and the border with them", list(names));
    nest.program.owe(what, State::Guarded, span);
    nest.program.notes.interiors.push(Interior { stage: nest.stage, axes, span });
    Ok(())
}
