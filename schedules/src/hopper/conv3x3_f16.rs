//! Convolutions of f16 with accumulation in f32, on matrix units: products of the image's windows with the filter.

use crate::kernels::conv3x3_f16;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 128 pixels x `CHANNELS` channels per workgroup of four subgroups. Each step covers one filter tap and `STEP` channels.
    WINDOWS<CHANNELS = 64, STEP = 32, COLUMNS = 32> {
        fuse(n, oh, ow => t);
        tile(t: 128, oc: CHANNELS) => workgroup(y, x);
        tile(ic: STEP => k_o);
        reorder(fh, fw, k_o, ic, t, oc);
        fuse(fh, fw, k_o => s);
        promote(input => x_s[t, ic], at: s, to: shared, row_pad: 8);
        promote(filter => w_s[ic, oc], at: s, to: shared, row_pad: 8);
        pipeline(s, buffers: 1, prefetch: register);
        tile(t: 64, oc: COLUMNS) => subgroup(y, x);
        mma(t, oc, ic, 16 x 16 x 16);
        unroll(ic);
    }
}

schedule! {
    /// 128 pixels x 64 channels per workgroup of four subgroups. Each step covers one filter tap and 32 channels.
    pub WINDOWS_128X64: conv3x3_f16 for nvidia_hopper where N % 32 == 0, OH % 2 == 0, OW % 2 == 0, IC % 32 == 0, OC % 64 == 0 {
        apply WINDOWS<CHANNELS = 64, STEP = 32, COLUMNS = COLUMNS>;
        tune COLUMNS in [16, 32, 64] = 32;
        pin(IW, IC, OC);
    }
}

schedule! {
    /// 128 pixels x 128 channels per workgroup of four subgroups. Each step covers one filter tap and 64 channels.
    pub WINDOWS_128X128: conv3x3_f16 for nvidia_hopper where N % 32 == 0, OH % 2 == 0, OW % 2 == 0, IC % 64 == 0, OC % 128 == 0 {
        apply WINDOWS<CHANNELS = 128, STEP = 64, COLUMNS = 64>;
        pin(IW, IC, OC);
    }
}
