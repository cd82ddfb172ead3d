//! The runtime against a Vulkan driver: launch programs made by hand, their words assembled from `kernels/`.
//!
//! Everything runs with the validation layers on, and a message of theirs fails the test.

#![allow(unreachable_pub, reason = "a test binary has no users")]

mod batches;
mod devices;
mod given_up;
mod injector;
mod launches;
mod loading;
mod memory;
mod names;
mod programs;
mod support;
mod typed;
mod versions;
mod views;
mod waits;
