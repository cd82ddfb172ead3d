//! Tests of emission: nests to SPIR-V, checked by `spirv-val`, run on Vulkan under validation, against independent results.

#![allow(unreachable_pub, reason = "items of a test are not used elsewhere")]

mod forms;
mod nests;
mod ops;
mod support;
