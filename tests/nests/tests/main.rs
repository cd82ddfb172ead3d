//! The tests of the hand-made nests: one program, because each program links the whole compiler.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod accepted;
mod mutants;
mod print;
mod rules;
