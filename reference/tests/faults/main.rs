//! Modules made by hand, one for each thing that can be wrong with one, and the whole message that it gets; beside each,
//! what is right about it.

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
