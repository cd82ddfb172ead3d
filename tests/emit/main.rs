//! Emission: nests to words, checked by `spirv-val`, run on Vulkan under validation, against independent results.

#![allow(unreachable_pub, reason = "a test has no users")]

mod forms;
mod nests;
mod ops;
mod support;
