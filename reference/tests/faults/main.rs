//! Handwritten modules with one fault each, and the full message for it. Next to each faulty module is a valid variant.

mod addresses;
mod atomics;
mod barriers;
mod bounds;
mod control;
mod decoding;
mod lines;
mod numbers;
mod races;
mod subgroups;
mod support;
mod unwritten;
