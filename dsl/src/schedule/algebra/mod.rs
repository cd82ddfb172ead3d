//! Directives that rewrite the algebra: they replace stages by other stages or layouts. All but `rfactor` precede the nests.

pub mod accumulate;
pub(super) mod blocked;
mod clone;
mod convolution;
pub(crate) mod decompose;
mod im2col;
mod intervals;
mod new_stages;
pub(crate) mod online;
pub(crate) mod pack;
pub(crate) mod quotients;
mod renamed;
pub mod rfactor;
pub mod winograd;
