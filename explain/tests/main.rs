//! The tests of explain: one program, because each program links the whole compiler.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod compare;
mod estimate;
mod explain;
mod helps;
mod lints;
mod page;
mod report;
mod rustdoc;
