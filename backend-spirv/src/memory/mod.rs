//! Buffers and registers: their variables, addresses, loads and stores.

pub(super) mod access;
pub(super) mod buffers;
mod far;
pub(super) mod memory_model;
mod packed;
pub(super) mod packed_values;
mod positions;
pub(super) mod registers;
