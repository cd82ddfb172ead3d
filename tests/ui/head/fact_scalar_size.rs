//! A scalar compared with a size, and with a number of another type.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! { pub A: weighted for vulkan_1_1 where scale > N {} }
schedule! { pub B: weighted for vulkan_1_1 where 1 <= scale {} }

fn main() {}
