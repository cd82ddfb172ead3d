//! Directives that distribute loops across the invocations of a dispatch, and the strategies that combine reductions across them.
//! `tile` is here because its targets distribute the tiles.

pub(super) mod atomics;
pub mod distribute;
pub mod strategy;
pub mod subgroups;
pub mod tile;

use crate::nest::Level;
use crate::nest::path::Frame;

/// True if a loop is over invocations, or over groups of them within a workgroup.
pub fn is_invocation(frame: &Frame) -> bool {
    matches!(frame.level(), Some((level, _)) if level != Level::Workgroup)
}
