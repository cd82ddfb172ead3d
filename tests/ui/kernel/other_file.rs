//! A mistake in a kernel of another file is reported in that file.

#[path = "../support/wrong_kernel.rs"]
mod wrong_kernel;

tilewright::schedule! { pub A: wrong_kernel::shift for tilewright::devices::vulkan_1_1 {} }

fn main() {}
