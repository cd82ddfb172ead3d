//! Runs kernels under schedules on the devices, and compares them with the evaluation of their algorithms.

#![allow(unreachable_pub, reason = "items of a test are not used elsewhere")]
#![allow(clippy::print_stdout, reason = "shown where a test fails")]

mod algebra;
mod all_reduce;
mod attention;
mod borders;
mod chains;
mod conv;
mod down;
mod drivers;
mod found;
mod golden;
mod harness;
mod idioms;
mod language;
mod lines;
mod matmul;
mod matrices;
mod memory;
mod random;
mod stencil;
mod tails;
mod textbook;
mod versions;
