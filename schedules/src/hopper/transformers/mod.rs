//! Attention, softmax and layer normalization.

pub mod attention;
pub mod attention_mixed;
pub mod rows;
