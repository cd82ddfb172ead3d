//! Directives that rewrite the loops of one stage, and the analyses of loops that they share.

pub mod border;
pub mod dot;
pub mod fuse;
pub mod hull;
pub mod lanes;
pub mod peel;
pub mod reorder;
pub mod round_up;
pub mod serial;
pub mod shift;
pub mod split;
pub mod unroll;
pub mod vectorize;
