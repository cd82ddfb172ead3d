//! The prover: what it must prove, what it must not, and that it proves nothing false.

mod brute;
mod messages;
mod property;
mod table;
mod world;
