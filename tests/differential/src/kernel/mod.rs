//! Algorithms: their tree, how one is made at random, and its text.
//!
//! The generator makes kernels that the language allows, nearly always: types fit, reads are inside because a tensor's shape
//! is made after the indices that read it, divisors are not 0. It keeps floats where the evaluation can judge them: small, and
//! compared or rounded only where a device has them exactly.

mod blocks;
mod builder;
mod convolution;
mod floats;
mod integers;
mod large;
mod online;
mod products;
mod proofs;
mod reads;
mod rows;
mod skeleton;
pub mod text;
pub mod tree;

pub(crate) use convolution::WINDOWS;
pub(crate) use online::KEYS;
pub use skeleton::{Generated, generate};
pub use tree::Kernel;
