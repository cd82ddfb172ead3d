//! The tests of the program: one program, because each program links the whole compiler.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "tests")]

mod bench;
mod bench_limits;
mod bench_table;
mod common;
mod devices;
mod explain;
mod new;
mod plan;
mod prove;
mod tune;
