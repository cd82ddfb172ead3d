//! Convolutions of 3x3 pixels by Winograd's algorithm, tiles of 4x4 results: three dispatches, with the filter prepared.
//!
//! The product dominates the time: for each of the 36 points, a matrix of tiles times a matrix of the filter. The filter is packed
//! in blocks of 64 channels, in the order in which it is read. By default, eight invocations compute eight tiles of 64 channels,
//! eight channels each, so that the reads of tiles are uniform.

use crate::kernels::{conv_nchw, conv2d};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Both transforms, whole tiles of 4x4 results: a vector of 8 channels per workgroup. The filter is packed
    /// in blocks of 64 channels, in the order in which it is read.
    TRANSFORMS {
        precompute(u);
        v {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(ic: 8) => workgroup(x);
            distribute(ic => thread(x));
            unroll(p, q);
        }
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// The products, for the block of `g`: eight invocations compute eight tiles of 64 channels, eight channels each.
    PRODUCTS {
        fuse(n, th, tw => t);
        fuse(p, q => pq);
        distribute(pq => workgroup(z));
        tile(t: 8, oc: 64) => workgroup(y, x);
        tile(oc: 8) => thread(x);
        tile(ic: 4 => ic_o);
        vectorize(oc, 4);
        reorder(ic_o, oc, t, ic);
        unroll(oc, t, ic);
    }
}

schedule! {
    /// NHWC, whole tiles. The sizes are specialization constants.
    pub F4: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        pin(IH, IW, IC, OC);
        apply TRANSFORMS;
        g { apply PRODUCTS; }
    }
}

schedule! {
    /// [`F4`] for Mesa 26, where uniform loads are cheap: eight invocations over eight tiles, 64 channels each, so that every load
    /// of the filter is uniform.
    pub F4_TILES: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        pin(IH, IW, IC, OC);
        apply TRANSFORMS;
        g {
            fuse(n, th, tw => t);
            fuse(p, q => pq);
            distribute(pq => workgroup(z));
            tile(t: 8, oc: 64) => workgroup(y, x);
            distribute(t => thread(x));
            tile(ic: 4 => ic_o);
            reorder(ic_o, ic, oc);
            unroll(ic, oc);
        }
    }
}

schedule! {
    /// [`F4`] with transformed inputs and filters stored as f16, which halves the memory traffic. It pays off for large filters,
    /// for example with many channels of a small image.
    pub F4_F16: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        pin(IH, IW, IC, OC);
        apply TRANSFORMS;
        g { apply PRODUCTS; }
    }
}

schedule! {
    /// [`F4`] for any size: a separate dispatch computes the results of whole tiles, and a fourth dispatch copies those that are in
    /// bounds.
    pub F4_ANY: conv2d<T = f32> for mesa_lavapipe where IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        root(output_tile);
        apply TRANSFORMS;
        g {
            fuse(n, th, tw => t);
            fuse(p, q => pq);
            distribute(pq => workgroup(z));
            tile(t: 8, oc: 64) => workgroup(y, x);
            tile(oc: 8) => thread(x);
            vectorize(oc, 4, unaligned: scalar);
            reorder(ic, t, oc);
            unroll(t, oc);
        }
        output_tile {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(oc: 8) => workgroup(x);
            distribute(oc => thread(x));
            unroll(i, j);
        }
    }
}

schedule! {
    /// NCHW, whole tiles. The intermediates between the transforms have the same layout as in [`F4`].
    pub F4_NCHW: conv_nchw<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(v[p, q, n, c, h, w] => [p, q, n, h, w, c]);
        pack(u[p, q, o, c] => [p, q, o / 64, c, o % 64]);
        pack(g[p, q, n, o, h, w] => [p, q, n, h, w, o]);
        pin(IH, IW, IC, OC);
        apply TRANSFORMS;
        g { apply PRODUCTS; }
    }
}
