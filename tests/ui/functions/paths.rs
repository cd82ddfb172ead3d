//! Paths that lead to other items, or nowhere.

#[path = "../support/kernels.rs"]
mod kernels;

use tilewright::devices::vulkan_1_1;
use tilewright::{functions, kernel, profile, schedule};

functions! { pub fn cube(v: f32) -> f32 { v * v * v } }

kernel! { use kernels::copy; pub fn of_kernel<N>(x: f32[N]) -> y: f32[N] { y[i] = copy(x[i]); } }
kernel! { use vulkan_1_1 as board; pub fn of_profile<N>(x: f32[N]) -> y: f32[N] { y[i] = board(x[i]); } }
functions! { use kernels::copy; pub fn of_functions(v) { copy(v) } }
schedule! { pub A: cube for vulkan_1_1 {} }
schedule! { pub B: kernels::copy for cube {} }
profile! { pub board: cube { invocations: 64 } }
kernel! { use std::cmp::*; pub fn all<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i]; } }

fn main() {}
