//! Products of matrices and vectors.

pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod products_narrow;
pub mod sgemm;
pub mod thin;
pub mod vectors;
