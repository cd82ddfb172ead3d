//! Convolution, channels first.

use crate::kernels::conv_nchw;
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// A product of the filters with the image's windows, which are gathered in shared memory, 32 elements of 32 windows at a time:
    /// 32 channels x 32 pixels per workgroup of 64, 4x4 per invocation. The result is written cooperatively. Any size.
    pub IMPLICIT_GEMM: conv_nchw<T = f16> for amd_rdna3 {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: 32 round_up, p: 32 round_up) => workgroup(z, y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(input => cols[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(filter => w[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(output => out[oc, p], at: workgroup, to: shared);
        tile(oc: 4, p: 4) => thread(y, x);
        unroll(oc, p);
    }
}
