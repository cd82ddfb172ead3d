//! What does not fit one profile is the error of each schedule for it, at its head: each can be mended by itself.

use tilewright::devices::{arm_valhall, vulkan_1_1};

tilewright::kernel! {
    pub fn copy<T: f32 | f16, N>(x: T[N]) -> y: T[N] {
        y[i] = x[i];
    }
}

tilewright::schedule! { pub A: copy<T = f16> for vulkan_1_1 {} }
tilewright::schedule! { pub B: copy<T = f16> for arm_valhall {} }

mod others {
    tilewright::schedule! { pub C: super::copy<T = f16> for super::vulkan_1_1 {} }
}

fn main() {
    println!("{:?}", (A, B, others::C));
}
