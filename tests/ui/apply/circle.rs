//! Schedules that apply each other.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! { pub A { apply B; } }
schedule! { pub B { apply A; } }

fn main() {}
