//! Directives that place values in registers and shared memory, and stages in the nests of other stages.

pub mod attach;
pub(super) mod compute_at;
pub(super) mod copies;
pub(super) mod pipeline;
pub mod promote;
pub(crate) mod scatter;
