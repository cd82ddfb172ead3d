//! Kernels under schedules, on the device, against the plain evaluation of their algorithms.

mod attention;
mod conv;
mod gather;
mod harness;
mod matmul;
mod reductions;
mod semantics;
mod stencil;
