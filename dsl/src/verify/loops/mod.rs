//! Checks of loops, and of the invocations that run them.

pub(super) mod axes;
mod limits;
pub(super) mod local;
pub(super) mod reach;
pub(super) mod sides;
mod steps;
mod uniform;
