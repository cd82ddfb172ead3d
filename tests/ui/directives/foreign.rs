//! Words of Halide and TVM, each with the text to write here.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::vulkan_1_1;

schedule! {
    pub ROOT: softmax for vulkan_1_1 {
        compute_root(e);
    }
}

schedule! {
    pub INLINE: softmax for vulkan_1_1 {
        compute_inline(e);
    }
}

schedule! {
    pub PARALLEL: copy for vulkan_1_1 {
        parallel(i);
        serial(j);
    }
}

schedule! {
    pub BLOCKS: copy for vulkan_1_1 {
        gpu_blocks(j, i);
    }
}

schedule! {
    pub TILE: copy for vulkan_1_1 {
        gpu_tile(j, i, 8, 8);
    }
}

schedule! {
    pub STORAGE: softmax for vulkan_1_1 {
        store_at(e, b);
        fold_storage(e, b, 2);
        reorder_storage(e, j, b);
        prefetch(x, b, 2);
    }
}

schedule! {
    pub TVM: copy for vulkan_1_1 {
        cache_read(x);
        bind(i, "blockIdx.x");
        tensorize(i);
        decompose_reduction(j);
    }
}

schedule! {
    pub KEYWORDS: softmax for vulkan_1_1 {
        async();
        in(e);
    }
}

schedule! {
    pub METHODS: softmax for vulkan_1_1 {
        e.compute_root();
        m.compute_at(y, b);
        y.tile(j, b, 8, 8);
        y.parallel(b);
    }
}

schedule! {
    pub FACTORS: copy for vulkan_1_1 {
        tile(i, j, 8, 8);
        unroll(j, 4);
        fuse(i, j, f);
        distribute(i);
    }
}

fn main() {}
