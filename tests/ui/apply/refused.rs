//! Schedules that cannot be applied: with tuned constants, kernels, and with a block within a block.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! { pub TUNED: copy for vulkan_1_1 { tune B in [32, 64] = 64; tile(i: B) => workgroup(x); distribute(i => thread(x)); serial(j); } }
schedule! { pub A: copy for vulkan_1_1 { apply TUNED; } }
schedule! { pub BLOCK { y { unroll(i); } } }
schedule! { pub C: copy for vulkan_1_1 { y { apply BLOCK; } } }
schedule! { pub D: copy for vulkan_1_1 { apply copy; } }

fn main() {}
