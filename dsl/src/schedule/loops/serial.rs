//! `serial(n)`: states that parallel axes run one after another in each invocation on purpose.

use super::split;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, names: &[Name]) -> Applied {
    for (axis, name) in nest.axes(names)?.into_iter().zip(names) {
        split::plain(nest, axis, name.span)?;
        nest.serial.insert(axis);
    }
    Ok(())
}
