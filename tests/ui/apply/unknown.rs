//! A schedule that does not exist.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! { pub A: copy for vulkan_1_1 { apply TILESS<T = 8>; } }

fn main() {}
