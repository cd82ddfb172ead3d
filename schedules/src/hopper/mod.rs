//! NVIDIA's Hopper.

pub mod bits;
mod convolutions;
mod products;
pub mod quantized;
pub mod random;
mod transformers;

pub use convolutions::*;
pub use products::*;
pub use transformers::*;
