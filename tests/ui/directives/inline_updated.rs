//! An intermediate whose values are overwritten before its reader needs them.

use tilewright::devices::vulkan_1_1;

tilewright::kernel! {
    pub fn swap<N>(a: &mut f32[N], b: &mut f32[N]) {
        let old[i]: f32[N] = a[i];
        a[i] = b[i];
        b[i] = old[i];
    }
}

tilewright::schedule! {
    pub INLINED: swap for vulkan_1_1 {
        inline(old);
    }
}

tilewright::schedule! {
    pub PLACED: swap for vulkan_1_1 {
        b {
            compute_at(old, workgroup, to: shared);
        }
    }
}

fn main() {}
