//! What cannot be strided, and facts of strides that are not free.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    pub UNKNOWN: matmul<T = f32> for vulkan_1_1 {
        strided(aa, q);
    }
}

schedule! {
    pub TWICE: matmul<T = f32> for vulkan_1_1 {
        strided(a, b);
        strided(a[0]);
    }
}

schedule! {
    pub AXES: matmul<T = f32> for vulkan_1_1 {
        strided(a[2], b[0, 0], c[0]);
    }
}

schedule! {
    pub NOTHING: matmul<T = f32> for vulkan_1_1 {
        strided();
    }
}

schedule! {
    pub NO_AXIS: matmul<T = f32> for vulkan_1_1 {
        strided(a[]);
    }
}

schedule! {
    pub NO_NUMBER: matmul<T = f32> for vulkan_1_1 {
        strided(a[i]);
    }
}

schedule! {
    pub IN_BLOCK: matmul<T = f32> for vulkan_1_1 {
        c { strided(a); }
    }
}

schedule! {
    pub NOT_FREE: matmul<T = f32> for vulkan_1_1 where a.stride(1) % 4 == 0, b.stride(0) % 4 == 0, c.stride(N) == 1 {
        strided(a);
    }
}

schedule! {
    pub PACKED: matmul<T = f32> for vulkan_1_1 {
        strided(b);
        pack(b[k, j] => [j / 4, k, j % 4], when: caller);
    }
}

schedule! {
    pub UNALIGNED: matmul<T = f32> for vulkan_1_1 where N % 4 == 0 {
        strided(c);
        tile(i: 4, j: 32) => workgroup(y, x);
        tile(i: 1, j: 4) => thread(y, x);
        vectorize(j, 4);
    }
}

fn main() {}
