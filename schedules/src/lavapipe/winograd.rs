//! Convolutions of 3x3 pixels by Winograd's algorithm, tiles of 4x4 results: three dispatches, with the filter prepared.
//!
//! The product takes the time: for each of the 36 points a matrix of tiles times one of the filter, which lies in blocks of 64 channels, as
//! it is read. If nothing else is said, eight invocations take eight tiles of 64 channels, eight channels each: what is read of a tile is
//! uniform.

use crate::kernels::{conv_nchw, conv2d};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// NHWC, whole tiles. The sizes are the driver's to know.
    pub F4: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        precompute(u);
        pin(IH, IW, IC, OC);
        v {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(ic: 8) => workgroup(x);
            distribute(ic => thread(x));
            unroll(p, q);
        }
        g {
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
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// The same for Mesa 26, where what is uniform costs little: eight invocations over eight tiles, 64 channels each, so that every load
    /// of the filter is uniform.
    pub F4_TILES: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        precompute(u);
        pin(IH, IW, IC, OC);
        v {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(ic: 8) => workgroup(x);
            distribute(ic => thread(x));
            unroll(p, q);
        }
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
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// [`F4`] with transformed inputs and filters stored as halves, which are half to read: where the filter is large, as with many
    /// channels of a small image.
    pub F4_F16: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        precompute(u);
        pin(IH, IW, IC, OC);
        v {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(ic: 8) => workgroup(x);
            distribute(ic => thread(x));
            unroll(p, q);
        }
        g {
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
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// [`F4`] for any size: the results of a tile are a dispatch of their own, and a fourth one takes those that there are.
    pub F4_ANY: conv2d<T = f32> for mesa_lavapipe where IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, c, o] => [p, q, o / 64, c, o % 64]);
        precompute(u);
        root(output_tile);
        v {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(ic: 8) => workgroup(x);
            distribute(ic => thread(x));
            unroll(p, q);
        }
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
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// NCHW, whole tiles. What is between the transforms lies as in [`F4`].
    pub F4_NCHW: conv_nchw<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(v[p, q, n, c, h, w] => [p, q, n, h, w, c]);
        pack(u[p, q, o, c] => [p, q, o / 64, c, o % 64]);
        pack(g[p, q, n, o, h, w] => [p, q, n, h, w, o]);
        precompute(u);
        pin(IH, IW, IC, OC);
        v {
            fuse(n, th, tw => t);
            distribute(t => workgroup(y));
            tile(ic: 8) => workgroup(x);
            distribute(ic => thread(x));
            unroll(p, q);
        }
        g {
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
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(z, y);
        tile(oc: 8) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}
