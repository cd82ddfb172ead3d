//! Declarations of numbers.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! { pub A<width = 64> { tile(i: width) => workgroup(x); } }
schedule! { pub B<T = 64, T = 32> { tile(i: T) => workgroup(x); } }
schedule! { pub C<T> { tile(i: T) => workgroup(x); } }
schedule! { pub D<N = 64>: copy for vulkan_1_1 { tile(i: N) => workgroup(x); distribute(i => thread(x)); serial(j); } }
schedule! { pub E<T = U, U = 8> { tile(i: T * U) => workgroup(x); } }
schedule! { pub F: copy for vulkan_1_1 { apply E<U = 8>; } }

fn main() {}
