//! Pure stages: what a kernel computes, checked, and nothing of how.

pub mod evaluate;
