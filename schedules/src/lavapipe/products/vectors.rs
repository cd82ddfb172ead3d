//! Vectors.

use crate::kernels::{add, argmax, gelu, saxpy, total};
use crate::parts;
use tilewright::devices::{mesa_lavapipe, mesa_lavapipe_26, vulkan_1_1};
use tilewright::schedule;

schedule! {
    /// Four elements per invocation.
    pub ADD: add for mesa_lavapipe where N % 4 == 0 {
        apply parts::vectors::ELEMENTS;
    }
}

schedule! {
    /// Four elements per invocation.
    pub SAXPY: saxpy for mesa_lavapipe where N % 4 == 0 {
        apply parts::vectors::ELEMENTS;
    }
}

schedule! {
    /// Four elements per invocation.
    pub GELU: gelu<T = f32> for mesa_lavapipe where N % 4 == 0 {
        apply parts::vectors::ELEMENTS;
    }
}

schedule! {
    /// Eight f16 elements per invocation.
    pub GELU_F16: gelu<T = f16> for mesa_lavapipe where N % 8 == 0 {
        apply parts::vectors::ELEMENTS<TILE = 512, EACH = 8>;
    }
}

schedule! {
    /// Two dispatches: 16384 elements per workgroup of 64, four at a time; then one workgroup for the partial sums.
    pub TOTAL: total for mesa_lavapipe where K % 16384 == 0 {
        apply parts::vectors::PARTS_BY_TREE;
    }
}

schedule! {
    /// [`TOTAL`] with partial sums by subgroup arithmetic.
    pub TOTAL_SUBGROUPS: total for mesa_lavapipe where K % 16384 == 0 {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 64, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: subgroup);
            unroll(k_v);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: subgroup);
    }
}

schedule! {
    /// Two dispatches: 65536 elements per workgroup of eight, 16 at a time per invocation; then one workgroup for the partial sums.
    pub TOTAL_LONG: total for mesa_lavapipe where K % 65536 == 0 {
        tile(k: 65536 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 4, 8, 4] => k_r, k_u, k_t, k_v);
            distribute(k_t => thread(x), by: subgroup);
            unroll(k_u, k_v);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: subgroup);
    }
}

schedule! {
    /// [`TOTAL_LONG`] for Mesa 25, which streams a vector up to three times as fast by descriptor as by address. So the profile is one
    /// without addresses, and the invocations of a workgroup reduce by trees.
    pub TOTAL_DESCRIPTOR: total for vulkan_1_1 where K % 65536 == 0 {
        tile(k: 65536 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 4, 8, 4] => k_r, k_u, k_t, k_v);
            distribute(k_t => thread(x), by: tree);
            unroll(k_u, k_v);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: tree);
    }
}

schedule! {
    /// For Mesa 26, where uniform loads are cheap: one invocation per workgroup adds up eight blocks of 8192 elements, eight elements of
    /// each at a time; then one workgroup for the partial sums.
    pub TOTAL_UNIFORM: total for mesa_lavapipe_26 where K % 65536 == 0 {
        split(k, [_, 1024, 8] => k_o, k, k_u);
        rfactor(k_o => part);
        part {
            tile(k_o: 8) => workgroup(x);
            reorder(k, k_o, k_u);
            unroll(k_o, k_u);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: subgroup);
    }
}

schedule! {
    /// All workgroups add to the result by atomics.
    pub TOTAL_ATOMIC: total for mesa_lavapipe where K % 16384 == 0 {
        tile(k: 16384) => workgroup(x), by: atomic;
        split(k, [_, 64, 4] => k_r, k_t, k_v);
        distribute(k_t => thread(x), by: subgroup);
        unroll(k_v);
    }
}

schedule! {
    /// One workgroup, any size.
    pub TOTAL_SHORT: total for mesa_lavapipe {
        tile(k: 64 => k_o);
        distribute(k => thread(x), by: tree);
    }
}

schedule! {
    /// Two dispatches: 16384 elements per workgroup of 64, then one workgroup for the partial results.
    pub ARGMAX: argmax for mesa_lavapipe where K % 16384 == 0 {
        apply parts::vectors::PARTS_BY_TREE;
    }
}
