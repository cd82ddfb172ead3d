//! A fact that a parameter contradicts.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! { pub A: conv<S = 1> for vulkan_1_1 where S == 2 {} }

fn main() {}
