//! The runtime with a Vulkan driver, on launch programs made by hand, whose SPIR-V is assembled from `kernels/`.
//!
//! Everything runs with the validation layers on, and any message from them fails the test.

#![allow(unreachable_pub, reason = "items of a test are not used elsewhere")]

mod batches;
mod checks;
mod devices;
mod embedded;
mod given_up;
mod hosts;
mod injector;
mod launches;
mod loading;
mod memory;
mod names;
mod pending;
mod programs;
mod recordings;
mod repeats;
mod statistics;
mod support;
mod typed;
mod versions;
mod views;
mod waits;
