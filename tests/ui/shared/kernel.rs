//! A kernel that is wrong under any schedule has one error, at its place, however many schedules there are, in whatever modules.

use tilewright::devices::{arm_valhall, vulkan_1_1};

tilewright::kernel! {
    pub fn far<T: f32 | f16, N>(x: T[N]) -> (y: T[N], z: i32[N]) {
        y[i] = x[i];
        z[i] = i * 1000000007 * 1000000007 * 1000000007 / 3;
    }
}

tilewright::schedule! { pub A: far<T = f32> for vulkan_1_1 {} }
tilewright::schedule! { pub B: far<T = f32> for arm_valhall { z { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } } }

mod others {
    tilewright::schedule! { pub C: super::far<T = f32> for super::arm_valhall {} }
}

fn main() {
    println!("{:?}", (A, B, others::C));
}
