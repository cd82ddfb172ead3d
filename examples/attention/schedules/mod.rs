//! The schedules: with all scores in memory, and without. Neither is made for a particular device.

pub mod online;
pub mod plain;

pub use {online::ONLINE, plain::PLAIN};
