//! Convolution, channels last.

use crate::kernels::conv2d;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 1x2x4 (OH x OW x OC) per invocation, with unrolled filter loops. The workgroups are small, so that a small image fills the
    /// GPU.
    pub STRIDED_3: conv2d<T = f32, S = 2> for nvidia_hopper
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: COLUMNS, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(fh, fw, ic, ow);
        vectorize(oc, 4);
        tune COLUMNS in [1, 2, 4, 8] = 2;
    }
}

schedule! {
    /// Stride 1, many channels: a product of the image's windows with the filter, 128 pixels x 64 channels per workgroup of 256
    /// through shared memory, 8x4 per invocation.
    pub IMPLICIT_GEMM: conv2d<T = f32> for nvidia_hopper where IC % 8 == 0, OC % 64 == 0 {
        fuse(n, oh, ow => t);
        tile(t: ROUNDS * 64 round_up, oc: 64) => workgroup(y, x);
        tile(ic: 8 => k_o);
        reorder(fh, fw, k_o, ic, t, oc);
        promote(input => x_s[ic, t], at: k_o, to: shared, row_pad: 4);
        promote(filter => w_s[ic, oc], at: k_o, to: shared);
        split(t, [ROUNDS, 16, 4] => t_r, t_t, t_v);
        split(oc, [16, 4] => oc_t, oc_v);
        distribute(t_t, oc_t => thread(y, x));
        promote(x_s => x_r[t_r, t_v], at: ic, to: register);
        promote(w_s => w_r[oc_v], at: ic, to: register);
        unroll(ic, t_r, t_v);
        vectorize(oc_v, 4);
        tune ROUNDS in [1, 2] = 2;
    }
}

schedule! {
    /// 3x3 filters, stride 1, any sizes: 128 pixels x 64 channels per workgroup of 128, 8x8 per invocation. The sizes of the image are specialization
    /// constants.
    pub WINDOWS: conv2d<T = f32> for nvidia_hopper {
        apply parts::conv_f32::WINDOWS<PIXELS = PIXELS, CHANNELS = CHANNELS, STEP = STEP>;
        pin(IH, IW, IC);
        tune PIXELS in [64, 128] = 128;
        tune CHANNELS in [64, 128] = 64;
        tune STEP in [8, 16] = 16;
    }
}

schedule! {
    /// Filters of 7x7 with stride 2, any sizes: 128 pixels x 64 channels per workgroup of 128. The sizes of the image are specialization
    /// constants.
    pub WINDOWS_7X7: conv2d<T = f32, FH = 7, FW = 7, S = 2> for nvidia_hopper {
        apply parts::conv_f32::WINDOWS<PIXELS = PIXELS, STEP = STEP>;
        pin(IH, IW, IC);
        tune PIXELS in [64, 128, 256] = 128;
        tune STEP in [8, 16] = 16;
    }
}
