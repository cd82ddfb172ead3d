//! Mesa's lavapipe, which runs eight invocations as one vector of the CPU. A computation that is uniform across eight adjacent
//! invocations is done only once, and eight contiguous elements are one access.

pub mod bits;
pub mod blur;
mod convolutions;
mod products;
pub mod quantized;
pub mod random;
pub mod resize;
mod transformers;

pub use convolutions::*;
pub use products::*;
pub use transformers::*;
