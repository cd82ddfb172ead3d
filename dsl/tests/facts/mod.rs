//! Tests the prover: the claims that it must prove, the claims that it must not prove, and that it proves no false claim.

mod brute;
mod messages;
mod polynomials;
mod property;
mod table;
mod world;
