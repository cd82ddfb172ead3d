//! Final nests of typical schedules, built by hand, independently of lowering.
//!
//! The tests use them in three ways. The verifier must accept each nest, and refuse it after one deletion. Backends emit and run the
//! nests. Their printed snapshots show a reader the result of each schedule. [`build`] has helpers that make dims, axes, splits, buffers
//! and nodes.
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
