//! Convolutions of f16 with accumulation in f32, on matrix units: products of the image's windows with the filter. Not yet run on
//! such a device.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Channels last, if 32 divides the number of input channels: 64 pixels x 64 channels per workgroup of 4 subgroups. Each step
    /// covers one filter tap and 32 channels.
    pub NHWC_CHANNELS_32: conv2d_f16_f32 for intel_xe2 where IC % 32 == 0 {
        fuse(n, oh, ow => t);
        tile(t: 64 round_up, oc: 64 round_up) => workgroup(y, x);
        tile(ic: 32 => k_o);
        reorder(fh, fw, k_o, ic, oc, t);
        fuse(fh, fw, k_o => s);
        promote(input => x_s[t, ic], at: s, to: shared, row_pad: 8);
        promote(filter => w_s[ic, oc], at: s, to: shared, row_pad: 8);
        pipeline(s, buffers: 1, prefetch: register);
        promote(output => out[t, oc], at: workgroup, to: shared);
        tile(t: 32, oc: 32) => subgroup(y, x);
        mma(t, oc, ic, 8 x 16 x 16);
        unroll(ic);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Channels last, any sizes. Each step covers 32 elements of the windows.
    pub NHWC: conv2d_f16_f32 for intel_xe2 {
        fuse(n, oh, ow => t);
        fuse(fh, fw, ic => k);
        tile(t: 64 round_up, oc: 64 round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, t);
        promote(input => x_s[t, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(filter => w_s[k, oc], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        promote(output => out[t, oc], at: workgroup, to: shared);
        tile(t: 32, oc: 32) => subgroup(y, x);
        mma(t, oc, k, 8 x 16 x 16);
        unroll(k);
        specialize(OC % 8 == 0);
    }
}

schedule! {
    /// Channels first, any sizes: 64 channels x 64 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for intel_xe2 {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: 64 round_up, p: 64 round_up) => workgroup(z, y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(filter => w_s[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(input => x_s[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        promote(output => out[oc, p], at: workgroup, to: shared);
        tile(oc: 32, p: 32) => subgroup(y, x);
        mma(oc, p, k, 8 x 16 x 16);
        unroll(k);
    }
}
