//! Runs kernels under schedules on the devices, and compares them with the evaluation of their algorithms.

#![allow(unreachable_pub, reason = "items of a test are not used elsewhere")]
#![allow(clippy::print_stdout, reason = "shown where a test fails")]

mod all_reduce;
mod attention;
mod chains;
mod conv;
mod down;
mod drivers;
mod drivers_halves;
mod far;
mod found;
mod found_bounds;
mod found_copies;
mod found_places;
mod found_proofs;
mod found_rfactor;
mod found_runs;
mod found_shared;
mod fragment;
mod fragment_found;
mod fragment_rows;
mod functions;
mod gather;
mod golden;
mod harness;
mod heads;
mod idioms;
mod im2col;
mod index;
mod instead;
mod lines;
mod masked_scores;
mod matmul;
mod mma;
mod mma_conv;
mod mma_found;
mod narrow;
mod nested;
mod online;
mod pack;
mod pipeline;
mod placement;
mod positions;
mod promote;
mod random;
mod reductions;
mod registers;
mod rows_in_registers;
mod semantics;
mod stencil;
mod tails;
mod textbook;
mod versions;
mod views;
mod winograd;
