//! Algorithms: their tree, the generator, and their text.
//!
//! The generator almost always makes legal kernels: types fit, reads are in bounds because a tensor's shape is chosen after the
//! indices that read it, and divisors are not 0. It keeps floats where the evaluation can judge them: they are small, and compared
//! or rounded only if a device computes them exactly.

mod bins;
mod blocks;
mod builder;
pub(crate) mod combined;
mod convolution;
mod floats;
mod functions;
mod integers;
mod large;
mod online;
mod products;
mod proofs;
mod reads;
mod rows;
mod skeleton;
pub mod text;
pub(crate) mod together;
pub mod tree;
mod updates;

pub(crate) use convolution::WINDOWS;
pub use functions::inlined;
pub(crate) use online::KEYS;
pub use skeleton::{Generated, generate};
pub use tree::Kernel;
