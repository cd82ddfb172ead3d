//! f16 arithmetic for a profile that has f16 in memory only.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! { pub A: matmul<T = f16> for profiles::storage_only {} }

fn main() {}
