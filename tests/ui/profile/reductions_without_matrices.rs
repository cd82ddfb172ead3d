//! Reductions of matrices without matrices.

tilewright::profile! { pub p: tilewright::devices::vulkan_1_1 { features: [memory_model, matrix_reductions] } }

fn main() {}
