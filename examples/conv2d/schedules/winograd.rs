//! Any device, any size, stride 1: by Winograd's algorithm, with the filters prepared.

use crate::kernel::conv2d;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    /// Tiles of 4x4 results, with 36 products each instead of 144. An invocation transforms a tile of one channel, and multiplies
    /// four tiles with four filters.
    pub WINOGRAD: conv2d<T = f32> for vulkan_1_1 where IC == 3, OC % 32 == 0 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 1e-6);
        precompute(u);
        root(output_tile);
        v {
            fuse(n, th, tw => t);
            tile(t: 64) => workgroup(x);
            distribute(ic => workgroup(y));
            distribute(t => thread(x));
            unroll(p, q);
        }
        g {
            fuse(n, th, tw => t);
            fuse(p, q => pq);
            distribute(pq => workgroup(z));
            tile(t: 32, oc: 32) => workgroup(y, x);
            tile(t: 4, oc: 4) => thread(y, x);
            reorder(ic, t, oc);
            unroll(ic, t);
            vectorize(oc, 4);
        }
        output_tile {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(oc: 32) => workgroup(x);
            distribute(oc => thread(x));
            unroll(i, j);
        }
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 32) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}
