//! Convolutions of f16 with accumulation in f32, on matrix units: products of the image's windows with the filter. For Mesa 26 and
//! later.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// Channels last, if 32 divides the number of input channels: 32 pixels x 32 channels per workgroup of 4 subgroups. Each step
    /// covers one filter tap and 32 channels.
    pub NHWC_CHANNELS_32: conv2d_f16_f32 for mesa_lavapipe_26 where IC % 32 == 0 {
        fuse(n, oh, ow => t);
        tile(t: 32 round_up, oc: 32 round_up) => workgroup(y, x);
        tile(ic: 32 => k_o);
        reorder(fh, fw, k_o, ic, oc, t);
        fuse(fh, fw, k_o => s);
        promote(input => x_s[t, ic], at: s, to: shared, row_pad: 8);
        promote(filter => w_s[ic, oc], at: s, to: shared, row_pad: 8);
        promote(output => out[t, oc], at: workgroup, to: shared);
        tile(t: 16, oc: 16) => subgroup(y, x);
        mma(t, oc, ic, 8 x 8 x 8);
        unroll(ic);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Channels last, any sizes. Each step covers 32 elements of the windows.
    pub NHWC: conv2d_f16_f32 for mesa_lavapipe_26 {
        fuse(n, oh, ow => t);
        fuse(fh, fw, ic => k);
        tile(t: 32 round_up, oc: 32 round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, t);
        promote(input => x_s[t, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(filter => w_s[k, oc], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(output => out[t, oc], at: workgroup, to: shared);
        tile(t: 16, oc: 16) => subgroup(y, x);
        mma(t, oc, k, 8 x 8 x 8);
        unroll(k);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Channels first, any sizes: 32 channels x 32 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for mesa_lavapipe_26 {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: 32 round_up, p: 32 round_up) => workgroup(z, y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(filter => w_s[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(input => x_s[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(output => out[oc, p], at: workgroup, to: shared);
        tile(oc: 16, p: 16) => subgroup(y, x);
        mma(oc, p, k, 8 x 8 x 8);
        unroll(k);
    }
}
