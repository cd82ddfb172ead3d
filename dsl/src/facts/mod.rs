//! The prover.
