//! Matrix multiply with alpha and beta, in place.

use crate::kernels::sgemm;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Any size: 128x128 per workgroup of 128, 16x8 per invocation, 16 steps of k at a time. The next steps are prefetched to
    /// registers, so that one buffer is enough and several workgroups fit on a core.
    pub PREFETCH_128X128: sgemm for nvidia_hopper {
        tile(i: 128 round_up, j: 128 round_up) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(i, [4, 8, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4, unaligned: scalar);
        specialize(K % 4 == 0, N % 4 == 0);
    }
}

schedule! {
    /// Any size: 64x128 per workgroup and 8x8 per invocation, so that few tiles still use all cores.
    pub PREFETCH_64X128: sgemm for nvidia_hopper {
        tile(i: 64 round_up, j: 128 round_up) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        pipeline(k_o, buffers: 1, prefetch: register);
        split(i, [2, 8, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4, unaligned: scalar);
        specialize(K % 4 == 0, N % 4 == 0);
    }
}

schedule! {
    /// Any size: 128x128 per workgroup of 128, 8 steps of k at a time, in two buffers.
    pub BUFFERS_128X128: sgemm for nvidia_hopper {
        tile(i: 128 round_up, j: 128 round_up) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        pipeline(k_o, buffers: 2, prefetch: register);
        split(i, [4, 8, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4, unaligned: scalar);
        specialize(K % 4 == 0, N % 4 == 0);
    }
}
