//! The tests of code generation: one program, because each program links the whole compiler.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod brief;
mod cost;
mod formulas;
mod hash;
