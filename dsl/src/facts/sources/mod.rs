//! The facts that hold, by their source, and the caches of them.

pub(super) mod conditions;
pub(super) mod data;
pub(crate) mod defined;
pub(super) mod known;
mod remembered;
mod tables;
