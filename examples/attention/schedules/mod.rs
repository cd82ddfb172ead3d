//! The schedules: with all scores in memory, and without. Both run on any device.

pub mod online;
pub mod plain;

use crate::kernel::attention;
use tilewright::Variant;

pub use {online::ONLINE, plain::PLAIN};

/// A variant of the attention.
pub type Attention = Variant<attention::Kernel>;
