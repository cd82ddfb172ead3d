//! Final nests, built by hand: what lowering should arrive at for typical schedules, written without it.
//!
//! They are the measure for three parties. The verifier accepts each of them and refuses what one deletion makes of it;
//! backends emit them and run them; a reader sees in their golden prints what schedules become. [`build`] has the few
//! helpers that make them short: dims, axes and their splits, buffers, nodes.
//!
//! Every nest is a struct of sizes with a `program` method. A size of `None` is symbolic.

pub mod attention;
pub mod build;
pub mod conv;
pub mod copies;
pub mod halo_conv;
pub mod layernorm;
pub mod mma_matmul;
pub mod profile;
pub mod shared_matmul;
pub mod tiled_matmul;

pub use attention::Attention;
pub use conv::Conv;
pub use halo_conv::HaloConv;
pub use layernorm::LayerNorm;
pub use mma_matmul::MmaMatmul;
pub use profile::roomy;
pub use shared_matmul::SharedMatmul;
pub use tiled_matmul::TiledMatmul;
