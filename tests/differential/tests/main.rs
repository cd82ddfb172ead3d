//! The differential tests: one program, because each program links the whole compiler. `deep.rs` is another one, because it
//! counts the memory of its process.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod calls;
mod checked;
mod exact;
mod families;
mod fixed;
mod functions;
mod mutants;
mod plans;
mod planted;
mod proofs;
mod shifted;
mod shrinks;
mod tokens;
