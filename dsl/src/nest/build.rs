//! The naive nest of a program.
