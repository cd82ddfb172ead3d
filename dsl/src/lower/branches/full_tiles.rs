//! Full tiles of peeled axes, in which no leaf needs the axis's predicates.

use super::{Case, Kind};
use crate::diag::Error;
use crate::nest::{AxisId, Fate, Program, Tail};

/// Returns the axis's peel, if it is peeled.
pub(super) fn of(program: &Program, axis: AxisId) -> Result<Option<Case>, Error> {
    let Fate::Split(split) = program.axes[axis].fate.clone() else { return Ok(None) };
    if split.tail != Tail::Peel || split.exact {
        return Ok(None);
    }
    let Some(cond) = program.in_full_tile(axis) else {
        let name = &program.axes[axis].name;
        let error = Error::new(
            split.span,
            format!(
                "cannot peel `{name}`: its full tiles cannot be described, because they or its extent depend on a fused axis that has a tail, or on tiles that are moved back"
            ),
        );
        return Err(error.help("write `guard`"));
    };
    Ok(Some(Case { kind: Kind::FullTile(axis), cond, leaves: Vec::new(), span: split.span, is_done: false }))
}
