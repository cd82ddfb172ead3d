//! Convolution, channels first.

use crate::kernels::conv_nchw;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Invocations over the columns of a row, eight channels each, so that every load of the filter is uniform.
    pub CHANNELS_8: conv_nchw<T = f32> for mesa_lavapipe where OC % 8 == 0, OW % 32 == 0 {
        tile(n: 1, oc: 8, oh: 1, ow: 32) => workgroup(z, z, y, x);
        distribute(ow => thread(x));
        reorder(ic, fh, fw, oc);
        unroll(fw, oc);
    }
}

schedule! {
    /// 32 invocations over 128 columns of a row, four columns of 32 channels each. The sizes are specialization constants.
    pub CHANNELS_32X4: conv_nchw<T = f32> for mesa_lavapipe where OC % 32 == 0, OW % 128 == 0 {
        tile(n: 1, oc: 32, oh: 1, ow: 128) => workgroup(z, z, y, x);
        tile(ow: 4) => thread(x);
        reorder(ic, fh, oc, fw, ow);
        unroll(oc, fw, ow);
        pin(IC, IH, IW, OC);
    }
}

schedule! {
    /// Eight invocations over eight columns. Each has 16 channels of 16 rows, so the reads of the filter are uniform, and a row of the
    /// image serves three rows of the filter. The sizes are specialization constants.
    pub COLUMNS_16X16: conv_nchw<T = f32> for mesa_lavapipe where OC % 16 == 0, OH % 16 == 0, OW % 8 == 0 {
        tile(n: 1, oc: 16, oh: 16, ow: 8) => workgroup(z, z, y, x);
        distribute(ow => thread(x));
        reorder(ic, fw, oc, fh, oh);
        unroll(oc, fh, oh);
        pin(IC, IH, IW, OC);
    }
}
