//! Convolutions of 3x3 pixels by Winograd's algorithm, tiles of 4x4 results: three dispatches, with the filter prepared. The
//! product dominates the time: for each of the 36 points, a matrix of tiles times a matrix of the filter, both through shared
//! memory, 128 tiles x 64 channels per workgroup of 256. Not run on such a device; on Hopper, [`F4`] is fast.

use crate::kernels::{conv_nchw, conv2d};
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Whole tiles.
    pub F4: conv2d<T = f32> for nvidia_ampere
    where OH % 4 == 0, OW % 4 == 0, IC % 16 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        v {
            fuse(n, th, tw => t);
            tile(ic: 64) => workgroup(y);
            distribute(t => workgroup(x));
            distribute(ic => thread(x));
            unroll(p, q);
        }
        g {
            fuse(n, th, tw => t);
            fuse(p, q => pq);
            distribute(pq => workgroup(z));
            tile(t: 128 round_up, oc: 64) => workgroup(y, x);
            tile(ic: 16 => k_o);
            reorder(k_o, ic, t, oc);
            promote(v => v_s[ic, t], at: k_o, to: shared, row_pad: 4);
            promote(u => u_s[ic, oc], at: k_o, to: shared);
            split(t, [2, 16, 4] => t_r, t_t, t_v);
            split(oc, [16, 4] => oc_t, oc_v);
            distribute(t_t, oc_t => thread(y, x));
            promote(v_s => v_r[t_r, t_v], at: ic, to: register);
            promote(u_s => u_r[oc_v], at: ic, to: register);
            unroll(ic, t_r, t_v);
            vectorize(oc_v, 4);
        }
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(y, x);
        tile(oc: 64) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// [`F4`] with transformed inputs and filters stored as f16, which halves the memory traffic.
    pub F4_F16: conv2d<T = f32> for nvidia_ampere
    where OH % 4 == 0, OW % 4 == 0, IC % 16 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        precompute(u);
        v {
            fuse(n, th, tw => t);
            tile(ic: 64) => workgroup(y);
            distribute(t => workgroup(x));
            distribute(ic => thread(x));
            unroll(p, q);
        }
        g {
            fuse(n, th, tw => t);
            fuse(p, q => pq);
            distribute(pq => workgroup(z));
            tile(t: 128 round_up, oc: 64) => workgroup(y, x);
            tile(ic: 16 => k_o);
            reorder(k_o, ic, t, oc);
            promote(v => v_s[ic, t], at: k_o, to: shared, row_pad: 4);
            promote(u => u_s[ic, oc], at: k_o, to: shared);
            split(t, [2, 16, 4] => t_r, t_t, t_v);
            split(oc, [16, 4] => oc_t, oc_v);
            distribute(t_t, oc_t => thread(y, x));
            promote(v_s => v_r[t_r, t_v], at: ic, to: register);
            promote(u_s => u_r[oc_v], at: ic, to: register);
            unroll(ic, t_r, t_v);
            vectorize(oc_v, 4);
        }
        distribute(n => workgroup(z));
        tile(oh: 4, ow: 4) => workgroup(y, x);
        tile(oc: 64) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// NCHW, whole tiles: 64 channels x 64 tiles of an image per workgroup, 4x4 per invocation.
    pub F4_NCHW: conv_nchw<T = f32> for nvidia_ampere
    where OH % 4 == 0, OW % 4 == 0, IC % 8 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        pack(u[p, q, o, c] => [p, q, c, o]);
        precompute(u);
        v {
            fuse(th, tw => t);
            distribute(n => workgroup(z));
            tile(t: 64) => workgroup(x);
            distribute(ic => workgroup(y));
            distribute(t => thread(x));
            unroll(p, q);
        }
        g {
            fuse(th, tw => t);
            fuse(p, q, n => pqn);
            distribute(pqn => workgroup(z));
            tile(oc: 64, t: 64 round_up) => workgroup(y, x);
            tile(ic: 8 => k_o);
            reorder(k_o, ic, oc, t);
            promote(u => u_s[ic, oc], at: k_o, to: shared);
            promote(v => v_s[ic, t], at: k_o, to: shared);
            split(oc, [16, 4] => oc_t, oc_v);
            split(t, [16, 4] => t_t, t_v);
            distribute(oc_t, t_t => thread(y, x));
            promote(u_s => u_r[oc_v], at: ic, to: register);
            promote(v_s => v_r[t_v], at: ic, to: register);
            unroll(ic, oc_v, t_v);
        }
        fuse(n, oc => n_oc);
        distribute(n_oc => workgroup(y));
        tile(oh: 4 => th);
        tile(ow: 4 => tw);
        reorder(n_oc, th, tw, oh, ow);
        fuse(th, tw => t);
        tile(t: 64) => workgroup(x);
        distribute(t => thread(x));
        unroll(oh, ow);
    }
}
