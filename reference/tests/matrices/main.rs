//! Cooperative matrices: handwritten modules, whose results are compared with a plain product, and the faults that are
//! reported.

mod assemble;
mod elements;
mod faults;
mod functions;
mod products;
mod refusals;
mod support;
mod valid;
