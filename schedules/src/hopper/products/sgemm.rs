//! Matrix multiply with alpha and beta, in place.

use crate::kernels::sgemm;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Any size: 128x128 per workgroup of 128, 16x8 per invocation, 16 steps of k at a time. The next steps are prefetched to
    /// registers, so that one buffer is enough and several workgroups fit on a core.
    pub PREFETCH_128X128: sgemm for nvidia_hopper {
        apply parts::matrices::BLOCKS<TALL = 16>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Any size: 64x128 per workgroup and 8x8 per invocation, so that few tiles still use all cores.
    pub PREFETCH_64X128: sgemm for nvidia_hopper {
        apply parts::matrices::BLOCKS<ROWS = 64>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Any size: 128x128 per workgroup of 128, 8 steps of k at a time, in two buffers.
    pub BUFFERS_128X128: sgemm for nvidia_hopper {
        apply parts::matrices::BLOCKS<STEP = 8, TALL = 16>;
        pipeline(k_o, buffers: 2, prefetch: register);
    }
}
