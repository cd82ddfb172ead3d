//! Checks of accesses: bounds, scopes, order, and the invocations that make them.

pub(super) mod bounds;
pub(super) mod flow;
mod hazards;
mod owners;
mod races;
mod region;
pub(super) mod scope;
mod scratch;
pub(super) mod written;
