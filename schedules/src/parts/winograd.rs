//! Convolutions by Winograd's algorithm, after its decomposition into the transformed input `v`, the transformed filter `u`, the products
//! `g`, and the result.

use tilewright::schedule;

schedule! {
    /// Both transforms, channels last: tiles of `M` x `M` results, and an invocation for each tile and channel, `CHANNELS` per
    /// workgroup.
    pub TRANSFORMS<M = 4, CHANNELS = 64> {
        v {
            fuse(n, th, tw => t);
            tile(ic: CHANNELS) => workgroup(y);
            distribute(t => workgroup(x));
            distribute(ic => thread(x));
            unroll(p, q);
        }
        distribute(n => workgroup(z));
        tile(oh: M, ow: M) => workgroup(y, x);
        tile(oc: CHANNELS) => workgroup(x);
        distribute(oc => thread(x));
        unroll(oh, ow);
    }
}

schedule! {
    /// The second transform as a dispatch of its own, which computes whole tiles, if the tiles do not divide the image.
    pub TILES<CHANNELS = 64> {
        output_tile {
            fuse(n, th, tw => t);
            tile(oc: CHANNELS) => workgroup(y);
            distribute(t => workgroup(x));
            distribute(oc => thread(x));
            unroll(i, j);
        }
    }
}

schedule! {
    /// The products, for the block of `g`: for each point of the transforms, a matrix of tiles times a matrix of the filter, `ROWS` tiles
    /// x 64 channels per workgroup, `STEP` channels at a time through shared memory. An invocation has `TALL` tiles x 4 channels.
    pub PRODUCTS<ROWS = 128, STEP = 16, TALL = 8> {
        fuse(n, th, tw => t);
        fuse(p, q => pq);
        distribute(pq => workgroup(z));
        tile(t: ROWS round_up, oc: 64) => workgroup(y, x);
        tile(ic: STEP => k_o);
        reorder(k_o, ic, t, oc);
        promote(v => v_s[ic, t], at: k_o, to: shared, row_pad: 4);
        promote(u => u_s[ic, oc], at: k_o, to: shared);
        split(t, [TALL / 4, ROWS / TALL, 4] => t_r, t_t, t_v);
        split(oc, [16, 4] => oc_t, oc_v);
        distribute(t_t, oc_t => thread(y, x));
        promote(v_s => v_r[t_r, t_v], at: ic, to: register);
        promote(u_s => u_r[oc_v], at: ic, to: register);
        unroll(ic, t_r, t_v);
        vectorize(oc_v, 4);
    }
}

schedule! {
    /// [`PRODUCTS`] of f16 on matrix units: 64 tiles x 64 channels per workgroup of four subgroups, 32 channels at a time. The sums are
    /// rounded when they are written through shared memory.
    pub PRODUCTS_F16 {
        fuse(n, th, tw => t);
        fuse(p, q => pq);
        distribute(pq => workgroup(z));
        tile(t: 64 round_up, oc: 64) => workgroup(y, x);
        tile(ic: 32 => k_o);
        reorder(k_o, ic, t, oc);
        promote(v => v_s[t, ic], at: k_o, to: shared, row_pad: 8);
        promote(u => u_s[ic, oc], at: k_o, to: shared, row_pad: 8);
        promote(g => g_s[t, oc], at: workgroup, to: shared);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(t: 32, oc: 32) => subgroup(y, x);
        mma(t, oc, ic, 16 x 16 x 16);
        unroll(ic);
    }
}

schedule! {
    /// Everything, channels first, whole tiles of 4x4 results: 64 channels x 64 tiles of an image per workgroup, 4x4 per invocation.
    pub F4_NCHW {
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
