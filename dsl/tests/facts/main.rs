//! The prover: what it must prove, what it must not, and that it proves nothing false.

mod table;
mod world;
