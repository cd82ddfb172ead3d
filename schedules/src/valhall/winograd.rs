//! Convolutions of 3x3 pixels by Winograd's algorithm, tiles of 4x4 results: three dispatches, with the filter prepared. The
//! product dominates the time: for each of the 36 points, a matrix of tiles times a matrix of the filter, 16 tiles x 32 channels
//! per workgroup of 32, 4x4 per invocation in registers. Shared memory is not used, because it is not faster than the cache there.
//! Not run on such a device.

use crate::kernels::conv2d;
use crate::parts;
use tilewright::devices::arm_valhall;
use tilewright::schedule;

schedule! {
    /// The products, for the block of `g`.
    PRODUCTS {
        fuse(n, th, tw => t);
        fuse(p, q => pq);
        distribute(pq => workgroup(z));
        tile(t: 16 round_up, oc: 32) => workgroup(y, x);
        tile(t: 4, oc: 4) => thread(y, x);
        tile(ic: 4 => ic_o);
        reorder(ic_o, t, ic, oc);
        promote(u => u_r[ic, oc], at: ic_o, to: register, vector: 4);
        promote(v => v_r[ic], at: t, to: register, vector: 4);
        unroll(t, ic);
        vectorize(oc, 4);
    }
}

schedule! {
    /// Whole tiles.
    pub F4: conv2d<T = f32> for arm_valhall
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 32 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        apply parts::winograd::TRANSFORMS<CHANNELS = 16>;
        g { apply PRODUCTS; }
    }
}

schedule! {
    /// [`F4`] with transformed inputs and filters stored as f16, which halves the memory traffic.
    pub F4_F16: conv2d<T = f32> for arm_valhall
    where OH % 4 == 0, OW % 4 == 0, IC % 4 == 0, OC % 32 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        precompute(u);
        apply parts::winograd::TRANSFORMS<CHANNELS = 16>;
        g { apply PRODUCTS; }
    }
}
