//! Schedules that place values in memory, and arguments of every layout.

mod far;
mod near;
mod nested;
mod overlay;
mod pipeline;
mod placement;
pub(super) mod promote;
mod registers;
mod rows_in_registers;
mod views;
