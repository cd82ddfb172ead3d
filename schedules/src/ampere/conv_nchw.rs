//! Convolution, channels first.

use crate::kernels::conv_nchw;
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// A product of the filters with the image's windows, which are gathered in shared memory, 16 elements of 64 windows at a time:
    /// 64 channels x 64 pixels per workgroup of 256, 4x4 per invocation. Any size.
    pub IMPLICIT_GEMM: conv_nchw<T = f32> for nvidia_ampere {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: 64 round_up, p: 64 round_up) => workgroup(z, y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(input => cols[k, p], at: k_o, to: shared, fill: 0.0);
        promote(filter => w[k, oc], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        tile(oc: 4, p: 4) => thread(y, x);
        unroll(oc, p);
    }
}

schedule! {
    /// Any sizes: 32 channels x 4x32 pixels per workgroup. The image part with its border is in shared memory. Not yet run on such a
    /// device.
    pub BORDERED: conv_nchw<T = f32> for nvidia_ampere {
        apply parts::conv_f32::BORDERED;
    }
}
